//! Column generation: patterns enter the master problem as pricing finds them, until none is worth
//! more than its offer or the budget is spent.

use super::budget::{Budget, Work};
use super::knapsack::Pattern;
use super::master::Master;
use super::offer::{Offer, OfferIx, cheapest_alone};
use super::pricing::{PricingEffort, worth_of};
use super::repair::{Repair, TOLERANCE};
use super::row::{Duals, Rows, dual_value};
use crate::ids::IndexVec;

/// Offers whose best pattern is worth less than this fraction of the price are skipped for some
/// passes.
const SKIP_BELOW: f64 = 0.9;

/// Passes before a skipped offer is repriced.
const REPRICE_INTERVAL: u32 = 4;

/// Updates of an offer's surrogate weights in the first pass of a round.
const FIRST_WEIGHT_STEPS: u32 = 6;
/// Updates of an offer's surrogate weights in later passes.
const WEIGHT_STEPS: u32 = 2;

/// Initial box of the dual prices, as fractions of those at the start.
const BOX_FLOOR: f64 = 0.7;
const BOX_CEILING: f64 = 1.3;

/// How far from the incumbent dual prices to the master's own the first proof starts. A proof that
/// fails has the next one start closer.
const PROOF_STEP: f64 = 0.5;
const PROOF_STEP_MIN: f64 = 0.1;

/// How far from the master's dual prices to the incumbent ones patterns are priced.
const DUAL_SMOOTHING: f64 = 0.6;

/// Once hardly a pattern is found, branch and bound gets this many times as many nodes.
const PRICING_NODES_GROWTH: u32 = 4;

/// Passes over patterns that are known, at most.
const KNOWN_PASSES_MAX: u32 = 8;

/// A pattern is nearly worth its price from this fraction on.
const NEARLY_WORTH: f64 = 0.985;

/// A pattern in the fractional solution, or one that could nearly be.
#[derive(Clone)]
pub(crate) struct ColumnUse {
    /// The offer that the pattern fits on.
    pub(crate) offer: OfferIx,
    /// Rows, with how many copies of each one node holds.
    pub(crate) pattern: Pattern,
    /// How many such nodes are bought; not a whole number, and none of a pattern that is not in the
    /// solution.
    pub(crate) level: f64,
}

/// What column generation found.
pub(super) struct Solution {
    /// Dual prices at which hardly a pattern is worth more than its offer.
    pub(super) duals: Duals,
    /// Patterns in use.
    pub(super) columns: Vec<ColumnUse>,
}

/// Solves the program as far as the budget goes, from dual prices at which hardly a pattern is
/// worth more than its offer.
pub(super) fn solve(
    rows: &Rows,
    offers: &mut IndexVec<OfferIx, Offer>,
    start: Duals,
    budget: &Budget,
) -> Solution {
    let alone = cheapest_alone(rows, offers);
    let ceilings: Duals = alone
        .iter()
        .zip(&start)
        .map(|(alone, own)| {
            let ceiling = own * BOX_CEILING;
            alone.as_ref().map_or(ceiling, |alone| alone.each.min(ceiling))
        })
        .collect();
    let floors: Duals = start.iter().map(|own| own * BOX_FLOOR).collect();
    let mut generation = ColumnGeneration {
        master: Master::new(rows, &ceilings, floors),
        patterns: Vec::new(),
        pricing_nodes: budget.pricing_nodes,
        refines_weights: budget.refines_weights,
        work_left: budget.generation,
        is_skipped: IndexVec::filled(false, offers.len()),
        incumbent: Incumbent { value: dual_value(&start, rows), duals: start },
        proof_step: PROOF_STEP,
        rows,
        offers,
    };
    for _ in 0..budget.rounds {
        generation.round(budget);
        let repaired = generation.repaired(budget);
        let value = dual_value(&repaired, rows);
        if value > generation.incumbent.value {
            generation.incumbent = Incumbent { value, duals: repaired };
            generation.proof_step = (generation.proof_step * 1.4).min(PROOF_STEP);
        } else {
            generation.proof_step = (generation.proof_step * 0.5).max(PROOF_STEP_MIN);
        }
        let cost = dual_value(generation.master.duals(), rows);
        let is_near = cost <= generation.incumbent.value * (1.0 + budget.gap_max);
        if !generation.master.relax_box() && is_near || generation.work_left.is_spent() {
            break;
        }
    }
    generation.solution()
}

