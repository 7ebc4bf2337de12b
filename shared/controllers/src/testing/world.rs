//! The ports in memory, with failures on demand.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use domain::instance_type::InstanceTypes;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::{Ec2NodeClass, ResolvedAmi, ResolvedSubnet};
use domain::node_pool::NodePool;
use domain::plan::LaunchOffering;
use domain::pod::Pod;
use domain::rollout::Deployment;
use domain::settings::Settings;
use domain::workload::Workload;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::FutureExt as _;

use super::{at, failure, instance, instance_type, node_pool, offering};
use crate::event::{Event, EventReason};
use crate::interruption::{Clusters, Terms};
use crate::ports::cloud::{
    Cloud, Exhausted, Instance, InstanceEnd, InstanceState, InstanceStatus, LaunchCall,
    LaunchOutcome, NodeClassResolution, TagRequest, Termination,
};
use crate::ports::cluster::{
    Cluster, ClusterListing, ControlsObject, Demand, Eviction, FinalizerChange, NamespacedRef,
    NodeClaimObject, NodeClassUpdate, NodePatch, NodePoolUpdate, ObjectRef, PodDeletionCost,
    PodNomination, VolumeAttachment, WorkloadRef,
};
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimPlace, ClaimStore, Clock, NodeRef, PodRef, Ports, Wake, Wakes};
use crate::record::fuses::Urgency;
use crate::record::launch::{LaunchChoices, LaunchRequest};
use crate::run::Run;
use crate::safeguards::Safeguards;
use crate::status::{CapacityBufferStatus, ResolvedSecurityGroup};
use crate::testing::store::FakeStore;

/// A cluster, a cloud, a claim store and a clock in memory.
pub(crate) struct World {
    pub(crate) cluster: FakeCluster,
    pub(crate) cloud: FakeCloud,
    pub(crate) store: Rc<FakeStore>,
    pub(crate) clock: FakeClock,
    pub(crate) wakes: FakeWakes,
    /// The cluster cannot be reached.
    pub(crate) is_closed: Cell<bool>,
    /// The deadline of whoever acts for several clusters has passed.
    pub(crate) is_time_up: Cell<bool>,
    settings: Settings,
    pub(crate) safeguards: Safeguards,
}

impl Ports for World {
    type Cluster = FakeCluster;
    type Cloud = FakeCloud;
    type Store = FakeStore;
    type Clock = FakeClock;
    type Wakes = FakeWakes;

    fn cluster(&self) -> &FakeCluster {
        &self.cluster
    }

    fn cloud(&self) -> &FakeCloud {
        &self.cloud
    }

    fn store(&self) -> &FakeStore {
        &self.store
    }

    fn clock(&self) -> &FakeClock {
        &self.clock
    }

    fn wakes(&self) -> &FakeWakes {
        &self.wakes
    }
}

impl World {
    /// A cluster with NodePool `default`; EC2 has m5.large and c5.large in zone a.
    pub(crate) fn new() -> Self {
        let types = vec![
            instance_type("c5.large", [offering("a", "spot", 50)]),
            instance_type("m5.large", [offering("a", "spot", 40)]),
        ];
        let cloud = FakeCloud {
            types: InstanceTypes { default: types.into(), ..InstanceTypes::default() },
            ..FakeCloud::default()
        };
        let time = Rc::new(Cell::new(at(0)));
        let cluster = FakeCluster {
            time: Some(Rc::clone(&time)),
            controls: RefCell::new(Some(ControlsObject::default())),
            ..FakeCluster::default()
        };
        cluster.listing.borrow_mut().objects.node_pools.push(node_pool("default"));
        Self {
            cluster,
            cloud,
            store: Rc::default(),
            clock: FakeClock(time),
            wakes: FakeWakes::default(),
            is_closed: Cell::new(false),
            is_time_up: Cell::new(false),
            settings: Settings::default(),
            safeguards: Safeguards { installation: "own".into(), ..Safeguards::default() },
        }
    }

