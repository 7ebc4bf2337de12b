//! Greedy covering by kinds: the best-used bin is launched, as often in a row as there are pods
//! for it, until nothing is left.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::fill::{Filling, Scratch};
use super::{KindNode, Kinds};

/// A bin that was filled at some round. The lowest score is the greatest, for a heap that gives
/// its greatest first; of equal ones, the cheaper bin.
struct Ranked {
    bin: usize,
    round: u32,
    filling: Filling,
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
    fn cmp(&self, other: &Self) -> Ordering {
        other.filling.score.total_cmp(&self.filling.score).then_with(|| other.bin.cmp(&self.bin))
    }
}

impl Kinds<'_> {
    /// Nodes for pods, by kind, of those of the bins named. Leaves in `left` what none of them
    /// takes.
    pub(super) fn cover(&self, bins: &[usize], left: &mut [u32], values: &[f64]) -> Vec<KindNode> {
        let fillings = self.fill_each(bins.iter().copied(), left, values);
        self.cover_from(fillings, left, values)
    }

    /// Those of the bins that take anything, each filled with what is left.
    pub(super) fn fill_each(
        &self,
        bins: impl Iterator<Item = usize>,
        left: &[u32],
        values: &[f64],
    ) -> Vec<(usize, Filling)> {
        let mut scratch = Scratch::default();
        bins.filter_map(|bin| Some((bin, self.fill(bin, left, values, &mut scratch)?))).collect()
    }

    /// As [`Self::cover`], of bins that have been filled with what is left.
    pub(super) fn cover_from(
        &self,
        fillings: Vec<(usize, Filling)>,
        left: &mut [u32],
        values: &[f64],
    ) -> Vec<KindNode> {
        let mut scratch = Scratch::default();
        let mut nodes: Vec<KindNode> = Vec::new();
        let mut round = 0;
        let first = fillings.into_iter().map(|(bin, filling)| Ranked { bin, round: 0, filling });
        let mut heap: BinaryHeap<Ranked> = first.collect();
        while let Some(Ranked { bin, round: known, filling }) = heap.pop() {
            if known == round {
                let most = filling.counts.iter().map(|(kind, count)| left[*kind] / count);
                let times = most.min().unwrap_or(1);
                for (kind, count) in &filling.counts {
                    left[*kind] -= count * times;
                }
                nodes.push(KindNode { bin, counts: filling.counts, times });
                round += 1;
            }
            let again = self.fill(bin, left, values, &mut scratch);
            heap.extend(again.map(|filling| Ranked { bin, round, filling }));
        }
        nodes
    }
}
