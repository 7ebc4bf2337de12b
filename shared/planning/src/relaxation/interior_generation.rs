//! Column generation, as near to the optimum as it can be had: the master problem is solved by an
//! interior-point method, roughly at first.
//!
//! Patterns are priced between the best dual prices that are known to be feasible and the master
//! problem's own, which are lowered to feasibility on the way: so no two offers are filled with the
//! same copies for being worth too much, and each round ends at a bound. In the end the patterns go
//! through the simplex method once, since whole numbers are found from a corner: it uses few
//! patterns, and these as often as it can.

use super::budget::Budget;
use super::column_generation::{ColumnGeneration, ColumnUse, Incumbent, Solution};
use super::interior_point::{self, Column, Point};
use super::knapsack::Pattern;
use super::offer::{Alone, Offer, OfferIx, cheapest_alone};
use super::pricing::{PricingEffort, worth_of};
use super::repair::Repair;
use super::row::{Duals, RowIx, Rows, dual_value};
use crate::ids::IndexVec;

/// How far from the incumbent dual prices to the master's own patterns are priced.
const TOWARDS_MASTER: f64 = 0.4;

/// Passes over all offers in which dual prices are lowered.
const PASSES: u32 = 2;

/// A first pattern of an offer is worth this fraction of the price.
const FIRST_WORTH: f64 = 0.9;

/// A pattern that is worth less than this fraction of its price is forgotten.
const KEPT_WORTH: f64 = 0.9;

/// The master problem is solved up to this part of the gap between cost and bound, and in any case
/// no nearer than the first and no further than the second of these fractions of the cost.
const TOLERANCE_SHARE: f64 = 0.4;
const TOLERANCES: [f64; 2] = [5e-4, 0.05];

/// Solves the program as far as the budget goes, from dual prices at which hardly a pattern is
/// worth more than its offer.
pub(super) fn solve(
    rows: &Rows,
    offers: &mut IndexVec<OfferIx, Offer>,
    start: Duals,
    budget: &Budget,
) -> Solution {
    // What only limited capacity holds takes no part: no pattern covers it.
    let takes_part: IndexVec<RowIx, bool> =
        cheapest_alone(rows, offers).iter().map(Option::is_some).collect();
    let counts: IndexVec<RowIx, f64> = rows
        .iter()
        .zip(&takes_part)
        .map(|(row, takes_part)| if *takes_part { f64::from(row.count) } else { 0.0 })
        .collect();
    let mut patterns = Patterns::first(rows, offers, &start, budget);
    let mut incumbent = Incumbent { value: dual_value(&start, rows), duals: start };
    let mut duals = incumbent.duals.clone();
    let mut gap = f64::INFINITY;
    let (mut products_left, mut pricing_left) =
        (budget.interior_products, budget.generation.pricing);
    while products_left > 0 && pricing_left > 0 {
        let tolerance = (gap * TOLERANCE_SHARE).clamp(TOLERANCES[0], TOLERANCES[1]);
        let point = patterns.solve(&counts, offers, &incumbent.duals, tolerance);
        products_left = products_left.saturating_sub(point.products);
        patterns.forget_unused(offers, &point);
        gap = point.cost / incumbent.value - 1.0;
        duals = point.duals;
        for (row, takes_part) in takes_part.iter_enumerated() {
            if !takes_part {
                duals[row] = incumbent.duals[row];
            }
        }
        if gap <= budget.gap_max {
            break;
        }
        let between = incumbent.duals.iter().zip(&duals);
        let between = between.map(|(own, next)| own + (next - own) * TOWARDS_MASTER).collect();
        let mut repair = Repair::new(between, offers.len());
        for _ in 0..PASSES {
            if !repair.pass(rows, offers, budget) {
                break;
            }
        }
        pricing_left = pricing_left.saturating_sub(repair.looked_at);
        let value = dual_value(&repair.duals, rows);
        if value > incumbent.value {
            incumbent = Incumbent { value, duals: repair.duals };
        }
        if repair.violated.is_empty() {
            break;
        }
        patterns.add(repair.violated);
    }
    let columns = patterns.at_a_corner(rows, offers, (duals, &incumbent.duals), budget);
    Solution { duals: incumbent.duals, columns }
}

