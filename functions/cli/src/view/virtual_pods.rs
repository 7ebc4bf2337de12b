//! Virtual pods by what wants them. They are replicas without names of their own, so they are counted, not listed.

use std::collections::BTreeMap;
use std::fmt;

use domain::plan::{Plan, PlannedVirtualPod};
use domain::pod::VirtualPodSource;

use super::pod_names::counted;

/// Virtual pods of one object in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VirtualPods<'a> {
    /// What wants the room.
    pub(crate) source: &'a VirtualPodSource,
    /// How many pods it is for.
    pub(crate) count: usize,
}

impl fmt::Display for VirtualPods<'_> {
    /// `3 virtual pods of ScaledObject shop/evening`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", counted(self.count, "virtual pod"), self.source)
    }
}

/// Virtual pods that are planned for in a place, by what wants them; `None` for those that have none.
pub(crate) fn planned_at<'a>(plan: &'a Plan, place: Option<&str>) -> Vec<VirtualPods<'a>> {
    let here = plan.virtual_pods.iter().filter(|own| own.place.as_deref() == place);
    by_source(here)
}

/// Virtual pods on nodes that are there or in flight, by node.
pub(crate) fn on_nodes(plan: &Plan) -> BTreeMap<&str, Vec<VirtualPods<'_>>> {
    let is_new = |place: &str| plan.node_claims.iter().any(|claim| &*claim.name == place);
    let mut by_node: BTreeMap<&str, Vec<&PlannedVirtualPod>> = BTreeMap::new();
    for own in &plan.virtual_pods {
        if let Some(place) = &own.place {
            by_node.entry(place).or_default().push(own);
        }
    }
    by_node.retain(|place, _| !is_new(place));
    by_node.into_iter().map(|(node, pods)| (node, by_source(pods.into_iter()))).collect()
}

/// How many virtual pods there are.
pub(crate) fn sum<'a>(groups: impl IntoIterator<Item = &'a VirtualPods<'a>>) -> usize {
    groups.into_iter().map(|group| group.count).sum()
}

/// Groups one after the other.
pub(crate) fn listed(groups: &[VirtualPods<'_>]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What is virtual of the pods that a claim is for: `, of which 3 virtual, for ScaledObject shop/evening`; nothing
/// where all are real.
pub(crate) fn share(real: usize, groups: &[VirtualPods<'_>]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let count = sum(groups);
    let share = if real == 0 { "all".to_owned() } else { format!("of which {count}") };
    let sources: Vec<String> = groups.iter().map(|group| group.source.to_string()).collect();
    format!(", {share} virtual, for {}", sources.join(" and "))
}

fn by_source<'a>(pods: impl Iterator<Item = &'a PlannedVirtualPod>) -> Vec<VirtualPods<'a>> {
    let mut counts: BTreeMap<&VirtualPodSource, usize> = BTreeMap::new();
    for own in pods {
        *counts.entry(&own.source).or_default() += 1;
    }
    counts.into_iter().map(|(source, count)| VirtualPods { source, count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn virtual_pods_are_counted_by_what_wants_them() {
        let plan = testing::plan_ahead();
        assert_eq!(
            listed(&planned_at(&plan, Some("default-x7k2p"))),
            "1 virtual pod of CapacityBuffer default/spare, 2 virtual pods of ScaledObject default/evening"
        );
        let nodes = on_nodes(&plan);
        assert_eq!(nodes.keys().collect::<Vec<_>>(), [&"ip-10-0-0-1"], "new nodes left out");
        assert_eq!(sum(&planned_at(&plan, None)), 1);
    }

    #[test]
    fn a_claim_says_what_is_virtual_of_its_pods() {
        let plan = testing::plan_ahead();
        let groups = planned_at(&plan, Some("ip-10-0-0-1"));
        assert_eq!(share(4, &groups), ", of which 1 virtual, for ScaledObject default/evening");
        assert_eq!(share(0, &groups), ", all virtual, for ScaledObject default/evening");
        assert_eq!(share(4, &[]), "");
    }
}
