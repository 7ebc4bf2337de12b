//! Pricing: which pattern of an offer has the highest dual value, and how high it can be at most.

use super::budget::Budget;
use super::knapsack::{Knapsack, Pattern};
use super::row::Duals;
use super::{branch_and_bound, dynamic_program, greedy};

/// Cells × bundles of a dynamic program that takes no longer than a search.
const LITTLE_WORK: usize = 400_000;

/// How hard to look for a pattern.
#[derive(Clone, Copy)]
pub(super) struct PricingEffort {
    /// Nodes of a branch-and-bound search, at most.
    pub(super) nodes: u32,
    /// Cells × bundles of a dynamic program where the search is not finished, at most.
    pub(super) program_work: usize,
    /// Whether the best surrogate weights are found where these leave it open whether there is one:
    /// the search takes items in the order that they give.
    pub(super) refines_weights: bool,
}

/// What is known of the most valuable pattern of an offer.
pub(super) struct Highest {
    /// No pattern that fits has a higher dual value.
    pub(super) bound: f64,
    /// The best one that was found, where one was looked for.
    pub(super) pattern: Option<Pattern>,
}

impl Knapsack {
    /// An upper bound on the dual value of any pattern that fits. Tightened only as long as it is
    /// above `cutoff`.
    pub(super) fn dual_value_bound(&mut self, duals: &Duals, cutoff: f64, budget: &Budget) -> f64 {
        self.highest(duals, cutoff, budget).bound
    }

    /// Like [`Self::dual_value_bound`], with the best pattern that was found on the way.
    pub(super) fn highest(&mut self, duals: &Duals, cutoff: f64, budget: &Budget) -> Highest {
        let mut bound = self.settle_weights(duals, cutoff, 1);
        if bound > cutoff {
            bound = self.settle_weights(duals, cutoff, budget.weight_steps);
        }
        let mut known = None;
        if bound > cutoff && budget.refines_weights {
            let filling = self.refine_weights(duals);
            bound = bound.min(filling.bound);
            known = Some(greedy::complete(self, duals, filling.whole_copies()));
        }
        if bound <= cutoff || self.items.len() > budget.proof_rows_max {
            return Highest { bound, pattern: None };
        }
        let exact = dynamic_program::best(self, duals, cutoff, budget.program_work_max);
        let bound = exact.as_ref().map_or(bound, |solution| solution.bound.min(bound));
        if bound <= cutoff {
            return Highest { bound, pattern: None };
        }
        if budget.refines_weights
            && let Some(pattern) = exact.and_then(|solution| solution.pattern)
        {
            return Highest { bound, pattern: Some(pattern) };
        }
        let searched = branch_and_bound::search(self, duals, cutoff, budget.proof_nodes);
        let bound = searched.bound.min(bound);
        if !budget.refines_weights {
            return Highest { bound, pattern: None };
        }
        let known = known.filter(|(_, value)| *value > searched.value);
        let pattern = known.map_or(searched.pattern, |(pattern, _)| pattern);
        Highest { bound, pattern: Some(pattern) }
    }

    /// A pattern with a dual value above `cutoff`, if one was found.
    pub(super) fn improving_pattern(
        &mut self,
        duals: &Duals,
        cutoff: f64,
        effort: PricingEffort,
    ) -> Option<Pattern> {
        let (pattern, value) = greedy::pattern(self, duals);
        if value > cutoff {
            return Some(pattern);
        }
        if effort.refines_weights {
            let filling = self.refine_weights(duals);
            if filling.bound <= cutoff {
                return None;
            }
            let (pattern, value) = greedy::complete(self, duals, filling.whole_copies());
            if value > cutoff {
                return Some(pattern);
            }
        }
        // What takes little work is solved exactly at once: of what a search finds, the first is
        // good enough.
        let little = LITTLE_WORK.min(effort.program_work);
        if little > 0
            && let Some(solution) = dynamic_program::best(self, duals, cutoff, little)
            && (solution.bound <= cutoff || solution.pattern.is_some())
        {
            return solution.pattern;
        }
        let priced = branch_and_bound::search(self, duals, cutoff, effort.nodes);
        if priced.value > cutoff {
            return Some(priced.pattern);
        }
        if priced.bound <= cutoff || effort.program_work <= little {
            return None;
        }
        dynamic_program::best(self, duals, cutoff, effort.program_work)
            .and_then(|solution| solution.pattern)
    }
}

/// What the copies of a pattern are worth together.
pub(super) fn worth_of(pattern: &Pattern, duals: &Duals) -> f64 {
    pattern.iter().map(|(row, count)| duals[*row] * f64::from(*count)).sum()
}
