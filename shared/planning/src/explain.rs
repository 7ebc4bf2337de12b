//! The whole tree behind one decision: for a pod every NodePool and every node, for a claim every
//! instance type.
//!
//! A plan carries the first reason for everything that it did not do. An explanation is computed
//! from the snapshot again, for one object: pure like planning, and as deterministic.

mod claim;
mod funnel;
mod pod;
mod spot;

pub use crate::disruption::{
    BudgetLine, Destination, Guard, ResidentExplanation, Situation, explain_resident,
};
pub use claim::{ClaimExplanation, explain_claim, explain_claims};
pub use funnel::{Filter, Offer, Step};
pub use pod::{NodeGroup, PodExplanation, PoolExplanation, explain_pod};
pub use spot::{SpotPassedOver, SpotWeight, SpotWeights};

#[cfg(test)]
mod tests;
