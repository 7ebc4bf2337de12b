//! The adapter against an API server that plays by a script.

mod looking;
mod server;
mod waiting;
mod writing;
