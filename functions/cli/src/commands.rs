//! One command a file: read the input, ask the shared crates, render, and return the exit status.

pub(crate) mod catalog;
pub(crate) mod controls;
pub(crate) mod convert;
pub(crate) mod diff;
mod error;
pub(crate) mod explain;
mod import;
mod names;
mod node_class;
pub(crate) mod plan;
pub(crate) mod record;
mod replay;
mod replay_error;
mod scenario;
pub(crate) mod schema;
mod series;
pub(crate) mod shell;
pub(crate) mod simulate;
mod spot_history;
pub(crate) mod suggest;
pub(crate) mod top;
pub(crate) mod until_stable;
mod write_back;

pub(crate) use error::CommandError;
