//! A small world for tests: a catalogue of five types in three zones, and makers of objects and
//! plans.
//!
//! Makers give the plainest valid thing; a test changes what it is about.

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::buffer::{CapacityBuffer, ScaledObject};
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering, Reservation};
use domain::label::{
    ARCH, CAPACITY_TYPE, HOSTNAME, INITIALIZED, INSTANCE_TYPE, Labels, NODE_POOL, OS, ZONE,
};
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_pool::{Disruption, NodeClaimTemplate, NodePool};
use domain::overlay::NodeOverlay;
use domain::pdb::PodDisruptionBudget;
use domain::plan::{
    LaunchOffering, Placement, Plan, PlannedDisruption, PlannedNodeClaim, UnschedulablePod,
};
use domain::pod::{
    HostPort, NodeInclusionPolicy, NodeSelectorTerm, ObjectKey, Owner, OwnerKind, Pod,
    PodAffinityTerm, PodPhase, PodSpec, TopologySpreadConstraint, VolumeUse, WhenUnsatisfiable,
};
use domain::reason::DisruptionReason;
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::selector::LabelSelector;
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::taint::{Taint, TaintEffect, Toleration};
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{DaemonSet, Namespace, PodTemplate};

use crate::{Rule, check};

pub(crate) const GPU: &str = "example.com/gpu";
const GIB: i64 = 1 << 30;

