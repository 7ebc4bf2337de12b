//! The world: a cluster, a cloud, a table and a clock, as one state machine.
//!
//! Time stands still while anybody acts on it and jumps when [`World::advance_to`] says so; what is
//! due on the way happens in order, and after each moment the cluster's own controllers settle.
//! Nothing is random that does not come from the seed, so equal calls give equal worlds.

mod addresses;
mod admission;
mod adoption;
mod committed;
mod deletion;
mod eviction;
mod fault;
mod keda;
mod kubelet;
mod pod;
mod pod_events;
pub(crate) mod readiness;
mod settle;
mod volume;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use controllers::interruption::NoticeKind;
use controllers::pod_fingerprints::PodFingerprints;
use controllers::ports::Wake;
use controllers::ports::cloud::InstanceStatus;
use controllers::ports::cluster::ControlsObject;
use controllers::status::{CapacityBufferStatus, NodeClassStatus, NodePoolStatus, Observed};
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::pod::{ObjectKey, OwnerKind};
use domain::scheduler::SchedulerConfig;
use domain::{SignedDuration, Text, Timestamp};
use manifests::{PriorityClass, WorkloadObject};

use crate::agenda::{Agenda, Due};
use crate::api::{ApiServer, WorkloadId};
use crate::ec2::{CapacityPool, Ec2, Ec2Behaviour, Faults, PublishedImage, Supply};
use crate::invariant::Violation;
use crate::journal::Journal;
use crate::playback::Playback;
use crate::report::{Happening, Occurrence, Waiting};
use crate::scenario::SpotInterruptions;
use crate::seed::Seed;
use crate::store::Store;
use readiness::Readiness;

pub use admission::DeleteTarget;
pub(crate) use deletion::Deletion;

/// How a world behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldOptions {
    /// What everything random comes from.
    pub seed: u64,
    /// When its time begins.
    pub start: Timestamp,
    /// How often calls fail.
    pub faults: Faults,
    /// How EC2 behaves where it is free to.
    pub ec2: Ec2Behaviour,
    /// Whether functions run although nothing is there for them to do.
    pub every_run: bool,
    /// How long a Job's pod works.
    pub job_duration: SignedDuration,
    /// From an instance's launch to a ready Node; drawn for each where this is `None`.
    pub boot: Option<SignedDuration>,
    /// From a pod's binding to its being ready; drawn, from 1 to 3 s, when unset.
    pub pod_start: Option<SignedDuration>,
    /// From a pod's deletion to its containers' end, if its grace period lets them; drawn for each
    /// where this is `None`.
    pub pod_stop: Option<SignedDuration>,
}

impl WorldOptions {
    /// No faults, EC2 as it is documented, Jobs of five minutes.
    pub fn new(seed: u64, start: Timestamp) -> Self {
        Self {
            seed,
            start,
            faults: Faults::default(),
            ec2: Ec2Behaviour::default(),
            every_run: false,
            job_duration: SignedDuration::from_mins(5),
            boot: None,
            pod_start: None,
            pod_stop: None,
        }
    }
}

