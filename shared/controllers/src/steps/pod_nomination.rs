//! Which pods get the node that was planned for them into `status.nominatedNodeName`, which
//! kube-scheduler tries first.
//!
//! Nodes of one plan come up one after the other, and kube-scheduler fills whichever is ready with
//! whatever waits. A nominated pod keeps its room: others of the same or lower priority get only
//! what is left. Where the field holds the node that pods are being preempted on, it is
//! kube-scheduler's own, and stays.
//!
//! Source: KEP-5278, <https://github.com/kubernetes/enhancements/issues/5278>.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::node::Node;
use domain::pod::PodKey;

use super::snapshot::{ClusterState, OwnNominations};
use crate::ports::PodRef;
use crate::ports::cluster::PodNomination;

/// The changes of `status.nominatedNodeName` after which waiting pods have the nodes of `places`
/// in it: pods by the name of the Node, or of a claim that has none yet. To a Node that does not
/// take pods nobody is nominated.
///
/// Pods that `places` does not name, and those that are being made room for by preemption, stay as
/// they are.
pub fn pod_nominations(
    observed: &ClusterState,
    places: &BTreeMap<Text, Vec<PodKey>>,
    takes_pods: impl Fn(&Node) -> bool,
) -> Vec<PodNomination> {
    let own = OwnNominations::of(observed);
    let objects = &observed.listing.objects;
    let open = objects.nodes.iter().filter(|node| takes_pods(node));
    let open: BTreeSet<&Text> = open.map(|node| &node.name).collect();
    let node_of: BTreeMap<&PodKey, &Text> =
        places.iter().flat_map(|(node, pods)| pods.iter().map(move |pod| (pod, node))).collect();
    let waiting = objects.pods.iter().filter(|pod| pod.node_name.is_none() && pod.is_active());
    let mut changes: Vec<PodNomination> = waiting
        .filter_map(|pod| {
            let place = *node_of.get(&pod.key)?;
            let seen = pod.nominated_node_name.clone();
            if seen.as_ref() == Some(place) {
                return None;
            }
            let node = open.contains(place).then(|| place.clone());
            let is_free = seen.is_none() || own.includes(pod);
            (is_free && seen != node).then(|| PodNomination { pod: PodRef::from(pod), seen, node })
        })
        .collect();
    changes.sort();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Version, Versioned};
    use crate::record::nomination::Nomination;
    use crate::testing::{at, launched_record, listing_of, node_of, pending_pod};
    use domain::instance_type::InstanceTypes;
    use domain::pod::Pod;
    use domain::snapshot::ClusterObjects;

    /// A claim `web-1` whose Node has come, and a pod that waits.
    fn observed(change: impl FnOnce(&mut Pod)) -> ClusterState {
        let record = launched_record("web-1", at(0));
        let mut pod = pending_pod("a");
        change(&mut pod);
        ClusterState {
            now: at(60),
            seed: 1,
            listing: listing_of(ClusterObjects {
                nodes: vec![node_of(&record)].into(),
                pods: vec![pod].into(),
                ..ClusterObjects::default()
            }),
            claims: vec![Versioned { record, version: Version(1) }],
            commands: Vec::new(),
            unavailable: Vec::new(),
            nominations: Vec::new(),
            spot: crate::steps::snapshot::SpotMemory::default(),
            instance_types: InstanceTypes::default(),
        }
    }

    fn changes(observed: &ClusterState, node: &str) -> Vec<(Option<Text>, Option<Text>)> {
        let key = observed.listing.objects.pods[0].key.clone();
        let places = BTreeMap::from([(Text::from(node), vec![key])]);
        let changes = pod_nominations(observed, &places, |_| true);
        changes.into_iter().map(|own| (own.seen, own.node)).collect()
    }

    fn node(observed: &ClusterState) -> Text {
        observed.listing.objects.nodes[0].name.clone()
    }

    #[test]
    fn a_pod_is_nominated_to_a_node_that_is_there_and_only_once() {
        let mut state = observed(|_| ());
        let name = node(&state);
        assert_eq!(changes(&state, &name), [(None, Some(name.clone()))]);
        assert_eq!(changes(&state, "a-claim-without-a-node"), []);
        state.listing.objects.pods[0].nominated_node_name = Some(name.clone());
        assert_eq!(changes(&state, &name), []);
    }

    #[test]
    fn a_nomination_of_ours_is_taken_back_when_the_plan_changes() {
        let mut state = observed(|pod| pod.nominated_node_name = Some("other".into()));
        let pods = vec![state.listing.objects.pods[0].key.clone()];
        let name = node(&state);
        assert_eq!(changes(&state, &name), [], "by preemption");
        state.nominations.push(Nomination { node: "other".into(), pods, until: at(10) });
        assert_eq!(changes(&state, &name), [(Some("other".into()), Some(name))]);
        assert_eq!(changes(&state, "a-claim-without-a-node"), [(Some("other".into()), None)]);
    }

    #[test]
    fn a_pod_that_is_bound_or_ending_is_left_alone() {
        let bound = observed(|pod| pod.node_name = Some("elsewhere".into()));
        let ending = observed(|pod| pod.deleted = Some(at(70)));
        for state in [bound, ending] {
            assert_eq!(changes(&state, &node(&state)), []);
        }
    }
}
