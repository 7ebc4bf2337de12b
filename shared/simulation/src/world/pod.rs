//! Pods: made, bound, started, deleted. What the scheduler and the kubelets do to them.

use domain::node::Node;
use domain::pod::{ObjectKey, OwnerKind, Pod, PodPhase};
use domain::scheduler::SchedulerConfig;
use domain::{SignedDuration, Text};

use domain::workload::WorkloadKind;
use manifests::WorkloadObject;
use rustc_hash::FxHashSet;

use super::World;
use super::deletion::Deletion;
use crate::agenda::Due;
use crate::api::{Kind, WorkloadId};
use crate::report::Happening;
use crate::scheduler;

/// From a pod's binding to its being ready: images are small and near.
const STARTS_AFTER: (SignedDuration, SignedDuration) =
    (SignedDuration::from_millis(1000), SignedDuration::from_millis(3000));
/// From a pod's deletion to its containers' end, where the world's options do not say; its grace
/// period may be shorter.
const STOPS_AFTER: (SignedDuration, SignedDuration) =
    (SignedDuration::from_millis(1000), SignedDuration::from_millis(4000));

/// A pod made so soon after the eviction of one of the same owner stands in for it. Longer than any
/// grace period that a StatefulSet's successor waits for by default.
const SUCCESSOR_WITHIN: SignedDuration = SignedDuration::from_secs(60);

impl World {
    /// How long a pod works before it ends by itself; `None` for one that does not.
    fn work_of(&self, pod: &Pod) -> Option<SignedDuration> {
        if let Some(playback) = &self.playback {
            return playback.work_of(&pod.key);
        }
        let is_of_job = pod.owner_kind() == Some(OwnerKind::Job);
        is_of_job.then_some(self.options.job_duration)
    }

    /// Creates a pod with the claims of its volumes.
    pub fn create_pod(&mut self, pod: Pod) {
        let key = pod.key.clone();
        self.create_claims_of(&pod);
        if pod.node_name.is_some() {
            // Whether that Node exists, nobody asks.
            self.nodes_collected = None;
        }
        if self.api.create(pod, self.now).is_ok() {
            self.start_if_bound(&key);
        }
    }

    /// Lets a pod go on from where it is: one that a scenario brings along may be anywhere.
    fn start_if_bound(&mut self, key: &ObjectKey) {
        let Some(pod) = self.api.get::<Pod>(key) else { return };
        let (key, uid) = (key.clone(), pod.uid.clone());
        match (pod.deleted, pod.phase) {
            (Some(_), _) if pod.node_name.is_none() => self.remove_pod(&key),
            (Some(ends), _) => self.agenda.add(ends.max(self.now), Due::PodStops { pod: key, uid }),
            (None, _) if pod.node_name.is_none() => {}
            (None, PodPhase::Pending) => self.let_start(key, uid),
            // How much of its work is done is not known.
            (None, PodPhase::Running) => {
                if let Some(work) = self.work_of(pod) {
                    self.let_complete(key, uid, work);
                }
            }
            (None, _) => {}
        }
    }

    /// Lets a pod complete once it has done its work.
    fn let_complete(&mut self, pod: ObjectKey, uid: Text, work: SignedDuration) {
        self.agenda.add(self.now + work, Due::PodCompletes { pod, uid });
    }

    fn let_start(&mut self, pod: ObjectKey, uid: Text) {
        let drawn = self.seed.draw("pod-start", &uid).between(STARTS_AFTER.0, STARTS_AFTER.1);
        let delay = self.options.pod_start.unwrap_or(drawn);
        self.agenda.add(self.now + delay, Due::PodStarts { pod, uid });
    }

    /// How kube-scheduler is configured: as a scenario says of it alone, or as the cluster says.
    pub(super) fn scheduler_config(&self) -> SchedulerConfig {
        let said = || self.api.list::<SchedulerConfig>().next().cloned();
        self.own_scheduler.clone().or_else(said).unwrap_or_default()
    }

