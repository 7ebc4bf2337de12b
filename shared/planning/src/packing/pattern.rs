//! Patterns: how many pods of which items fill a node, and how well they use it.

use crate::ids::ItemIx;

/// What each node costs beyond its price, in nano-USD an hour: between offers that cost the same,
/// fewer nodes are better.
pub(super) const NODE_COST_NANOS: f64 = 100_000.0;

/// How many pods of which items fill a node.
pub(super) struct Pattern {
    pub(super) counts: Vec<(ItemIx, u32)>,
    pub(super) score: f64,
}

impl Pattern {
    /// How many pods it has.
    pub(super) fn pods(&self) -> u32 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}
