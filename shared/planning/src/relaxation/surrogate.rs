//! The surrogate relaxation of a knapsack: its resources weighted into one, of which a node has 1.
//!
//! Filling that one resource with the densest rows first, the last copy in part, is worth at least
//! as much as any pattern that fits (Dantzig's bound). The weights are moved until the filling
//! overdraws no resource by much where the bound is largest.

use std::cmp::Ordering;

use super::bounded_simplex;
use super::knapsack::{Knapsack, whole};
use super::row::{Duals, RowIx};

/// An item at given dual prices and weights.
pub(super) struct Ranked {
    /// Dual price of one copy.
    pub(super) dual: f64,
    /// What one copy takes of the surrogate resource.
    pub(super) weight: f64,
    /// Dual price per weight.
    density: f64,
    /// The most copies that fit alone.
    pub(super) max: u32,
    /// Index into the knapsack's items.
    pub(super) item: usize,
}

/// This many items are sorted rather than halved.
const SORTED_MAX: usize = 12;

/// No weight is less: one of zero could never grow again.
const WEIGHT_MIN: f64 = 1e-3;
/// Nor less than this where the best are known.
const REFINED_WEIGHT_MIN: f64 = 1e-4;

/// The denser of two items comes first.
fn densest_first(a: &Ranked, b: &Ranked) -> Ordering {
    b.density.total_cmp(&a.density).then_with(|| a.item.cmp(&b.item))
}

impl Knapsack {
    /// Items with a positive dual price, the densest first.
    pub(super) fn by_density(&self, duals: &Duals) -> Vec<Ranked> {
        let mut ranked = Vec::new();
        self.rank(duals, &mut ranked);
        ranked.sort_unstable_by(densest_first);
        ranked
    }

    /// Fills the list with the items that have a positive dual price, in the order of rows.
    fn rank(&self, duals: &Duals, ranked: &mut Vec<Ranked>) {
        ranked.clear();
        for (index, item) in self.items.iter().enumerate() {
            let dual = duals[item.row];
            if dual <= 0.0 {
                continue;
            }
            let weight: f64 =
                self.shares_of(index).iter().zip(&self.weights).map(|(a, b)| a * b).sum();
            // A copy that takes nothing of the surrogate resource is as dense as any.
            let density = if weight > 0.0 { dual / weight } else { f64::MAX };
            ranked.push(Ranked { dual, weight, density, max: item.max, item: index });
        }
    }

    /// The dual value of the surrogate's filling; sets `usage` to what it takes of each resource.
    ///
    /// Only the item that is put in in part has to be found, so items are not sorted: halves are
    /// separated by density, and the search goes on in the one in which the node is full.
    fn fill(&self, ranked: &mut [Ranked], usage: &mut [f64]) -> f64 {
        usage.fill(0.0);
        let (mut left, mut value) = (1.0_f64, 0.0);
        let mut open = ranked;
        while open.len() > SORTED_MAX {
            let middle = open.len() / 2;
            open.select_nth_unstable_by(middle, densest_first);
            let (dense, rest) = open.split_at_mut(middle);
            let all: f64 = dense.iter().map(|own| own.weight * f64::from(own.max)).sum();
            if all <= left {
                left -= all;
                for own in &*dense {
                    value += self.put(own, f64::from(own.max), usage);
                }
                open = rest;
            } else {
                open = dense;
            }
        }
        open.sort_unstable_by(densest_first);
        for own in &*open {
            let all = own.weight * f64::from(own.max);
            let count = if all <= left { f64::from(own.max) } else { left / own.weight };
            value += self.put(own, count, usage);
            left -= all;
            if left <= 0.0 {
                break;
            }
        }
        value
    }

    /// Adds copies of an item to the usage and returns their dual value.
    fn put(&self, own: &Ranked, count: f64, usage: &mut [f64]) -> f64 {
        for (sum, share) in usage.iter_mut().zip(self.shares_of(own.item)) {
            *sum += share * count;
        }
        own.dual * count
    }

