//! How much is tried to make a packing cheaper: bounded by work, which is counted, not by time.

use super::outcome::Outcome;
use crate::ids::{IndexVec, ItemIx};

/// Rounds at most; on the sample workloads later ones find less than half a percent.
const ROUNDS_MAX: usize = 3;

/// Items tried against nodes, over all rounds.
pub(super) const WORK_MAX: usize = 400_000;

/// First moves tried at most.
const FIRST_MOVES_MAX: usize = 48;

/// Past so many nodes one of them hardly changes what the others come to.
pub(super) const NODES_FOR_FIRST_MOVES_MAX: usize = 16;

/// Whether packings at the relaxation's values are worth a try and within the budget: each node
/// tries most items. For a few nodes first moves find as much, and leave less for the next tick to
/// consolidate.
pub(super) fn is_priced(items: usize, best: &Outcome) -> bool {
    let nodes = best.packing.nodes.len();
    nodes > NODES_FOR_FIRST_MOVES_MAX && items * nodes <= WORK_MAX
}

/// Moves values part of the way to what pods cost.
pub(super) fn move_towards(
    values: &mut IndexVec<ItemIx, f64>,
    paid: &IndexVec<ItemIx, f64>,
    step: f64,
) {
    for (value, paid) in values.iter_mut().zip(paid) {
        if *paid > 0.0 {
            *value = value.mul_add(1.0 - step, paid * step);
        }
    }
}

/// How many first moves are tried; none where nodes are many.
pub(super) fn first_moves_within_budget(items: usize, best: &Outcome) -> usize {
    let nodes = best.packing.nodes.len();
    if nodes > NODES_FOR_FIRST_MOVES_MAX {
        return 0;
    }
    (WORK_MAX / (items * nodes).max(1)).min(FIRST_MOVES_MAX)
}

/// How many rounds of packing there are.
pub(super) fn rounds_within_budget(items: usize, nodes: usize) -> usize {
    (WORK_MAX / (items * nodes).max(1)).clamp(1, ROUNDS_MAX)
}
