//! Whether pods came or went, and whether a node may be consolidated therefore.
//!
//! Source: reference C12; trap 81: events come from what was stored, never from a process' start.

use domain::Timestamp;
use domain::node::Node;
use domain::node_claim::{ConditionStatus, ConditionType};
use domain::node_pool::{NeverOr, NodePool};
use domain::pod::Pod;
use uuid::Uuid;

use super::condition::{clear, set_condition, set_true, since};
use crate::record::claim::{ClaimRecord, PodsSeen};

/// The pods that count on a node: active, not of a DaemonSet.
pub fn pods_seen(node: &Node, pods: &[Pod]) -> PodsSeen {
    let mut uids: Vec<&str> = pods
        .iter()
        .filter(|pod| pod.node_name.as_ref() == Some(&node.name))
        .filter(|pod| pod.is_active() && !pod.is_daemon())
        .map(|pod| &*pod.uid)
        .collect();
    uids.sort_unstable();
    let key = uids.join("\n");
    PodsSeen(Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes()).to_string().into())
}

/// The claim with what was seen of its pods: a set other than the one stored means that a pod came or
/// went by now. The first look only notes what is there.
pub fn note_pods(
    mut record: ClaimRecord,
    node: &Node,
    pods: &[Pod],
    now: Timestamp,
) -> ClaimRecord {
    let seen = pods_seen(node, pods);
    if record.pods_seen.as_ref().is_some_and(|before| *before != seen) {
        record.claim.status.last_pod_event = Some(now);
    }
    record.pods_seen = Some(seen);
    record
}

/// The claim with condition Consolidatable as its pool's `consolidateAfter` wants it.
pub fn update_consolidatable(
    mut record: ClaimRecord,
    pool: Option<&NodePool>,
    now: Timestamp,
) -> ClaimRecord {
    let claim = &mut record.claim;
    let after = pool.map(|pool| pool.disruption.consolidate_after);
    let Some(NeverOr::After(after)) = after else {
        clear(claim, ConditionType::Consolidatable);
        return record;
    };
    if !claim.is(ConditionType::Initialized) {
        clear(claim, ConditionType::Consolidatable);
        return record;
    }
    let quiet = claim
        .status
        .last_pod_event
        .map(|event| now.duration_since(event))
        .or_else(|| since(claim, ConditionType::Initialized, now));
    if quiet.is_none_or(|quiet| quiet >= after) {
        set_true(claim, ConditionType::Consolidatable, now);
    } else {
        let why = ("PodsCameOrWent", "consolidateAfter has not passed");
        set_condition(claim, ConditionType::Consolidatable, ConditionStatus::False, why, now);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, initialized_record, node_of, node_pool, pod_on};
    use domain::SignedDuration;

    #[test]
    fn a_first_look_is_no_event_and_a_change_is() {
        let record = initialized_record("web-1", at(0));
        let node = node_of(&record);
        let one = [pod_on("a", &node)];
        let two = [pod_on("b", &node), pod_on("a", &node)];
        let record = note_pods(record, &node, &one, at(100));
        assert_eq!(record.claim.status.last_pod_event, None);
        let record = note_pods(record, &node, &one, at(200));
        assert_eq!(record.claim.status.last_pod_event, None);
        let record = note_pods(record, &node, &two, at(300));
        assert_eq!(record.claim.status.last_pod_event, Some(at(300)));
        let swapped = [two[1].clone(), two[0].clone()];
        let record = note_pods(record, &node, &swapped, at(400));
        assert_eq!(record.claim.status.last_pod_event, Some(at(300)), "order means nothing");
    }

    #[test]
    fn a_node_is_consolidatable_once_it_has_been_quiet_for_long_enough() {
        let mut pool = node_pool("default");
        pool.disruption.consolidate_after = NeverOr::After(SignedDuration::from_secs(30));
        let mut record = initialized_record("web-1", at(0));
        record.claim.status.last_pod_event = Some(at(100));
        let consolidatable = |record: &ClaimRecord, now| {
            let record = update_consolidatable(record.clone(), Some(&pool), now);
            record.claim.is(ConditionType::Consolidatable)
        };
        assert!(!consolidatable(&record, at(129)));
        assert!(consolidatable(&record, at(130)));
        pool.disruption.consolidate_after = NeverOr::Never;
        let record = update_consolidatable(record, Some(&pool), at(500));
        assert_eq!(record.claim.condition(ConditionType::Consolidatable), None);
    }
}