/// The world.
#[derive(Debug)]
pub struct World {
    pub(crate) now: Timestamp,
    pub(crate) seed: Seed,
    pub(crate) options: WorldOptions,
    pub(crate) api: ApiServer,
    pub(crate) ec2: Ec2,
    pub(crate) store: Store,
    pub(crate) agenda: Agenda,
    pub(crate) journal: Journal,
    /// Nodes that carry our finalizer.
    pub(crate) node_finalizers: BTreeSet<Text>,
    /// NodeClaim objects that mirror a claim, and that claim's uid.
    pub(crate) mirrors: BTreeMap<Text, Text>,
    /// `status` of NodePools, as it was written.
    pub(crate) node_pool_states: BTreeMap<Text, Observed<NodePoolStatus>>,
    /// `status` of EC2NodeClasses, as it was written.
    pub(crate) node_class_states: BTreeMap<Text, Observed<NodeClassStatus>>,
    /// `status` of CapacityBuffers, as it was written.
    pub(crate) capacity_buffer_states: BTreeMap<ObjectKey, Observed<CapacityBufferStatus>>,
    /// What KEDA remembers of ScaledObjects.
    pub(crate) keda: BTreeMap<ObjectKey, keda::Memory>,
    /// What the Job controller remembers of Jobs.
    pub(crate) jobs: crate::job_progress::Jobs,
    /// PriorityClasses by name.
    pub(crate) priority_classes: BTreeMap<Text, PriorityClass>,
    /// How many pods each workload has had, so that names are drawn for each workload apart.
    pub(crate) pods_made: BTreeMap<WorkloadId, u64>,
    /// Announcements of EC2 about instances that have not been delivered yet.
    pub(crate) announcements: Vec<(Text, NoticeKind)>,
    /// Messages between functions that have not been delivered yet.
    pub(crate) wakes: Vec<Wake>,
    /// What EC2's checks find wrong, by instance.
    pub(crate) statuses: BTreeMap<Text, InstanceStatus>,
    pub(crate) violations: Vec<Occurrence>,
    /// Timeline entries about pods, so that each is added once.
    pub(crate) reported: BTreeSet<(ObjectKey, Text)>,
    /// Pods that nothing can host, and why, as an event said last.
    pub(crate) unschedulable: BTreeMap<ObjectKey, Text>,
    /// What functions have worked out of the pods on Nodes.
    pub(crate) pod_fingerprints: PodFingerprints,
    /// When pods came to Nodes and went.
    pub(crate) pod_events: pod_events::PodEvents,
    /// Nodes of commands that were started, and when each command was proposed.
    pub(crate) disrupting: BTreeMap<Text, Timestamp>,
    /// Instances without a claim, and since when.
    pub(crate) orphans: BTreeMap<Text, Timestamp>,
    /// What ConfigMap `kube-system/outrigger` has for the functions' controls.
    pub(crate) controls: ControlsObject,
    /// How kube-scheduler is configured, where that is not what the ConfigMap says.
    pub(crate) own_scheduler: Option<SchedulerConfig>,
    /// The longest wait of pods that were bound, by when they were made.
    pub(crate) waits: BTreeMap<Timestamp, SignedDuration>,
    /// How long pods waited so far.
    pub(crate) waiting: Waiting,
    /// The wait of every pod that was bound, in the order in which they were bound.
    pub(crate) each_wait: Vec<SignedDuration>,
    /// Owners of pods that were evicted by choice, and when last.
    pub(crate) moved: BTreeMap<(OwnerKind, ObjectKey), Timestamp>,
    /// What all instances have cost so far, in billionths of a dollar an hour times milliseconds.
    cost_nano_usd_millis_per_hour: i128,
    /// How much of that commitments covered.
    covered_nano_usd_millis_per_hour: i128,
    /// How many calls the controllers have made.
    calls: u64,
    /// How many of those may have changed something.
    pub(crate) effects: u64,
    settled_revision: Option<u64>,
    /// The latest write to a workload when no Deployment had anything to do.
    pub(crate) deployments_settled: Option<u64>,
    /// What the controllers of workloads have seen.
    pub(crate) controllers: Option<crate::last_step::LastStep>,
    /// The latest write to a Node by which no pod was on one that is gone.
    nodes_collected: Option<u64>,
    /// The latest writes to pods, workloads and budgets when budgets' status was right last.
    budgets_refreshed: Option<[u64; 3]>,
    /// What kube-scheduler leaves alone for a while.
    pub(crate) queue: crate::scheduler::Queue,
    /// How often EC2 takes spot instances back by itself.
    pub(crate) spot_interruptions: Vec<SpotInterruptions>,
    /// When workloads had no ready pod that a scenario asks about.
    readiness: Readiness,
    /// Addresses of subnets, taken ones included, by EC2NodeClass and subnet, where a class asks
    /// about them.
    subnet_addresses: BTreeMap<(Text, Text), u64>,
    /// Images that the scenario knows.
    pub(crate) images: Vec<PublishedImage>,
    /// What the spot instances came to that EC2 has announced to take back.
    pub(crate) interruptions: crate::report::Interruptions,
    /// Recorded pods that are replayed.
    pub(crate) playback: Option<Playback>,
    /// Of instances and claims, what was checked last.
    checked: Option<(u64, u64)>,
}

