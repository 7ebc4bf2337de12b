//! Pods that a node was launched for, and where kube-scheduler has bound them.
//!
//! A pod on another Node than planned is no mistake: kube-scheduler decides. Many of them say that
//! the cluster's scheduler is not the one that plans are made for.

use std::borrow::Cow;

use domain::pod::{Pod, PodKey};
use rustc_hash::{FxHashMap, FxHashSet};

use super::snapshot::{ClusterState, OwnNominations};
use crate::record::claim::{ClaimPhase, ClaimRecord};

/// Pods of claims whose nodes are ready, as far as they are bound.
#[derive(Debug, Default)]
pub struct BoundPods<'a> {
    by_key: FxHashMap<&'a PodKey, &'a Pod>,
    nominations: OwnNominations<'a>,
}

impl<'a> BoundPods<'a> {
    /// Of a cluster's state.
    pub fn of(observed: &'a ClusterState) -> Self {
        let claims = observed.claims.iter().map(|claim| &claim.record);
        let ready = claims.filter(|record| record.phase() == ClaimPhase::Initialized);
        let planned: FxHashSet<&PodKey> = ready.flat_map(|record| &record.pods).collect();
        if planned.is_empty() {
            return Self::default();
        }
        let pods = observed.listing.objects.pods.iter();
        let bound = pods.filter(|pod| pod.node_name.is_some() && planned.contains(&pod.key));
        let by_key: FxHashMap<_, _> = bound.map(|pod| (&pod.key, pod)).collect();
        let nominations = if by_key.is_empty() {
            OwnNominations::default()
        } else {
            OwnNominations::of(observed)
        };
        Self { by_key, nominations }
    }

    /// Takes those pods off a claim's record that have started on some Node since it was made: they
    /// are settled, so that each is counted once. Returns how many of them are on a Node that no
    /// plan had for them.
    ///
    /// Pods that run elsewhere since before stay: their successors are what the claim is for.
    pub fn settle(&self, record: &mut Cow<'_, ClaimRecord>) -> usize {
        let Some(created) = record.claim.created else { return 0 };
        // The API server and kubelets count in whole seconds.
        let is_settled = |pod: &&Pod| {
            pod.started.is_some_and(|started| started.as_second() >= created.as_second())
        };
        let settled = |key: &PodKey| self.by_key.get(key).copied().filter(is_settled);
        let pods: Vec<&Pod> = record.pods.iter().filter_map(settled).collect();
        if pods.is_empty() {
            return 0;
        }
        let is_elsewhere = |pod: &&&Pod| {
            let node = pod.node_name.as_ref();
            node != record.claim.status.node_name.as_ref()
                && !node.is_some_and(|node| self.nominations.names(&pod.key, node))
        };
        let elsewhere = pods.iter().filter(is_elsewhere).count();
        record.to_mut().pods.retain(|key| settled(key).is_none());
        elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Version, Versioned};
    use crate::record::nomination::Nomination;
    use crate::testing::{at, initialized_record, listing_of, node_of, pod_on};
    use domain::instance_type::InstanceTypes;
    use domain::node::Node;
    use domain::snapshot::ClusterObjects;

    /// Two ready nodes of claims that were made for pods: `a` for `mine` and `web-1`, `b` for none.
    fn observed(pods: impl FnOnce(&Node, &Node) -> Vec<Pod>) -> ClusterState {
        let mut a = initialized_record("a", at(100));
        a.claim.created = Some(at(100));
        a.pods = vec![PodKey::new("default", "mine"), PodKey::new("default", "web-1")];
        let b = initialized_record("b", at(100));
        let (node_a, node_b) = (node_of(&a), node_of(&b));
        let pods = pods(&node_a, &node_b);
        let claims = [a, b].map(|record| Versioned { record, version: Version(1) });
        ClusterState {
            now: at(200),
            seed: 1,
            listing: listing_of(ClusterObjects {
                nodes: vec![node_a, node_b].into(),
                pods: pods.into(),
                ..ClusterObjects::default()
            }),
            claims: claims.into(),
            commands: Vec::new(),
            unavailable: Vec::new(),
            nominations: Vec::new(),
            spot: crate::steps::snapshot::SpotMemory::default(),
            instance_types: InstanceTypes::default(),
        }
    }

    fn started(name: &str, node: &Node, seconds: i64) -> Pod {
        Pod { started: Some(at(seconds)), ..pod_on(name, node) }
    }

    /// How many pods of claim `a` are bound elsewhere, and which are left on its record.
    fn settled(state: &ClusterState) -> (usize, Vec<String>) {
        let mut record = Cow::Borrowed(&state.claims[0].record);
        let elsewhere = BoundPods::of(state).settle(&mut record);
        (elsewhere, record.pods.iter().map(|pod| pod.name.to_string()).collect())
    }

    #[test]
    fn pods_on_another_node_than_planned_are_counted_once() {
        let mut state = observed(|a, b| vec![started("mine", a, 150), started("web-1", b, 150)]);
        assert_eq!(settled(&state), (1, vec![]));
        let mut record = Cow::Borrowed(&state.claims[0].record);
        BoundPods::of(&state).settle(&mut record);
        state.claims[0].record = record.into_owned();
        assert_eq!(settled(&state), (0, vec![]), "they are off the record");
    }

    #[test]
    fn pods_that_have_not_started_yet_are_waited_for() {
        let state = observed(|_, b| vec![pod_on("web-1", b)]);
        let waits = |mut state: ClusterState| {
            state.listing.objects.pods[0].started = None;
            settled(&state)
        };
        assert_eq!(waits(state), (0, vec!["mine".to_owned(), "web-1".to_owned()]));
    }

    #[test]
    fn a_pod_that_ran_before_is_one_whose_successor_the_node_is_for() {
        let state = observed(|_, b| vec![started("web-1", b, 50)]);
        assert_eq!(settled(&state), (0, vec!["mine".to_owned(), "web-1".to_owned()]));
    }

    #[test]
    fn where_a_later_plan_wants_the_pod_it_is_not_elsewhere() {
        let mut state = observed(|_, b| vec![started("web-1", b, 150)]);
        let node = state.listing.objects.nodes[1].name.clone();
        let pods = vec![PodKey::new("default", "web-1")];
        state.nominations.push(Nomination { node, pods, until: at(10) });
        assert_eq!(settled(&state), (0, vec!["mine".to_owned()]));
    }
}