    /// Parameters of a one-minute run for several clusters.
    pub(crate) fn terms<'a>(&'a self, id: &'a str) -> Terms<'a> {
        let Run { settings, safeguards, core, id, deadline, process_ends, wakes, .. } =
            self.run(id);
        Terms { settings, safeguards, core, id, deadline, process_ends, wakes }
    }

    /// Parameters of a one-minute run.
    pub(crate) fn run<'a>(&'a self, id: &'a str) -> Run<'a> {
        Run {
            cluster: "test",
            settings: &self.settings,
            safeguards: &self.safeguards,
            urgency: Urgency::Routine,
            core: super::core::core(),
            id,
            deadline: self.clock.now() + SignedDuration::from_mins(1),
            process_ends: self.clock.now() + SignedDuration::from_secs(65),
            wakes: false,
            continues: None,
        }
    }

    /// Advances the time, also of cloud and cluster.
    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.0.set(self.clock.now() + SignedDuration::from_secs(seconds));
        self.cloud.now.set(Some(self.clock.now()));
    }

    /// Joins a Node for each running instance without one.
    pub(crate) fn boot(&self) {
        let mut listing = self.cluster.listing.borrow_mut();
        for record in self.store.records() {
            let Some(provider_id) = &record.claim.status.provider_id else { continue };
            if listing
                .objects
                .nodes
                .iter()
                .all(|node| node.provider_id.as_ref() != Some(provider_id))
            {
                listing.objects.nodes.push(super::node_of(&record));
            }
        }
    }

    /// Completes deletions of pods and terminations of instances.
    pub(crate) fn finish_deletions(&self) {
        self.cluster.listing.borrow_mut().objects.pods.retain(|pod| pod.deleted.is_none());
        self.cloud
            .instances
            .borrow_mut()
            .retain(|_, instance| instance.state != InstanceState::ShuttingDown);
    }

    pub(crate) fn node(&self) -> Node {
        self.cluster.listing.borrow().objects.nodes[0].clone()
    }
}

/// Clusters by name.
pub(crate) struct Worlds(pub(crate) BTreeMap<Text, Rc<World>>);

impl Clusters for Worlds {
    type Ports = World;
    type Records = FakeStore;

    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError> {
        for (cluster, world) in &self.0 {
            if let Some(found) = world.store.claim_of_instance(instance_id).await? {
                let claim = found.record.claim.name;
                return Ok(Some(ClaimPlace { cluster: cluster.clone(), claim }));
            }
        }
        Ok(None)
    }

    fn records(&self, cluster: &Text) -> Result<Rc<FakeStore>, PortError> {
        Ok(Rc::clone(&self.0[cluster].store))
    }

    async fn open(&self, cluster: &Text) -> Result<Rc<World>, PortError> {
        let world = &self.0[cluster];
        if world.is_closed.get() {
            return Err(failure(ErrorKind::Unavailable));
        }
        Ok(Rc::clone(world))
    }

    fn now(&self) -> Timestamp {
        self.0.values().next().map_or(at(0), |world| world.clock.now())
    }

    async fn within<T>(&self, _: Timestamp, work: impl Future<Output = T>) -> Option<T> {
        let is_time_up = self.0.values().any(|world| world.is_time_up.get());
        if is_time_up { work.now_or_never() } else { Some(work.await) }
    }
}

/// Polls a future until it waits for something that never comes, and drops it there: the process
/// dies.
pub(crate) fn crash<F: Future>(future: F) {
    let mut future = pin!(future);
    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Pending), "the run should have died on the way");
}

/// A clock that is set by hand.
pub(crate) struct FakeClock(pub(crate) Rc<Cell<Timestamp>>);

/// A queue that keeps what is sent.
#[derive(Default)]
pub(crate) struct FakeWakes {
    pub(crate) sent: RefCell<Vec<Wake>>,
    pub(crate) fails: Cell<bool>,
}

impl Wakes for FakeWakes {
    async fn wake(&self, wake: Wake) -> Result<(), PortError> {
        if self.fails.get() {
            return Err(failure(ErrorKind::Throttled));
        }
        self.sent.borrow_mut().push(wake);
        Ok(())
    }