/// A Thursday.
pub(crate) fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn usd(price: f64) -> UsdPerHour {
    UsdPerHour::from_f64(price).unwrap()
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

// ------------------------------------------------------------------ the catalogue

fn offering(zone: &str, capacity_type: CapacityType, price: f64) -> Offering {
    Offering {
        zone: zone.into(),
        capacity_type,
        price: usd(price),
        available: true,
        reservation: None,
    }
}

fn instance_type(
    name: &str,
    arch: &str,
    amounts: Resources,
    offerings: Vec<Offering>,
) -> InstanceType {
    let one = |value: &str| vec![value.into()];
    InstanceType {
        name: name.into(),
        labels: [
            (INSTANCE_TYPE.into(), one(name)),
            (ARCH.into(), one(arch)),
            (OS.into(), one("linux")),
        ]
        .into(),
        capacity: amounts.clone(),
        allocatable: amounts,
        offerings,
    }
}

pub(crate) fn size(cpu: i64, gib: i64, pods: i64) -> Resources {
    Resources::new().with(CPU, cpu * 1000).with(MEMORY, gib * GIB).with(PODS, pods)
}

fn catalogue() -> InstanceTypes {
    use CapacityType::{OnDemand, Reserved, Spot};
    let reserved = Offering {
        reservation: Some(Box::new(Reservation {
            remaining: Some(1),
            ..Reservation::of_id("r-1")
        })),
        ..offering("a", Reserved, 0.0)
    };
    let sold_out = Offering { available: false, ..offering("b", Spot, 0.1) };
    let all_zones = |spot_a, spot_b, on_demand| {
        vec![
            offering("a", Spot, spot_a),
            offering("b", Spot, spot_b),
            offering("a", OnDemand, on_demand),
            offering("b", OnDemand, on_demand),
            offering("c", OnDemand, on_demand),
        ]
    };
    let arm = vec![offering("a", OnDemand, 0.08), offering("b", OnDemand, 0.08)];
    let types = vec![
        instance_type("small", "amd64", size(2, 4, 8), all_zones(0.02, 0.02, 0.05)),
        instance_type("big", "amd64", size(8, 16, 20), all_zones(0.08, 0.09, 0.2)),
        instance_type("arm", "arm64", size(4, 8, 10), arm),
        instance_type(
            "gpu",
            "amd64",
            size(4, 8, 10).with(GPU, 1),
            vec![offering("a", OnDemand, 0.5), sold_out],
        ),
        instance_type(
            "held",
            "amd64",
            size(2, 4, 8),
            vec![reserved, offering("a", OnDemand, 0.07)],
        ),
    ];
    InstanceTypes { region: Some("r".into()), default: types.into(), ..InstanceTypes::default() }
}

/// What a type costs, where it is sold.
fn price_of(name: &str, zone: &str, capacity_type: CapacityType) -> Option<UsdPerHour> {
    let types = catalogue();
    let known = types.default.iter().find(|known| &*known.name == name);
    let offerings = known.iter().flat_map(|known| &known.offerings);
    let mut matching = offerings
        .filter(|offering| &*offering.zone == zone && offering.capacity_type == capacity_type);
    matching.next().map(|offering| offering.price)
}

// ------------------------------------------------------------------ the cluster

/// A cluster with pods; the catalogue is there, everything else is added.
pub(crate) fn cluster(pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    let pods = pods.into_iter().map(PodMaker::build).collect();
    ClusterSnapshot {
        objects: ClusterObjects { pods, ..ClusterObjects::default() },
        instance_types: catalogue(),
        ..ClusterSnapshot::empty(now())
    }
}

/// A cluster with the plain NodePool and pods.
pub(crate) fn pooled(pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    cluster(pods).with_node_pools([pool()])
}

/// Sets lists of a cluster, one after the other: `pooled([pod("p")]).with_nodes([node])`.
pub(crate) trait ClusterBuilder: Sized {
    fn with_node_claims(self, claims: impl IntoIterator<Item = NodeClaim>) -> Self;
    fn with_node_pools(self, pools: impl IntoIterator<Item = NodePool>) -> Self;
    fn with_node_overlays(self, overlays: impl IntoIterator<Item = NodeOverlay>) -> Self;
    fn with_nodes(self, nodes: impl IntoIterator<Item = Node>) -> Self;
    fn with_daemon_sets(self, daemon_sets: impl IntoIterator<Item = DaemonSet>) -> Self;
    fn with_pod_disruption_budgets(
        self,
        budgets: impl IntoIterator<Item = PodDisruptionBudget>,
    ) -> Self;
    fn with_persistent_volume_claims(
        self,
        claims: impl IntoIterator<Item = PersistentVolumeClaim>,
    ) -> Self;
    fn with_persistent_volumes(self, volumes: impl IntoIterator<Item = PersistentVolume>) -> Self;
    fn with_storage_classes(self, classes: impl IntoIterator<Item = StorageClass>) -> Self;
    fn with_csi_nodes(self, nodes: impl IntoIterator<Item = CsiNode>) -> Self;
    fn with_namespaces(self, namespaces: impl IntoIterator<Item = Namespace>) -> Self;
    fn with_capacity_buffers(self, buffers: impl IntoIterator<Item = CapacityBuffer>) -> Self;
    fn with_scaled_objects(self, objects: impl IntoIterator<Item = ScaledObject>) -> Self;
}

impl ClusterBuilder for ClusterSnapshot {
    fn with_node_claims(mut self, claims: impl IntoIterator<Item = NodeClaim>) -> Self {
        self.node_claims = claims.into_iter().collect();
        self
    }

    fn with_node_pools(mut self, pools: impl IntoIterator<Item = NodePool>) -> Self {
        self.objects.node_pools = pools.into_iter().collect();
        self
    }

    fn with_node_overlays(mut self, overlays: impl IntoIterator<Item = NodeOverlay>) -> Self {
        self.objects.node_overlays = overlays.into_iter().collect();
        self
    }

    fn with_nodes(mut self, nodes: impl IntoIterator<Item = Node>) -> Self {
        self.objects.nodes = nodes.into_iter().collect();
        self
    }

    fn with_daemon_sets(mut self, daemon_sets: impl IntoIterator<Item = DaemonSet>) -> Self {
        self.objects.daemon_sets = daemon_sets.into_iter().collect();
        self
    }

    fn with_pod_disruption_budgets(
        mut self,
        budgets: impl IntoIterator<Item = PodDisruptionBudget>,
    ) -> Self {
        self.objects.pod_disruption_budgets = budgets.into_iter().collect();
        self
    }

    fn with_persistent_volume_claims(
        mut self,
        claims: impl IntoIterator<Item = PersistentVolumeClaim>,
    ) -> Self {
        self.objects.persistent_volume_claims = claims.into_iter().collect();
        self
    }

    fn with_persistent_volumes(
        mut self,
        volumes: impl IntoIterator<Item = PersistentVolume>,
    ) -> Self {
        self.objects.persistent_volumes = volumes.into_iter().collect();
        self
    }

    fn with_storage_classes(mut self, classes: impl IntoIterator<Item = StorageClass>) -> Self {
        self.objects.storage_classes = classes.into_iter().collect();
        self
    }

    fn with_csi_nodes(mut self, nodes: impl IntoIterator<Item = CsiNode>) -> Self {
        self.objects.csi_nodes = nodes.into_iter().collect();
        self
    }

    fn with_namespaces(mut self, namespaces: impl IntoIterator<Item = Namespace>) -> Self {
        self.objects.namespaces = namespaces.into_iter().collect();
        self
    }

    fn with_capacity_buffers(mut self, buffers: impl IntoIterator<Item = CapacityBuffer>) -> Self {
        self.objects.capacity_buffers = buffers.into_iter().collect();
        self
    }

    fn with_scaled_objects(mut self, objects: impl IntoIterator<Item = ScaledObject>) -> Self {
        self.objects.scaled_objects = objects.into_iter().collect();
        self
    }
}

pub(crate) fn pool() -> NodePool {
    pool_of(NodeClaimTemplate::default())
}

pub(crate) fn pool_of(template: NodeClaimTemplate) -> NodePool {
    let node_class_ref = testkit::node_class_ref("default");
    let template = NodeClaimTemplate { node_class_ref, ..template };
    testkit::node_pool("default").with(|pool| pool.template = template.into()).build()
}

pub(crate) fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement {
        key: key.into(),
        operator,
        values: values.iter().map(|value| (*value).into()).collect(),
        min_values: None,
    }
}

