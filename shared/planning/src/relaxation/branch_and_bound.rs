//! Branch and bound for the pricing problem: depth first over the items, the densest first, pruned
//! by the surrogate bound.

use super::knapsack::{Knapsack, Pattern, copies_that_fit};
use super::row::Duals;
use super::surrogate::Ranked;

/// What a search found.
pub(super) struct Priced {
    /// The best pattern that was found.
    pub(super) pattern: Pattern,
    /// Its dual value.
    pub(super) value: f64,
    /// No pattern that fits has a higher dual value.
    pub(super) bound: f64,
}

/// Searches for the pattern with the highest dual value, as long as none above `cutoff` is known.
/// Stops branching after `nodes` nodes; what is left counts at its surrogate bound.
pub(super) fn search(knapsack: &Knapsack, duals: &Duals, cutoff: f64, nodes: u32) -> Priced {
    let ranked = knapsack.by_density(duals);
    let mut search = Search {
        ranked: &ranked,
        requests: ranked.iter().flat_map(|own| knapsack.requests_of(own.item)).copied().collect(),
        left: knapsack.amounts.clone(),
        chosen: Vec::new(),
        best: Vec::new(),
        best_value: 0.0,
        cutoff,
        nodes_left: nodes,
    };
    let bound = search.descend(0, 1.0, 0.0);
    let mut pattern: Pattern = search
        .best
        .iter()
        .map(|(index, count)| (knapsack.items[ranked[*index].item].row, *count))
        .collect();
    pattern.sort_unstable();
    Priced { pattern, value: search.best_value, bound: bound.max(search.best_value) }
}

struct Search<'s> {
    ranked: &'s [Ranked],
    /// What one copy takes: a line for each ranked item, a column for each resource.
    requests: Vec<i64>,
    /// What is left of each resource.
    left: Vec<i64>,
    /// Indices of ranked items on the current branch, with their counts.
    chosen: Vec<(usize, u32)>,
    /// The incumbent.
    best: Vec<(usize, u32)>,
    best_value: f64,
    cutoff: f64,
    nodes_left: u32,
}

impl Search<'_> {
    fn requests(&self, index: usize) -> &[i64] {
        let width = self.left.len();
        &self.requests[index * width..(index + 1) * width]
    }

    /// Branches on the count of the first item from `from` on that fits. Returns an upper bound on
    /// the dual value of everything below.
    fn descend(&mut self, from: usize, weight_left: f64, value: f64) -> f64 {
        if value > self.best_value {
            self.best_value = value;
            self.best.clone_from(&self.chosen);
        }
        let Some((next, bound)) = self.next_bound(from, weight_left, value) else { return value };
        if bound <= self.best_value.max(self.cutoff) || self.nodes_left == 0 {
            return bound;
        }
        self.nodes_left -= 1;
        let own = &self.ranked[next];
        let max = own.max.min(copies_that_fit(&self.left, self.requests(next)));
        let mut highest = value;
        for count in (0..=max).rev() {
            self.take(next, i64::from(count));
            if count > 0 {
                self.chosen.push((next, count));
            }
            let taken = f64::from(count);
            let below =
                self.descend(next + 1, weight_left - own.weight * taken, value + own.dual * taken);
            highest = highest.max(below);
            if count > 0 {
                self.chosen.pop();
            }
            self.take(next, -i64::from(count));
        }
        highest
    }

    fn take(&mut self, index: usize, count: i64) {
        let width = self.left.len();
        let requests = &self.requests[index * width..];
        for (left, amount) in self.left.iter_mut().zip(requests) {
            *left -= amount * count;
        }
    }

    /// The next item that fits, and the surrogate bound of all that fit. `None` where nothing fits.
    fn next_bound(&self, from: usize, weight_left: f64, value: f64) -> Option<(usize, f64)> {
        let mut next = None;
        let mut bound = value;
        let mut left = weight_left.max(0.0);
        let width = self.left.len();
        let open = &self.ranked[from..];
        let lines = self.requests[from * width..].chunks_exact(width);
        for ((own, requests), index) in open.iter().zip(lines).zip(from..) {
            if requests.iter().zip(&self.left).any(|(amount, left)| amount > left) {
                continue;
            }
            next.get_or_insert(index);
            let all = own.weight * f64::from(own.max);
            if all > left {
                bound += own.dual * left / own.weight;
                break;
            }
            bound += own.dual * f64::from(own.max);
            left -= all;
        }
        next.map(|next| (next, bound))
    }
}
