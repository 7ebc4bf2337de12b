//! Large clusters that have been in use for a while: nodes of many types, each holding some of the
//! pods of many workloads, from nearly full to nearly unused. What benchmarks of disruption plan
//! over.
//!
//! A fleet is made from its size and a seed alone.

use std::sync::Arc;

use catalog::{CatalogError, CatalogOptions};
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering};
use domain::label::{HOSTNAME, ZONE};
use domain::node_pool::NodePool;
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{
    NodeInclusionPolicy, ObjectKey, Pod, TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::resource::Resources;
use domain::selector::LabelSelector;
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::{Text, Timestamp};

use crate::builder::{self, NodeParts, PodBuilder, Stage};
use crate::generator::node_labels;

/// How large a fleet is.
#[derive(Clone, Copy, Debug)]
pub struct FleetSize {
    /// Nodes.
    pub nodes: usize,
    /// Pods, as far as they fit.
    pub pods: usize,
}

/// 2026-01-01T12:00:00Z.
const NOW: Timestamp = Timestamp::constant(1_767_268_800, 0);

/// A cluster of a size, drawn from a seed, of one NodePool whose budgets limit nothing.
pub fn fleet(size: FleetSize, seed: u64) -> Result<ClusterSnapshot, CatalogError> {
    let class = testkit::node_class("default");
    let classes = [class];
    let types = catalog::embedded()?.instance_types(&classes, &CatalogOptions::of("us-east-1"));
    let mut snapshot = ClusterSnapshot {
        seed,
        objects: ClusterObjects {
            node_pools: vec![builder::node_pool("default").build()],
            node_classes: classes.into(),
            ..ClusterObjects::default()
        },
        ..ClusterSnapshot::empty(NOW)
    };
    let mut draw = Draw(seed);
    let workloads = Workload::drawn(size, &mut draw);
    snapshot.objects.pod_disruption_budgets =
        workloads.iter().filter_map(Workload::budget).collect();
    let launches = launches(&types);
    let pool = snapshot.objects.node_pools[0].clone();
    let mut left = size.pods;
    for index in 0..size.nodes {
        let launch = launches[draw.below(launches.len())];
        let share = left / (size.nodes - index);
        let wanted = share * (25 + draw.below(150)) / 100;
        let node = UsedNode { index, pool: &pool, launch, region: types.region.as_ref() };
        left -= node.join(&mut snapshot, &workloads, wanted, &mut draw);
    }
    snapshot.instance_types = types;
    Ok(snapshot)
}

/// Numbers that look random: Knuth's linear congruential generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound.max(1)
    }
}

/// How the pods of a workload stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Not at all.
    Indifferent,
    /// Evenly over zones.
    SpreadOverZones,
    /// Not too many on one host.
    SpreadOverHosts,
    /// Never two on one host.
    Apart,
}

struct Workload {
    name: String,
    pod: Pod,
    standing: Standing,
    is_guarded: bool,
}

impl Workload {
    /// One for every hundred pods: of ten, six are indifferent; every eighth has a
    /// PodDisruptionBudget, of which every eighth allows nothing.
    fn drawn(size: FleetSize, draw: &mut Draw) -> Vec<Self> {
        (0..size.pods.div_ceil(100))
            .map(|index| {
                let standing = match draw.below(10) {
                    0 | 1 => Standing::SpreadOverZones,
                    2 => Standing::SpreadOverHosts,
                    3 => Standing::Apart,
                    _ => Standing::Indifferent,
                };
                Self::of(index, standing, draw)
            })
            .collect()
    }

    fn of(index: usize, standing: Standing, draw: &mut Draw) -> Self {
        let name = format!("workload-{index}");
        let cpu = [50, 100, 200, 250, 500, 1000][draw.below(6)];
        let memory = cpu * [1, 2, 4, 8][draw.below(4)];
        let pod: PodBuilder = builder::pod(name.as_str()).requests(cpu, memory).label("app", &name);
        let spread = |key: &str, max_skew| TopologySpreadConstraint {
            max_skew,
            topology_key: key.into(),
            when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
            selector: Some(LabelSelector::of_labels([("app", name.as_str())])),
            min_domains: None,
            node_affinity_policy: NodeInclusionPolicy::Honor,
            node_taints_policy: NodeInclusionPolicy::Ignore,
        };
        let pod = match standing {
            Standing::Indifferent => pod,
            Standing::SpreadOverZones => pod.spread(spread(ZONE, 10)),
            Standing::SpreadOverHosts => pod.spread(spread(HOSTNAME, 4)),
            Standing::Apart => pod.apart_from(("app", &name), HOSTNAME),
        };
        Self { pod: pod.build(), standing, is_guarded: draw.below(8) == 0, name }
    }

