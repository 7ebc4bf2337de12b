//! Lowering dual prices until they are feasible: until no pattern is worth much more than its
//! offer.

use super::budget::Budget;
use super::knapsack::Pattern;
use super::offer::{Offer, OfferIx};
use super::pricing::{Highest, PricingEffort, worth_of};
use super::row::{Duals, RowIx, Rows, dual_value};
use crate::ids::IndexVec;

/// A pattern is worth more than its offer only if it is by this fraction of the price.
pub(super) const TOLERANCE: f64 = 1e-3;

/// What is not proved of an offer by less than this fraction of its price may be left open: to
/// scale all dual prices down by as much can cost the bound less.
const UNPROVEN: f64 = 3e-3;

/// Times that dual prices are lowered for one offer in a row.
const REPAIRS_MAX: u32 = 24;

/// Updates of an offer's surrogate weights before a pattern is searched for.
const WEIGHT_STEPS: u32 = 2;

/// A dual price is lowered by no more than this fraction at once.
const LOWERED_SHARE_MAX: f64 = 0.3;

/// Lowers dual prices until hardly an offer can hold a pattern worth more than its price, judged by
/// the bound that is provable for the offer. What scaling them then takes off the bound is next to
/// nothing, or less than lowering them further would.
pub(super) fn restore_feasibility(
    rows: &Rows,
    offers: &mut IndexVec<OfferIx, Offer>,
    duals: &mut Duals,
    budget: &Budget,
) {
    if !budget.refines_weights {
        return lower_all(rows, offers, duals, (budget, TOLERANCE));
    }
    lower_all(rows, offers, duals, (budget, UNPROVEN));
    let mut lowered = duals.clone();
    lower_all(rows, offers, &mut lowered, (budget, TOLERANCE));
    let scaled = |duals: &Duals, excess: f64| dual_value(duals, rows) / (1.0 + excess);
    if scaled(&lowered, TOLERANCE) >= scaled(duals, UNPROVEN) {
        *duals = lowered;
    }
}

/// As [`restore_feasibility`], where what is not proved by less than a fraction of the price is
/// left open.
fn lower_all(
    rows: &Rows,
    offers: &mut IndexVec<OfferIx, Offer>,
    duals: &mut Duals,
    (budget, unproven): (&Budget, f64),
) {
    // Dual prices only fall, so an offer that is feasible once stays so.
    let mut is_feasible = vec![false; offers.len()];
    for _ in 0..budget.repair_passes {
        let mut has_lowered = false;
        for (offer, is_feasible) in
            offers.iter_mut().zip(&mut is_feasible).filter(|(_, is_feasible)| !**is_feasible)
        {
            let price = offer.knapsack.price;
            let cutoff = price * (1.0 + TOLERANCE);
            for _ in 0..REPAIRS_MAX {
                let Highest { bound, pattern } = offer.knapsack.highest(duals, cutoff, budget);
                if bound <= cutoff {
                    *is_feasible = true;
                    break;
                }
                // A pattern says of which rows there is too much; what no pattern is known to be
                // worth is only a matter of the proof.
                let worth = pattern.as_ref().map_or(0.0, |pattern| worth_of(pattern, duals));
                match pattern {
                    Some(pattern) if worth > cutoff => {
                        let copies = pattern.into_iter();
                        let mut copies: Vec<(RowIx, f64)> =
                            copies.map(|(row, count)| (row, f64::from(count))).collect();
                        lower(duals, rows, &mut copies, worth - price);
                    }
                    _ if bound <= price * (1.0 + unproven) => break,
                    _ => {
                        let mut filling = offer.knapsack.surrogate_filling(duals);
                        lower(duals, rows, &mut filling, bound - price);
                    }
                }
                has_lowered = true;
            }
        }
        if !has_lowered {
            break;
        }
    }
}

/// Takes an excess off the dual prices of copies: first of rows of which these are the largest
/// part, where lowering the price costs the bound the least.
fn lower(duals: &mut Duals, rows: &Rows, copies: &mut [(RowIx, f64)], mut excess: f64) {
    copies.sort_by(|a, b| {
        let cost = |(row, count): &(RowIx, f64)| f64::from(rows[*row].count) / count;
        cost(a).total_cmp(&cost(b)).then_with(|| a.0.cmp(&b.0))
    });
    for (row, count) in copies {
        let dual = &mut duals[*row];
        let loss = (excess / *count).min(*dual * LOWERED_SHARE_MAX);
        *dual -= loss;
        excess -= loss * *count;
        if excess <= 0.0 {
            break;
        }
    }
}

/// Lowering dual prices to feasibility as far as patterns are found that are worth too much, while
/// it is under way.
pub(super) struct Repair {
    pub(super) duals: Duals,
    /// Patterns that were worth more than their offers.
    pub(super) violated: Vec<(OfferIx, Pattern)>,
    /// Rows of offers that were looked at while patterns were searched for.
    pub(super) looked_at: usize,
    /// Offers of which no pattern is worth more any longer.
    is_feasible: IndexVec<OfferIx, bool>,
}

impl Repair {
    /// Nothing is lowered yet.
    pub(super) fn new(duals: Duals, offers: usize) -> Self {
        let is_feasible = IndexVec::filled(false, offers);
        Self { duals, violated: Vec::new(), looked_at: 0, is_feasible }
    }

    /// Lowers dual prices where a pattern is worth more than its offer, of the rows where that
    /// costs the bound the least. Returns whether there were any.
    pub(super) fn pass(
        &mut self,
        rows: &Rows,
        offers: &mut IndexVec<OfferIx, Offer>,
        budget: &Budget,
    ) -> bool {
        let mut has_lowered = false;
        // Dual prices only fall, so an offer that is feasible once stays so.
        for (index, is_feasible) in
            self.is_feasible.iter_mut_enumerated().filter(|(_, is_feasible)| !**is_feasible)
        {
            let knapsack = &mut offers[index].knapsack;
            let price = knapsack.price;
            let cutoff = price * (1.0 + TOLERANCE);
            for _ in 0..REPAIRS_MAX {
                let refines_weights = budget.refines_weights;
                let nodes = budget.pricing_nodes_max;
                let effort =
                    PricingEffort { nodes, program_work: budget.program_work, refines_weights };
                let violated =
                    if knapsack.settle_weights(&self.duals, cutoff, WEIGHT_STEPS) <= cutoff {
                        None
                    } else {
                        self.looked_at += knapsack.items.len();
                        knapsack.improving_pattern(&self.duals, cutoff, effort)
                    };
                let Some(pattern) = violated else {
                    *is_feasible = true;
                    break;
                };
                let mut copies: Vec<(RowIx, f64)> =
                    pattern.iter().map(|(row, count)| (*row, f64::from(*count))).collect();
                self.violated.push((index, pattern));
                let value: f64 = copies.iter().map(|(row, count)| self.duals[*row] * count).sum();
                lower(&mut self.duals, rows, &mut copies, value - price);
                has_lowered = true;
            }
        }
        has_lowered
    }
}