    async fn wake_all(&self, wakes: &[Wake]) -> Result<(), PortError> {
        for wake in wakes {
            self.wake(*wake).await?;
        }
        Ok(())
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        self.0.get()
    }

    async fn sleep_until(&self, until: Timestamp) {
        self.0.set(self.0.get().max(until));
    }
}

/// What EC2 does with the next launch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Launch {
    /// Launches, and the process dies before the response.
    LaunchesAndHangs,
    /// The process dies before EC2 is reached.
    Hangs,
    /// Launches, and the response is lost.
    LaunchesAndTimesOut,
    /// Too many requests.
    Throttles,
    /// Answers a repeat without an instance.
    IsNotShown,
    /// Answers without an instance, and for good.
    Refuses { is_mended: bool },
    /// Lacks capacity.
    HasNone,
}

#[derive(Default)]
pub(crate) struct FakeCloud {
    /// Why instances ended, by id.
    pub(crate) ends: RefCell<BTreeMap<Text, InstanceEnd>>,
    pub(crate) types: InstanceTypes,
    /// By token.
    pub(crate) instances: RefCell<BTreeMap<Text, Instance>>,
    pub(crate) script: RefCell<VecDeque<Launch>>,
    /// Tokens requested, in order.
    pub(crate) tokens: RefCell<Vec<Text>>,
    /// Whether each launch was said to be a repeat.
    pub(crate) repeats: RefCell<Vec<bool>>,
    pub(crate) tagged: RefCell<Vec<TagRequest>>,
    pub(crate) statuses: RefCell<Vec<InstanceStatus>>,
    /// The resolution of node classes; everything resolves when `None`.
    pub(crate) resolution: RefCell<Option<NodeClassResolution>>,
    /// Node classes whose launch templates were removed.
    pub(crate) released: RefCell<Vec<Text>>,
    now: Cell<Option<Timestamp>>,
}

impl FakeCloud {
    pub(crate) fn next(&self, launch: Launch) {
        self.script.borrow_mut().push_back(launch);
    }

    fn instance_for(&self, request: &LaunchRequest) -> Instance {
        let mut instances = self.instances.borrow_mut();
        let number = instances.len() + 1;
        let now = self.now.get().unwrap_or(at(0));
        instances
            .entry(request.token.clone())
            .or_insert_with(|| {
                let mut record = super::record(&request.claim);
                record.claim.uid = request.token.clone();
                let offering = &request.offerings[0];
                Instance {
                    instance_type: offering.instance_type.clone(),
                    zone: offering.zone.clone(),
                    price: None,
                    ..instance(&format!("i-{number}"), &record, now)
                }
            })
            .clone()
    }
}

impl Cloud for FakeCloud {
    async fn instance_types(&self, _: &[Ec2NodeClass]) -> Result<InstanceTypes, PortError> {
        Ok(self.types.clone())
    }

    async fn launch_choices(
        &self,
        requests: &[Arc<LaunchRequest>],
        _: &[Ec2NodeClass],
    ) -> Vec<Option<LaunchChoices>> {
        requests.iter().map(|_| Some(LaunchChoices::default())).collect()
    }

    async fn launch(
        &self,
        calls: &[LaunchCall],
        _: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError> {
        let mut outcomes = Vec::new();
        for LaunchCall { request, is_repeat } in calls {
            self.tokens.borrow_mut().push(request.client_token().into());
            self.repeats.borrow_mut().push(*is_repeat);
            let next = self.script.borrow_mut().pop_front();
            outcomes.push(match next {
                None => LaunchOutcome::Launched {
                    instance: self.instance_for(request),
                    exhausted: Vec::new(),
                },
                Some(Launch::LaunchesAndHangs) => {
                    self.instance_for(request);
                    std::future::pending().await
                }
                Some(Launch::Hangs) => std::future::pending().await,
                Some(Launch::LaunchesAndTimesOut) => {
                    self.instance_for(request);
                    LaunchOutcome::failed(failure(ErrorKind::Unavailable))
                }
                Some(Launch::IsNotShown) => LaunchOutcome::NotShown {
                    error: failure(ErrorKind::Unavailable),
                    exhausted: request.offerings.iter().map(shortage).collect(),
                },
                Some(Launch::Throttles) => LaunchOutcome::failed(failure(ErrorKind::Throttled)),
                Some(Launch::Refuses { is_mended }) => LaunchOutcome::Refused {
                    error: failure(ErrorKind::Throttled),
                    exhausted: Vec::new(),
                    is_mended,
                },
                Some(Launch::HasNone) => LaunchOutcome::OutOfCapacity { exhausted: Vec::new() },
            });
        }
        Ok(outcomes)
    }

    async fn instances(&self) -> Result<Vec<Instance>, PortError> {
        Ok(self.instances.borrow().values().cloned().collect())
    }

    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        Ok(self.statuses.borrow().clone())
    }