    fn most_on_a_host(&self) -> usize {
        match self.standing {
            Standing::Indifferent | Standing::SpreadOverZones => usize::MAX,
            Standing::SpreadOverHosts => 4,
            Standing::Apart => 1,
        }
    }

    fn budget(&self) -> Option<PodDisruptionBudget> {
        let allowed = if self.name.len().is_multiple_of(8) { 0 } else { 5 };
        self.is_guarded.then(|| PodDisruptionBudget {
            key: ObjectKey::new("default", self.name.as_str()),
            selector: Some(LabelSelector::of_labels([("app", self.name.as_str())])),
            max_unavailable: Some(CountOrPercent::Count(5)),
            min_available: None,
            always_allow_unhealthy: false,
            disruptions_allowed: Some(allowed),
            current_healthy: 100,
            desired_healthy: 95,
        })
    }
}

type Launch<'t> = (&'t InstanceType, &'t Offering);

/// Offerings of general types of 4 to 16 CPUs, four on demand for each one of spot.
fn launches(types: &InstanceTypes) -> Vec<Launch<'_>> {
    let families = ["c6i.", "c7g.", "m6i.", "m7i.", "m5.", "r6i.", "r7g."];
    let sizes = ["xlarge", "2xlarge", "4xlarge"];
    let is_general = |name: &str| {
        families
            .iter()
            .any(|family| name.strip_prefix(family).is_some_and(|size| sizes.contains(&size)))
    };
    let mut launches = Vec::new();
    for instance_type in types.default.iter().filter(|own| is_general(&own.name)) {
        for offering in instance_type.offerings.iter().filter(|offering| offering.available) {
            let times = if offering.capacity_type == CapacityType::OnDemand { 4 } else { 1 };
            launches.extend(std::iter::repeat_n((instance_type, offering), times));
        }
    }
    launches
}

struct UsedNode<'t> {
    index: usize,
    pool: &'t NodePool,
    launch: Launch<'t>,
    region: Option<&'t Text>,
}

impl UsedNode<'_> {
    /// Adds the node with about so many pods; returns how many it holds.
    fn join(
        &self,
        snapshot: &mut ClusterSnapshot,
        workloads: &[Workload],
        wanted: usize,
        draw: &mut Draw,
    ) -> usize {
        let (instance_type, offering) = self.launch;
        let name = format!("node-{:05}", self.index);
        let parts = NodeParts {
            name: name.as_str().into(),
            labels: node_labels(self.pool, instance_type, offering, self.region),
            taints: Vec::new(),
            capacity: instance_type.capacity.clone(),
            allocatable: instance_type.allocatable.clone(),
        };
        let (claim, node) = parts.build(Stage::Ready);
        snapshot.node_claims.push(claim);
        snapshot.objects.nodes.extend(node);
        let mut room: Resources = instance_type.allocatable.clone();
        let mut on_host = vec![0; workloads.len()];
        let mut count = 0;
        for _ in 0..wanted * 2 {
            if count == wanted {
                break;
            }
            let number = draw.below(workloads.len());
            let workload = &workloads[number];
            let mut after = room.clone();
            after.subtract(&workload.pod.spec.requests);
            let fits = after.iter().all(|(_, amount)| amount >= 0);
            if !fits || on_host[number] >= workload.most_on_a_host() {
                continue;
            }
            room = after;
            on_host[number] += 1;
            count += 1;
            snapshot.objects.pods.push(self.pod(workload, count, &name));
        }
        count
    }

    fn pod(&self, workload: &Workload, number: usize, node: &str) -> Pod {
        let name = format!("{}-{}-{number}", workload.name, self.index);
        let own = Pod {
            key: ObjectKey::new("default", name),
            labels: Arc::clone(&workload.pod.labels),
            spec: Arc::clone(&workload.pod.spec),
            ..workload.pod.clone()
        };
        builder::running(&own, node)
    }
}