/// A NodePool with requirements.
pub(crate) fn pool_requiring(requirements: Vec<Requirement>) -> NodePool {
    pool_of(NodeClaimTemplate { requirements, ..NodeClaimTemplate::default() })
}

/// A NodePool whose nodes may all go at once.
pub(crate) fn free_pool() -> NodePool {
    NodePool { disruption: Disruption { budgets: Vec::new(), ..Disruption::default() }, ..pool() }
}

pub(crate) fn taint() -> Taint {
    Taint { key: "k".into(), value: "v".into(), effect: TaintEffect::NoSchedule }
}

/// A ready, initialized on-demand node of the default pool.
pub(crate) fn node(name: &str, instance_type: &str, zone: &str) -> Node {
    let known = catalogue();
    let known = known.default.iter().find(|known| &*known.name == instance_type).unwrap();
    testkit::node(name)
        .labels([
            (INSTANCE_TYPE, instance_type),
            (ZONE, zone),
            (CAPACITY_TYPE, "on-demand"),
            (HOSTNAME, name),
            (ARCH, "amd64"),
            (OS, "linux"),
            (NODE_POOL, "default"),
            (INITIALIZED, "true"),
        ])
        .resources(&known.allocatable)
        .ready(None)
        .build()
}

/// A claim of the default pool for a small node in zone a.
pub(crate) fn claim_object(name: &str) -> NodeClaim {
    testkit::node_claim(name)
        .node_pool("default")
        .label(ZONE, "a")
        .label(INSTANCE_TYPE, "small")
        .label(CAPACITY_TYPE, "spot")
        .resources(&size(2, 4, 8))
        .build()
}

pub(crate) fn daemon_set(pod: PodMaker) -> DaemonSet {
    let pod = pod.build();
    let template = PodTemplate { labels: pod.labels, spec: pod.spec };
    DaemonSet { key: pod.key, template, is_on_host_network: false }
}

// ------------------------------------------------------------------ pods

/// A pod that is being made.
#[derive(Clone)]
pub(crate) struct PodMaker {
    pub(crate) pod: Pod,
    pub(crate) spec: PodSpec,
}

