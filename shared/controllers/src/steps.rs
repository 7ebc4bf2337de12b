//! Decisions of the controllers, without I/O: records and what was observed in, records and what to do
//! out. Each may be taken any number of times for the same state.

pub mod condition;
pub mod create;
pub mod drain;
pub mod join;
pub mod launch;
pub mod launched;
pub mod pod_events;
pub mod snapshot;
