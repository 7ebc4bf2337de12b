//! Pricing: which pattern of an offer has the highest dual value, and how high it can be at most.

use super::budget::Budget;
use super::knapsack::{Knapsack, Pattern};
use super::row::Duals;
use super::{branch_and_bound, dynamic_program, greedy};

/// How hard to look for a pattern.
#[derive(Clone, Copy)]
pub(super) struct PricingEffort {
    /// Nodes of a branch-and-bound search, at most.
    pub(super) nodes: u32,
    /// Whether small nodes are solved exactly.
    pub(super) is_exact: bool,
    /// Updates of the surrogate weights where nothing is found: the search takes items in the order
    /// that these give.
    pub(super) further_steps: u32,
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
        if bound > cutoff && budget.further_steps > 0 {
            bound = bound.min(self.refine_weights(duals, cutoff, budget.further_steps));
        }
        if bound <= cutoff || self.items.len() > budget.proof_rows_max {
            return Highest { bound, pattern: None };
        }
        let exact = dynamic_program::best(self, duals);
        let bound = exact.as_ref().map_or(bound, |solution| solution.bound.min(bound));
        if bound <= cutoff {
            return Highest { bound, pattern: None };
        }
        let searched = branch_and_bound::search(self, duals, cutoff, budget.proof_nodes);
        if budget.further_steps == 0 {
            return Highest { bound: searched.bound.min(bound), pattern: None };
        }
        let exact = exact.and_then(|solution| solution.pattern);
        let better = exact.filter(|own| worth_of(own, duals) > searched.value);
        let bound = searched.bound.min(bound);
        Highest { bound, pattern: better.or(Some(searched.pattern)) }
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
        if effort.is_exact
            && let Some(solution) = dynamic_program::best(self, duals)
            && (solution.bound <= cutoff || solution.pattern.is_some())
        {
            return solution.pattern.filter(|_| solution.bound > cutoff);
        }
        let search = |own: &Self| {
            let priced = branch_and_bound::search(own, duals, cutoff, effort.nodes);
            (priced.value > cutoff).then_some(priced.pattern)
        };
        let found = search(self);
        if found.is_some() || effort.further_steps == 0 {
            return found;
        }
        let is_open = self.refine_weights(duals, cutoff, effort.further_steps) > cutoff;
        if is_open { search(self) } else { None }
    }
}

/// What the copies of a pattern are worth together.
pub(super) fn worth_of(pattern: &Pattern, duals: &Duals) -> f64 {
    pattern.iter().map(|(row, count)| duals[*row] * f64::from(*count)).sum()
}
