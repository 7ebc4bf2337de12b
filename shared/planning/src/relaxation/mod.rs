//! Linear relaxation of covering rows with priced offers: dual prices, a fractional solution and a
//! proven lower bound.
//!
//! Rows are demands: a number of copies, each taking some of every resource. Offers are nodes that
//! can be had any number of times at a price. A pattern is a multiset of copies that fit on one
//! offer together; the linear program (Gilmore and Gomory 1961) chooses how many nodes of each
//! pattern to buy, in fractions, so that every row is covered at the lowest cost. Its dual has one
//! price per row and is feasible where no pattern is worth more than the offer it fits on costs;
//! the dual value of all rows is then a lower bound on the cost of any nodes that hold them.
//!
//! The proof does not depend on how the dual prices were found ([`dual_ascent`], then
//! [`column_generation`] or, of more rows, [`interior_generation`]). Any prices of at least zero
//! prove a bound once they are scaled down until no pattern is worth more than its offer (Farley
//! 1990). How much a pattern can be worth is itself bounded from above ([`pricing`]), with fits
//! tested in integers. What rounding may add is taken off with [`ROUNDING`].
//!
//! Capacity that is free, or that exists only a limited number of times, is not in the program: the
//! most that it can hold is subtracted from the bound. Of offers that share a limit, dual prices
//! may make patterns worth more than the offers cost, if the most that the limit allows of such
//! excess is subtracted as well (Lagrangian relaxation of the limit, at its best multiplier). Nodes
//! that are paid for up to a limit are offers without a price within it, so all that copies on them
//! are worth is such excess.

mod bounded_simplex;
mod branch_and_bound;
mod budget;
mod column_generation;
mod diving;
mod dual_ascent;
mod dynamic_program;
mod greedy;
mod interior_generation;
mod interior_point;
mod knapsack;
mod limit;
mod master;
mod offer;
mod open;
mod pricing;
mod repair;
mod row;
mod surrogate;
#[cfg(test)]
mod tests;

use crate::ids::IndexVec;
pub(crate) use budget::Budget;
pub(crate) use column_generation::ColumnUse;
use column_generation::Solution;
use limit::LimitExcess;
pub(crate) use offer::{Capacity, LimitIx, Offer, OfferIx, undominated};
pub(crate) use open::Open;
use row::{Duals, dual_value};
pub(crate) use row::{Row, RowIx, Rows};

/// Floating-point sums of some thousand terms without cancellation are off by less than a part in
/// 10¹²; the surrogate's one subtraction adds at most as much for each of its terms. A millionth
/// is far more.
const ROUNDING: f64 = 1e-6;

/// Where no offer's patterns can be worth its price, dual prices are scaled up, by no more than
/// this allows: the lower the threshold, the longer each offer is examined.
const PRICE_RATIO_MIN: f64 = 0.99;

/// With limits, dual prices are scaled up by at most this factor, in so many steps.
const LIMIT_SCALE_MAX: f64 = 16.0;
const LIMIT_STEPS: u32 = 64;

/// A bound is near enough where the fractional solution costs no more than this many times as much:
/// none can be above what that costs where it is the cheapest.
const PROOF_GAP: f64 = 1.01;

/// Updates of an offer's surrogate weights when it is asked what copies on it can be worth.
const WORTH_STEPS: u32 = 3;

/// An offer is well used if a pattern on it can be worth this fraction of its price.
const WELL_USED: f64 = 0.93;

/// The relaxation of one set of rows and offers, solved as far as a budget allowed.
#[derive(Clone)]
pub(crate) struct Relaxation {
    /// Offers that can be had any number of times.
    offers: IndexVec<OfferIx, Offer>,
    /// Offers that can be had only a limited number of times.
    limited: Vec<Offer>,
    /// Offers that cost nothing as far as a limit goes, whatever they cost beyond it.
    covered: Vec<Offer>,
    /// By limit, how much there is of each of its amounts.
    limits: IndexVec<LimitIx, Vec<i64>>,
    /// What one more copy of each row costs, in the unit of the offers' prices.
    duals: Duals,
    /// Whether the dual prices come from the program rather than from shares of single offers.
    is_solved: bool,
    fractional: Vec<ColumnUse>,
    well_used: Vec<(OfferIx, f64)>,
    /// See [`Self::proven_share`].
    proven_share: f64,
}

