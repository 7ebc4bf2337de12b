//! Pod events on nodes, and condition Consolidatable, which follows from them and
//! `consolidateAfter`.
//!
//! Events are derived from stored state, so that the start of a process is never one.
//!
//! Source: <https://karpenter.sh/docs/concepts/disruption/#consolidation>.

use std::borrow::Cow;

use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::node_pool::{NeverOr, NodePool};
use domain::pod::Pod;
use domain::{SignedDuration, Timestamp};

use super::condition::{ConditionState, clear, set_condition_of, since};
use crate::pod_fingerprints::PodFingerprints;
use crate::record::claim::ClaimRecord;

/// Records pod events of a claim's Node: a set of pods other than the stored one means that a pod
/// came or went, and so does a terminating or terminated pod that came after the last event,
/// between two lists. In the first list, pods came when they started, or just now if they have not.
///
/// A pod that comes and is deleted between two lists leaves no trace.
pub fn record_pod_events(
    record: &mut Cow<'_, ClaimRecord>,
    pods: &[&Pod],
    known: &PodFingerprints,
    now: Timestamp,
) {
    let fingerprint = known.of(&record.claim, pods);
    let last = record.claim.status.last_pod_event;
    let is_first = record.pods_fingerprint.is_none();
    let is_unchanged = record.pods_fingerprint.as_ref() == Some(&fingerprint);
    let event = if is_first {
        pods.iter().filter(|pod| !pod.is_daemon()).map(|pod| bound_at(pod, now)).max()
    } else if is_unchanged && !pods.iter().any(|pod| was_unrecorded(pod, last)) {
        return;
    } else {
        Some(now)
    };
    let record = record.to_mut();
    record.pods_fingerprint = Some(fingerprint);
    record.claim.status.last_pod_event = event.max(last);
}

/// When a pod came to its Node: its start, or now for an active pod that has not started.
fn bound_at(pod: &Pod, now: Timestamp) -> Timestamp {
    pod.started.unwrap_or(if pod.is_active() { now } else { pod.created.unwrap_or(now) })
}

/// Whether a pod came and went after the last event.
fn was_unrecorded(pod: &Pod, last: Option<Timestamp>) -> bool {
    !pod.is_active() && !pod.is_daemon() && pod.started.or(pod.created) > last
}

/// Updates condition Consolidatable by the pool's `consolidateAfter`.
pub fn update_consolidatable(
    record: &mut Cow<'_, ClaimRecord>,
    pool: Option<&NodePool>,
    now: Timestamp,
) {
    let kind = ConditionType::Consolidatable;
    let after = pool.map(|pool| pool.disruption.consolidate_after);
    let after = after.filter(|_| record.claim.is(ConditionType::Initialized));
    let Some(NeverOr::After(after)) = after else {
        if record.claim.condition(kind).is_some() {
            clear(&mut record.to_mut().claim, kind);
        }
        return;
    };
    let elapsed = since_last_pod_event(&record.claim, now);
    let state = if elapsed.is_none_or(|elapsed| elapsed >= after) {
        ConditionState::new(ConditionStatus::True, kind.as_str(), "")
    } else {
        let message = "consolidateAfter has not passed";
        ConditionState::new(ConditionStatus::False, "PodsCameOrWent", message)
    };
    set_condition_of(record, kind, state, now);
}

/// Time since the last pod event, or since initialization if there was none.
pub(crate) fn since_last_pod_event(claim: &NodeClaim, now: Timestamp) -> Option<SignedDuration> {
    claim
        .status
        .last_pod_event
        .map(|event| now.duration_since(event))
        .or_else(|| since(claim, ConditionType::Initialized, now))
}

/// When a claim that is not Consolidatable becomes so, if there are no pod events until then.
pub fn consolidatable_in(
    claim: &NodeClaim,
    pool: Option<&NodePool>,
    now: Timestamp,
) -> Option<SignedDuration> {
    let after = pool?.disruption.consolidate_after.duration()?;
    let left = after - since_last_pod_event(claim, now)?;
    left.is_positive().then_some(left)
}

#[cfg(test)]
mod tests {
    use domain::pod::PodPhase;

