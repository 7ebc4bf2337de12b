//! Ending a claim: taint, drain, volumes, instance, and only then its Node, its NodeClaim object
//! and its record.
//!
//! Source: <https://karpenter.sh/docs/concepts/disruption/#termination-controller>.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::future::join_all;
use rustc_hash::FxHashMap;

use super::instance_ends::ended_instance;
use super::rollouts::{Departure, note_rolling};
use super::{Change, LifecycleRun};
use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::{Instance, InstanceState, Termination};
use crate::ports::cluster::{Eviction, FinalizerChange, NodePatch};
use crate::ports::error::{PortError, found};
use crate::ports::{ClaimStore, Cloud, Cluster, NodeRef, PodRef, Ports, Versioned};
use crate::record::claim::{ClaimRecord, EndReason};
use crate::run::{Run, is_over};
use crate::steps::awaiting_capacity::{awaits_room, drain_terms};
use crate::steps::condition::{ConditionState, set_condition, set_true};
use crate::steps::drain::{
    DrainStep, DrainTerms, Size, awaited_attachments, drain_step, drained_status, is_drain_over,
    leaving,
};
use crate::steps::end::{INSTANCE_GRACE, may_be_launched_until};
use crate::steps::snapshot::snapshot;

/// Shortest and longest requeue interval while pods leave or volumes detach.
const DRAIN_REQUEUE_INTERVALS: [SignedDuration; 2] =
    [SignedDuration::from_secs(1), SignedDuration::from_secs(10)];
/// In between, a drain is looked at again after this fraction of the time that it has taken: what
/// has taken minutes is not over within the next second.
const DRAIN_REQUEUE_FRACTION: i32 = 10;
/// Requeue interval while the fuse holds back the end of a claim.
const HELD_BACK_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// Requeue interval while all remaining pods await capacity elsewhere and the deadline is far off.
const CAPACITY_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// How far off a deadline must be for longer requeue intervals.
const DEADLINE_FAR: SignedDuration = SignedDuration::from_mins(10);
/// Requeue interval while an instance shuts down.
const TERMINATION_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// Pods evicted concurrently.
const EVICTIONS_CONCURRENCY_MAX: usize = 10;
/// Most instances in one TerminateInstances call.
const TERMINATIONS_MAX: usize = 500;

/// A Node being drained.
struct Drain<'a> {
    claim: Versioned<ClaimRecord>,
    node: &'a Node,
    terms: DrainTerms,
    step: DrainStep,
}

/// An eviction that is due.
struct PodEviction<'d> {
    record: &'d ClaimRecord,
    pod: &'d PodRef,
    size: Option<Size>,
}

impl<'a, P: Ports> LifecycleRun<'a, P> {
    /// One step of an ending claim. A registered Node is drained first; one that never registered
    /// is deleted with its instance.
    pub(super) async fn end(&mut self, claim: Versioned<ClaimRecord>) {
        let record = &claim.record;
        if record.instance.is_none() {
            // EC2 may be launching one now, which only its claim's record leads to.
            return match may_be_launched_until(record).filter(|until| *until > self.now) {
                Some(until) => self.requeue_after(until.duration_since(self.now)),
                None => self.finish(claim).await,
            };
        }
        if !self.may_begin_to_end(record) {
            return self.requeue_after(HELD_BACK_REQUEUE_INTERVAL);
        }
        let is_registered = record.claim.is(ConditionType::Registered);
        let Some(node) = self.node(record).filter(|_| is_registered) else {
            self.to_terminate.push(claim);
            return;
        };
        if self.is_abandoned(record, node) {
            self.to_terminate.push(claim);
            return;
        }
        if self.mark_ending(node).await {
            self.to_drain.push((claim, node));
        }
    }

    /// Whether no kubelet is left to end pods: the instance does not run, and the Node is not ready
    /// or the deadline has passed.
    fn is_abandoned(&self, record: &ClaimRecord, node: &Node) -> bool {
        let runs = |instance: &Instance| {
            matches!(instance.state, InstanceState::Pending | InstanceState::Running)
        };
        let deadline = record.ending.as_ref().and_then(|ending| ending.deadline);
        let is_late = deadline.is_some_and(|deadline| self.now >= deadline);
        !self.instance(record).is_some_and(runs) && (node.is_not_ready() || is_late)
    }

