//! What the Lambda functions have in common: the environment, the event, the adapters of a process, the
//! deadline, logs, metrics and errors.
//!
//! A function is a name and an async function from a [`Tick`] to a [`Summary`]; [`start`] runs it under the
//! Lambda runtime.

pub mod clock;
pub mod environment;
pub mod event;
pub mod failure;
pub mod logs;
pub mod metrics;
pub mod process;
mod start;
pub mod tick;

pub use environment::{Environment, Reaction};
pub use failure::Failure;
pub use metrics::Metrics;
pub use process::{Adapters, Process};
pub use start::{start, unknown_handler};
pub use tick::{Order, Summary, Tick};
