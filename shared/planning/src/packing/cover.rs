//! The greedy covering: the best-used bin is launched, until nothing is left.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::slice;

use super::kinds::{KindNode, Kinds, PodsOfNode};
use super::packer::Packer;
use super::pattern::{NODE_COST_NANOS, Pattern};
use super::queue::Queue;
use super::relaxed::ColumnUse;
use crate::ids::{ItemIx, PoolIx};
use crate::model::pool::Bin;
use crate::relaxation::RowIx;

/// Which bins a covering tries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those that the relaxation finds well used, while they are.
    WellUsed,
    /// All of them, until nothing is left.
    All,
}

/// Marks a bin that has not been tried.
const NEVER: u64 = u64::MAX;

struct Ranked {
    score: f64,
    bin: usize,
    round: u64,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    /// The lowest score is the greatest, for a heap that gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| other.bin.cmp(&self.bin))
    }
}

impl Packer<'_, '_, '_, '_> {
    /// Launches nodes of the pools of one weight until no bin of theirs takes any pod, or as far as
    /// `reach` goes.
    pub(super) fn cover(&mut self, weight: u32, reach: Reach) {
        let pools: Vec<PoolIx> = self
            .setup
            .model
            .pools
            .indices()
            .filter(|pool| self.setup.model.pools[*pool].node_pool.weight == weight)
            .collect();
        let waiting: Vec<ItemIx> = self
            .order
            .iter()
            .copied()
            .filter(|item| !self.items[*item].pods.is_empty())
            .filter(|item| pools.iter().any(|pool| self.setup.class_of[*item][*pool].is_some()))
            .collect();
        if waiting.is_empty() {
            return;
        }
        let mut queue = self.queue(&waiting);
        let is_within = |bin: &&Bin| {
            reach == Reach::All
                || self
                    .relaxation
                    .is_none_or(|relaxation| relaxation.dual_value_bound(bin.kind()).is_some())
        };
        let bins: Vec<&Bin> =
            pools.iter().flat_map(|pool| self.setup.bins[*pool].iter()).filter(is_within).collect();
        let mut heap = BinaryHeap::with_capacity(bins.len());
        let mut patterns: Vec<Option<Pattern>> = Vec::with_capacity(bins.len());
        for (index, bin) in bins.iter().enumerate() {
            let promise = self.relaxation.and_then(|own| own.dual_value_bound(bin.kind()));
            if let Some(worth) = promise {
                // No filling is worth more, so it need not be tried before its turn.
                let score = (bin.price + NODE_COST_NANOS) / worth.max(1.0);
                heap.push(Ranked { score, bin: index, round: NEVER });
                patterns.push(None);
                continue;
            }
            let pattern = if self.is_allowed(bin) { self.fill(bin, &queue, None) } else { None };
            if let Some(pattern) = &pattern {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
            }
            patterns.push(pattern);
        }
        while let Some(Ranked { bin: index, round, .. }) = heap.pop() {
            if (self.is_given_up)() {
                return;
            }
            let bin = bins[index];
            if !self.is_allowed(bin) {
                continue;
            }
            if round == self.round
                && let Some(pattern) = patterns[index].take()
            {
                if reach == Reach::WellUsed && pattern.score > SCORE_MAX {
                    return;
                }
                let times = self.repeats(bin, &pattern);
                self.launch(bin, &pattern, times);
                self.shorten(&mut queue);
            }
            if let Some(pattern) = self.fill(bin, &queue, None) {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
                patterns[index] = Some(pattern);
            }
        }
    }

    /// Launches one node of a bin, if it may be and takes anything.
    pub(super) fn launch_once(&mut self, bin: &Bin) {
        let queue = self.queue(&self.order);
        if self.is_allowed(bin)
            && let Some(pattern) = self.fill(bin, &queue, None)
        {
            self.launch(bin, &pattern, 1);
        }
    }

    /// Launches nodes of the relaxation's patterns: as many as it uses wholly, then one more of
    /// each as long as it is nearly as well used.
    pub(super) fn launch_fractional(
        &mut self,
        columns: &[ColumnUse],
        items_of_row: &BTreeMap<RowIx, Vec<ItemIx>>,
    ) {
        let mut queue = self.queue(&self.order);
        let mut rest: Vec<(f64, &ColumnUse)> = Vec::new();
        for column in columns {
            let whole = column.level.floor();
            for _ in 0..count(whole) {
                if !self.launch_column(column, items_of_row, &queue) {
                    break;
                }
            }
            self.shorten(&mut queue);
            rest.push((column.level - whole, column));
        }
        rest.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, column) in rest {
            self.launch_column(column, items_of_row, &queue);
            self.shorten(&mut queue);
        }
    }

    /// Launches the nodes of a packing by kinds, as far as their pods may be together.
    pub(super) fn launch_kinds(&mut self, kinds: &Kinds, node: &KindNode) {
        let (bin, pods, times) = kinds.launch(node);
        let wanted: u32 = pods.iter().map(|(_, count)| count).sum();
        for _ in 0..times {
            if !self.is_allowed(bin) {
                return;
            }
            let Some(mut pattern) = self.fill_exactly(bin, &pods) else { return };
            if pattern.pods() < wanted {
                // Some may not be together: others take their place.
                let Some(filled) = self.fill_up(bin, &pods) else { return };
                pattern = filled;
            }
            self.launch(bin, &pattern, 1);
        }
    }

    /// Launches the nodes of a packing by kinds with these pods, as far as they may be together.
    pub(super) fn launch_shared_out(
        &mut self,
        kinds: &Kinds,
        nodes: &[KindNode],
        pods: &[PodsOfNode],
    ) {
        for (node, pods) in nodes.iter().zip(pods) {
            let (bin, _, _) = kinds.launch(node);
            if !self.is_allowed(bin) {
                return;
            }
            let pods: Vec<(&[ItemIx], u32)> =
                pods.iter().map(|(item, count)| (slice::from_ref(item), *count)).collect();
            if let Some(pattern) = self.fill_exactly(bin, &pods) {
                self.launch(bin, &pattern, 1);
            }
        }
    }

    fn launch_column(
        &mut self,
        column: &ColumnUse,
        items_of_row: &BTreeMap<RowIx, Vec<ItemIx>>,
        queue: &Queue,
    ) -> bool {
        let pods: Vec<(Vec<ItemIx>, u32)> = column
            .pods
            .iter()
            .map(|(row, count)| (items_of_row.get(row).cloned().unwrap_or_default(), *count))
            .collect();
        let mut best: Option<(&Bin, Pattern)> = None;
        for bin in self.setup.bins[column.node.pool].iter() {
            if bin.kind() != column.node || !self.is_allowed(bin) {
                continue;
            }
            let Some(pattern) = self.fill_as(bin, &pods, queue) else { continue };
            if best.as_ref().is_none_or(|(_, best)| pattern.score < best.score) {
                best = Some((bin, pattern));
            }
        }
        let Some((bin, pattern)) = best.filter(|(_, pattern)| pattern.score <= SCORE_MAX) else {
            return false;
        };
        self.launch(bin, &pattern, 1);
        true
    }
}

/// A node of the relaxation's patterns is launched while its pods are worth nearly what it costs.
const SCORE_MAX: f64 = 1.04;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "of a level, at least nothing"
)]
fn count(whole: f64) -> u32 {
    whole as u32
}
