//! What settings a recording speaks for: candidates, each of them manifests that apply as they are.
//!
//! Nothing here says that a candidate is any good. Whoever asks replays the recording with and
//! without it, and shows those that made a difference.

mod budget;
mod candidate;
mod load;
mod manifest;
mod node_pool;
mod peak;
mod prewarm;
mod requests;

pub use budget::budgets;
pub use candidate::{Candidate, CandidateKind};
pub use load::levels;
pub use manifest::Manifests;
pub use node_pool::{NodePoolUse, node_pools};
pub use peak::{Peak, PeakTerms, peaks};
pub use prewarm::schedules;
pub use requests::{UnusedRequests, measured_pods, unused_requests};
