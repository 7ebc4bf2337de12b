//! Virtual pods by source. They are replicas without names of their own, so they are counted, not
//! listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use domain::plan::{Plan, PlannedVirtualPod};
use domain::pod::VirtualPodSource;

use super::pod_names::counted;

/// Virtual pods of one object in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VirtualPods<'a> {
    /// The object that they come from.
    pub(crate) source: &'a VirtualPodSource,
    /// Their number.
    pub(crate) count: usize,
}

impl fmt::Display for VirtualPods<'_> {
    /// `3 virtual pods of ScaledObject shop/evening`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", counted(self.count, "virtual pod"), self.source)
    }
}

/// The virtual pods of a plan by place, and in each place by source.
#[derive(Debug)]
pub(crate) struct VirtualPodPlacements<'a> {
    by_place: BTreeMap<&'a str, Vec<VirtualPods<'a>>>,
    without_room: Vec<VirtualPods<'a>>,
    launched: BTreeSet<&'a str>,
}

impl<'a> VirtualPodPlacements<'a> {
    /// The placements of a plan.
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let mut by_place: BTreeMap<&str, Vec<&VirtualPodSource>> = BTreeMap::new();
        let mut without_room = Vec::new();
        for PlannedVirtualPod { pod: _, source, place } in &plan.virtual_pods {
            match place {
                Some(place) => by_place.entry(place).or_default().push(source),
                None => without_room.push(source),
            }
        }
        Self {
            by_place: by_place.into_iter().map(|(at, own)| (at, by_source(own))).collect(),
            without_room: by_source(without_room),
            launched: plan.node_claims.iter().map(|claim| &*claim.name).collect(),
        }
    }

    /// Virtual pods on a node or on a planned claim.
    pub(crate) fn at(&self, place: &str) -> &[VirtualPods<'a>] {
        self.by_place.get(place).map_or(&[], Vec::as_slice)
    }

    /// Virtual pods that nothing can host.
    pub(crate) fn without_room(&self) -> &[VirtualPods<'a>] {
        &self.without_room
    }

    /// Virtual pods on nodes that exist or are in flight, by node.
    pub(crate) fn on_nodes(&self) -> Vec<(&'a str, &[VirtualPods<'a>])> {
        let there = self.by_place.iter().filter(|(place, _)| !self.launched.contains(*place));
        there.map(|(place, groups)| (*place, groups.as_slice())).collect()
    }
}

fn by_source(sources: Vec<&VirtualPodSource>) -> Vec<VirtualPods<'_>> {
    let mut counts: BTreeMap<&VirtualPodSource, usize> = BTreeMap::new();
    for source in sources {
        *counts.entry(source).or_default() += 1;
    }
    counts.into_iter().map(|(source, count)| VirtualPods { source, count }).collect()
}

/// The number of virtual pods in all groups.
pub(crate) fn sum<'a>(groups: impl IntoIterator<Item = &'a VirtualPods<'a>>) -> usize {
    groups.into_iter().map(|group| group.count).sum()
}

/// Groups one after the other.
pub(crate) fn listed(groups: &[VirtualPods<'_>]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How many pods of a claim are virtual: `, of which 3 virtual, for ScaledObject shop/evening`.
///
/// Empty where all are real.
pub(crate) fn share(real: usize, groups: &[VirtualPods<'_>]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let count = sum(groups);
    let share = if real == 0 { "all".to_owned() } else { format!("of which {count}") };
    let sources: Vec<String> = groups.iter().map(|group| group.source.to_string()).collect();
    format!(", {share} virtual, for {}", sources.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn virtual_pods_are_counted_by_source() {
        let plan = testing::plan_with_virtual_pods();
        assert_eq!(
            listed(VirtualPodPlacements::of(&plan).at("default-x7k2p")),
            "1 virtual pod of CapacityBuffer default/spare, 2 virtual pods of ScaledObject default/evening"
        );
        let placements = VirtualPodPlacements::of(&plan);
        let nodes: Vec<&str> = placements.on_nodes().into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes, ["ip-10-0-0-1"], "new nodes left out");
        assert_eq!(sum(placements.without_room()), 1);
    }

    #[test]
    fn a_claim_says_what_is_virtual_of_its_pods() {
        let plan = testing::plan_with_virtual_pods();
        let placements = VirtualPodPlacements::of(&plan);
        let groups = placements.at("ip-10-0-0-1");
        assert_eq!(share(4, groups), ", of which 1 virtual, for ScaledObject default/evening");
        assert_eq!(share(0, groups), ", all virtual, for ScaledObject default/evening");
        assert_eq!(share(4, &[]), "");
    }
}
