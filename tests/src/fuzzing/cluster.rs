//! Clusters drawn from bytes.

use std::sync::Arc;

use domain::label::{Labels, ZONE};
use domain::node_pool::{ConsolidationPolicy, NodePool};
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{NodeSelectorTerm, ObjectKey, Pod};
use domain::pvc_spec::PvcSpec;
use domain::requirement::Requirement;
use domain::resource::Resources;
use domain::selector::LabelSelector;
use domain::settings::{MinValuesPolicy, PreferencePolicy};
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::taint::{DISRUPTED, Taint, TaintEffect};
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::{Text, Timestamp};

use super::draw::Draw;
use super::workload::{APP, CLAIMS, TAINTS, TEAM, requirement, workload};
use crate::builder::{self, NodeParts, PodBuilder, Stage};
use crate::generator::{Catalog, node_labels};

const DRIVER: &str = "ebs.csi.aws.com";

/// A cluster drawn from bytes: pools, nodes, claims in flight, volumes, and pods that run or wait.
/// `None` where the catalogue cannot be read.
pub fn cluster(bytes: &[u8]) -> Option<ClusterSnapshot> {
    let mut draw = Draw::new(bytes);
    let instance_types = draw.pick(&[Catalog::Five, Catalog::Assorted]).instance_types().ok()?;
    let now = Timestamp::from_second(1_767_268_800).ok()?;
    let mut snapshot = ClusterSnapshot {
        seed: 7,
        instance_types,
        objects: ClusterObjects {
            node_classes: vec![testkit::node_class("default")],
            ..ClusterObjects::default()
        },
        ..ClusterSnapshot::empty(now)
    };
    if draw.one_in(4) {
        snapshot.settings.preference_policy = PreferencePolicy::Ignore;
    }
    if draw.one_in(4) {
        snapshot.settings.min_values_policy = MinValuesPolicy::BestEffort;
    }
    for index in 0..=draw.below(3) {
        snapshot.objects.node_pools.push(pool(&mut draw, index));
    }
    if draw.one_in(2) {
        snapshot.objects.daemon_sets = vec![builder::daemon_set("agent", 50, 64)];
    }
    add_volumes(&mut snapshot);
    let nodes = draw.below(5);
    for index in 0..nodes {
        add_node(&mut draw, &mut snapshot, index);
    }
    for index in 0..=draw.below(4) {
        let (like, replicas) = workload(&mut draw, index);
        add_replicas(&mut draw, &mut snapshot, &like, index, replicas);
    }
    if let Some(budget) = draw.maybe(4, |draw| pdb(draw)) {
        snapshot.objects.pod_disruption_budgets.push(budget);
    }
    Some(snapshot)
}

fn pool(draw: &mut Draw, index: usize) -> NodePool {
    let mut pool = builder::node_pool(["alpha", "beta", "gamma"][index % 3]);
    for _ in 0..draw.below(3) {
        if draw.one_in(2) {
            let mut own = requirement(draw);
            own.min_values = draw.pick(&[None, None, None, Some(1), Some(2), Some(3)]);
            pool = pool.require(own);
        }
    }
    if let Some(team) = draw.maybe(3, |draw| draw.pick(&["blue", "red"])) {
        pool = pool.label(TEAM, team);
    }
    pool = pool.weight(draw.pick(&[0, 0, 10]));
    match draw.below(6) {
        1 => pool = pool.cpu_limit(draw.pick(&[0, 2_000, 8_000, 30_000])),
        2 => pool = pool.node_limit(draw.pick(&[0, 1, 3])),
        _ => {}
    }
    let mut pool = pool.build();
    let template = Arc::make_mut(&mut pool.template);
    if draw.one_in(4) {
        let effect = draw.pick(&[
            TaintEffect::NoSchedule,
            TaintEffect::PreferNoSchedule,
            TaintEffect::NoExecute,
        ]);
        template.taints.push(Taint { key: draw.pick(&TAINTS).into(), value: "".into(), effect });
    }
    if draw.one_in(6) {
        template.startup_taints.push(builder::taint("starting"));
    }
    if draw.one_in(10) {
        pool.replicas = Some(1);
    }
    pool.is_deleting = draw.one_in(16);
    pool.disruption.consolidation_policy = draw.pick(ConsolidationPolicy::ALL);
    pool
}

