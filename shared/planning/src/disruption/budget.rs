//! Disruption budgets: how many more nodes of each NodePool may be disrupted, by reason.

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::reason::{BudgetSum, DisruptionReason, NotDisruptable};

use super::figures::count;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::node::NodeView;

/// How many more nodes budgets allow, by NodePool and reason.
pub(super) struct Allowance {
    /// `None` where no budget applies.
    left: BTreeMap<(Text, DisruptionReason), Option<u32>>,
    /// How that comes about, where a budget applies.
    sums: BTreeMap<(Text, DisruptionReason), BudgetSum>,
    /// By NodePool, its nodes that could be disrupted at all.
    available: BTreeMap<Text, u32>,
    /// Nodes disrupted by this plan, by pool, whatever the reason.
    taken: BTreeMap<Text, u32>,
}

/// Reasons that budgets apply to.
pub(super) const VOLUNTARY: [DisruptionReason; 3] =
    [DisruptionReason::Empty, DisruptionReason::Underutilized, DisruptionReason::Drifted];

impl Allowance {
    /// Budgets of the pools' initialized nodes, less those already being disrupted or not ready.
    pub(super) fn of(model: &Model) -> Self {
        Self::of_members(model, |_| true)
    }

    /// What budgets will allow once the disruptions under way are over.
    pub(super) fn once_free(model: &Model) -> Self {
        Self::of_members(model, |node| !node.is_leaving())
    }

    /// As if there were no budgets.
    pub(super) const fn unlimited() -> Self {
        Self {
            left: BTreeMap::new(),
            sums: BTreeMap::new(),
            available: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    fn of_members(model: &Model, is_member: impl Fn(&NodeView) -> bool) -> Self {
        let mut left = BTreeMap::new();
        let mut sums = BTreeMap::new();
        let mut available = BTreeMap::new();
        for pool in &model.snapshot.objects.node_pools {
            let members: Vec<_> = model
                .nodes
                .iter()
                .filter(|node| {
                    node.is_managed
                        && node.is_initialized
                        && is_member(node)
                        && node.labels.get(label::NODE_POOL) == Some(&pool.name)
                        && !node.claim.is_some_and(|claim| {
                            claim.is(domain::node_claim::ConditionType::InstanceTerminating)
                        })
                })
                .collect();
            let unavailable = members
                .iter()
                .filter(|node| {
                    node.is_leaving() || node.node.is_some_and(domain::node::Node::is_not_ready)
                })
                .count();
            available.insert(pool.name.clone(), count(members.len() - unavailable));
            let (total, unavailable) = (count(members.len()), count(unavailable));
            for reason in VOLUNTARY {
                let budget = pool.strictest_budget(reason, total, model.snapshot.now);
                let allowed = budget.map(|own| own.allowed_of(total).saturating_sub(unavailable));
                left.insert((pool.name.clone(), reason), allowed);
                if let Some(budget) = budget {
                    let sum = BudgetSum {
                        nodes: budget.nodes,
                        is_window_known: budget.fault().is_none(),
                        total,
                        unavailable,
                        taken: 0,
                    };
                    sums.insert((pool.name.clone(), reason), sum);
                }
            }
        }
        Self { left, sums, available, taken: BTreeMap::new() }
    }

    /// How many nodes of each pool could go for each reason before any of this plan.
    pub(super) fn figures(&self) -> BTreeMap<(Text, DisruptionReason), u32> {
        let all = |pool| self.available.get(pool).copied().unwrap_or(0);
        let figures =
            self.left.iter().map(|(key, left)| (key.clone(), left.unwrap_or(all(&key.0))));
        figures.collect()
    }

    /// How many more nodes of a pool budgets allow for the reason, beyond those taken by now, and
    /// how that comes about; `None` where no budget applies.
    pub(super) fn left(&self, pool: &Text, reason: DisruptionReason) -> Option<(u32, BudgetSum)> {
        let key = (pool.clone(), reason);
        let allowed = self.left.get(&key).copied().flatten()?;
        let taken = self.taken.get(pool).copied().unwrap_or(0);
        let sum = BudgetSum { taken, ..*self.sums.get(&key)? };
        Some((allowed.saturating_sub(taken), sum))
    }

    /// Whether budgets allow one more node for the reason.
    pub(super) fn check(
        &self,
        model: &Model,
        node: NodeIx,
        reason: DisruptionReason,
    ) -> Result<(), NotDisruptable> {
        self.check_many(model, &[node], reason)
    }

    /// Whether budgets allow these nodes together for the reason.
    pub(super) fn check_many(
        &self,
        model: &Model,
        nodes: &[NodeIx],
        reason: DisruptionReason,
    ) -> Result<(), NotDisruptable> {
        let mut wanted: BTreeMap<&Text, u32> = BTreeMap::new();
        for node in nodes {
            if let Some(pool) = model.nodes[*node].labels.get(label::NODE_POOL) {
                *wanted.entry(pool).or_default() += 1;
            }
        }
        for (pool, wanted) in wanted {
            let key = (pool.clone(), reason);
            let allowed = self.left.get(&key).copied().flatten();
            let taken = self.taken.get(pool).copied().unwrap_or(0);
            if let Some(allowed) = allowed
                && taken + wanted > allowed
            {
                let sum = self.sums.get(&key).map(|sum| BudgetSum { taken, ..*sum });
                let node_pool = pool.clone();
                return Err(NotDisruptable::Budget { node_pool, reason, allowed, sum });
            }
        }
        Ok(())
    }

    /// Counts one more node if budgets allow it.
    pub(super) fn take(
        &mut self,
        model: &Model,
        node: NodeIx,
        reason: DisruptionReason,
    ) -> Result<(), NotDisruptable> {
        self.check(model, node, reason)?;
        self.count(model, node);
        Ok(())
    }

    /// Counts one more node that was found to be allowed.
    pub(super) fn count(&mut self, model: &Model, node: NodeIx) {
        if let Some(pool) = model.nodes[node].labels.get(label::NODE_POOL) {
            *self.taken.entry(pool.clone()).or_default() += 1;
        }
    }
}