const MILLIS_PER_HOUR: i128 = 3_600_000;

impl World {
    /// An empty cluster and a cloud with everything available.
    pub fn new(options: WorldOptions, supply: Supply) -> Self {
        let seed = Seed::new(options.seed);
        let mut ec2 = Ec2::new(seed, supply, options.faults);
        ec2.set_behaviour(options.ec2);
        Self {
            now: options.start,
            seed,
            options,
            api: ApiServer::new(seed),
            ec2,
            store: Store::default(),
            agenda: Agenda::default(),
            journal: Journal::default(),
            node_finalizers: BTreeSet::new(),
            mirrors: BTreeMap::new(),
            node_pool_states: BTreeMap::new(),
            node_class_states: BTreeMap::new(),
            capacity_buffer_states: BTreeMap::new(),
            keda: BTreeMap::new(),
            jobs: crate::job_progress::Jobs::new(),
            priority_classes: BTreeMap::new(),
            pods_made: BTreeMap::new(),
            announcements: Vec::new(),
            wakes: Vec::new(),
            statuses: BTreeMap::new(),
            violations: Vec::new(),
            reported: BTreeSet::new(),
            unschedulable: BTreeMap::new(),
            pod_fingerprints: PodFingerprints::default(),
            pod_events: pod_events::PodEvents::default(),
            disrupting: BTreeMap::new(),
            orphans: BTreeMap::new(),
            controls: ControlsObject::default(),
            own_scheduler: None,
            subnet_addresses: BTreeMap::new(),
            waits: BTreeMap::new(),
            waiting: Waiting::default(),
            each_wait: Vec::new(),
            moved: BTreeMap::new(),
            cost_nano_usd_millis_per_hour: 0,
            covered_nano_usd_millis_per_hour: 0,
            calls: 0,
            effects: 0,
            settled_revision: None,
            deployments_settled: None,
            controllers: None,
            nodes_collected: None,
            budgets_refreshed: None,
            queue: crate::scheduler::Queue::default(),
            spot_interruptions: Vec::new(),
            readiness: Readiness::new(),
            images: Vec::new(),
            interruptions: crate::report::Interruptions::default(),
            playback: None,
            checked: None,
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The API server.
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// The cloud.
    pub fn ec2(&self) -> &Ec2 {
        &self.ec2
    }

    /// What happened so far that must never happen.
    pub fn violations(&self) -> &[Occurrence] {
        &self.violations
    }

    /// When something happens next by itself.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.agenda.next_at()
    }

    /// What all instances have cost so far, in billionths of a US dollar, rounded down.
    pub fn cost_nano_usd(&self) -> i128 {
        self.cost_nano_usd_millis_per_hour / MILLIS_PER_HOUR
    }

    /// How much of that commitments covered, in billionths of a US dollar, rounded down.
    pub fn covered_nano_usd(&self) -> i128 {
        self.covered_nano_usd_millis_per_hour / MILLIS_PER_HOUR
    }

    /// What all instances have cost so far beyond commitments, in billionths of a US dollar.
    pub fn remaining_nano_usd(&self) -> i128 {
        self.cost_nano_usd() - self.covered_nano_usd()
    }

    /// Lets time pass until a moment, with everything that is due on the way.
    pub fn advance_to(&mut self, moment: Timestamp) {
        self.settle();
        while let Some(at) = self.agenda.next_at().filter(|at| *at <= moment) {
            self.pass_time(at);
            while let Some(due) = self.agenda.take_due(at) {
                self.happen(due);
            }
            self.settle();
        }
        self.pass_time(moment);
    }

    fn pass_time(&mut self, to: Timestamp) {
        let millis = to.duration_since(self.now).as_millis();
        self.cost_nano_usd_millis_per_hour += i128::from(self.ec2.hourly().nanos()) * millis;
        if millis > 0 {
            let covered = self.covered_hourly();
            self.covered_nano_usd_millis_per_hour += i128::from(covered.nanos()) * millis;
        }
        self.now = self.now.max(to);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::NodeJoins { instance } => self.node_joins(&instance),
            Due::NodeBecomesReady { node } => self.node_becomes_ready(&node),
            Due::StartupTaintsGo { node } => self.startup_taints_go(&node),
            Due::PodStarts { pod, uid } => self.pod_starts(&pod, &uid),
            Due::PodCompletes { pod, uid } => self.pod_completes(&pod, &uid),
            Due::JobExpires { job, uid } => self.job_expires(&job, &uid),
            Due::PodStops { pod, uid } => self.pod_stops(&pod, &uid),
            Due::InstanceIsReclaimed { instance } => self.instance_is_reclaimed(&instance),
            Due::InstanceEndsEarly { instance } => self.instance_ends_early(&instance),
            Due::InterruptionIsDrawn { instance } => {
                self.interrupt(&instance);
            }
            Due::InstanceEnds { instance } => self.instance_ends(&instance),
            Due::NodeIsForgotten { node } => self.ask_node_deletion(&node),
            Due::SchedulerRetries => self.settled_revision = None,
            Due::ScaledObjectTurns { scaled_object } => self.scaled_object_turns(&scaled_object),
            Due::CapacityReturns { pool } => {
                if !self.ec2.is_exhausted(&pool, self.now) {
                    let pool = pool.to_string().into();
                    self.journal.add(self.now, Happening::CapacityReturned(pool));
                }
            }
        }
    }

