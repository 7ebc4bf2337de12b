//! What the Lambda functions have in common: environment, event, the adapters of a process,
//! deadline, logs, metrics and errors.
//!
//! A function is a name and an async function of an [`Invocation`]; [`start`] runs it under the
//! Lambda runtime. One that a queue invokes is an async function of a [`Batch`] and its event,
//! which returns the answer to the queue; [`start_queue`] runs it. Both record what they did in
//! [`Telemetry`].

mod batch;
pub mod clock;
mod clusters;
pub mod environment;
pub mod event;
pub mod failure;
pub mod hand_back;
mod heartbeat;
pub mod invocation;
pub mod logs;
pub mod metrics;
pub mod process;
pub mod schedule;
mod start;
pub mod summary;
pub mod telemetry;

pub use batch::Batch;
pub use environment::{Environment, Reaction};
pub use failure::Failure;
pub use invocation::{Invocation, InvocationRequest};
pub use metrics::Metrics;
pub use process::{Adapters, Process};
pub use start::{start, start_queue, unknown_handler};
pub use summary::Summary;
pub use telemetry::Telemetry;
