//! What packing comes to.

use crate::feasibility::limits::Limits;
use crate::ids::{IndexVec, ItemIx, PodIx};
use crate::work::NewNode;

/// What packing came to.
pub(crate) struct Packing {
    /// Nodes to launch, in the order in which they were chosen.
    pub(crate) nodes: Vec<NewNode>,
    /// Pods that no node could be launched for.
    pub(crate) left: Vec<PodIx>,
}

/// A packing with what it comes to.
pub(super) struct Outcome {
    pub(super) packing: Packing,
    pub(super) limits: Limits,
    /// Nano-USD an hour.
    pub(super) cost: f64,
    /// By item, what one pod costs: its share of the nodes its pods are on. Zero where it has no
    /// node.
    pub(super) paid: IndexVec<ItemIx, f64>,
}

impl Outcome {
    /// Fewer pods left without a node first, then the lower cost.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        (self.packing.left.len(), self.cost) < (other.packing.left.len(), other.cost)
    }
}
