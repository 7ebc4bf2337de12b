//! The linear relaxation of a pricing problem, solved exactly: the simplex method for bounded
//! variables (Dantzig 1955), with as many lines as a node has resources.
//!
//! Its multipliers are the best weights that a surrogate can have, and on a node that holds many
//! copies its solution is a pattern but for one fraction by resource.

use super::knapsack::{Knapsack, whole};
use super::row::Duals;

/// A variable comes in if it gains more than this part of the node's price.
const GAIN_MIN: f64 = 1e-9;

/// A pivot on less than this would amplify rounding errors.
const PIVOT_MIN: f64 = 1e-9;

/// Steps by variable, at most: most take one for each item that is used.
const STEPS_BY_VARIABLE: usize = 4;

/// The solution, as far as it was found.
pub(super) struct Solution {
    /// No fractional pattern, and so no pattern, has a higher dual value.
    pub(super) bound: f64,
    /// By resource, what all of it on a node is worth.
    pub(super) multipliers: Vec<f64>,
    /// By item, how many copies there are; not whole numbers.
    pub(super) copies: Vec<f64>,
}

impl Solution {
    /// By item, how many whole copies there are.
    pub(super) fn whole_copies(&self) -> Vec<u32> {
        self.copies.iter().copied().map(whole).collect()
    }
}

/// Fills a node with fractions of copies.
pub(super) fn solve(knapsack: &Knapsack, duals: &Duals) -> Solution {
    let mut simplex = Simplex::new(knapsack, duals);
    for _ in 0..STEPS_BY_VARIABLE * simplex.limits.len() {
        simplex.multipliers = simplex.prices_of_resources();
        let Some(entering) = simplex.entering(knapsack.price * GAIN_MIN) else { break };
        simplex.step(entering);
    }
    simplex.solution()
}

/// Variables are items, then what is left of each resource.
struct Simplex<'k> {
    knapsack: &'k Knapsack,
    /// By variable, what one is worth.
    worth: Vec<f64>,
    /// By variable, the most there can be.
    limits: Vec<f64>,
    /// By variable, whether it is at its limit; otherwise it is at zero or in the basis.
    is_full: Vec<bool>,
    /// The variable at each position of the basis.
    basis: Vec<usize>,
    /// How much there is of it.
    levels: Vec<f64>,
    /// The inverse of the basis: a line for each position, an entry for each resource.
    inverse: Vec<f64>,
    /// See [`Solution::multipliers`].
    multipliers: Vec<f64>,
}

impl<'k> Simplex<'k> {
    /// An empty node.
    fn new(knapsack: &'k Knapsack, duals: &Duals) -> Self {
        let (items, width) = (knapsack.items.len(), knapsack.width());
        let unused = std::iter::repeat_n(0.0, width);
        let own = knapsack.items.iter();
        let mut inverse = vec![0.0; width * width];
        for resource in 0..width {
            inverse[resource * width + resource] = 1.0;
        }
        Self {
            knapsack,
            worth: own.clone().map(|item| duals[item.row].max(0.0)).chain(unused).collect(),
            limits: own
                .map(|item| f64::from(item.max))
                .chain(std::iter::repeat_n(f64::INFINITY, width))
                .collect(),
            is_full: vec![false; items + width],
            basis: (items..items + width).collect(),
            levels: vec![1.0; width],
            inverse,
            multipliers: Vec::new(),
        }
    }

    fn prices_of_resources(&self) -> Vec<f64> {
        let width = self.basis.len();
        let mut prices = vec![0.0; width];
        for (variable, line) in self.basis.iter().zip(self.inverse.chunks_exact(width)) {
            for (price, own) in prices.iter_mut().zip(line) {
                *price += self.worth[*variable] * own;
            }
        }
        prices
    }

    /// The variable that gains most if there is more of it, or less where it is at its limit.
    fn entering(&self, gain_min: f64) -> Option<usize> {
        let items = self.knapsack.items.len();
        let lines = self.knapsack.shares.chunks_exact(self.basis.len());
        let of_items = lines.enumerate().map(|(item, shares)| {
            let paid: f64 = shares.iter().zip(&self.multipliers).map(|(a, b)| a * b).sum();
            let gain = (self.worth[item] - paid) * self.limits[item];
            (item, if self.is_full[item] { -gain } else { gain })
        });
        let of_rest =
            self.multipliers.iter().enumerate().map(|(resource, own)| (items + resource, -own));
        let mut most = (None, gain_min);
        for (variable, gain) in of_items.chain(of_rest) {
            if gain > most.1 && !self.basis.contains(&variable) {
                most = (Some(variable), gain);
            }
        }
        most.0
    }