    async fn ends(&self, instance_ids: &[Text]) -> Result<BTreeMap<Text, InstanceEnd>, PortError> {
        let ends = self.ends.borrow();
        let known = |id: &Text| Some((id.clone(), ends.get(id)?.clone()));
        Ok(instance_ids.iter().filter_map(known).collect())
    }

    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError> {
        let mut instances = self.instances.borrow_mut();
        Ok(instance_ids
            .iter()
            .map(|id| match instances.values_mut().find(|instance| instance.id == *id) {
                None => Termination::Unknown,
                Some(instance) => {
                    instance.state = InstanceState::ShuttingDown;
                    Termination::ShuttingDown
                }
            })
            .collect())
    }

    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError> {
        self.tagged.borrow_mut().extend(requests.iter().cloned());
        Ok(requests.iter().map(|_| Ok(())).collect())
    }

    async fn resolve_node_class(&self, _: &Ec2NodeClass) -> Result<NodeClassResolution, PortError> {
        Ok(self.resolution.borrow().clone().unwrap_or_else(resolution))
    }

    async fn release_node_class(&self, class: &Ec2NodeClass) -> Result<(), PortError> {
        self.released.borrow_mut().push(class.name.clone());
        Ok(())
    }
}

fn shortage(offering: &LaunchOffering) -> Exhausted {
    Exhausted::of(offering, "InsufficientInstanceCapacity")
}

pub(crate) fn resolution() -> NodeClassResolution {
    NodeClassResolution {
        zones_without_offerings: Vec::new(),
        subnets: Ok(vec![ResolvedSubnet {
            id: "subnet-1".into(),
            zone: "a".into(),
            zone_id: None,
        }]),
        security_groups: Ok(vec![ResolvedSecurityGroup { id: "sg-1".into(), name: None }]),
        amis: Ok(vec![ResolvedAmi {
            id: "ami-1".into(),
            name: None,
            is_deprecated: false,
            requirements: Vec::new(),
        }]),
        free_addresses: Vec::new(),
        held_back: Vec::new(),
        instance_profile: Ok("profile".into()),
        capacity_reservations: Ok(Vec::new()),
        placement_group: Ok(()),
        validation: Ok(()),
        stamp: None,
    }
}

#[derive(Default)]
pub(crate) struct FakeCluster {
    pub(crate) listing: RefCell<ClusterListing>,
    pub(crate) finalizers: RefCell<Vec<Text>>,
    pub(crate) controls: RefCell<Option<ControlsObject>>,
    pub(crate) karpenter_renewed: Cell<Option<Timestamp>>,
    pub(crate) events: RefCell<Vec<Event>>,
    /// The Eviction API answers 429.
    pub(crate) blocks_evictions: Cell<bool>,
    /// Seconds until an eviction is answered.
    pub(crate) eviction_takes: Cell<i64>,
    pub(crate) evicted: RefCell<Vec<Text>>,
    /// Pods deleted by force, with their grace period.
    pub(crate) forced: RefCell<Vec<(Text, u32)>>,
    pub(crate) attachments: RefCell<Vec<VolumeAttachment>>,
    /// How many nominations kube-scheduler clears again, since it tries the pod and finds no room.
    pub(crate) nominations_cleared: Cell<usize>,
    /// How deletion costs of pods are refused, where they are.
    pub(crate) deletion_costs_refused: Cell<Option<ErrorKind>>,
    /// How often the status of a CapacityBuffer was written.
    pub(crate) buffers_written: Cell<usize>,
    /// Deployments, by the names of their ReplicaSets.
    pub(crate) deployments: RefCell<BTreeMap<Text, Deployment>>,
    /// How many rollouts were asked for.
    pub(crate) restarts: Cell<usize>,
    /// When pods will be marked unschedulable, in order.
    pub(crate) demand: RefCell<VecDeque<Timestamp>>,
    /// The next watch fails.
    pub(crate) watch_fails: Cell<bool>,
    /// Uids of the pods that waited when the cluster was last listed or looked at.
    waiting: RefCell<Option<BTreeSet<Text>>>,
    time: Option<Rc<Cell<Timestamp>>>,
}

