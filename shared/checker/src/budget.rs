//! Disruption budgets of NodePools: how many of its nodes may go at once, per reason.

use std::collections::BTreeMap;

use domain::label::NODE_POOL;
use domain::node_claim::ConditionType;
use domain::reason::DisruptionReason;

use crate::disruption_entry::Disruptions;
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Initialized nodes of a NodePool. Starting ones do not count, nor those whose instance is ending:
/// their pods are gone, and a pool without them has no more to spare than its other nodes
/// (as in Karpenter's
/// `BuildDisruptionBudgetMapping`).
#[derive(Clone, Copy, Default)]
struct Members {
    all: u32,
    /// Those that are on their way out or not ready: each uses up one of what budgets allow.
    going: u32,
}

/// Judges voluntary disruptions against the budgets that are in force.
pub(crate) fn check(index: &PlanIndex<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    let mut counts: BTreeMap<usize, BTreeMap<DisruptionReason, u32>> = BTreeMap::new();
    for entry in disruptions.entries.iter().filter(|entry| entry.planned.reason.is_voluntary()) {
        for pool in entry.places.iter().filter_map(|place| index.places[*place].pool) {
            *counts.entry(pool).or_default().entry(entry.planned.reason).or_default() += 1;
        }
    }
    if counts.is_empty() {
        return;
    }
    let members = members(index);
    for (pool, by_reason) in counts {
        check_pool(index, pool, members[pool], &by_reason, report);
    }
}

fn members(index: &PlanIndex<'_>) -> Vec<Members> {
    let mut members = vec![Members::default(); index.cluster.pools.len()];
    for place in index.places.iter().filter(|place| place.is_managed && place.is_initialized) {
        if place.claim.is_some_and(|claim| claim.is(ConditionType::InstanceTerminating)) {
            continue;
        }
        let label = place.labels.and_then(|labels| labels.get(NODE_POOL));
        let Some(pool) = label.and_then(|pool| index.cluster.pool(pool)) else { continue };
        let is_going =
            place.is_leaving() || place.node.is_some_and(domain::node::Node::is_not_ready);
        members[pool].all += 1;
        members[pool].going += u32::from(is_going);
    }
    members
}

fn check_pool(
    index: &PlanIndex<'_>,
    pool: usize,
    members: Members,
    by_reason: &BTreeMap<DisruptionReason, u32>,
    report: &mut Report,
) {
    let spec = index.cluster.pools[pool].spec;
    let allowed = |reason: DisruptionReason| -> Option<u32> {
        let budgets = spec.disruption.budgets.iter();
        let in_force = budgets.filter(|budget| budget.applies(reason, index.cluster.snapshot.now));
        let strictest = in_force.map(|budget| budget.allowed_of(members.all)).min();
        strictest.map(|allowed| allowed.saturating_sub(members.going))
    };
    for (reason, count) in by_reason {
        if let Some(allowed) = allowed(*reason).filter(|allowed| count > allowed) {
            let message =
                format!("disrupts {count} nodes as {reason}, its budgets allow {allowed}");
            report.add(Rule::Budget, &spec.name, message);
        }
    }
    // Reasons draw on the same nodes: together they may take no more than the most lenient of them
    // alone.
    let most = by_reason
        .keys()
        .map(|reason| allowed(*reason))
        .try_fold(0, |most, allowed| allowed.map(|allowed: u32| allowed.max(most)));
    let total: u32 = by_reason.values().sum();
    if let Some(most) = most.filter(|most| by_reason.len() > 1 && total > *most) {
        let message = format!("disrupts {total} nodes together, its budgets allow {most}");
        report.add(Rule::Budget, &spec.name, message);
    }
}
