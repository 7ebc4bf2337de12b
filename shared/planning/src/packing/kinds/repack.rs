//! Packings by kinds, one after the other, each with pods valued closer to what they cost in the
//! one before.

use rustc_hash::FxHashMap;

use super::fill::Scratch;
use super::{KindNode, Kinds};
use crate::packing::relaxed::ColumnUse;
use crate::relaxation::RowIx;

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
struct Packed {
    /// Pods that no bin takes.
    missing: u64,
    /// Nano-USD an hour.
    cost: f64,
    nodes: Vec<KindNode>,
}

impl Packed {
    /// Fewer pods without a node first, then the lower cost.
    fn is_better_than(&self, other: &Self) -> bool {
        (self.missing, self.cost) < (other.missing, other.cost)
    }
}

impl Kinds<'_> {
    /// The cheapest of some packings: with the nodes of the fractional solution launched first, as
    /// far as whole ones go, and without. `work` is how many times a kind may be weighed.
    pub(in crate::packing) fn best(&self, columns: &[ColumnUse], work: usize) -> Vec<KindNode> {
        let mut counts = self.counts.clone();
        let whole = self.whole_nodes(columns, &mut counts);
        if whole.is_empty() {
            return self.best_after(&[], &counts, work).nodes;
        }
        let after = self.best_after(&whole, &counts, work);
        let alone = self.best_after(&[], &self.counts, 0);
        if alone.is_better_than(&after) { alone.nodes } else { after.nodes }
    }

    /// The cheapest of some packings that begin with certain nodes; `counts` are pods that these
    /// leave.
    fn best_after(&self, whole: &[KindNode], counts: &[u32], work: usize) -> Packed {
        let mut bins: Vec<usize> = (0..self.bins.len()).collect();
        let mut values = self.values.clone();
        let mut best = Packed { missing: u64::MAX, cost: f64::INFINITY, nodes: Vec::new() };
        let mut rounds = ROUNDS_MIN;
        let mut round = 0;
        while round < rounds {
            let mut left = counts.to_vec();
            let rest = self.cover(&bins, &mut left, &values);
            if round == 0 {
                let launches = bins.len() + rest.len() * FILLS_PER_NODE;
                let each = (launches * self.counts.len()).max(1);
                rounds = (work / each).clamp(ROUNDS_MIN, ROUNDS_MAX);
                bins = self.promising(&rest, counts);
            }
            self.move_towards_paid(&mut values, &rest);
            let missing = left.iter().map(|left| u64::from(*left)).sum();
            let nodes: Vec<KindNode> = whole.iter().cloned().chain(rest).collect();
            let next = Packed { missing, cost: self.cost(&nodes), nodes };
            if next.is_better_than(&best) {
                best = next;
            }
            round += 1;
        }
        best
    }

    /// Bins that a packing used, and those that would be used best at first.
    fn promising(&self, nodes: &[KindNode], counts: &[u32]) -> Vec<usize> {
        let mut scratch = Scratch::default();
        let mut scored: Vec<(f64, usize)> = (0..self.bins.len())
            .filter_map(|bin| {
                Some((self.fill(bin, counts, &self.values, &mut scratch)?.score, bin))
            })
            .collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let mut bins: Vec<usize> = scored.into_iter().take(BINS_MAX).map(|(_, bin)| bin).collect();
        bins.extend(nodes.iter().map(|node| node.bin));
        bins.sort_unstable();
        bins.dedup();
        bins
    }

    /// Nodes that the fractional solution uses wholly; takes their pods off the counts.
    fn whole_nodes(&self, columns: &[ColumnUse], counts: &mut [u32]) -> Vec<KindNode> {
        let mut kinds_of_row: FxHashMap<RowIx, Vec<usize>> = FxHashMap::default();
        for (kind, row) in self.rows.iter().enumerate() {
            kinds_of_row.entry(*row).or_default().push(kind);
        }
        let mut nodes = Vec::new();
        for column in columns {
            let times = whole(column.level);
            let Some(pods) = column
                .pods
                .iter()
                .map(|(row, count)| {
                    let own = kinds_of_row.get(row)?;
                    Some((*own.iter().max_by_key(|kind| counts[**kind])?, *count))
                })
                .collect::<Option<Vec<(usize, u32)>>>()
            else {
                continue;
            };
            let accepts = |bin: usize| {
                let own = &self.bins[bin];
                own.bin.kind() == column.node
                    && pods.iter().all(|(kind, _)| own.kinds.binary_search(kind).is_ok())
            };
            let Some(bin) = (0..self.bins.len()).find(|bin| accepts(*bin)) else { continue };
            let enough = pods.iter().map(|(kind, count)| counts[*kind] / count).min().unwrap_or(0);
            let times = times.min(enough);
            if times == 0 {
                continue;
            }
            for (kind, count) in &pods {
                counts[*kind] -= count * times;
            }
            nodes.push(KindNode { bin, counts: pods, times });
        }
        nodes
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "of a level, at least nothing"
)]
fn whole(level: f64) -> u32 {
    (level + 1e-6).floor() as u32
}
