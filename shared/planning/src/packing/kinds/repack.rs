//! Packings by kinds, one after the other, each with pods valued closer to what they cost in the
//! one before.

use super::fill::Filling;
use super::{KindNode, Kinds};
use crate::packing::relaxed::ColumnUse;

/// Packings, at most.
const ROUNDS_MAX: usize = 24;

/// Packings, at least.
const ROUNDS_MIN: usize = 3;

/// How far values move from one to the next.
const STEP: f64 = 0.3;

/// Bins that are tried again after the first packing, beside those that it used.
const BINS_MAX: usize = 96;

/// How often a bin is filled for one node, about.
const FILLS_PER_NODE: usize = 8;

/// A packing by kinds, with what it comes to.
pub(in crate::packing) struct Packed {
    /// Pods that no bin takes.
    missing: u64,
    /// Nano-USD an hour.
    cost: f64,
    nodes: Vec<KindNode>,
    /// By kind, what a pod was worth to it.
    values: Vec<f64>,
}

impl Packed {
    /// Fewer pods without a node first, then the lower cost.
    fn is_better_than(&self, other: &Self) -> bool {
        (self.missing, self.cost) < (other.missing, other.cost)
    }
}

impl Kinds<'_> {
    /// The cheapest of some packings: with the nodes of the fractional solution launched first, as
    /// far as whole ones go, and without. `work` is how many times a kind may be weighed to find
    /// it.
    pub(in crate::packing) fn best(&self, columns: &[ColumnUse], work: usize) -> Packed {
        let mut counts = self.counts.clone();
        let mut whole = self.whole_nodes(columns, &mut counts);
        let mut best = self.best_after(&whole, &counts, work);
        if !whole.is_empty() {
            let alone = self.best_after(&[], &self.counts, 0);
            whole.extend(self.nearly_whole_nodes(columns, &mut counts));
            let further = self.best_after(&whole, &counts, 0);
            for other in [alone, further] {
                if other.is_better_than(&best) {
                    best = other;
                }
            }
        }
        best
    }

    /// The packing, or one of nodes that a dive found, with others for the pods that it left.
    pub(in crate::packing) fn better_of_dive(
        &self,
        known: Packed,
        columns: &[ColumnUse],
    ) -> Packed {
        let mut counts = self.counts.clone();
        let nodes = self.whole_nodes(columns, &mut counts);
        if nodes.is_empty() {
            return known;
        }
        let other = self.best_after(&nodes, &counts, 0);
        if other.is_better_than(&known) { other } else { known }
    }

    /// The packing, made cheaper a few nodes at a time. `work` is how many times a kind may be
    /// weighed for it.
    pub(in crate::packing) fn improved(&self, best: Packed, work: usize) -> Vec<KindNode> {
        let fillings = self.fill_each(0..self.bins.len(), &self.counts, &self.values);
        let bins = promising(scores(&fillings), &best.nodes);
        let values = [self.values.clone(), best.values];
        self.improve(best.nodes, &bins, &values, work)
    }

    /// The cheapest of some packings that begin with certain nodes; `counts` are pods that these
    /// leave.
    fn best_after(&self, whole: &[KindNode], counts: &[u32], work: usize) -> Packed {
        let mut bins: Vec<usize> = Vec::new();
        let mut values = self.values.clone();
        let mut best = Packed {
            missing: u64::MAX,
            cost: f64::INFINITY,
            nodes: Vec::new(),
            values: values.clone(),
        };
        let mut rounds = ROUNDS_MIN;
        let mut round = 0;
        while round < rounds {
            let mut left = counts.to_vec();
            let rest = if round == 0 {
                let fillings = self.fill_each(0..self.bins.len(), &left, &values);
                let scores = scores(&fillings);
                let rest = self.cover_from(fillings, &mut left, &values);
                let launches = self.bins.len() + rest.len() * FILLS_PER_NODE;
                let each = (launches * self.counts.len()).max(1);
                rounds = (work / each).clamp(ROUNDS_MIN, ROUNDS_MAX);
                bins = promising(scores, &rest);
                rest
            } else {
                self.cover(&bins, &mut left, &values)
            };
            let known = values.clone();
            self.move_towards_paid(&mut values, &rest);
            let missing = left.iter().map(|left| u64::from(*left)).sum();
            let nodes: Vec<KindNode> = whole.iter().cloned().chain(rest).collect();
            let next = Packed { missing, cost: self.cost(&nodes), nodes, values: known };
            if next.is_better_than(&best) {
                best = next;
            }
            round += 1;
        }
        best
    }

    /// Moves values part of the way to what pods cost: their share of the nodes that they are on.
    fn move_towards_paid(&self, values: &mut [f64], nodes: &[KindNode]) {
        let mut paid = vec![(0.0, 0.0); values.len()];
        for node in nodes {
            let worth: f64 =
                node.counts.iter().map(|(kind, count)| values[*kind] * f64::from(*count)).sum();
            let rate = self.bins[node.bin].bin.price / worth.max(1.0);
            for (kind, count) in &node.counts {
                let pods = f64::from(*count) * f64::from(node.times);
                paid[*kind].0 += rate * values[*kind] * pods;
                paid[*kind].1 += pods;
            }
        }
        for (value, (sum, pods)) in values.iter_mut().zip(paid) {
            if pods > 0.0 {
                *value = value.mul_add(1.0 - STEP, sum / pods * STEP);
            }
        }
    }
}

/// By bin, how well it is used.
fn scores(fillings: &[(usize, Filling)]) -> Vec<(f64, usize)> {
    fillings.iter().map(|(bin, filling)| (filling.score, *bin)).collect()
}

/// Bins that a packing used, and those that are used best at first.
fn promising(mut scores: Vec<(f64, usize)>, nodes: &[KindNode]) -> Vec<usize> {
    scores.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let mut bins: Vec<usize> = scores.into_iter().take(BINS_MAX).map(|(_, bin)| bin).collect();
    bins.extend(nodes.iter().map(|node| node.bin));
    bins.sort_unstable();
    bins.dedup();
    bins
}
