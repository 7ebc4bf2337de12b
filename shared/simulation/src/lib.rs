//! The simulated world: a cluster, a cloud and a clock in memory, everything from one seed.
//!
//! It stands behind the ports of `controllers`, so that the controllers run on it unchanged: the
//! command line's `simulate` and quick start, and most tests.

mod agenda;
pub mod api;
pub mod day;
pub mod ec2;
pub mod history;
pub mod invariant;
mod job_progress;
mod journal;
mod last_step;
mod playback;
pub mod ports;
pub mod region;
mod replay;
pub mod report;
mod run;
pub mod scenario;
pub mod scheduler;
pub mod seed;
pub mod stable;
pub mod store;
#[cfg(test)]
mod testing;
mod workload;
pub mod world;

pub use replay::Replay;
pub use run::{
    Recorded, RecordingTerms, Traced, run, run_recorded, run_traced, run_watched, run_with,
};