impl Relaxation {
    /// Solves the relaxation as far as the budget goes.
    pub(crate) fn solve(
        rows: &Rows,
        offers: IndexVec<OfferIx, Offer>,
        limited: Vec<Offer>,
        limits: IndexVec<LimitIx, Vec<i64>>,
        budget: &Budget,
    ) -> Self {
        let mut relaxation = Self {
            offers,
            limited,
            covered: Vec::new(),
            limits,
            duals: Duals::default(),
            is_solved: false,
            fractional: Vec::new(),
            well_used: Vec::new(),
            proven_share: 0.0,
        };
        let offers = &mut relaxation.offers;
        let Some(mut start) = dual_ascent::duals(rows, offers, &budget.ascent) else {
            relaxation.duals = cheapest_shares(rows, offers);
            return relaxation;
        };
        // Column generation moves the surrogate weights; these are the ones that prove the start.
        let weights: Vec<Vec<f64>> =
            offers.iter().map(|offer| offer.knapsack.weights.clone()).collect();
        repair::restore_feasibility(rows, offers, &mut start, budget);
        let mut solution = if rows.len() > budget.rows_max {
            Solution { duals: start.clone(), columns: Vec::new() }
        } else if rows.len() > budget.simplex_rows_max {
            interior_generation::solve(rows, offers, start.clone(), budget)
        } else {
            column_generation::solve(rows, offers, start.clone(), budget)
        };
        for (offer, weights) in offers.iter_mut().zip(weights) {
            offer.knapsack.weights = weights;
        }
        repair::restore_feasibility(rows, offers, &mut solution.duals, budget);
        if dual_value(&start, rows) > dual_value(&solution.duals, rows) {
            solution.duals = start;
        }
        let mut ratio = 1.0_f64;
        for (index, offer) in offers.iter_mut_enumerated() {
            let knapsack = &mut offer.knapsack;
            let bound = knapsack.settle_weights(&solution.duals, 0.0, 1);
            ratio = ratio.max(bound / knapsack.price.max(f64::MIN_POSITIVE));
            if bound >= knapsack.price * WELL_USED {
                relaxation.well_used.push((index, bound));
            }
        }
        if relaxation.limited.is_empty() {
            relaxation.proven_share = (1.0 - ROUNDING) / ratio;
        }
        relaxation.duals = solution.duals;
        relaxation.is_solved = true;
        relaxation.fractional = solution.columns;
        relaxation
    }

    /// The relaxation beside offers that cost nothing as far as their limits go: the most that
    /// these allow is subtracted from the bound. Each offer is [within](Offer::within) a limit.
    pub(crate) fn beside_covered(self, covered: Vec<Offer>) -> Self {
        let proven_share = if covered.is_empty() { self.proven_share } else { 0.0 };
        Self { covered, proven_share, ..self }
    }

    /// Whether the dual prices come from the program; otherwise they are what the cheapest share of
    /// a single offer costs.
    pub(crate) fn is_solved(&self) -> bool {
        self.is_solved
    }

    /// No new nodes for any copies of the rows cost less than this share, from 0 to 1, of the sum
    /// of the copies' dual prices. Zero where nothing is proven, as beside offers that can be had a
    /// limited number of times.
    pub(crate) fn proven_share(&self) -> f64 {
        self.proven_share
    }

    /// What one more copy of a row costs, in the unit of the offers' prices.
    pub(crate) fn dual_price(&self, row: RowIx) -> f64 {
        self.duals[row]
    }

    /// Patterns of the fractional solution, in no particular order. Empty where none were looked
    /// for.
    pub(crate) fn fractional_solution(&self) -> &[ColumnUse] {
        &self.fractional
    }

    /// Patterns in whole numbers that cover the rows that the relaxation was solved for, found from
    /// the fractional solution. None where that has none or the budget leaves them out; a few
    /// copies may be missing.
    pub(crate) fn dive(&self, rows: &Rows, budget: &Budget) -> Vec<ColumnUse> {
        if self.fractional.is_empty() || rows.len() > budget.dive_rows_max {
            return Vec::new();
        }
        diving::dive(rows, self.offers.clone(), (&self.duals, &self.fractional), budget)
    }

    /// Offers on which a pattern can be worth nearly the price, each with an upper bound on that
    /// worth, in the unit of the prices.
    pub(crate) fn well_used(&self) -> &[(OfferIx, f64)] {
        &self.well_used
    }

    /// The most that copies on one node of an offer can be worth at the dual prices, in the unit of
    /// the offers' prices. The offer need not be part of the relaxation; moves its surrogate
    /// weights.
    pub(crate) fn worth(&self, offer: &mut Offer) -> f64 {
        offer.knapsack.settle_weights(&self.duals, 0.0, WORTH_STEPS)
    }

    /// The lower bound that dual prices prove for covering the rows, in the unit of the prices.
    ///
    /// `rows` are those that the relaxation was solved for, with counts no larger than then; `free`
    /// is capacity that costs nothing. Lowers the dual prices of rows that a free offer accepts.
    pub(crate) fn lower_bound(&mut self, rows: &Rows, free: &mut [Offer], budget: &Budget) -> f64 {
        let proven = self.bound_of_duals(rows, free, budget);
        let Some(ascent) = budget.proof_ascent.as_ref().filter(|_| self.is_solved) else {
            return proven;
        };
        let price = |own: &ColumnUse| self.offers[own.offer].knapsack.price;
        let solution: f64 = self.fractional.iter().map(|own| own.level * price(own)).sum();
        // Without patterns, the ascent that was made is all that is worth its time.
        if proven * PROOF_GAP >= solution {
            return proven;
        }
        let Some(mut duals) = dual_ascent::duals(rows, &mut self.offers, ascent) else {
            return proven;
        };
        repair::restore_feasibility(rows, &mut self.offers, &mut duals, budget);
        let known = std::mem::replace(&mut self.duals, duals);
        let ascended = self.bound_of_duals(rows, free, budget);
        self.duals = known;
        proven.max(ascended)
    }