impl FakeCluster {
    pub(crate) fn add_pods(&self, pods: impl IntoIterator<Item = Pod>) {
        self.listing.borrow_mut().objects.pods.extend(pods);
    }

    pub(crate) fn change_node(&self, change: impl FnOnce(&mut Node)) {
        change(&mut self.listing.borrow_mut().objects.nodes[0]);
    }

    pub(crate) fn has_event(&self, reason: EventReason) -> bool {
        self.events.borrow().iter().any(|event| event.reason == reason)
    }

    fn waiting_pods(&self) -> BTreeSet<Text> {
        let listing = self.listing.borrow();
        let waiting = listing.objects.pods.iter().filter(|pod| pod.node_name.is_none());
        waiting.map(|pod| pod.uid.clone()).collect()
    }

    fn now(&self) -> Timestamp {
        self.time.as_ref().map_or(at(0), |time| time.get())
    }

    /// Deletes Nodes that no finalizer keeps.
    fn collect(&self) {
        let finalizers = self.finalizers.borrow();
        let mut listing = self.listing.borrow_mut();
        listing
            .objects
            .nodes
            .retain(|node| node.deleted.is_none() || finalizers.contains(&node.name));
    }
}

impl Cluster for FakeCluster {
    async fn observe(&self) -> Result<ClusterListing, PortError> {
        self.waiting.replace(Some(self.waiting_pods()));
        Ok(self.listing.borrow().clone())
    }

    async fn follow_demand(&self) -> Result<Demand, PortError> {
        let now = self.waiting_pods();
        let before = self.waiting.replace(Some(now.clone())).unwrap_or_default();
        Ok(if now.is_subset(&before) { Demand::Unchanged } else { Demand::Changed })
    }

    async fn demand_now(&self) -> Result<Demand, PortError> {
        if self.watch_fails.take() {
            return Err(PortError::new(ErrorKind::Unavailable, "list", "the connection is gone"));
        }
        let now = self.waiting_pods();
        let before = self.waiting.replace(Some(now.clone()));
        let is_known = before.is_some_and(|before| now.is_subset(&before));
        Ok(if is_known { Demand::Unchanged } else { Demand::Changed })
    }

    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError> {
        if self.watch_fails.take() {
            return Err(PortError::new(ErrorKind::Unavailable, "watch", "the connection is gone"));
        }
        let next = self.demand.borrow().front().copied();
        let (moment, answer) = match next {
            Some(moment) if moment <= until => (moment, Demand::Changed),
            _ => (until, Demand::Unchanged),
        };
        if answer == Demand::Changed {
            self.demand.borrow_mut().pop_front();
        }
        if let Some(time) = &self.time {
            time.set(time.get().max(moment));
        }
        Ok(answer)
    }

    async fn controls(&self) -> Result<Option<ControlsObject>, PortError> {
        Ok(self.controls.borrow().clone())
    }

    async fn mark_owner(&self, installation: &str, seen: &ControlsObject) -> Result<(), PortError> {
        let mut controls = self.controls.borrow_mut();
        let own = controls.as_mut().filter(|own| **own == *seen);
        let own = own.ok_or_else(|| failure(ErrorKind::Conflict))?;
        own.data.insert("installation".into(), installation.into());
        Ok(())
    }