/// The best dual prices known at which hardly a pattern is worth more than its offer.
pub(super) struct Incumbent {
    pub(super) duals: Duals,
    /// What all rows are worth at them.
    pub(super) value: f64,
}

pub(super) struct ColumnGeneration<'o> {
    master: Master,
    rows: &'o Rows,
    /// Patterns that entered, with the offer of each.
    patterns: Vec<(OfferIx, Pattern)>,
    pricing_nodes: u32,
    /// See [`PricingEffort::refines_weights`].
    refines_weights: bool,
    work_left: Work,
    /// Offers to skip until the next full pass.
    is_skipped: IndexVec<OfferIx, bool>,
    incumbent: Incumbent,
    /// How far from the incumbent dual prices to the master's own the next proof starts.
    proof_step: f64,
    offers: &'o mut IndexVec<OfferIx, Offer>,
}

impl<'o> ColumnGeneration<'o> {
    /// For what is left of rows that dual prices are known for.
    pub(super) fn resumed(
        rows: &'o Rows,
        offers: &'o mut IndexVec<OfferIx, Offer>,
        mut duals: Duals,
        (budget, work_left): (&Budget, Work),
    ) -> Self {
        // What is worth nothing is not weighed either.
        for (dual, row) in duals.iter_mut().zip(rows) {
            if row.count == 0 {
                *dual = 0.0;
            }
        }
        let ceilings = duals.iter().map(|own| own * BOX_CEILING).collect();
        let floors = duals.iter().map(|own| own * BOX_FLOOR).collect();
        Self {
            master: Master::new(rows, &ceilings, floors),
            patterns: Vec::new(),
            pricing_nodes: budget.pricing_nodes,
            refines_weights: budget.refines_weights,
            work_left,
            is_skipped: IndexVec::filled(false, offers.len()),
            incumbent: Incumbent { value: dual_value(&duals, rows), duals },
            proof_step: PROOF_STEP,
            rows,
            offers,
        }
    }

    /// Enters those of the patterns that are worth more than their offers, until none is or no work
    /// is left.
    pub(super) fn enter_known(&mut self, known: &[(OfferIx, Pattern)]) {
        for _ in 0..KNOWN_PASSES_MAX {
            let mut has_changed = false;
            for (offer, pattern) in known {
                if self.work_left.is_spent() {
                    return;
                }
                has_changed |= self.enter(*offer, pattern.clone());
            }
            if !(has_changed | self.master.relax_box()) {
                break;
            }
        }
    }

    /// Looks for patterns in one pass over all offers, and in further ones over those that are used
    /// well.
    pub(super) fn look_for_more(&mut self, passes: u32) {
        for pass in 0..passes {
            self.pass(pass == 0, WEIGHT_STEPS);
            self.master.relax_box();
        }
    }

    /// What is left of its work.
    pub(super) fn work_left(&self) -> Work {
        self.work_left
    }

    /// The patterns in use, and those that are nearly worth their price at the dual prices.
    pub(super) fn into_columns(self, duals: &Duals) -> Vec<ColumnUse> {
        let mut columns = Vec::new();
        let prices: Vec<f64> =
            self.patterns.iter().map(|(offer, _)| self.offers[*offer].knapsack.price).collect();
        for ((offer, pattern, level), price) in self.into_levels().into_iter().zip(prices) {
            if level > 0.0 || worth_of(&pattern, duals) >= price * NEARLY_WORTH {
                columns.push(ColumnUse { offer, pattern, level });
            }
        }
        columns
    }

    /// The patterns that are used, and those that were, with their levels.
    pub(super) fn into_levels(self) -> Vec<(OfferIx, Pattern, f64)> {
        let mut levels = vec![0.0; self.patterns.len()];
        for (number, level) in self.master.levels() {
            levels[number as usize] = level;
        }
        let patterns = self.patterns.into_iter().zip(levels);
        patterns.map(|((offer, pattern), level)| (offer, pattern, level)).collect()
    }
}

