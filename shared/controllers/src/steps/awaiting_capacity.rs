//! How long pods of a node that is ending stay while nothing else has room for them.
//!
//! Where the node goes by choice, the room that kube-scheduler would find at that moment decides.
//! Where EC2 takes it, nothing may have room yet: provisioning plans for the pods of a node as soon
//! as it is ending, and the result is stored: new claims name their pods, and existing nodes are
//! nominated. So a drain knows which pods it would leave without a node, without planning itself.

use std::collections::BTreeSet;

use domain::pod::{Pod, PodKey};
use domain::reason::DisruptionReason;
use domain::{SignedDuration, Timestamp};

use super::drain::DrainTerms;
use super::snapshot::ClusterState;
use crate::record::claim::{ClaimPhase, ClaimRecord, EndReason, Ending, later};

/// How long replacements are waited for when there is no deadline: a node takes about a minute, and
/// pods that nothing can host must not block the drain forever.
const REPLACEMENT_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// The terms of draining a claim's node. Pods of an interrupted instance stay until they have a
/// ready place elsewhere; those of a node that goes by choice until [`awaits_room`] says so. What
/// users end themselves is drained at once.
pub fn drain_terms(observed: &ClusterState, record: &ClaimRecord, pods: &[&Pod]) -> DrainTerms {
    let Some(ending) = &record.ending else { return DrainTerms::default() };
    let is_interrupted = ending.reason == EndReason::INTERRUPTED;
    let is_awaited = is_interrupted || awaits_room(record);
    let until = || ending.deadline.or_else(|| later(ending.since, REPLACEMENT_TIMEOUT));
    DrainTerms {
        deadline: ending.deadline,
        awaiting_capacity: if is_interrupted {
            awaiting_capacity(observed, record, ending, pods)
        } else {
            BTreeSet::new()
        },
        await_capacity_until: if is_awaited { until() } else { None },
    }
}

/// Whether a claim's node goes by choice, so that each of its pods stays until another node has
/// room for it.
pub fn awaits_room(record: &ClaimRecord) -> bool {
    let Some(EndReason::Disrupted(reason)) = record.ending.as_ref().map(|own| own.reason) else {
        return false;
    };
    match reason {
        DisruptionReason::Empty
        | DisruptionReason::Underutilized
        | DisruptionReason::Drifted
        | DisruptionReason::Expired => true,
        // Users scale a NodePool down, or want it off, whether or not others have room.
        DisruptionReason::ScaledDown
        | DisruptionReason::OffHours
        | DisruptionReason::Unhealthy
        | DisruptionReason::Interrupted => false,
    }
}

fn awaiting_capacity(
    observed: &ClusterState,
    record: &ClaimRecord,
    ending: &Ending,
    pods: &[&Pod],
) -> BTreeSet<PodKey> {
    let pools = observed.listing.objects.node_pools.iter();
    let pool = record.claim.node_pool().and_then(|name| {
        let mut pools = pools;
        pools.find(|pool| pool.name == *name)
    });
    // What needs no place waits for none.
    let is_expendable =
        |pod: &Pod| pool.is_some_and(|pool| pool.options.is_expendable(pod.spec.priority));
    pods.iter()
        .filter(|pod| !is_expendable(pod))
        .filter(|pod| pod.is_reschedulable())
        .filter(|pod| !has_ready_capacity(observed, ending.since, &pod.key))
        .map(|pod| pod.key.clone())
        .collect()
}

fn has_ready_capacity(observed: &ClusterState, since: Timestamp, pod: &PodKey) -> bool {
    let is_launched_for_it = observed.claims.iter().map(|claim| &claim.record).any(|record| {
        record.phase() == ClaimPhase::Initialized
            && record.claim.created.is_some_and(|created| created >= since)
            && record.pods.contains(pod)
    });
    is_launched_for_it
        || observed
            .nominations
            .iter()
            .filter(|nomination| nomination.until > observed.now && nomination.pods.contains(pod))
            .any(|nomination| takes_pods(observed, &nomination.node))
}