    /// Copies in the surrogate's filling; the last one is in part.
    pub(super) fn surrogate_filling(&self, duals: &Duals) -> Vec<(RowIx, f64)> {
        let mut left = 1.0_f64;
        let mut filling = Vec::new();
        for own in self.by_density(duals) {
            let all = own.weight * f64::from(own.max);
            let count = if all <= left { f64::from(own.max) } else { left / own.weight };
            if count > 0.0 {
                filling.push((self.items[own.item].row, count));
            }
            left -= all;
            if left <= 0.0 {
                break;
            }
        }
        filling
    }

    /// Moves the weights towards resources that the surrogate's filling overdraws, until its dual
    /// value is no more than `cutoff`. Returns the lowest value that any weights gave, an upper
    /// bound on that of any pattern, and keeps the weights that gave it.
    pub(super) fn settle_weights(&mut self, duals: &Duals, cutoff: f64, steps: u32) -> f64 {
        let mut usage = vec![0.0; self.width()];
        let mut ranked = Vec::with_capacity(self.items.len());
        self.rank(duals, &mut ranked);
        let mut best = self.fill(&mut ranked, &mut usage);
        let mut best_usage = usage.clone();
        let mut step_length = 1.0;
        for _ in 1..steps {
            if best <= cutoff {
                break;
            }
            let before = self.weights.clone();
            self.move_weights(&best_usage, step_length);
            self.rank(duals, &mut ranked);
            let value = self.fill(&mut ranked, &mut usage);
            if value < best {
                best = value;
                best_usage.clone_from(&usage);
                step_length *= 1.3;
            } else {
                self.weights = before;
                step_length *= 0.4;
            }
        }
        best
    }

    /// Sets the weights to the best there are, and returns the fractional filling that has the
    /// highest dual value.
    pub(super) fn refine_weights(&mut self, duals: &Duals) -> bounded_simplex::Solution {
        let filling = bounded_simplex::solve(self, duals);
        let sum: f64 = filling.multipliers.iter().sum();
        if sum > 0.0 {
            let least = sum * REFINED_WEIGHT_MIN;
            self.weights = filling.multipliers.iter().map(|own| own.max(least)).collect();
            let sum: f64 = self.weights.iter().sum();
            self.weights.iter_mut().for_each(|own| *own /= sum);
        }
        filling
    }

    /// By item, the most copies of it in a pattern with a dual value above `cutoff`, as far as the
    /// surrogate says: each copy that is less dense than the last in the filling costs some of what
    /// the filling is worth.
    pub(super) fn copies_above(&self, duals: &Duals, cutoff: f64) -> Vec<u32> {
        let ranked = self.by_density(duals);
        let (mut left, mut value, mut critical) = (1.0_f64, 0.0, 0.0);
        for own in &ranked {
            let all = own.weight * f64::from(own.max);
            if all > left {
                critical = own.density;
                value += left * critical;
                break;
            }
            value += own.dual * f64::from(own.max);
            left -= all;
        }
        let spare = (value - cutoff).max(0.0);
        let mut most = vec![0; self.items.len()];
        for own in ranked {
            let loss = own.weight * critical - own.dual;
            let copies = if loss > 0.0 { whole(spare / loss) } else { own.max };
            most[own.item] = copies.min(own.max);
        }
        most
    }

    /// Moves the weights towards resources that a filling overdraws.
    fn move_weights(&mut self, usage: &[f64], length: f64) {
        let mut sum = 0.0;
        for (weight, usage) in self.weights.iter_mut().zip(usage) {
            let exponent = length * (usage - 1.0).clamp(-2.0, 2.0);
            *weight = (*weight * exponent.exp()).max(WEIGHT_MIN);
            sum += *weight;
        }
        for weight in &mut self.weights {
            *weight /= sum;
        }
    }
}