/// The claims that workloads name, and what is behind them.
fn add_volumes(snapshot: &mut ClusterSnapshot) {
    let class = |name: &str, topologies| StorageClass {
        name: name.into(),
        created: None,
        is_default: false,
        provisioner: DRIVER.into(),
        binds_immediately: false,
        allowed_topologies: topologies,
    };
    let in_zone = |zone: &str| NodeSelectorTerm {
        expressions: vec![Requirement::is_in(ZONE, [Text::from(zone)])],
        fields: Vec::new(),
    };
    snapshot.objects.storage_classes = vec![
        class("anywhere", Vec::new()),
        class("two-zones", vec![in_zone("test-zone-2"), in_zone("test-zone-3")]),
    ];
    for (claim, zone) in [(CLAIMS[0], "test-zone-1"), (CLAIMS[1], "test-zone-2")] {
        snapshot.objects.persistent_volumes.push(PersistentVolume {
            name: claim.into(),
            is_deleting: false,
            labels: Labels::new(),
            node_terms: Some(vec![in_zone(zone)]),
            is_host_bound: false,
            csi_driver: Some(DRIVER.into()),
            csi_handle: Some(claim.into()),
        });
    }
    let bound = |name: &str| PvcSpec { volume_name: Some(name.into()), ..PvcSpec::default() };
    let of_class =
        |class: &str| PvcSpec { storage_class: Some(class.into()), ..PvcSpec::default() };
    let specs = [
        bound(CLAIMS[0]),
        bound(CLAIMS[1]),
        of_class("anywhere"),
        PvcSpec { one_pod_only: true, ..of_class("two-zones") },
    ];
    snapshot.objects.persistent_volume_claims = CLAIMS
        .iter()
        .zip(specs)
        .map(|(name, spec)| PersistentVolumeClaim {
            key: ObjectKey::new("default", *name),
            is_deleting: false,
            is_lost: false,
            is_binding: false,
            spec,
        })
        .collect();
}

/// Adds claim, node and DaemonSet pods.
fn add_node(draw: &mut Draw, snapshot: &mut ClusterSnapshot, index: usize) {
    let types = snapshot.instance_types.default.clone();
    let pool = snapshot.objects.node_pools[draw.below(snapshot.objects.node_pools.len())].clone();
    let instance_type = &types[draw.below(types.len())];
    let offering = &instance_type.offerings[draw.below(instance_type.offerings.len())];
    let name = format!("node-{index}");
    let region = snapshot.instance_types.region.as_ref();
    let parts = NodeParts {
        name: name.as_str().into(),
        labels: node_labels(&pool, instance_type, offering, region),
        taints: pool.template.taints.clone(),
        capacity: instance_type.capacity.clone(),
        allocatable: instance_type.allocatable.clone(),
    };
    let stage = draw.pick(&[Stage::Ready, Stage::Ready, Stage::Ready, Stage::InFlight]);
    let (mut claim, node) = parts.build(stage);
    if draw.one_in(8) {
        claim.deleted = Some(snapshot.now);
    }
    snapshot.node_claims.push(claim);
    let Some(mut node) = node else { return };
    match draw.below(12) {
        1 => node.taints.push(builder::taint(DISRUPTED)),
        2 => node.deleted = Some(snapshot.now),
        3 => snapshot
            .objects
            .csi_nodes
            .push(CsiNode { name: node.name.clone(), limits: vec![(DRIVER.into(), 1)] }),
        _ => {}
    }
    let daemons =
        snapshot.objects.daemon_sets.iter().map(|daemon| builder::daemon_pod(daemon, &name));
    snapshot.objects.pods.extend(daemons);
    snapshot.objects.nodes.push(node);
}

/// Adds the replicas of a workload: some run where there is room and taints let them, the others
/// wait.
fn add_replicas(
    draw: &mut Draw,
    snapshot: &mut ClusterSnapshot,
    like: &PodBuilder,
    index: usize,
    replicas: usize,
) {
    for number in 0..replicas {
        let mut pod = like.clone().build();
        pod.key = ObjectKey::new("default", format!("pod-{index}-{number}"));
        if draw.one_in(3) && !snapshot.objects.nodes.is_empty() {
            let node =
                snapshot.objects.nodes[draw.below(snapshot.objects.nodes.len())].name.clone();
            if has_room(snapshot, &node, &pod) {
                pod = builder::running(&pod, &node);
                pod.do_not_disrupt = draw.maybe(6, |_| domain::pod::DoNotDisrupt::Always);
            }
        }
        snapshot.objects.pods.push(pod);
    }
}

fn has_room(snapshot: &ClusterSnapshot, name: &str, pod: &Pod) -> bool {
    let Some(node) = snapshot.objects.nodes.iter().find(|node| &*node.name == name) else {
        return false;
    };
    let runs_alike =
        |other: &Pod| other.node_name.is_some() && other.spec.volumes == pod.spec.volumes;
    if !pod.spec.volumes.is_empty() && snapshot.objects.pods.iter().any(runs_alike) {
        // One of the claims is for one pod at a time.
        return false;
    }
    let mut room: Resources = node.allocatable.clone();
    let here =
        snapshot.objects.pods.iter().filter(|other| other.node_name.as_deref() == Some(name));
    for other in here {
        room.subtract(&other.spec.requests);
    }
    room.subtract(&pod.spec.requests);
    room.iter().all(|(_, amount)| amount >= 0)
}

fn pdb(draw: &mut Draw) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: ObjectKey::new("default", "budget"),
        selector: Some(LabelSelector::of_labels([(APP, draw.pick(&["app-0", "app-1"]))])),
        max_unavailable: Some(CountOrPercent::Count(draw.pick(&[0, 1]))),
        min_available: None,
        always_allow_unhealthy: false,
        disruptions_allowed: Some(draw.pick(&[0, 1, 5])),
        current_healthy: 3,
        desired_healthy: 2,
    }
}
