//! Draining a node: which pods to evict next, and which to delete by force.
//!
//! Source: Karpenter's termination controller,
//! <https://karpenter.sh/docs/concepts/disruption/#termination-controller>.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::drain::{is_drained, tier};
use domain::node::Node;
use domain::node_claim::{ConditionStatus, ConditionType};
use domain::pod::{ObjectKey, Pod, PodKey, VolumeUse};
use domain::resource::{CPU, MEMORY};
use domain::taint::Taint;
use domain::volume::PersistentVolumeClaim;
use domain::{SignedDuration, Text, Timestamp};

use super::condition::since;
use crate::ports::cluster::{NodePatch, PodRef, VolumeAttachment};
use crate::record::claim::ClaimRecord;

/// Shortest duration of a drain, which catches pods that were being bound as it began.
pub const DRAIN_MIN: SignedDuration = SignedDuration::from_secs(5);

/// Label that keeps external load balancers from a node that is ending.
///
/// Source: <https://kubernetes.io/docs/reference/labels-annotations-taints/>.
const EXCLUDE_FROM_LOAD_BALANCERS: (&str, &str) =
    ("node.kubernetes.io/exclude-from-external-load-balancers", "karpenter");
/// How long before its grace period would exceed the deadline a pod that awaits capacity is
/// evicted, so that PodDisruptionBudgets are honoured at least once before pods are deleted by
/// force.
const EVICTION_HEADSTART: SignedDuration = SignedDuration::from_secs(3);

/// The patch that keeps new pods and traffic off a Node that is ending; `None` when it is applied.
pub fn leaving(node: &Node) -> Option<NodePatch> {
    let (key, value) = EXCLUDE_FROM_LOAD_BALANCERS;
    let is_written = node.is_disrupted() && node.labels.contains_key(key);
    (!is_written).then(|| NodePatch {
        labels: [(key.into(), value.into())].into(),
        add_taints: vec![Taint::disrupted()],
        ..NodePatch::default()
    })
}

/// The terms of a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainTerms {
    /// When pods are deleted by force.
    pub deadline: Option<Timestamp>,
    /// Pods without a ready place elsewhere, which are evicted only once they have one.
    pub awaiting_capacity: BTreeSet<PodKey>,
    /// Until when such pods may stay, their own grace period included.
    pub await_capacity_until: Option<Timestamp>,
}

/// The size of a pod: its CPU request, then its memory request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(i64, i64);

impl Size {
    /// The size of a pod.
    pub fn of(pod: &Pod) -> Self {
        Self(pod.spec.requests.get(CPU), pod.spec.requests.get(MEMORY))
    }
}

/// What to do about the pods of a node now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainStep {
    /// Pods to evict.
    pub evict: Vec<PodRef>,
    /// Pods to delete with a grace period in seconds, the most that the deadline allows.
    pub force: Vec<(PodRef, u32)>,
    /// Pods with `karpenter.sh/do-not-disrupt`: the drain waits for them.
    pub protected: Vec<PodRef>,
    /// Pods without a ready place elsewhere: the drain waits for that.
    pub awaiting_capacity: Vec<PodRef>,
    /// Pods that a rollout of their Deployment ends: the drain waits for it.
    pub rolling: Vec<PodRef>,
    /// Number of pods that still have to leave, those above included.
    pub remaining: usize,
}

/// The next step of a drain.
///
/// Pods leave in four tiers, one after another: non-critical, non-critical DaemonSet, critical,
/// critical DaemonSet. Only the first tier that has pods is evicted, the largest pods first, since
/// small ones are more likely to fit in what is left. A pod to which the deadline leaves less than
/// its grace period is deleted by force whatever its tier. A pod that awaits capacity elsewhere
/// stays as long as time allows. Not drained: pods that tolerate taint `karpenter.sh/disrupted`,
/// static pods, terminated pods, and pods more than a minute past their deletion timestamp.
pub fn drain_step(pods: &[&Pod], terms: &DrainTerms, now: Timestamp) -> DrainStep {
    let mut drainable: Vec<&Pod> =
        pods.iter().copied().filter(|pod| is_drained(pod, now)).collect();
    drainable.sort_by_key(|pod| (tier(pod), Reverse(Size::of(pod)), &pod.key));
    let mut step = DrainStep { remaining: drainable.len(), ..DrainStep::default() };
    let current = drainable.first().map(|pod| tier(pod));
    for pod in drainable {
        if let Some(grace) = forced_grace(pod, terms.deadline, now) {
            step.force.push((pod.into(), grace));
        } else if Some(tier(pod)) == current && !pod.is_terminating() {
            let list = if pod.refuses_disruption(now) {
                &mut step.protected
            } else if terms.awaits_capacity(pod, now) {
                &mut step.awaiting_capacity
            } else {
                &mut step.evict
            };
            list.push(pod.into());
        }
    }
    step
}

