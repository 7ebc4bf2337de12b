//! The adapter against an API server that plays by a script.

#![expect(clippy::unwrap_used, reason = "what is not as the script says ends the test")]

mod listing;
mod server;
mod waiting;
mod writing;
