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
}

impl Knapsack {
    /// An upper bound on the dual value of any pattern that fits. Tightened only as long as it is
    /// above `cutoff`.
    pub(super) fn dual_value_bound(&mut self, duals: &Duals, cutoff: f64, budget: &Budget) -> f64 {
        let quick = self.settle_weights(duals, cutoff, 1);
        if quick <= cutoff {
            return quick;
        }
        let better = self.settle_weights(duals, cutoff, budget.weight_steps);
        if better <= cutoff || self.items.len() > budget.proof_rows_max {
            return better;
        }
        let exact =
            dynamic_program::best(self, duals).map_or(f64::INFINITY, |solution| solution.bound);
        if exact <= cutoff {
            return exact;
        }
        let searched = branch_and_bound::search(self, duals, cutoff, budget.proof_nodes).bound;
        searched.min(better).min(exact)
    }

    /// A pattern with a dual value above `cutoff`, if one was found.
    pub(super) fn improving_pattern(
        &self,
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
        let priced = branch_and_bound::search(self, duals, cutoff, effort.nodes);
        (priced.value > cutoff).then_some(priced.pattern)
    }
}