/// A pending pod of half a cpu and 256Mi.
pub(crate) fn pod(name: &str) -> PodMaker {
    let requests = Resources::new().with(CPU, 500).with(MEMORY, GIB / 4).with(PODS, 1);
    let pod = Pod { key: key(name), ..testkit::pod("").build() };
    PodMaker { spec: PodSpec { requests, ..PodSpec::default() }, pod }
}

/// Pods `PREFIX0`, `PREFIX1`, ….
pub(crate) fn pods(
    prefix: &str,
    count: usize,
    make: impl Fn(PodMaker) -> PodMaker,
) -> Vec<PodMaker> {
    (0..count).map(|index| make(pod(&format!("{prefix}{index}")))).collect()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    ObjectKey::new(namespace, name)
}

impl PodMaker {
    fn build(self) -> Pod {
        Pod { spec: self.spec.into(), ..self.pod }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) fn cpu(self, millis: i64) -> Self {
        self.asking(CPU, millis)
    }

    pub(crate) fn asking(self, resource: &str, amount: i64) -> Self {
        self.with(|spec| spec.requests.set(&resource.into(), amount))
    }

    pub(crate) fn labelled(mut self, pairs: &[(&str, &str)]) -> Self {
        self.pod.labels = labels(pairs).into();
        self
    }

    pub(crate) fn on(mut self, node: &str) -> Self {
        self.pod.node_name = Some(node.into());
        self.pod.phase = PodPhase::Running;
        self
    }

    pub(crate) fn owned_by(mut self, kind: OwnerKind) -> Self {
        self.pod.owner = Some(Owner { kind, name: "o".into(), uid: "".into() });
        self
    }

    pub(crate) fn selecting(self, key: &str, value: &str) -> Self {
        self.with(|spec| spec.node_selector = vec![(key.into(), value.into())])
    }

    /// Required node affinity: one term for each list of requirements.
    pub(crate) fn requiring(self, terms: Vec<Vec<Requirement>>) -> Self {
        let term = |expressions| NodeSelectorTerm { expressions, fields: Vec::new() };
        self.with(|spec| spec.required_node_terms = Some(terms.into_iter().map(term).collect()))
    }

    pub(crate) fn tolerating_everything(self) -> Self {
        let all = Toleration { key: None, exists: true, value: "".into(), effect: None };
        self.with(|spec| spec.tolerations = vec![all])
    }

    pub(crate) fn opening(self, ip: &str, port: u16) -> Self {
        let port = HostPort { ip: ip.into(), protocol: "TCP".into(), port };
        self.with(|spec| spec.host_ports = vec![port])
    }

    pub(crate) fn mounting(self, claim: &str) -> Self {
        let volume = VolumeUse::Pvc { name: claim.into(), template: None };
        self.with(|spec| spec.volumes = vec![volume])
    }

    /// Keeps away from pods of app `x`.
    pub(crate) fn avoiding(self, topology_key: &str) -> Self {
        self.with(|spec| spec.pod_anti_affinity = vec![term(topology_key)])
    }

    /// Seeks out pods of app `x`.
    pub(crate) fn near(self, topology_key: &str) -> Self {
        self.with(|spec| spec.pod_affinity = vec![term(topology_key)])
    }

    /// Spreads with pods of app `x`.
    pub(crate) fn spreading(self, topology_key: &str) -> Self {
        self.with(|spec| spec.topology_spread = vec![spread(topology_key)])
    }

    /// Of app `x`.
    pub(crate) fn app(self) -> Self {
        self.labelled(&[("app", "x")])
    }
}

pub(crate) fn term(topology_key: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: topology_key.into(),
        selector: Some(LabelSelector::of_labels([("app", "x")])),
        namespaces: vec!["default".into()],
        namespace_selector: None,
    }
}

