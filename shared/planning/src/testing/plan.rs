//! What a plan says about one pod or node.

use domain::label;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NodePoolUnfit, PodUnschedulable};

/// The existing node or claim in flight that a pod goes to.
pub(crate) fn place_of<'p>(plan: &'p Plan, pod: &str) -> Option<&'p str> {
    plan.placements.iter().find(|own| &*own.pod.name == pod).map(|own| &*own.node)
}

/// The new claim that a pod goes to.
#[track_caller]
pub(crate) fn claim_of<'p>(plan: &'p Plan, pod: &str) -> &'p PlannedNodeClaim {
    plan.node_claims
        .iter()
        .find(|claim| claim.pods.iter().any(|key| &*key.name == pod))
        .unwrap_or_else(|| panic!("no new claim holds {pod}: {:?}", plan.unschedulable))
}

/// Why a pool cannot host a pod.
#[track_caller]
pub(crate) fn unfit(plan: &Plan, pod: &str, pool: &str) -> NodePoolUnfit {
    let reasons = reasons(plan, pod);
    reasons
        .iter()
        .find_map(|reason| match reason {
            PodUnschedulable::NodePool { node_pool, reason } if &**node_pool == pool => {
                Some(reason.clone())
            }
            _ => None,
        })
        .unwrap_or_else(|| panic!("{reasons:?} names pool {pool}"))
}

/// Why a pod has no place.
#[track_caller]
pub(crate) fn reasons(plan: &Plan, pod: &str) -> Vec<PodUnschedulable> {
    plan.unschedulable
        .iter()
        .find(|own| &*own.pod.name == pod)
        .unwrap_or_else(|| panic!("{pod} has a place"))
        .reasons
        .clone()
}

/// The values that a claim lists for a key, joined by spaces.
pub(crate) fn listed(claim: &PlannedNodeClaim, key: &str) -> String {
    let requirement = claim.requirements.iter().find(|own| &*own.key == key);
    requirement.map(|own| own.values.join(" ")).unwrap_or_default()
}

/// How many pods new claims hold, by zone: `[2, 1]` for two in one and one in another; most first.
pub(crate) fn pods_by_zone(plan: &Plan) -> Vec<usize> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for claim in &plan.node_claims {
        *counts.entry(listed(claim, label::ZONE)).or_default() += claim.pods.len();
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts
}

pub(crate) fn is_disrupted(plan: &Plan, node: &str) -> bool {
    plan.disruptions.iter().any(|own| own.nodes.iter().any(|name| &**name == node))
}

/// The nodes that are disrupted for a reason.
pub(crate) fn disrupted_for(plan: &Plan, reason: DisruptionReason) -> Vec<&str> {
    plan.disruptions
        .iter()
        .filter(|own| own.reason == reason)
        .flat_map(|own| own.nodes.iter().map(|name| &**name))
        .collect()
}
