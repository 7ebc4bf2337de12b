//! The cluster at a moment, as the report shows it.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::label;
use domain::node::Node;
use domain::pod::Pod;
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::{SignedDuration, Text};

use crate::ec2::Instance;
use crate::ports::CLAIM_TAG;
use crate::report::{Moment, NodeRow, NodeState, Usage, View};
use crate::scheduler;
use crate::world::World;

pub(super) fn view(world: &World, moment: Moment) -> View {
    let used = used_by_node(world);
    let mut nodes: Vec<NodeRow> =
        world.api().list::<Node>().map(|node| row_of_node(world, node, &used)).collect();
    let is_on_its_way = |own: &&Instance| world.node_of_instance(&own.id).is_none();
    nodes.extend(world.ec2().billed().filter(is_on_its_way).map(|own| row_of(world, own)));
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    View {
        moment,
        at: world.now(),
        nodes,
        hourly: world.ec2().hourly(),
        pods_running: world.api().pods().running(),
        pods_pending: pods_pending(world).count(),
    }
}

/// Pods that wait for a node, those of DaemonSets left out.
pub(super) fn pods_pending(world: &World) -> impl Iterator<Item = &Pod> {
    let is_pending = |pod: &&Pod| scheduler::is_waiting(pod) && !pod.is_daemon();
    world.api().list::<Pod>().filter(is_pending)
}

fn used_by_node(world: &World) -> BTreeMap<Text, Resources> {
    let mut used: BTreeMap<Text, Resources> = BTreeMap::new();
    for pod in world.api().list::<Pod>().filter(|pod| !pod.is_terminal()) {
        if let Some(node) = &pod.node_name {
            used.entry(node.clone()).or_default().add(&pod.spec.requests);
        }
    }
    used
}

fn row_of_node(world: &World, node: &Node, used: &BTreeMap<Text, Resources>) -> NodeRow {
    let nothing = Resources::new();
    let used = used.get(&node.name).unwrap_or(&nothing);
    let usage =
        |name: &str| Usage { used: used.get(name), allocatable: node.allocatable.get(name) };
    let of = |key: &str| node.labels.get(key).cloned();
    let instance = world.instance_of(node);
    let since = instance.map(|own| own.launched).or(node.created);
    NodeRow {
        name: node.name.clone(),
        state: state(world, node),
        node_pool: of(label::NODE_POOL),
        instance_type: of(label::INSTANCE_TYPE).unwrap_or_default(),
        zone: of(label::ZONE).unwrap_or_default(),
        capacity_type: instance
            .map(Instance::capacity_type)
            .or_else(|| CapacityType::parse(&of(label::CAPACITY_TYPE)?)),
        cpu: usage(CPU),
        memory: usage(MEMORY),
        pods: usage(PODS),
        age: since.map_or(SignedDuration::ZERO, |since| world.now().duration_since(since)),
        price: instance.map(|own| own.price),
    }
}

fn state(world: &World, node: &Node) -> NodeState {
    let is_managed = node.labels.contains_key(label::NODE_POOL);
    let is_initialized = node.labels.contains_key(label::INITIALIZED);
    let is_ending = || world.record_of(&node.name).is_some_and(|record| record.ending.is_some());
    if node.deleted.is_some() || node.is_disrupted() || is_ending() {
        NodeState::Draining
    } else if is_managed && !is_initialized {
        NodeState::Joining
    } else if node.is_not_ready() {
        NodeState::NotReady
    } else {
        NodeState::Ready
    }
}

fn row_of(world: &World, instance: &Instance) -> NodeRow {
    let usage = |name: &str| Usage { used: 0, allocatable: instance.allocatable.get(name) };
    let name = instance.tags.get(CLAIM_TAG).unwrap_or(&instance.id);
    NodeRow {
        name: name.clone(),
        state: NodeState::Launching,
        node_pool: instance.tags.get(label::NODE_POOL).cloned(),
        instance_type: instance.pool.instance_type.clone(),
        zone: instance.pool.zone.clone(),
        capacity_type: Some(instance.capacity_type()),
        cpu: usage(CPU),
        memory: usage(MEMORY),
        pods: usage(PODS),
        age: world.now().duration_since(instance.launched),
        price: Some(instance.price),
    }
}