    /// The lower bound that the dual prices as they are prove, for [`Self::lower_bound`].
    fn bound_of_duals(&mut self, rows: &Rows, free: &mut [Offer], budget: &Budget) -> f64 {
        for offer in self.offers.iter().filter(|offer| offer.knapsack.price <= 0.0) {
            for item in &offer.knapsack.items {
                self.duals[item.row] = 0.0;
            }
        }
        // The largest ratio of what a pattern can be worth to what its offer costs.
        let mut ratio = PRICE_RATIO_MIN;
        let mut without_limits = 0.0_f64;
        let mut excess = LimitExcess::new(&self.limits);
        for Offer { knapsack, limit, .. } in
            self.offers.iter_mut().filter(|offer| offer.knapsack.price > 0.0)
        {
            let cutoff = knapsack.price * if limit.is_some() { 0.0 } else { ratio };
            let bound = knapsack.dual_value_bound(&self.duals, cutoff, budget);
            ratio = ratio.max(bound / knapsack.price);
            match limit {
                Some((limit, taken)) => excess.add(*limit, bound, knapsack.price, taken),
                None => without_limits = without_limits.max(bound / knapsack.price),
            }
        }
        let scale = (1.0 - ROUNDING) / ratio;
        let value = dual_value(&self.duals, rows);
        let scale_max = (1.0 - ROUNDING) / without_limits.max(ratio / LIMIT_SCALE_MAX);
        let mut supplies: Vec<Supply> = Vec::new();
        for offer in self.limited.iter_mut().chain(&mut *free) {
            let price = offer.knapsack.price;
            let cutoff = price / if self.limits.is_empty() { scale } else { scale_max };
            let bound = offer.knapsack.dual_value_bound(&self.duals, cutoff, budget);
            supplies.push(Supply { bound, price, available: offer.available });
        }
        for Offer { knapsack, limit, .. } in &mut self.covered {
            let Some((limit, taken)) = limit else { continue };
            // What copies are worth for each unit of the limit: below one it need not be exact.
            #[expect(clippy::cast_precision_loss, reason = "where a search may end")]
            let cutoff = taken.first().map_or(0.0, |taken| *taken as f64);
            let bound = knapsack.dual_value_bound(&self.duals, cutoff, budget);
            excess.add(*limit, bound, 0.0, taken);
        }
        let total_at = |scale: f64| {
            let most: f64 = supplies.iter().map(|supply| supply.excess(scale)).sum();
            scale.mul_add(value, -most) - excess.at(scale)
        };
        let mut total = total_at(scale);
        if !self.limits.is_empty() {
            // The larger dual prices are, the more of what limits allow is subtracted.
            let step = (scale_max / scale).max(1.0).powf(1.0 / f64::from(LIMIT_STEPS));
            let mut scale = scale;
            for _ in 0..LIMIT_STEPS {
                scale = (scale * step).min(scale_max);
                total = total.max(total_at(scale));
            }
        }
        let proven = total.max(self.dearest_single(rows, free)) * (1.0 - ROUNDING);
        proven.max(0.0)
    }

    /// The dearest of the rows' cheapest offers; rows that free or limited capacity accepts count
    /// as free. At least that one node has to be bought.
    fn dearest_single(&self, rows: &Rows, free: &[Offer]) -> f64 {
        let mut cheapest: IndexVec<RowIx, f64> = IndexVec::filled(f64::INFINITY, rows.len());
        for Offer { knapsack, .. } in &self.offers {
            for item in &knapsack.items {
                let least = &mut cheapest[item.row];
                *least = least.min(knapsack.price);
            }
        }
        let supplies = self.limited.iter().chain(&self.covered).chain(free);
        for item in supplies.flat_map(|offer| &offer.knapsack.items) {
            cheapest[item.row] = 0.0;
        }
        rows.iter()
            .zip(cheapest)
            .filter(|(row, price)| row.count > 0 && price.is_finite())
            .map(|(_, price)| price)
            .fold(0.0, f64::max)
    }
}

/// Capacity that exists a limited number of times.
struct Supply {
    /// The most that copies on one node can be worth.
    bound: f64,
    price: f64,
    available: u32,
}

impl Supply {
    /// The most by which copies on all of it can be worth more than it costs, at dual prices scaled
    /// by a factor.
    fn excess(&self, scale: f64) -> f64 {
        let each = (self.bound * scale * (1.0 + ROUNDING) - self.price).max(0.0);
        each * f64::from(self.available)
    }
}

/// For each row, the least that a copy costs by the share of an offer that it takes.
fn cheapest_shares(rows: &Rows, offers: &IndexVec<OfferIx, Offer>) -> Duals {
    let mut least: Duals = IndexVec::filled(f64::INFINITY, rows.len());
    for offer in offers {
        offer.lower_to_shares_at(offer.knapsack.price, |_| true, &mut least);
    }
    least.into_iter().map(|least| if least.is_finite() { least } else { 0.0 }).collect()
}
