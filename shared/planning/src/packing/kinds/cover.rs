//! Greedy covering by kinds: the best-used bin is launched, as often in a row as there are pods
//! for it, until nothing is left.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::fill::{Filling, Scratch};
use super::{KindNode, Kinds};

/// A bin that was filled at some round. The lowest score is the greatest, for a heap that gives
/// its greatest first; of equal ones, the cheaper bin.
struct Ranked {
    score: f64,
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
        other.score.total_cmp(&self.score).then_with(|| other.bin.cmp(&self.bin))
    }
}

impl Kinds<'_> {
    /// Nodes for pods, by kind, of those of the bins named. Leaves in `left` what none of them
    /// takes.
    pub(super) fn cover(&self, bins: &[usize], left: &mut [u32], values: &[f64]) -> Vec<KindNode> {
        let mut scratch = Scratch::default();
        let mut ranked = |bin: usize, left: &[u32], round: u32| {
            let filling = self.fill(bin, left, values, &mut scratch)?;
            Some(Ranked { score: filling.score, bin, round, filling })
        };
        let mut round = 0;
        let mut nodes: Vec<KindNode> = Vec::new();
        let mut heap: BinaryHeap<Ranked> =
            bins.iter().filter_map(|bin| ranked(*bin, left, round)).collect();
        while let Some(Ranked { bin, round: known, filling, .. }) = heap.pop() {
            if known == round {
                let most = filling.counts.iter().map(|(kind, count)| left[*kind] / count);
                let times = most.min().unwrap_or(1);
                for (kind, count) in &filling.counts {
                    left[*kind] -= count * times;
                }
                nodes.push(KindNode { bin, counts: filling.counts, times });
                round += 1;
            }
            heap.extend(ranked(bin, left, round));
        }
        nodes
    }
}