pub(crate) fn spread(topology_key: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: topology_key.into(),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: Some(LabelSelector::of_labels([("app", "x")])),
        min_domains: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

// ------------------------------------------------------------------ the plan

/// A claim of the default pool: spot, pinned to zone a, of type small.
pub(crate) fn claim(name: &str, pods: &[&str]) -> PlannedNodeClaim {
    claim_in(name, pods, &["small"], "a", CapacityType::Spot)
}

/// A claim pinned to the zone and capacity type of its offering, which is of the first type.
pub(crate) fn claim_in(
    name: &str,
    pods: &[&str],
    types: &[&str],
    zone: &str,
    capacity_type: CapacityType,
) -> PlannedNodeClaim {
    let first = types.first().copied().unwrap_or("small");
    let offering_of = |name: &str| LaunchOffering {
        price: price_of(name, zone, capacity_type).unwrap_or(usd(1.0)),
        instance_type: name.into(),
        zone: zone.into(),
        capacity_type,
        reservation_id: None,
    };
    // Asked for are the listed types that are sold there, each once.
    let sold = |name: &&str| price_of(name, zone, capacity_type).is_some();
    let launched: BTreeSet<&str> = types.iter().copied().filter(sold).collect();
    let mut offerings: Vec<LaunchOffering> = launched.into_iter().map(offering_of).collect();
    offerings.sort();
    PlannedNodeClaim {
        name: name.into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        instance_types: types.iter().map(|name| (*name).into()).collect(),
        requirements: vec![
            requirement(CAPACITY_TYPE, Operator::In, &[capacity_type.as_str()]),
            requirement(ZONE, Operator::In, &[zone]),
        ],
        offering: offering_of(first),
        offerings,
        labels: labels(&[(NODE_POOL, "default")]),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        // As much as virtual pods might ask for.
        requests: size(1000, 1000, 1000).with(GPU, 8),
        pods: pods.iter().map(|name| key(name)).collect(),
    }
}

/// The claim without its requirement on a zone.
pub(crate) fn in_any_zone(claim: PlannedNodeClaim) -> PlannedNodeClaim {
    let requirements = claim.requirements.iter().filter(|r| &*r.key != ZONE).cloned().collect();
    PlannedNodeClaim { requirements, ..claim }
}

pub(crate) fn plan(node_claims: impl IntoIterator<Item = PlannedNodeClaim>) -> Plan {
    Plan { node_claims: node_claims.into_iter().collect(), ..Plan::default() }
}

/// A plan that puts a pod on a place that exists.
pub(crate) fn placing(pod: &str, node: &str) -> Plan {
    Plan { placements: vec![placement(pod, node)], ..Plan::default() }
}

pub(crate) fn placement(pod: &str, node: &str) -> Placement {
    Placement { pod: key(pod), node: node.into() }
}

pub(crate) fn unschedulable(pod: &str) -> UnschedulablePod {
    UnschedulablePod { pod: key(pod), reasons: Vec::new() }
}

/// A disruption whose pods move nowhere yet.
pub(crate) fn disruption(reason: DisruptionReason, nodes: &[&str]) -> PlannedDisruption {
    PlannedDisruption {
        reason,
        nodes: nodes.iter().map(|name| (*name).into()).collect(),
        pods: Vec::new(),
        replacements: Vec::new(),
        moves: Vec::new(),
        savings: UsdPerHour::ZERO,
    }
}

pub(crate) fn disrupting(disruptions: impl IntoIterator<Item = PlannedDisruption>) -> Plan {
    Plan { disruptions: disruptions.into_iter().collect(), ..Plan::default() }
}

// ------------------------------------------------------------------ the verdict

/// Asserts that the plan breaks exactly these rules.
#[track_caller]
pub(crate) fn breaks(snapshot: &ClusterSnapshot, plan: &Plan, rules: &[Rule]) {
    let violations = check(snapshot, plan);
    let mut broken: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
    broken.sort_unstable();
    broken.dedup();
    let mut expected = rules.to_vec();
    expected.sort_unstable();
    let shown: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(broken, expected, "{shown:#?}");
}

/// Asserts that the plan is allowed.
#[track_caller]
pub(crate) fn allows(snapshot: &ClusterSnapshot, plan: &Plan) {
    breaks(snapshot, plan, &[]);
}