    /// Lets the scheduler run once.
    pub(super) fn schedule(&mut self) {
        let waiting = self.api.pods().unbound().filter(|pod| scheduler::is_waiting(pod));
        for retry in self.queue.changed(waiting.map(|pod| &pod.uid), self.now) {
            self.agenda.add(retry, Due::SchedulerRetries);
        }
        let is_tried = |pod: &Pod| self.queue.lets_try(&pod.uid, self.now);
        let cycle = scheduler::cycle(&self.api, &self.scheduler_config(), is_tried);
        for (key, node) in cycle.bound {
            self.bind_volumes_of(&key, &node);
            let bound = self.api.update::<Pod>(&key, None, |pod| {
                pod.node_name = Some(node.clone());
                pod.nominated_node_name = None;
                pod.marked_unschedulable = false;
            });
            if bound.is_err() {
                continue;
            }
            let Some(pod) = self.api.get::<Pod>(&key).cloned() else { continue };
            self.note_wait(&pod);
            let (is_daemon, uid) = (pod.is_daemon(), pod.uid.clone());
            self.let_start(key.clone(), uid.clone());
            if !is_daemon {
                self.pod_events.came(&node, &uid, self.now);
                self.journal.add(self.now, Happening::PodsBound { node, pods: vec![key] });
            }
        }
        for (key, why) in cycle.unschedulable {
            let Some(pod) = self.api.get::<Pod>(&key) else { continue };
            self.queue.failed(&pod.uid, self.now);
            if pod.nominated_node_name.is_some() {
                self.api.alter_unheard::<Pod>(&key, |pod| pod.nominated_node_name = None);
            }
            let Some(pod) = self.api.get::<Pod>(&key) else { continue };
            if pod.marked_unschedulable {
                continue;
            }
            let is_daemon = pod.is_daemon();
            self.api.alter_unheard::<Pod>(&key, |pod| pod.marked_unschedulable = true);
            if !is_daemon {
                let pending = Happening::PodsPending(vec![key]);
                self.journal.add_because(self.now, pending, Some(why));
            }
        }
    }

    /// Takes note of how long a pod has waited, once it is bound.
    fn note_wait(&mut self, pod: &Pod) {
        // What was there when a recording began had its place: here it waits for the first nodes.
        let slot = self.playback.as_ref().and_then(|own| own.slot_of(&pod.key));
        if pod.is_daemon() || slot.is_some_and(|slot| slot.was_there) {
            return;
        }
        self.waiting.pods_bound += 1;
        // It was nobody's fault but its own, or its NodePool's.
        if self.unschedulable.remove(&pod.key).is_some() {
            return;
        }
        let waited = self.waited(pod);
        self.each_wait.push(waited);
        self.waiting.total += waited;
        self.waiting.longest = self.waiting.longest.max(waited);
        if let Some(created) = pod.created {
            let longest = self.waits.entry(created).or_default();
            *longest = (*longest).max(waited);
        }
        if self.is_successor_of_moved(pod) {
            let longest = &mut self.waiting.longest_after_eviction;
            *longest = (*longest).max(waited);
        }
    }

    /// How long a pod has been there, or was until now.
    pub(crate) fn waited(&self, pod: &Pod) -> SignedDuration {
        pod.created.map_or(SignedDuration::ZERO, |made| self.now.duration_since(made))
    }

    /// Whether a pod was made in place of one that was evicted by choice.
    pub(crate) fn is_successor_of_moved(&self, pod: &Pod) -> bool {
        let Some(owner) = &pod.owner else { return false };
        let key = ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
        let moved = self.moved.get(&(owner.kind, key));
        moved.zip(pod.created).is_some_and(|(moved, made)| {
            made >= *moved && made.duration_since(*moved) <= SUCCESSOR_WITHIN
        })
    }

    pub(super) fn pod_starts(&mut self, key: &ObjectKey, uid: &Text) {
        let now = self.now;
        let Some(pod) = self.api.get::<Pod>(key).filter(|pod| pod.uid == *uid) else { return };
        if pod.is_terminating() || pod.phase != PodPhase::Pending {
            return;
        }
        let work = self.work_of(pod);
        self.api.alter::<Pod>(key, |pod| {
            pod.phase = PodPhase::Running;
            pod.ready = Some(true);
            pod.started.get_or_insert(now);
        });
        if let Some(work) = work {
            self.let_complete(key.clone(), uid.clone(), work);
        }
    }