/// Whether the node that is nominated by a name, its own or its claim's, is ready for pods.
fn takes_pods(observed: &ClusterState, name: &str) -> bool {
    let claim = observed.claim(name).or_else(|| observed.claim_of_node(name));
    match claim {
        Some(claim) => claim.record.phase() == ClaimPhase::Initialized,
        None => observed
            .listing
            .objects
            .nodes
            .iter()
            .any(|node| *node.name == *name && !node.is_not_ready() && !node.is_disrupted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Version, Versioned};
    use crate::record::nomination::Nomination;
    use crate::testing::{at, initialized_record, launched_record, listing_of, node_of, pod_on};
    use domain::Text;
    use domain::instance_type::InstanceTypes;
    use domain::snapshot::ClusterObjects;

    fn interrupted() -> ClaimRecord {
        let reason = EndReason::Disrupted(DisruptionReason::Interrupted);
        initialized_record("old", at(0)).ended(at(100), reason, Some(at(220)))
    }

    fn observed(claims: Vec<ClaimRecord>, nominations: Vec<Nomination>) -> ClusterState {
        let nodes = claims.iter().map(node_of).collect();
        ClusterState {
            now: at(160),
            seed: 0,
            listing: listing_of(ClusterObjects { nodes, ..ClusterObjects::default() }),
            claims: claims
                .into_iter()
                .map(|record| Versioned { record, version: Version(1) })
                .collect(),
            commands: Vec::new(),
            unavailable: Vec::new(),
            nominations,
            spot: crate::steps::snapshot::SpotMemory::default(),
            instance_types: InstanceTypes::default(),
        }
    }

    fn created(mut record: ClaimRecord, when: i64, pods: &[&str]) -> ClaimRecord {
        record.claim.created = Some(at(when));
        record.pods = pods.iter().map(|name| PodKey::new("default", *name)).collect();
        record
    }

    fn nominated(node: &Text, pod: &str, until: i64) -> Nomination {
        let pods = vec![PodKey::new("default", pod)];
        Nomination { node: node.clone(), pods, until: at(until) }
    }

    /// Which of pods `a` and `b` on the old node await capacity.
    fn awaiting_capacity(claims: Vec<ClaimRecord>, nominations: Vec<Nomination>) -> Vec<Text> {
        let old = interrupted();
        let pods = [pod_on("a", &node_of(&old)), pod_on("b", &node_of(&old))];
        let pods: Vec<&Pod> = pods.iter().collect();
        let all = claims.into_iter().chain([old.clone()]).collect();
        let terms = drain_terms(&observed(all, nominations), &old, &pods);
        assert_eq!(terms.await_capacity_until, Some(at(220)));
        terms.awaiting_capacity.into_iter().map(|pod| pod.name).collect()
    }

    #[test]
    fn a_pod_awaits_capacity_until_the_node_launched_for_it_is_initialized() {
        let booting = created(launched_record("new", at(101)), 101, &["a"]);
        assert_eq!(awaiting_capacity(vec![booting], Vec::new()), ["a".into(), "b".into()]);
        let ready = created(initialized_record("new", at(101)), 101, &["a"]);
        assert_eq!(awaiting_capacity(vec![ready], Vec::new()), ["b".into()]);
        let earlier = created(initialized_record("new", at(50)), 50, &["a"]);
        assert_eq!(
            awaiting_capacity(vec![earlier], Vec::new()).len(),
            2,
            "it was launched for other pods"
        );
    }

    #[test]
    fn a_nominated_pod_awaits_capacity_until_its_node_is_initialized() {
        let other = initialized_record("other", at(0));
        let node = node_of(&other).name;
        let awaiting = |nomination| awaiting_capacity(vec![other.clone()], vec![nomination]).len();
        assert_eq!(awaiting(nominated(&node, "a", 170)), 1);
        assert_eq!(awaiting(nominated(&node, "a", 150)), 2, "it has expired");
        let booting = launched_record("other", at(150));
        let nomination = nominated(&"other".into(), "a", 170);
        assert_eq!(awaiting_capacity(vec![booting], vec![nomination]).len(), 2);
        let own = nominated(&node_of(&interrupted()).name, "a", 170);
        assert_eq!(awaiting(own), 2, "the node that goes hosts nothing");
    }

    #[test]
    fn only_pods_of_interrupted_instances_await_capacity() {
        let mut deleted = initialized_record("old", at(0));
        deleted = deleted.ended(at(100), EndReason::NodeClaimDeleted, None);
        let pod = pod_on("a", &node_of(&deleted));
        let terms = drain_terms(&observed(vec![deleted.clone()], Vec::new()), &deleted, &[&pod]);
        assert_eq!(terms, DrainTerms::default());
    }
}