    /// Has as much come in, or go, as the limits allow.
    fn step(&mut self, entering: usize) {
        let changes = self.changes(entering);
        let direction = if self.is_full[entering] { -1.0 } else { 1.0 };
        let (mut length, mut leaving) = (self.limits[entering], None);
        for (position, change) in changes.iter().enumerate() {
            let falls = change * direction;
            let room = if falls > PIVOT_MIN {
                self.levels[position] / falls
            } else if falls < -PIVOT_MIN {
                (self.limits[self.basis[position]] - self.levels[position]) / -falls
            } else {
                continue;
            };
            if room < length {
                (length, leaving) = (room.max(0.0), Some(position));
            }
        }
        if length.is_infinite() {
            return;
        }
        for (level, change) in self.levels.iter_mut().zip(&changes) {
            *level -= change * direction * length;
        }
        let Some(position) = leaving else {
            self.is_full[entering] = !self.is_full[entering];
            return;
        };
        self.is_full[self.basis[position]] = changes[position] * direction < 0.0;
        self.levels[position] =
            if self.is_full[entering] { self.limits[entering] - length } else { length };
        self.is_full[entering] = false;
        self.basis[position] = entering;
        self.pivot(position, &changes);
    }

    /// By position of the basis, how much goes when one of a variable comes in.
    fn changes(&self, variable: usize) -> Vec<f64> {
        let width = self.basis.len();
        let lines = self.inverse.chunks_exact(width);
        if let Some(resource) = variable.checked_sub(self.knapsack.items.len()) {
            return lines.map(|line| line[resource]).collect();
        }
        let shares = self.knapsack.shares_of(variable);
        lines.map(|line| line.iter().zip(shares).map(|(a, b)| a * b).sum()).collect()
    }

    fn pivot(&mut self, position: usize, changes: &[f64]) {
        let width = self.basis.len();
        let own: Vec<f64> = self.inverse[position * width..(position + 1) * width]
            .iter()
            .map(|entry| entry / changes[position])
            .collect();
        for (other, (line, change)) in self.inverse.chunks_exact_mut(width).zip(changes).enumerate()
        {
            if other == position {
                line.copy_from_slice(&own);
                continue;
            }
            for (entry, own) in line.iter_mut().zip(&own) {
                *entry -= change * own;
            }
        }
    }

    fn solution(self) -> Solution {
        let Self { knapsack, worth, limits, is_full, basis, levels, multipliers, .. } = self;
        let items = knapsack.items.len();
        let multipliers: Vec<f64> = multipliers.into_iter().map(|own| own.max(0.0)).collect();
        let mut bound: f64 = multipliers.iter().sum();
        for (item, shares) in knapsack.shares.chunks_exact(multipliers.len()).enumerate() {
            let paid: f64 = shares.iter().zip(&multipliers).map(|(a, b)| a * b).sum();
            bound += (worth[item] - paid).max(0.0) * limits[item];
        }
        let full = |item: usize| if is_full[item] { limits[item] } else { 0.0 };
        let mut copies: Vec<f64> = (0..items).map(full).collect();
        for (variable, level) in basis.into_iter().zip(levels) {
            if variable < items {
                copies[variable] = level.clamp(0.0, limits[variable]);
            }
        }
        Solution { bound, multipliers, copies }
    }
}

#[cfg(test)]
mod tests {
    use super::super::knapsack::Item;
    use super::*;
    use crate::relaxation::row::{Row, Rows};
    use crate::relaxation::{Capacity, Offer};

    /// Rows of all sizes, with a dual price for each, and a node with three resources for them.
    fn mixed(rows: u32) -> (Knapsack, Duals) {
        let figure = |row: u32, factor: u32, of: u32| i64::from(row * factor % of);
        let own = |row: u32| Row {
            count: 1 + row % 5,
            per_node: u32::MAX,
            requests: vec![5 + figure(row, 7, 31), 3 + figure(row, 11, 43), 1 + figure(row, 5, 3)],
        };
        let duals = (0..rows).map(|row| f64::from(10 + row * 13 % 29)).collect();
        let rows: Rows = (0..rows).map(own).collect();
        let (price, amounts) = (200.0, &[120, 150, 12]);
        let capacity = Capacity { price, amounts, available: 1, resource_order: &[0, 1, 2] };
        (Offer::new(&rows, &capacity, |_| true).unwrap().knapsack, duals)
    }

    #[test]
    fn the_filling_fits_and_is_worth_what_no_other_can_be_worth_more_than() {
        for rows in [1, 2, 7, 40] {
            let (knapsack, duals) = mixed(rows);
            let Solution { bound, multipliers, copies } = solve(&knapsack, &duals);
            let mut taken = [0.0; 3];
            let mut worth = 0.0;
            for (item, own) in copies.iter().enumerate() {
                let Item { row, max } = knapsack.items[item];
                assert!((0.0..=f64::from(max)).contains(own), "{own} of {max}");
                worth += own * duals[row];
                for (taken, share) in taken.iter_mut().zip(knapsack.shares_of(item)) {
                    *taken += own * share;
                }
            }
            assert!(taken.iter().all(|own| *own <= 1.0 + 1e-9), "{taken:?}");
            assert!((worth - bound).abs() < 1e-6, "{worth} and {bound} of {rows} rows");
            assert!(multipliers.iter().all(|own| *own >= 0.0));
        }
    }

    #[test]
    fn a_filling_is_whole_but_for_one_fraction_by_resource() {
        let (knapsack, duals) = mixed(40);
        let solution = solve(&knapsack, &duals);
        let fractions = solution.copies.iter().filter(|own| own.fract() > 1e-9).count();
        assert!(fractions <= 3, "{:?}", solution.copies);
        assert!(knapsack.fits(&solution.whole_copies()));
    }
}
