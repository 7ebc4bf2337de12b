//! What the Lambda functions have in common: the environment, the event, the adapters of a process, the
//! deadline, logs, metrics and errors.
//!
//! A function is a name and an async function from a [`Tick`] to a [`Summary`]; [`start`] runs it under the
//! Lambda runtime. One that a queue wakes is a function from a [`Batch`] and its event to what the queue is
//! answered; [`start_queue`] runs it.

pub mod clock;
mod clusters;
pub mod environment;
pub mod event;
pub mod failure;
pub mod hand_back;
pub mod logs;
pub mod metrics;
pub mod process;
mod queue;
mod start;
pub mod tick;

pub use environment::{Environment, Reaction};
pub use failure::Failure;
pub use metrics::Metrics;
pub use process::{Adapters, Process};
pub use queue::Batch;
pub use start::{start, start_queue, unknown_handler};
pub use tick::{Order, Summary, Tick};
