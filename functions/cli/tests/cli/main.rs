//! The binary from outside: exit statuses, error texts, documents.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests are tests, which Clippy cannot see"
)]

#[cfg(feature = "live")]
mod aws;
mod budgets;
#[cfg(unix)]
mod ci;
mod commitments;
mod convert;
mod diff;
mod disruption;
mod drains;
mod expendable;
mod git;
mod import;
mod instance_overhead;
#[cfg(feature = "live")]
mod live;
mod overlays;
mod pages;
mod plan;
mod recordings;
mod scheduler;
mod schema;
mod shell;
mod simulate;
mod spot;
mod suggest;
mod support;
mod top;
mod until_stable;
mod usage;
mod usd_limit;
mod zones;