    use super::*;
    use crate::testing::{at, initialized_record, node_of, node_pool, pod_on};

    #[test]
    fn in_the_first_list_pods_came_when_they_started() {
        let record = initialized_record("web-1", at(0));
        let node = node_of(&record);
        let started = |name, when| Pod { started: Some(at(when)), ..pod_on(name, &node) };
        let last_event = |pods: &[&Pod]| {
            let (mut record, known) = (Cow::Owned(record.clone()), PodFingerprints::default());
            record_pod_events(&mut record, pods, &known, at(100));
            record.claim.status.last_pod_event
        };
        assert_eq!(last_event(&[]), None);
        assert_eq!(last_event(&[&started("a", 40), &started("b", 70)]), Some(at(70)));
        let bound = Pod { started: None, ..pod_on("b", &node) };
        assert_eq!(last_event(&[&started("a", 40), &bound]), Some(at(100)));
    }

    #[test]
    fn an_unchanged_set_of_pods_is_no_event_and_another_is() {
        let record = initialized_record("web-1", at(0));
        let node = node_of(&record);
        let (a, b) = (pod_on("a", &node), pod_on("b", &node));
        let (one, two) = ([&a], [&b, &a]);
        let (mut record, known) = (Cow::Owned(record), PodFingerprints::default());
        record_pod_events(&mut record, &one, &known, at(100));
        record_pod_events(&mut record, &one, &known, at(200));
        assert_eq!(record.claim.status.last_pod_event, Some(at(0)));
        record_pod_events(&mut record, &two, &known, at(300));
        assert_eq!(record.claim.status.last_pod_event, Some(at(300)));
        record_pod_events(&mut record, &[&a, &b], &known, at(400));
        assert_eq!(record.claim.status.last_pod_event, Some(at(300)), "order means nothing");
    }

    #[test]
    fn a_pod_that_came_and_went_between_two_lists_is_one_event() {
        let record = initialized_record("web-1", at(0));
        let node = node_of(&record);
        let job = Pod {
            created: Some(at(110)),
            started: Some(at(120)),
            phase: PodPhase::Succeeded,
            ..pod_on("job", &node)
        };
        let (mut record, known) = (Cow::Owned(record), PodFingerprints::default());
        record_pod_events(&mut record, &[], &known, at(100));
        assert_eq!(record.claim.status.last_pod_event, None);
        record_pod_events(&mut record, &[&job], &known, at(200));
        assert_eq!(record.claim.status.last_pod_event, Some(at(200)));
        record_pod_events(&mut record, &[&job], &known, at(300));
        record_pod_events(&mut record, &[], &known, at(400));
        assert_eq!(record.claim.status.last_pod_event, Some(at(200)), "its removal is none");

        let killed = Pod { created: Some(at(410)), deleted: Some(at(420)), ..pod_on("a", &node) };
        let killed = Pod { started: None, ..killed };
        record_pod_events(&mut record, &[&killed], &known, at(500));
        assert_eq!(record.claim.status.last_pod_event, Some(at(500)));
    }

    #[test]
    fn a_node_is_consolidatable_once_consolidate_after_has_passed() {
        let mut pool = node_pool("default");
        pool.disruption.consolidate_after = NeverOr::After(SignedDuration::from_secs(30));
        let mut record = initialized_record("web-1", at(0));
        record.claim.status.last_pod_event = Some(at(100));
        let consolidatable = |record: &ClaimRecord, now| {
            let mut record = Cow::Borrowed(record);
            update_consolidatable(&mut record, Some(&pool), now);
            record.claim.is(ConditionType::Consolidatable)
        };
        assert!(!consolidatable(&record, at(129)));
        assert!(consolidatable(&record, at(130)));
        let left = |now| consolidatable_in(&record.claim, Some(&pool), now);
        assert_eq!((left(at(129)), left(at(130))), (Some(SignedDuration::from_secs(1)), None));
        pool.disruption.consolidate_after = NeverOr::Never;
        let mut record = Cow::Owned(record);
        update_consolidatable(&mut record, Some(&pool), at(500));
        assert_eq!(record.claim.condition(ConditionType::Consolidatable), None);
    }
}
