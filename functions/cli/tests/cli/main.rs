//! The binary from outside: exit statuses, error texts, documents.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests are tests, which Clippy cannot see"
)]

#[cfg(feature = "live")]
mod aws;
mod convert;
mod import;
#[cfg(feature = "live")]
mod live;
mod overlays;
mod plan;
mod recordings;
mod schema;
mod simulate;
mod support;
mod top;
mod usage;
