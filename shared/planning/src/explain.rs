//! The whole tree behind one decision: for a pod every NodePool and every node, for a claim every
//! instance type.
//!
//! A plan carries the first reason of everything it did not do. What is here is worked out again
//! from the snapshot, for whoever asks about one object: pure like planning, and as deterministic.

mod claim;
mod funnel;
mod pod;

pub use claim::{ClaimExplanation, explain_claim};
pub use funnel::{Filter, Offer, Step};
pub use pod::{NodeGroup, PodExplanation, PoolExplanation, explain_pod};

#[cfg(test)]
mod tests;