    /// Taints the Node and deletes it; our finalizer keeps it until the instance is gone. Returns
    /// whether that worked.
    async fn mark_ending(&mut self, node: &Node) -> bool {
        let reference = NodeRef::from(node);
        if let Some(patch) = leaving(node) {
            let patched = self.ports.cluster().patch_node(&reference, &patch).await;
            let operation = || format!("taint Node {}", node.name);
            if self.report.problems.record(operation, found(patched)).is_none() {
                return false;
            }
        }
        if node.deleted.is_none() {
            let deleted = self.ports.cluster().delete_node(&reference).await;
            let operation = || format!("delete Node {}", node.name);
            return self.report.problems.record(operation, deleted).is_some();
        }
        true
    }

    /// One step of every drain, until the deadline of the run; the rest is left to the next run.
    pub(super) async fn drain(&mut self, run: &Run<'_>) {
        let mut drains: Vec<Drain<'a>> = std::mem::take(&mut self.to_drain)
            .into_iter()
            .map(|(claim, node)| {
                let pods = self.pods_of(node);
                let terms = drain_terms(self.observed, &claim.record, pods);
                Drain { node, step: drain_step(pods, &terms, self.now), terms, claim }
            })
            .collect();
        self.keep_pods_without_room(&mut drains, run);
        self.leave_to_rollouts(&mut drains, run).await;
        let ports = self.ports;
        for Drain { claim, step, .. } in drains.iter().take_while(|_| !is_over(ports, run)) {
            self.force(&claim.record, step).await;
        }
        self.evict(&drains, run).await;
        for drain in drains {
            if is_over(ports, run) {
                self.report.left += 1;
            } else {
                self.record_progress(drain).await;
            }
        }
    }

    /// Records the progress of a drain, and moves on to volumes and the instance once it is
    /// complete.
    async fn record_progress(&mut self, Drain { claim, node, step, .. }: Drain<'a>) {
        let mut record = claim.record.clone();
        let deadline = record.ending.as_ref().and_then(|ending| ending.deadline);
        let was_drained = record.claim.is(ConditionType::Drained);
        let is_over = is_drain_over(&record, &step, self.now);
        let (status, reason) = drained_status(is_over);
        let message = match step.rolling.len() {
            0 => format!("{} pods remain", step.remaining),
            rolling => {
                format!("{} pods remain, {rolling} until a rollout ends them", step.remaining)
            }
        };
        let message = if is_over { "" } else { message.as_str() };
        note_rolling(&mut record.claim, &step.rolling);
        let state = ConditionState::new(status, reason, message);
        set_condition(&mut record.claim, ConditionType::Drained, state, self.now);
        if is_over && !was_drained {
            self.record_change(&record, Change::Drained);
        }
        let is_forced = deadline.is_some_and(|deadline| self.now >= deadline);
        let volumes = if is_over { self.volumes_left(node, is_forced).await } else { None };
        if let Some(left) = volumes {
            self.set_volumes(&mut record, left);
        }
        let Some(claim) = self.save(claim, record).await else { return };
        if volumes == Some(0) {
            self.to_terminate.push(claim);
        } else {
            let waiting = step.awaiting_capacity.len() + step.rolling.len();
            let is_patient = waiting == step.remaining && step.remaining > 0;
            self.requeue_after(if is_patient && self.is_far(deadline) {
                CAPACITY_REQUEUE_INTERVAL
            } else {
                self.drain_interval(&claim.record)
            });
        }
    }

    /// When to look at a drain again.
    fn drain_interval(&self, record: &ClaimRecord) -> SignedDuration {
        let [shortest, longest] = DRAIN_REQUEUE_INTERVALS;
        let ending = record.ending.as_ref().filter(|own| self.is_far(own.deadline));
        let taken = ending.map(|own| self.now.duration_since(own.since));
        taken.map_or(shortest, |taken| (taken / DRAIN_REQUEUE_FRACTION).clamp(shortest, longest))
    }

    /// Whether a deadline, if there is one, is far off.
    fn is_far(&self, deadline: Option<Timestamp>) -> bool {
        deadline.is_none_or(|own| own.duration_since(self.now) > DEADLINE_FAR)
    }