    pub(super) fn pod_completes(&mut self, key: &ObjectKey, uid: &Text) {
        let is_working = |pod: &Pod| pod.uid == *uid && pod.is_active();
        if !self.api.get::<Pod>(key).is_some_and(is_working) {
            return;
        }
        self.api.alter::<Pod>(key, |pod| {
            pod.phase = PodPhase::Succeeded;
            pod.ready = Some(false);
        });
        self.note_leaving(key);
    }

    /// Deletes a Job that has been over for its `ttlSecondsAfterFinished`, with its pods.
    pub(super) fn job_expires(&mut self, job: &ObjectKey, uid: &Text) {
        let id = WorkloadId { kind: WorkloadKind::Job, key: job.clone() };
        if self.api.get::<WorkloadObject>(&id).is_some_and(|own| own.uid == *uid) {
            self.delete_workload(&id);
        }
    }

    fn note_leaving(&mut self, key: &ObjectKey) {
        let Some(pod) = self.api.get::<Pod>(key).filter(|pod| !pod.is_daemon()) else { return };
        if let Some(node) = &pod.node_name {
            let made = pod.created.unwrap_or(self.now);
            self.pod_events.went(node, &pod.uid, made, self.now);
        }
    }

    /// Requests a pod's deletion. One that is not bound, or has ended, goes at once; one that is
    /// being deleted already may only go sooner.
    pub(crate) fn delete_pod(&mut self, key: &ObjectKey, deletion: Deletion) {
        let Some(pod) = self.api.get::<Pod>(key) else { return };
        let is_idle = pod.node_name.is_none() || pod.is_terminal();
        let grace_seconds = match deletion {
            Deletion::Graceful => pod.spec.termination_grace.0.max(0),
            Deletion::Within(seconds) => i64::from(seconds),
            Deletion::Immediate => 0,
        };
        if is_idle || deletion == Deletion::Immediate {
            self.remove_pod(key);
            return;
        }
        let grace = SignedDuration::from_secs(grace_seconds);
        let ends = self.now + grace;
        if pod.deleted.is_some_and(|earlier| earlier <= ends) {
            return;
        }
        let uid = pod.uid.clone();
        self.note_leaving(key);
        let drawn = self.seed.draw("pod-stop", &uid).between(STOPS_AFTER.0, STOPS_AFTER.1);
        let delay = self.options.pod_stop.unwrap_or(drawn);
        self.api.alter::<Pod>(key, |pod| pod.deleted = Some(ends));
        self.agenda.add(self.now + delay.min(grace), Due::PodStops { pod: key.clone(), uid });
    }

    pub(super) fn pod_stops(&mut self, key: &ObjectKey, uid: &Text) {
        let is_it = self.api.get::<Pod>(key).is_some_and(|pod| pod.uid == *uid);
        if is_it {
            self.remove_pod(key);
        }
    }

    fn remove_pod(&mut self, key: &ObjectKey) {
        if let Ok(pod) = self.api.remove::<Pod>(key) {
            self.remove_ephemeral_claims_of(&pod);
        }
    }

    /// Pods whose Node is gone are taken away, as the pod garbage collector does.
    pub(super) fn collect_pods_of_lost_nodes(&mut self) {
        let latest = Some(self.api.latest(Kind::Node));
        if self.nodes_collected == latest {
            return;
        }
        self.nodes_collected = latest;
        let nodes: FxHashSet<&Text> = self.api.list::<Node>().map(|node| &node.name).collect();
        let lost: Vec<(ObjectKey, Text, bool)> = self
            .api
            .list::<Pod>()
            .filter_map(|pod| {
                let node = pod.node_name.as_ref().filter(|node| !nodes.contains(node))?;
                let is_missed = pod.is_active() && !pod.is_daemon() && !pod.is_static();
                Some((pod.key.clone(), node.clone(), is_missed))
            })
            .collect();
        for (key, node, is_missed) in lost {
            self.delete_pod(&key, Deletion::Immediate);
            if is_missed {
                self.journal.add(self.now, Happening::PodsLost { node, pods: vec![key] });
            }
        }
    }
}