impl ColumnGeneration<'_> {
    /// Passes over the offers until no pattern enters or the budget of a round is spent.
    fn round(&mut self, budget: &Budget) {
        let mut since_full = REPRICE_INTERVAL;
        for pass in 0..budget.passes {
            let is_full = since_full >= REPRICE_INTERVAL;
            if is_full {
                since_full = 0;
            }
            since_full += 1;
            let before = self.patterns.len();
            self.pass(is_full, if pass == 0 { FIRST_WEIGHT_STEPS } else { WEIGHT_STEPS });
            let has_gained = self.patterns.len() > before;
            if self.work_left.is_spent() {
                break;
            }
            let has_relaxed = self.master.relax_box();
            if !has_gained {
                since_full = REPRICE_INTERVAL;
                if is_full && !has_relaxed {
                    if self.pricing_nodes >= budget.pricing_nodes_max {
                        break;
                    }
                    self.pricing_nodes *= PRICING_NODES_GROWTH;
                }
            }
        }
    }

    /// The master's dual prices, none below zero.
    fn duals(&self) -> Duals {
        self.master.duals().iter().map(|dual| dual.max(0.0)).collect()
    }

    /// The master's dual prices, part of the way to the incumbent ones: the master's own swing from
    /// pass to pass.
    fn smoothed_duals(&self) -> Duals {
        let own = self.duals();
        own.iter()
            .zip(&self.incumbent.duals)
            .map(|(own, incumbent)| own + (incumbent - own) * DUAL_SMOOTHING)
            .collect()
    }

    /// Prices offers and enters patterns that are worth more than their offers, as long as there is
    /// work left.
    fn pass(&mut self, is_full: bool, weight_steps: u32) {
        let mut duals = self.smoothed_duals();
        for offer in self.offers.indices() {
            if self.is_skipped[offer] && !is_full {
                continue;
            }
            let knapsack = &mut self.offers[offer].knapsack;
            let price = knapsack.price;
            let cutoff = price * (1.0 + TOLERANCE);
            let bound = knapsack.settle_weights(&duals, price * SKIP_BELOW, weight_steps);
            self.is_skipped[offer] = bound < price * SKIP_BELOW;
            if bound <= cutoff {
                continue;
            }
            self.work_left.pricing = self.work_left.pricing.saturating_sub(knapsack.items.len());
            if self.work_left.is_spent() {
                break;
            }
            let refines_weights = is_full && self.refines_weights;
            let effort =
                PricingEffort { nodes: self.pricing_nodes, program_work: 0, refines_weights };
            let Some(pattern) = knapsack.improving_pattern(&duals, cutoff, effort) else {
                // Dual prices move little from pass to pass: what was not found now is not found in
                // the next one either.
                self.is_skipped[offer] = true;
                continue;
            };
            if self.enter(offer, pattern) {
                duals = self.smoothed_duals();
            }
        }
    }

    /// Enters a pattern if it is worth more than its offer at the master's own dual prices. Returns
    /// whether it did.
    fn enter(&mut self, offer: OfferIx, pattern: Pattern) -> bool {
        let price = self.offers[offer].knapsack.price;
        let number = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
        let before = self.master.entries_worked_out();
        let has_entered = self.master.value_of(&pattern) > price * (1.0 + TOLERANCE)
            && self.master.enter(&pattern, price, number);
        let worked = self.master.entries_worked_out() - before;
        self.work_left.pivots = self.work_left.pivots.saturating_sub(worked);
        if has_entered {
            self.patterns.push((offer, pattern));
        }
        has_entered
    }

    /// The dual prices that hardly a pattern is worth more than its offer at, and patterns.
    fn solution(mut self) -> Solution {
        let duals = std::mem::take(&mut self.incumbent.duals);
        Solution { columns: self.into_columns(&duals), duals }
    }

    /// Dual prices at which hardly a pattern is worth more than its offer. Patterns that are found
    /// on the way enter the master problem.
    fn repaired(&mut self, budget: &Budget) -> Duals {
        // Part of the way from the incumbent to the master's own, less has to be lowered.
        let start = self
            .incumbent
            .duals
            .iter()
            .zip(&self.duals())
            .map(|(incumbent, own)| incumbent + (own - incumbent) * self.proof_step)
            .collect();
        let mut repair = Repair::new(start, self.offers.len());
        for _ in 0..budget.repair_passes {
            if !repair.pass(self.rows, self.offers, budget) {
                break;
            }
        }
        for (offer, pattern) in repair.violated {
            self.enter(offer, pattern);
        }
        repair.duals
    }
}
