//! Strategies for whole snapshots.

use domain::Text;
use domain::instance_type::{InstanceType, InstanceTypes, Offering};
use domain::label::{self, Labels};
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::pods::{TopologyRules, pending, workload};
use super::pools::pools;
use crate::builder::{self, NodeParts, PodBuilder, Stage};
use crate::conformance::{ScenarioError, named_catalog};

/// A catalogue to generate clusters over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Catalog {
    /// Five types of one shape and rising size.
    Five,
    /// Six types that differ in architecture, pods and devices.
    Assorted,
}

impl Catalog {
    /// Its instance types.
    pub fn instance_types(self) -> Result<InstanceTypes, ScenarioError> {
        named_catalog(match self {
            Self::Five => "fake-5",
            Self::Assorted => "fake-default",
        })
    }
}

/// What a generated cluster may hold.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// Rules about other pods.
    pub topology: TopologyRules,
    /// Limits of NodePools.
    pub limits: bool,
    /// Nodes that exist, and claims in flight.
    pub nodes: bool,
    /// A DaemonSet.
    pub daemons: bool,
}

impl Contents {
    /// All of it.
    pub const EVERYTHING: Self =
        Self { topology: TopologyRules::HardAndSoft, limits: true, nodes: true, daemons: true };
}

/// A cluster that may hold everything.
pub fn cluster() -> impl Strategy<Value = ClusterSnapshot> {
    cluster_of(Contents::EVERYTHING)
}

/// A cluster that may hold some things and not others.
pub fn cluster_of(contents: Contents) -> impl Strategy<Value = ClusterSnapshot> {
    let workloads = (1..=5_usize).prop_flat_map(move |count| {
        (0..count).map(|index| workload(index, contents.topology)).collect::<Vec<_>>()
    });
    let most_nodes = if contents.nodes { 4 } else { 0 };
    let nodes = prop::collection::vec(drawn_node(), 0..=most_nodes);
    let daemon = if contents.daemons { any::<bool>().boxed() } else { Just(false).boxed() };
    let catalog = select(vec![Catalog::Five, Catalog::Assorted]);
    (catalog, pools(contents.limits), workloads, nodes, daemon, any::<u64>()).prop_filter_map(
        "a catalogue that cannot be read",
        |(catalog, pools, workloads, nodes, daemon, seed)| {
            let mut snapshot = empty(catalog, seed)?;
            snapshot.objects.node_pools = pools;
            if daemon {
                snapshot.objects.daemon_sets = vec![builder::daemon_set("agent", 50, 64)];
            }
            for (index, node) in nodes.iter().enumerate() {
                node.join(&mut snapshot, index);
            }
            snapshot.objects.pods.extend(pending(workloads.into_iter().flatten().collect()));
            Some(snapshot)
        },
    )
}

fn empty(catalog: Catalog, seed: u64) -> Option<ClusterSnapshot> {
    let now = "2026-01-01T12:00:00Z".parse().ok()?;
    let instance_types = catalog.instance_types().ok()?;
    Some(ClusterSnapshot {
        seed,
        instance_types,
        objects: ClusterObjects {
            node_classes: vec![testkit::node_class("default")],
            ..ClusterObjects::default()
        },
        ..ClusterSnapshot::empty(now)
    })
}

/// A node as drawn: what it is decided by indices into whatever the cluster turns out to have.
#[derive(Clone, Debug)]
struct DrawnNode {
    pool: Index,
    instance_type: Index,
    offering: Index,
    is_ready: bool,
    pods: Vec<(i64, i64)>,
}

fn drawn_node() -> impl Strategy<Value = DrawnNode> {
    let pods = prop::collection::vec((select(vec![50, 200, 400]), select(vec![64, 300])), 0..=3);
    (any::<Index>(), any::<Index>(), any::<Index>(), prop::bool::weighted(0.75), pods).prop_map(
        |(pool, instance_type, offering, is_ready, pods)| DrawnNode {
            pool,
            instance_type,
            offering,
            is_ready,
            pods,
        },
    )
}

impl DrawnNode {
    /// Adds claim, node and running pods to a cluster; whatever the pool's requirements say, as if
    /// they had changed since the launch.
    fn join(&self, snapshot: &mut ClusterSnapshot, index: usize) {
        let types = snapshot.instance_types.default.clone();
        let pool = self.pool.get(&snapshot.objects.node_pools).clone();
        let instance_type = self.instance_type.get(&types);
        let offering = self.offering.get(&instance_type.offerings);
        let name = format!("node-{index}");
        let parts = NodeParts {
            name: name.as_str().into(),
            labels: node_labels(
                &pool,
                instance_type,
                offering,
                snapshot.instance_types.region.as_ref(),
            ),
            taints: pool.template.taints.clone(),
            capacity: instance_type.capacity.clone(),
            allocatable: instance_type.allocatable.clone(),
        };
        let stage = if self.is_ready { Stage::Ready } else { Stage::InFlight };
        let (claim, node) = parts.build(stage);
        snapshot.node_claims.push(claim);
        let Some(node) = node else { return };
        let daemons: Vec<Pod> = snapshot
            .objects
            .daemon_sets
            .iter()
            .map(|daemon| builder::daemon_pod(daemon, &name))
            .collect();
        let room = instance_type.allocatable.clone();
        snapshot.objects.pods.extend(self.running(index, &node.name, room, &daemons));
        snapshot.objects.pods.extend(daemons);
        snapshot.objects.nodes.push(node);
    }

    /// As many of the drawn pods as there is room for.
    fn running(
        &self,
        index: usize,
        node: &str,
        mut room: domain::resource::Resources,
        daemons: &[Pod],
    ) -> Vec<Pod> {
        for daemon in daemons {
            room.subtract(&daemon.spec.requests);
        }
        let drawn = self.pods.iter().enumerate().map(|(number, (cpu, memory))| {
            let pod: PodBuilder = builder::pod(format!("running-{index}-{number}"));
            pod.requests(*cpu, *memory).on(node).build()
        });
        drawn
            .take_while(|pod| {
                room.subtract(&pod.spec.requests);
                room.iter().all(|(_, amount)| amount >= 0)
            })
            .collect()
    }
}

/// The labels of a node that was launched from a pool as a type in an offering.
pub fn node_labels(
    pool: &NodePool,
    instance_type: &InstanceType,
    offering: &Offering,
    region: Option<&Text>,
) -> Labels {
    let mut labels = Labels::new();
    for (key, values) in &instance_type.labels {
        // Of several (operating systems), Linux is what nodes run unless somebody says otherwise.
        let value = values.iter().find(|value| &***value == "linux").or(values.first());
        labels.extend(value.map(|value| (key.clone(), value.clone())));
    }
    for requirement in &pool.template.requirements {
        if let Some(value) = requirement.value_set().as_list().and_then(<[Text]>::first) {
            labels.entry(requirement.key.clone()).or_insert_with(|| value.clone());
        }
    }
    labels.extend(pool.template.labels.clone());
    labels.insert(label::ZONE.into(), offering.zone.clone());
    labels.insert(label::CAPACITY_TYPE.into(), offering.capacity_type.as_str().into());
    labels.insert(label::INSTANCE_TYPE.into(), instance_type.name.clone());
    labels.insert(label::NODE_POOL.into(), pool.name.clone());
    labels.insert(label::NODE_CLASS.into(), pool.template.node_class_ref.name.clone());
    labels.extend(region.map(|region| (label::REGION.into(), region.clone())));
    labels
}