impl DrainTerms {
    fn awaits_capacity(&self, pod: &Pod, now: Timestamp) -> bool {
        let own = SignedDuration::from_secs(pod.spec.termination_grace.0) + EVICTION_HEADSTART;
        self.awaiting_capacity.contains(&pod.key)
            && self.await_capacity_until.is_some_and(|until| until.duration_since(now) > own)
    }
}

/// Whether a drain that left no pod has also lasted [`DRAIN_MIN`].
pub fn is_drain_over(record: &ClaimRecord, step: &DrainStep, now: Timestamp) -> bool {
    step.remaining == 0
        && (record.claim.is(ConditionType::Drained)
            || since(&record.claim, ConditionType::Drained, now)
                .is_some_and(|lasted| lasted >= DRAIN_MIN))
}

/// Attachments that must be detached before the instance is terminated: those of volumes that no
/// pod uses which stays on the node to the end.
pub fn awaited_attachments<'a>(
    attachments: &'a [VolumeAttachment],
    pods: &[&Pod],
    claims: &[PersistentVolumeClaim],
    now: Timestamp,
) -> Vec<&'a VolumeAttachment> {
    let kept: BTreeSet<&Text> = pods
        .iter()
        .filter(|pod| !pod.is_terminal() && !is_drained(pod, now))
        .flat_map(|pod| claim_keys(pod))
        .filter_map(|key| claims.iter().find(|claim| claim.key == key))
        .filter_map(|claim| claim.spec.volume_name.as_ref())
        .collect();
    attachments
        .iter()
        .filter(|one| one.persistent_volume.as_ref().is_none_or(|name| !kept.contains(name)))
        .collect()
}

fn claim_keys(pod: &Pod) -> Vec<ObjectKey> {
    let PodKey { namespace, name } = &pod.key;
    pod.spec
        .volumes
        .iter()
        .map(|volume| match volume {
            VolumeUse::Pvc { name, .. } => ObjectKey::new(namespace.clone(), name.clone()),
            VolumeUse::Ephemeral { volume, .. } => {
                ObjectKey::new(namespace.clone(), format!("{name}-{volume}"))
            }
        })
        .collect()
}

/// The grace period that the deadline leaves a pod, if less than its own; at least 1 s. A pod that
/// is being deleted is forced only if it would outlive the deadline.
fn forced_grace(pod: &Pod, deadline: Option<Timestamp>, now: Timestamp) -> Option<u32> {
    let deadline = deadline?;
    let own = SignedDuration::from_secs(pod.spec.termination_grace.0);
    let left = deadline.duration_since(now);
    let outlives = pod.deleted.is_none_or(|deleted| deleted > deadline);
    (left < own && outlives).then(|| u32::try_from(left.as_secs()).unwrap_or_default().max(1))
}