    /// Number of volumes that must detach before the instance is terminated; `None` when unknown.
    async fn volumes_left(&mut self, node: &Node, is_forced: bool) -> Option<usize> {
        if is_forced {
            return Some(0);
        }
        let listed = self.ports.cluster().volume_attachments(&node.name).await;
        let operation = || format!("list volume attachments of Node {}", node.name);
        let attachments = self.report.problems.record(operation, listed)?;
        let claims = &self.observed.listing.objects.persistent_volume_claims;
        Some(awaited_attachments(&attachments, self.pods_of(node), claims, self.now).len())
    }

    fn set_volumes(&mut self, record: &mut ClaimRecord, left: usize) {
        if left == 0 {
            set_true(&mut record.claim, ConditionType::VolumesDetached, self.now);
            return;
        }
        let message = format!("{left} volumes are attached");
        let state = ConditionState::unknown("AwaitingVolumeDetachment", &message);
        set_condition(&mut record.claim, ConditionType::VolumesDetached, state, self.now);
        self.record_change(record, Change::WaitingForVolumes(left));
    }

    /// Deletes pods that the deadline leaves too little time for an eviction, and records events
    /// about protected pods.
    async fn force(&mut self, record: &ClaimRecord, step: &DrainStep) {
        for (pod, grace) in &step.force {
            let deleted = self.ports.cluster().delete_pod(pod, *grace).await;
            let operation = || format!("delete pod {}", pod.key);
            if self.report.problems.record(operation, deleted).is_some() {
                let message = format!(
                    "deleted with a grace period of {grace} s: the drain's deadline is near"
                );
                self.pod_event(pod, EventReason::Disrupted, message);
                self.record_change(record, Change::Forced(pod.key.clone(), *grace));
            }
        }
        for pod in &step.protected {
            let message = "karpenter.sh/do-not-disrupt blocks the drain of its node".to_owned();
            self.pod_event(pod, EventReason::FailedDraining, message);
            self.record_change(record, Change::PodProtected(pod.key.clone()));
        }
    }