    async fn karpenter_renewed(&self) -> Result<Option<Timestamp>, PortError> {
        Ok(self.karpenter_renewed.get())
    }

    async fn volume_attachments(&self, _: &str) -> Result<Vec<VolumeAttachment>, PortError> {
        Ok(self.attachments.borrow().clone())
    }

    async fn patch_node(&self, reference: &NodeRef, patch: &NodePatch) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        let Some(node) =
            listing.objects.nodes.iter_mut().find(|node| NodeRef::from(&**node) == *reference)
        else {
            return Err(failure(ErrorKind::NotFound));
        };
        node.labels.extend(patch.labels.clone());
        node.taints.retain(|taint| {
            !patch.remove_taints.contains(&(taint.key.clone(), taint.effect))
                && !patch.add_taints.contains(taint)
        });
        node.taints.extend(patch.add_taints.clone());
        match patch.finalizer {
            FinalizerChange::Keep => {}
            FinalizerChange::Add => self.finalizers.borrow_mut().push(node.name.clone()),
            FinalizerChange::Remove => {
                self.finalizers.borrow_mut().retain(|name| *name != node.name);
            }
        }
        drop(listing);
        self.collect();
        Ok(())
    }

    async fn delete_node(&self, reference: &NodeRef) -> Result<(), PortError> {
        for node in &mut self.listing.borrow_mut().objects.nodes {
            if NodeRef::from(&*node) == *reference {
                node.deleted.get_or_insert(self.now());
            }
        }
        self.collect();
        Ok(())
    }

    async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError> {
        if let Some(time) = &self.time {
            time.set(time.get() + SignedDuration::from_secs(self.eviction_takes.get()));
        }
        if self.blocks_evictions.get() {
            return Ok(Eviction::Blocked { message: "the budget allows none".into() });
        }
        let mut listing = self.listing.borrow_mut();
        let Some(own) = listing.objects.pods.iter_mut().find(|own| PodRef::from(&**own) == *pod)
        else {
            return Ok(Eviction::Gone);
        };
        own.deleted = Some(self.now() + SignedDuration::from_secs(30));
        self.evicted.borrow_mut().push(pod.key.name.clone());
        Ok(Eviction::Accepted)
    }

    async fn nominate_pod(&self, nomination: &PodNomination) -> Result<(), PortError> {
        let PodNomination { pod, seen, node } = nomination;
        let mut listing = self.listing.borrow_mut();
        let own = listing.objects.pods.iter_mut().find(|own| PodRef::from(&**own) == *pod);
        let Some(own) = own.filter(|own| own.node_name.is_none()) else {
            return Err(PortError::new(ErrorKind::NotFound, "nominate", "it is not there"));
        };
        if own.nominated_node_name != *seen {
            return Err(PortError::new(ErrorKind::Conflict, "nominate", "it has changed"));
        }
        let left = self.nominations_cleared.get();
        self.nominations_cleared.set(left.saturating_sub(1));
        if left == 0 {
            own.nominated_node_name.clone_from(node);
        }
        Ok(())
    }

    async fn set_pod_deletion_cost(&self, change: &PodDeletionCost) -> Result<(), PortError> {
        if let Some(kind) = self.deletion_costs_refused.get() {
            return Err(PortError::new(kind, "set deletion cost", "no"));
        }
        let mut listing = self.listing.borrow_mut();
        let own = listing.objects.pods.iter_mut().find(|own| PodRef::from(&**own) == change.pod);
        let Some(own) = own else {
            return Err(PortError::new(ErrorKind::NotFound, "set deletion cost", "it is gone"));
        };
        own.managed_deletion_cost = change.cost;
        Ok(())
    }

    async fn delete_pod(&self, pod: &PodRef, grace_seconds: u32) -> Result<(), PortError> {
        self.forced.borrow_mut().push((pod.key.name.clone(), grace_seconds));
        self.listing.borrow_mut().objects.pods.retain(|own| PodRef::from(own) != *pod);
        Ok(())
    }

    async fn mirror_node_claim(&self, claim: &NodeClaim) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        match listing.node_claims.iter_mut().find(|object| object.claim.name == claim.name) {
            Some(object) if object.belongs_to(&claim.uid) => {
                let deleted = object.claim.deleted;
                let uid = object.claim.uid.clone();
                object.claim = NodeClaim { deleted, uid, ..claim.clone() };
            }
            Some(_) => return Err(failure(ErrorKind::Conflict)),
            None => {
                let mirror_of = Some(claim.uid.clone());
                let uid: Text = format!("object-{}", claim.name).into();
                let claim = NodeClaim { uid, deleted: None, ..claim.clone() };
                listing.node_claims.push(NodeClaimObject { claim, mirror_of });
            }
        }
        Ok(())
    }

    async fn remove_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        self.listing
            .borrow_mut()
            .node_claims
            .retain(|object| *object.claim.name != *name || !object.belongs_to(claim_uid));
        Ok(())
    }

    async fn release_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError> {
        for object in &mut self.listing.borrow_mut().node_claims {
            if *object.claim.name == *name && object.belongs_to(claim_uid) {
                object.mirror_of = None;
            }
        }
        Ok(())
    }

    async fn update_node_pool(
        &self,
        reference: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        let is_it = |pool: &&mut NodePool| ObjectRef::from(&**pool) == *reference;
        let Some(pool) = listing.objects.node_pools.iter_mut().find(is_it) else {
            return Err(failure(ErrorKind::NotFound));
        };
        pool.annotations.extend(update.annotations.clone());
        if let Some(status) = &update.status {
            let state = listing.node_pool_states.entry(reference.name.clone()).or_default();
            state.status = status.clone();
        }
        Ok(())
    }

    async fn update_node_class(
        &self,
        reference: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        let is_it = |class: &&mut Ec2NodeClass| ObjectRef::from(&**class) == *reference;
        let Some(class) = listing.objects.node_classes.iter_mut().find(is_it) else {
            return Err(failure(ErrorKind::NotFound));
        };
        class.annotations.extend(update.annotations.clone());
        let state = listing.node_class_states.entry(reference.name.clone()).or_default();
        match update.finalizer {
            FinalizerChange::Keep => {}
            FinalizerChange::Add => state.has_finalizer = true,
            FinalizerChange::Remove => state.has_finalizer = false,
        }
        if let Some(status) = &update.status {
            state.status = status.clone();
        }
        Ok(())
    }

    async fn scale_workload(&self, workload: &WorkloadRef, replicas: u32) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        let is_it = |own: &&mut Workload| own.kind == workload.kind && own.key == workload.key;
        let Some(own) = listing.objects.workloads.iter_mut().find(is_it) else {
            return Err(failure(ErrorKind::NotFound));
        };
        own.replicas = replicas;
        Ok(())
    }

    async fn deployment_of(
        &self,
        replica_set: &NamespacedRef,
    ) -> Result<Option<Deployment>, PortError> {
        Ok(self.deployments.borrow().get(&replica_set.key.name).cloned())
    }

    async fn restart_deployment(
        &self,
        deployment: &Deployment,
        at: Timestamp,
    ) -> Result<(), PortError> {
        let mut deployments = self.deployments.borrow_mut();
        for own in deployments.values_mut().filter(|own| own.key == deployment.key) {
            own.spec.restarted_at = Some(at.to_string().into());
            own.spec.asked_at.clone_from(&own.spec.restarted_at);
            own.status.is_observed = false;
        }
        self.restarts.set(self.restarts.get() + 1);
        Ok(())
    }

    async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError> {
        let mut listing = self.listing.borrow_mut();
        let state = listing.capacity_buffer_states.entry(buffer.key.clone()).or_default();
        state.status = status.clone();
        self.buffers_written.set(self.buffers_written.get() + 1);
        Ok(())
    }

    async fn record_events(&self, events: &[Event]) -> Result<(), PortError> {
        self.events.borrow_mut().extend(events.iter().cloned());
        Ok(())
    }
}
