//! Making a packing by kinds cheaper: a few of its nodes at a time are taken apart, and what they
//! hold is packed again. What is cheaper is kept (large neighbourhood search, Shaw 1998).
//!
//! Which nodes are taken together follows from orders of all nodes: neighbours in an order form a
//! set, so that a sweep takes each node apart once. Orders differ from sweep to sweep, and so does
//! what pods are worth once a sweep has saved nothing.

use std::borrow::Cow;

use super::{KindNode, Kinds};

/// How many nodes are taken apart together, from sweep to sweep.
const SIZES: [usize; 6] = [3, 6, 4, 8, 5, 12];

/// Sweeps without a saving after which none is expected any more.
const IDLE_SWEEPS_MAX: usize = 60;

/// How far what pods are worth differs between sweeps, at most.
const VARIATION: f64 = 0.2;

/// How often a bin is filled for one node, about.
const FILLS_PER_NODE: usize = 6;

/// Of all nodes, positions this fraction apart are neighbours in one of the orders: the golden
/// ratio, which spreads them evenly however many there are.
const STRIDE: f64 = 0.618_033_988_75;

impl Kinds<'_> {
    /// Takes nodes apart as long as the work lasts, which is how many times a kind may be weighed.
    /// `bins` are those that are tried, `values` what pods of each kind are worth.
    pub(super) fn improve(
        &self,
        nodes: Vec<KindNode>,
        bins: &[usize],
        values: &[Vec<f64>],
        work: usize,
    ) -> Vec<KindNode> {
        let mut nodes = one_by_one(nodes);
        let mut left = vec![0_u32; self.counts.len()];
        let (mut spent, mut idle) = (0, 0);
        for sweep in 0.. {
            let values = &values[sweep % values.len()];
            let values: Cow<[f64]> =
                if idle == 0 { values.into() } else { varied(values, sweep).into() };
            let size = SIZES[sweep % SIZES.len()];
            if spent >= work || idle >= IDLE_SWEEPS_MAX || nodes.len() < 2 {
                break;
            }
            idle += 1;
            self.arrange(&mut nodes, &values, sweep);
            let mut next = Vec::with_capacity(nodes.len());
            for set in nodes.chunks(size) {
                if spent >= work || set.len() < 2 {
                    next.extend_from_slice(set);
                    continue;
                }
                let (packed, tried) = self.pack_again(set, bins, &values, &mut left);
                spent += tried;
                match packed {
                    Some(packed) => {
                        next.extend(one_by_one(packed));
                        idle = 0;
                    }
                    None => next.extend_from_slice(set),
                }
            }
            nodes = next;
        }
        nodes
    }

    /// Cheaper nodes for what some nodes hold, and how many times a kind was weighed.
    fn pack_again(
        &self,
        set: &[KindNode],
        bins: &[usize],
        values: &[f64],
        left: &mut [u32],
    ) -> (Option<Vec<KindNode>>, usize) {
        let mut kinds = 0;
        for (kind, count) in set.iter().flat_map(|node| &node.counts) {
            kinds += usize::from(left[*kind] == 0);
            left[*kind] += count;
        }
        let own: Vec<usize> = bins
            .iter()
            .copied()
            .filter(|bin| self.bins[*bin].kinds.iter().any(|kind| left[*kind] > 0))
            .collect();
        let packed = self.cover(&own, left, values);
        let is_complete = left.iter().all(|left| *left == 0);
        left.fill(0);
        let tried = (own.len() + packed.len() * FILLS_PER_NODE) * (kinds + 8);
        let is_cheaper = is_complete && self.cost(&packed) < self.cost(set) - 1.0;
        (is_cheaper.then_some(packed), tried)
    }

    /// Orders nodes for a sweep: by what they waste, by what they cost, or far apart.
    fn arrange(&self, nodes: &mut Vec<KindNode>, values: &[f64], sweep: usize) {
        let price = |node: &KindNode| self.bins[node.bin].bin.price;
        let waste = |node: &KindNode| {
            let worth = |(kind, count): &(usize, u32)| values[*kind] * f64::from(*count);
            price(node) - node.counts.iter().map(worth).sum::<f64>()
        };
        match sweep % 3 {
            0 => nodes.sort_by(|a, b| waste(b).total_cmp(&waste(a))),
            1 => nodes.sort_by(|a, b| a.bin.cmp(&b.bin).then_with(|| a.counts.cmp(&b.counts))),
            _ => {
                let count = nodes.len();
                let mut order: Vec<usize> = (0..count).collect();
                order.sort_by(|a, b| place(*a, sweep).total_cmp(&place(*b, sweep)));
                *nodes = order.into_iter().map(|index| nodes[index].clone()).collect();
            }
        }
    }
}

/// Values for a sweep: each a little higher or lower.
fn varied(values: &[f64], sweep: usize) -> Vec<f64> {
    let factor = |kind: usize| VARIATION.mul_add(place(kind + 1, sweep) - 0.5, 1.0);
    values.iter().enumerate().map(|(kind, value)| value * factor(kind)).collect()
}

/// Where a node of a number stands in the order of a sweep, between 0 and 1.
#[expect(clippy::cast_precision_loss, reason = "only ranks")]
fn place(number: usize, sweep: usize) -> f64 {
    ((number * (sweep + 1)) as f64 * STRIDE).fract()
}

/// Nodes, each by itself.
fn one_by_one(nodes: Vec<KindNode>) -> Vec<KindNode> {
    let each = |node: KindNode| {
        let times = node.times;
        std::iter::repeat_n(KindNode { times: 1, ..node }, times as usize)
    };
    nodes.into_iter().flat_map(each).collect()
}