    /// Stores an object as `kubectl apply` does. Returns whether anything changed.
    pub fn apply<T: crate::api::Object>(&mut self, object: T) -> bool {
        self.api.apply(object, self.now)
    }

    /// Sets a workload's replicas and returns those it had; `None` if there is no such workload.
    /// One whose pods are replayed keeps those that were recorded.
    pub fn scale(&mut self, id: &WorkloadId, replicas: u32) -> Option<u32> {
        let from = self.api.get::<WorkloadObject>(id)?.workload.replicas;
        if self.is_recorded(id) {
            return Some(replicas);
        }
        let set = |own: &mut WorkloadObject| {
            own.workload.replicas = replicas;
            if let Some(job) = &mut own.job {
                job.parallelism = replicas;
            }
        };
        let changed = self.api.update::<WorkloadObject>(id, None, set);
        changed.is_ok().then_some(from)
    }

    /// Whether a workload's pods are replayed, and no controller of its kind acts on it.
    pub(crate) fn is_recorded(&self, id: &WorkloadId) -> bool {
        self.playback.as_ref().is_some_and(|own| own.replicas.contains_key(id))
    }

    /// Lets the controller of recorded pods act where any of them comes or leaves by now.
    pub(crate) fn wake_playback(&mut self) {
        let next = self.playback.as_ref().and_then(Playback::next_at);
        if next.is_some_and(|next| next <= self.now) {
            self.settled_revision = None;
        }
    }

    /// Deletes a NodeClaim object; the finalizer of a mirror holds it.
    pub fn delete_node_claim(&mut self, name: &Text) -> bool {
        let now = self.now;
        if !self.mirrors.contains_key(name) {
            return self.api.remove::<NodeClaim>(name).is_ok();
        }
        let mark = |claim: &mut NodeClaim| {
            claim.deleted.get_or_insert(now);
        };
        self.api.update::<NodeClaim>(name, None, mark).is_ok()
    }

    /// Takes a pool's capacity away for a while.
    pub fn run_out(&mut self, pools: &[CapacityPool], lasts: SignedDuration) {
        let until = self.now + lasts;
        for pool in pools {
            self.ec2.exhaust(pool.clone(), until);
            self.agenda.add(until, Due::CapacityReturns { pool: pool.clone() });
        }
        let shown = pools.iter().map(|pool| pool.to_string().into()).collect();
        self.journal.add(self.now, Happening::CapacityRanOut(shown));
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        let is_known = self.violations.iter().any(|own| own.violation == violation);
        if !is_known {
            self.violations.push(Occurrence { at: self.now, violation });
        }
    }

    /// The Node of an instance.
    pub(crate) fn node_of_instance(&self, instance: &str) -> Option<&Node> {
        let provider_id = self.ec2.instance(instance)?.provider_id();
        self.api.list::<Node>().find(|node| node.provider_id.as_ref() == Some(&provider_id))
    }
}

#[cfg(test)]
mod tests;
