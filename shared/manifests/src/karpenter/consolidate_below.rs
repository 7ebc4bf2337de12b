//! Annotation `outrigger.dev/consolidate-below` of a NodePool.

use super::percent::read_percent;
use crate::field::Field;

/// The utilization in percent from which on a node is not consolidated. What is no percentage
/// counts as not there: consolidation is then what Karpenter's own fields say, held by budgets and
/// PodDisruptionBudgets as ever, so that no pod goes that they would keep.
pub(super) fn read_consolidate_below(field: Field<'_>) -> Option<u8> {
    read_percent(field, 1, "nodes are consolidated whatever their utilization")
}