/// Status and reason of condition Drained.
pub fn drained_status(is_over: bool) -> (ConditionStatus, &'static str) {
    if is_over {
        (ConditionStatus::True, "Drained")
    } else {
        (ConditionStatus::Unknown, "Draining")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, launched_record, node_of, pod_on};
    use domain::node::Node;
    use domain::pod::{DoNotDisrupt, Owner, OwnerKind, PodPhase, PodSpec};
    use domain::taint::Toleration;
    use std::sync::Arc;

    fn node() -> Node {
        node_of(&launched_record("web-1", at(0)))
    }

    fn step(pods: &[Pod], deadline: Option<Timestamp>, now: Timestamp) -> DrainStep {
        let terms = DrainTerms { deadline, ..DrainTerms::default() };
        drain_step(&pods.iter().collect::<Vec<_>>(), &terms, now)
    }

    fn with_spec(mut pod: Pod, change: impl FnOnce(&mut PodSpec)) -> Pod {
        change(Arc::make_mut(&mut pod.spec));
        pod
    }

    fn daemon(mut pod: Pod) -> Pod {
        pod.owner =
            Some(Owner { kind: OwnerKind::DaemonSet, name: "agent".into(), uid: "u".into() });
        pod
    }

    fn names(refs: &[PodRef]) -> Vec<&str> {
        refs.iter().map(|pod| &*pod.key.name).collect()
    }

    #[test]
    fn tiers_go_one_after_another() {
        let critical = |pod| with_spec(pod, |spec| spec.is_critical = true);
        let mut pods = vec![
            critical(daemon(pod_on("d", &node()))),
            critical(pod_on("c", &node())),
            daemon(pod_on("b", &node())),
            pod_on("a", &node()),
        ];
        for expected in ["a", "b", "c", "d"] {
            let next = step(&pods, None, at(0));
            assert_eq!(names(&next.evict), [expected]);
            pods.retain(|pod| &*pod.key.name != expected);
        }
        assert_eq!(step(&pods, None, at(0)).remaining, 0);
    }

    #[test]
    fn a_tier_waits_for_the_pods_of_the_tier_before_it_that_are_still_ending() {
        let mut ending = pod_on("a", &node());
        ending.deleted = Some(at(30));
        let pods = [ending, daemon(pod_on("b", &node()))];
        let next = step(&pods, None, at(10));
        assert!(next.evict.is_empty());
        assert_eq!(next.remaining, 2);
        // A minute past its deletion timestamp a pod no longer counts.
        assert_eq!(names(&step(&pods, None, at(91)).evict), ["b"]);
    }

    #[test]
    fn pods_that_tolerate_the_taint_or_have_terminated_are_left_alone() {
        let tolerant = with_spec(pod_on("a", &node()), |spec| {
            spec.tolerations =
                vec![Toleration { key: None, exists: true, value: "".into(), effect: None }];
        });
        let mut done = pod_on("b", &node());
        done.phase = PodPhase::Succeeded;
        let mut mirror = pod_on("c", &node());
        mirror.is_mirror = true;
        assert_eq!(step(&[tolerant, done, mirror], None, at(0)).remaining, 0);
    }

    #[test]
    fn the_deadline_forces_pods_of_every_tier_whatever_protects_them() {
        let mut protected = daemon(pod_on("a", &node()));
        protected.do_not_disrupt = Some(DoNotDisrupt::Always);
        let pods = [protected, pod_on("b", &node())];
        let next = step(&pods, Some(at(100)), at(70));
        assert_eq!(names(&next.evict), ["b"], "30 s are left, the pods' own grace period");
        let next = step(&pods, Some(at(100)), at(80));
        let forced: Vec<(&str, u32)> =
            next.force.iter().map(|(pod, grace)| (&*pod.key.name, *grace)).collect();
        assert_eq!(forced, [("b", 20), ("a", 20)]);
        let next = step(&pods, Some(at(100)), at(200));
        assert_eq!(next.force[0].1, 1, "grace is never 0");
    }

    #[test]
    fn a_pod_that_is_ending_is_forced_only_if_it_would_outlive_the_deadline() {
        let ending = |until| {
            let mut pod = pod_on("a", &node());
            pod.deleted = Some(at(until));
            pod
        };
        let forced = |until| step(&[ending(until)], Some(at(100)), at(80)).force.len();
        assert_eq!((forced(95), forced(500)), (0, 1));
    }

    #[test]
    fn a_protected_pod_holds_the_drain_up() {
        let mut protected = pod_on("a", &node());
        protected.do_not_disrupt = Some(DoNotDisrupt::Always);
        let next = step(&[protected], None, at(0));
        assert_eq!((next.evict.len(), next.protected.len(), next.remaining), (0, 1, 1));
    }

    #[test]
    fn a_pod_without_a_place_stays_as_long_as_its_grace_period_allows() {
        let pods = [pod_on("a", &node()), pod_on("b", &node())];
        let pods: Vec<&Pod> = pods.iter().collect();
        let terms = DrainTerms {
            deadline: Some(at(120)),
            awaiting_capacity: [pods[0].key.clone()].into(),
            await_capacity_until: Some(at(120)),
        };
        let next = drain_step(&pods, &terms, at(86));
        assert_eq!((names(&next.awaiting_capacity), names(&next.evict)), (vec!["a"], vec!["b"]));
        let next = drain_step(&pods, &terms, at(87));
        assert_eq!(names(&next.evict), ["a", "b"], "30 s of grace, and 3 s for evictions");
        assert!(next.awaiting_capacity.is_empty() && next.force.is_empty());
    }

    #[test]
    fn a_node_is_marked_once() {
        let mut node = node();
        let patch = leaving(&node).unwrap();
        node.labels.extend(patch.labels);
        assert!(leaving(&node).is_some(), "the taint is missing still");
        node.taints.extend(patch.add_taints);
        assert_eq!(leaving(&node), None);
    }
}