    /// Has pods stay, of nodes that go by choice, that no other node has room for yet. Provisioning
    /// launches what they need, if it is not on its way.
    fn keep_pods_without_room(&self, drains: &mut [Drain<'a>], run: &Run<'_>) {
        if !drains.iter().any(|own| awaits_room(&own.claim.record) && !own.step.evict.is_empty()) {
            return;
        }
        let pods = self.evictions(drains).into_iter().map(|own| own.pod.key.clone());
        let pods: Vec<PodKey> = pods.collect();
        let evictable = (run.core.evictable)(&snapshot(self.observed, run.settings), &pods);
        for drain in drains.iter_mut().filter(|own| awaits_room(&own.claim.record)) {
            let due = drain.step.evict.iter().map(|pod| &pod.key);
            let without: BTreeSet<PodKey> =
                due.filter(|pod| !evictable.contains(pod)).cloned().collect();
            if !without.is_empty() {
                drain.terms.awaiting_capacity = without;
                drain.step = drain_step(self.pods_of(drain.node), &drain.terms, self.now);
            }
        }
    }

    /// Takes pods from what is evicted that rollouts of their Deployments replace, of nodes that go
    /// by choice.
    async fn leave_to_rollouts(&mut self, drains: &mut [Drain<'a>], run: &Run<'_>) {
        if !run.settings.feature_gates.rollout_eviction {
            return;
        }
        let mut due: Vec<Departure<'a>> = Vec::new();
        for drain in drains.iter().filter(|own| awaits_room(&own.claim.record)) {
            let pods = self.pods_of(drain.node).iter().copied();
            let pods = pods.filter(|pod| drain.step.evict.iter().any(|own| own.uid == pod.uid));
            let claim = &drain.claim.record.claim.name;
            due.extend(pods.map(|pod| Departure { claim: claim.clone(), pod }));
        }
        let rolling = self.rolling(&due, run).await;
        for drain in drains {
            let is_rolling = |pod: &mut PodRef| rolling.contains(&pod.uid);
            drain.step.rolling = drain.step.evict.extract_if(.., is_rolling).collect();
        }
    }

    /// What the drains evict now, in order: the largest first across nodes, since planning assumes
    /// that large pods are rescheduled before smaller ones take their places.
    fn evictions<'d>(&self, drains: &'d [Drain<'a>]) -> Vec<PodEviction<'d>> {
        let sizes: FxHashMap<&Text, Size> = drains
            .iter()
            .flat_map(|drain| self.pods_of(drain.node))
            .map(|pod| (&pod.uid, Size::of(pod)))
            .collect();
        let mut evictions = Vec::new();
        for drain in drains {
            let record = &drain.claim.record;
            let of =
                |pod: &'d PodRef| PodEviction { record, pod, size: sizes.get(&pod.uid).copied() };
            evictions.extend(drain.step.evict.iter().map(of));
        }
        evictions.sort_by_key(|own| (Reverse(own.size), &own.pod.key));
        evictions
    }

    async fn evict(&mut self, drains: &[Drain<'a>], run: &Run<'_>) {
        let evictions = self.evictions(drains);
        let cluster = self.ports.cluster();
        let equal = evictions.chunk_by(|a, b| a.size == b.size);
        for batch in equal.flat_map(|equal| equal.chunks(EVICTIONS_CONCURRENCY_MAX)) {
            if is_over(self.ports, run) {
                return;
            }
            let answers = join_all(batch.iter().map(|own| cluster.evict_pod(own.pod))).await;
            for (own, answer) in batch.iter().zip(answers) {
                self.record_eviction(own.record, own.pod, answer);
            }
        }
    }

    fn record_eviction(
        &mut self,
        record: &ClaimRecord,
        pod: &PodRef,
        answer: Result<Eviction, PortError>,
    ) {
        let operation = || format!("evict pod {}", pod.key);
        match self.report.problems.record(operation, answer) {
            Some(Eviction::Accepted) => {
                self.pod_event(pod, EventReason::Evicted, "its node is being disrupted".to_owned());
                self.record_change(record, Change::Evicted(pod.key.clone()));
                if let Some(obstacle) = self.not_rolled_out.get(&pod.uid).copied() {
                    self.record_change(
                        record,
                        Change::RolloutNotPossible(pod.key.clone(), obstacle),
                    );
                }
            }
            Some(Eviction::Blocked { message }) => {
                self.pod_event(pod, EventReason::FailedDraining, message.to_string());
                self.record_change(record, Change::EvictionBlocked(pod.key.clone(), message));
            }
            Some(Eviction::Gone) | None => {}
        }
    }

    fn pod_event(&mut self, pod: &PodRef, reason: EventReason, message: String) {
        let about = Subject::Pod(pod.key.clone(), pod.uid.clone());
        self.events.push(Event::new(about, reason, message));
    }

    /// Terminates the instances of all claims that are ready for it.
    pub(super) async fn terminate(&mut self) {
        let mut waiting = std::mem::take(&mut self.to_terminate);
        for claim in &waiting {
            if self.ended_by_itself(&claim.record) {
                self.ended_instances.extend(ended_instance(&claim.record));
            }
        }
        // Instances that are shutting down already need no further call.
        let shutting_down: Vec<Versioned<ClaimRecord>> = waiting
            .extract_if(.., |claim| {
                self.instance(&claim.record)
                    .is_some_and(|instance| instance.state == InstanceState::ShuttingDown)
            })
            .collect();
        for claim in shutting_down {
            self.terminated(claim, Termination::ShuttingDown).await;
        }
        while !waiting.is_empty() {
            let batch: Vec<Versioned<ClaimRecord>> =
                waiting.drain(..waiting.len().min(TERMINATIONS_MAX)).collect();
            let ids: Vec<Text> = batch.iter().filter_map(instance_id).collect();
            let operation = || format!("terminate {} instances", ids.len());
            let answer = self.ports.cloud().terminate(&ids).await;
            let Some(outcomes) = self.report.problems.record(operation, answer) else {
                self.requeue_after(TERMINATION_REQUEUE_INTERVAL);
                continue;
            };
            for (claim, outcome) in batch.into_iter().zip(outcomes) {
                self.terminated(claim, outcome).await;
            }
        }
    }

    /// Whether an instance is found to be gone, or to go, that nobody here has terminated: EC2's
    /// notice came before lists showed it.
    fn ended_by_itself(&self, record: &ClaimRecord) -> bool {
        let is_interrupted =
            record.ending.as_ref().is_some_and(|own| own.reason == EndReason::INTERRUPTED);
        let is_alive = self.instance(record).is_some_and(|own| own.state.is_alive());
        let is_news = record.claim.condition(ConditionType::InstanceTerminating).is_none();
        is_interrupted && !is_alive && is_news
    }

    async fn terminated(&mut self, claim: Versioned<ClaimRecord>, outcome: Termination) {
        let mut record = claim.record.clone();
        match outcome {
            Termination::Terminated => return self.finish(claim).await,
            Termination::Unknown if !self.may_be_shown_later(&record) => {
                return self.finish(claim).await;
            }
            Termination::Unknown => {
                let message = "EC2 does not know the instance yet, or any more";
                let state = ConditionState::unknown("InstanceUnknown", message);
                set_condition(
                    &mut record.claim,
                    ConditionType::InstanceTerminating,
                    state,
                    self.now,
                );
            }
            Termination::ShuttingDown => {
                if !record.claim.is(ConditionType::InstanceTerminating) {
                    let id = instance_id(&claim).unwrap_or_default();
                    self.record_change(&record, Change::Terminating(id));
                }
                set_true(&mut record.claim, ConditionType::InstanceTerminating, self.now);
            }
            Termination::Failed(error) => self.termination_failed(&mut record, error),
        }
        self.save(claim, record).await;
        self.requeue_after(TERMINATION_REQUEUE_INTERVAL);
    }

    /// Whether an instance that EC2 says it does not know may be there all the same: EC2 never said
    /// that it ends, and it is new or listed.
    fn may_be_shown_later(&self, record: &ClaimRecord) -> bool {
        if record.claim.is(ConditionType::InstanceTerminating) {
            return false;
        }
        let age = record.instance.as_ref().map(|own| self.now.duration_since(own.launched));
        age.is_some_and(|age| age <= INSTANCE_GRACE)
            || self.instance(record).is_some_and(|instance| instance.state.is_alive())
    }

    fn termination_failed(&mut self, record: &mut ClaimRecord, error: PortError) {
        let message = error.to_string();
        let state = ConditionState::unknown("TerminationFailed", &message);
        set_condition(&mut record.claim, ConditionType::InstanceTerminating, state, self.now);
        let about = Subject::NodeClaim(record.claim.name.clone());
        self.events.push(Event::new(about, EventReason::FailedTermination, &message));
        let operation = || format!("terminate the instance of claim {}", record.claim.name);
        self.report.problems.record(operation, Err::<(), _>(error));
    }

    /// Deletes the Node, the NodeClaim object and last the record of a claim: until the record is
    /// gone, any run repeats this.
    async fn finish(&mut self, claim: Versioned<ClaimRecord>) {
        let Versioned { record, version } = claim;
        let name = &record.claim.name;
        if let Some(node) = self.node(&record)
            && !self.release_node(node).await
        {
            return self.requeue_after(TERMINATION_REQUEUE_INTERVAL);
        }
        let removed = self.ports.cluster().remove_node_claim(name, &record.claim.uid).await;
        if self.report.problems.record(|| format!("remove NodeClaim {name}"), removed).is_none() {
            return self.requeue_after(TERMINATION_REQUEUE_INTERVAL);
        }
        let deleted = self.ports.store().delete_claim(name, version).await;
        if self.report.problems.record(|| format!("delete claim {name}"), deleted).is_some() {
            let reason =
                record.ending.as_ref().map_or(EndReason::InstanceGone, |ending| ending.reason);
            self.record_change(&record, Change::Ended(reason));
        } else {
            self.requeue_after(TERMINATION_REQUEUE_INTERVAL);
        }
    }

    /// Deletes a Node and removes our finalizer from it. Returns whether it is gone.
    pub(super) async fn release_node(&mut self, node: &Node) -> bool {
        let reference = NodeRef::from(node);
        let deleted = self.ports.cluster().delete_node(&reference).await;
        if self.report.problems.record(|| format!("delete Node {}", node.name), deleted).is_none() {
            return false;
        }
        let patch = NodePatch { finalizer: FinalizerChange::Remove, ..NodePatch::default() };
        let patched = self.ports.cluster().patch_node(&reference, &patch).await;
        let operation = || format!("release Node {}", node.name);
        self.report.problems.record(operation, found(patched)).is_some()
    }
}

fn instance_id(claim: &Versioned<ClaimRecord>) -> Option<Text> {
    claim.record.instance.as_ref().map(|instance| instance.id.clone())
}