/// Patterns that are known, each with the level it was last used at.
struct Patterns {
    list: Vec<(OfferIx, Pattern)>,
    levels: Vec<f64>,
    /// So many at the beginning hold one row each, and are never forgotten: with them every row can
    /// be covered.
    single: usize,
}

impl Patterns {
    /// For each row the cheapest offer full of it, and what is nearly worth its price at the start.
    fn first(
        rows: &Rows,
        offers: &mut IndexVec<OfferIx, Offer>,
        start: &Duals,
        budget: &Budget,
    ) -> Self {
        let alone = cheapest_alone(rows, offers);
        let of_row = |(row, own): (RowIx, &Option<Alone>)| {
            own.as_ref().map(|own| (own.offer, vec![(row, own.copies)]))
        };
        let mut list: Vec<_> = alone.iter_enumerated().filter_map(of_row).collect();
        let single = list.len();
        for (index, Offer { knapsack, .. }) in offers.iter_mut_enumerated() {
            let cutoff = knapsack.price * FIRST_WORTH;
            let effort = PricingEffort {
                nodes: budget.pricing_nodes,
                program_work: 0,
                refines_weights: budget.refines_weights,
            };
            if knapsack.settle_weights(start, cutoff, budget.weight_steps) > cutoff
                && let Some(pattern) = knapsack.improving_pattern(start, cutoff, effort)
            {
                list.push((index, pattern));
            }
        }
        Self { levels: vec![0.0; list.len()], list, single }
    }

    fn add(&mut self, found: Vec<(OfferIx, Pattern)>) {
        self.list.extend(found);
        self.levels.resize(self.list.len(), 0.0);
    }

    fn solve(
        &self,
        counts: &IndexVec<RowIx, f64>,
        offers: &IndexVec<OfferIx, Offer>,
        start: &Duals,
        tolerance: f64,
    ) -> Point {
        let columns: Vec<Column> = self
            .list
            .iter()
            .map(|(offer, pattern)| Column { pattern, price: offers[*offer].knapsack.price })
            .collect();
        interior_point::solve(counts, &columns, start, tolerance)
    }

    /// Takes over the levels of a solution, and forgets what is far from being used in it.
    fn forget_unused(&mut self, offers: &IndexVec<OfferIx, Offer>, point: &Point) {
        let levels = point.levels.iter().copied();
        let known = std::mem::take(&mut self.list).into_iter().zip(levels).enumerate();
        (self.list, self.levels) = known
            .filter(|(number, ((offer, pattern), _))| {
                let least = offers[*offer].knapsack.price * KEPT_WORTH;
                *number < self.single || worth_of(pattern, &point.duals) > least
            })
            .map(|(_, own)| own)
            .unzip();
    }

    /// The patterns in use at a corner of what the master problem allows, and those that are nearly
    /// worth their price. `near` are dual prices near those of the corner.
    fn at_a_corner(
        self,
        rows: &Rows,
        offers: &mut IndexVec<OfferIx, Offer>,
        (near, incumbent): (Duals, &Duals),
        budget: &Budget,
    ) -> Vec<ColumnUse> {
        let mut known: Vec<_> = self.list.into_iter().zip(self.levels).collect();
        // What is used most comes first: few of the others enter then.
        known.sort_by(|a, b| b.1.total_cmp(&a.1));
        let known: Vec<_> = known.into_iter().map(|(own, _)| own).collect();
        let mut generation =
            ColumnGeneration::resumed(rows, offers, near, (budget, budget.generation));
        generation.enter_known(&known);
        generation.into_columns(incumbent)
    }
}
