//! A snapshot made ready for planning: labels interned, resources as arrays of integers, instance
//! types as bit sets, pods grouped by shape.
//!
//! Building a [`Model`] decides nothing. It is read-only afterwards; what changes while pods find
//! their places is in [`crate::feasibility::state::State`].

pub(crate) mod daemon;
pub(crate) mod intern;
pub(crate) mod memo;
pub(crate) mod node;
mod overlay;
pub(crate) mod pool;
pub(crate) mod repair;
pub(crate) mod resources;
pub(crate) mod shape;
mod volume;

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;

use intern::{KeyKind, Sets};
use node::NodeView;
use pool::Pool;
use resources::ResourceNames;
use shape::{Shape, Shapes};

use crate::ids::{IndexVec, NodeIx, PodIx, PoolIx, ShapeIx, ZoneIx, ZoneSet};

/// A snapshot made ready for planning.
pub(crate) struct Model<'a> {
    /// What it was made from.
    pub(crate) snapshot: &'a ClusterSnapshot,
    /// Resource names by index.
    pub(crate) resources: ResourceNames,
    /// NodePools that may launch nodes for pending pods, heaviest first, then by name.
    pub(crate) pools: IndexVec<PoolIx, Pool<'a>>,
    /// Nodes and claims in flight that pods may go to or that hold pods, in the order in which pods
    /// try them.
    pub(crate) nodes: IndexVec<NodeIx, NodeView<'a>>,
    /// Pods grouped by shape.
    pub(crate) shapes: Shapes<'a>,
    /// Value sets and conjunctions that pods and NodePools name.
    pub(crate) sets: Sets,
    /// What each label key is decided by.
    pub(crate) key_kinds: BTreeMap<Text, KeyKind>,
    /// Zone names by index.
    pub(crate) zones: IndexVec<ZoneIx, Text>,
}

impl<'a> Model<'a> {
    /// Prepares a snapshot. `virtual_pods` take part like pending pods.
    pub(crate) fn new(snapshot: &'a ClusterSnapshot, virtual_pods: &'a [Pod]) -> Self {
        let resources = ResourceNames::of(snapshot);
        let mut sets = Sets::default();
        let key_kinds = key_kinds(snapshot);
        let zones = zones(snapshot);
        let pools = pool::pools(snapshot, &resources, &key_kinds, &zones, &mut sets);
        let nodes = node::nodes(snapshot, &resources);
        let shapes = Shapes::of(snapshot, virtual_pods, &resources, &mut sets);
        Self { snapshot, resources, pools, nodes, shapes, sets, key_kinds, zones }
    }

    /// A shape by index.
    pub(crate) fn shape(&self, shape: ShapeIx) -> &Shape<'a> {
        &self.shapes.list[shape]
    }

    /// The pod at an index of the shapes' list of pods.
    pub(crate) fn pod(&self, pod: PodIx) -> &'a Pod {
        self.shapes.pods[pod]
    }
}

/// What decides each label key that a launch decides.
fn key_kinds(snapshot: &ClusterSnapshot) -> BTreeMap<Text, KeyKind> {
    let mut kinds: BTreeMap<Text, KeyKind> = BTreeMap::new();
    let types = &snapshot.instance_types;
    for list in std::iter::once(&types.default).chain(types.by_node_class.values()) {
        for instance_type in list.iter() {
            for (key, values) in &instance_type.labels {
                let is_multi = values.len() > 1;
                let kind = kinds
                    .entry(key.clone())
                    .or_insert(KeyKind::InstanceType { has_several_values: false });
                if is_multi {
                    *kind = KeyKind::InstanceType { has_several_values: true };
                }
            }
            if instance_type.offerings.iter().any(|offering| offering.reservation.is_some()) {
                kinds.insert(label::RESERVATION_ID.into(), KeyKind::Reservation);
            }
        }
    }
    kinds.insert(label::ZONE.into(), KeyKind::Zone);
    kinds.insert(label::CAPACITY_TYPE.into(), KeyKind::CapacityType);
    kinds.insert(label::HOSTNAME.into(), KeyKind::Hostname);
    if types.region.is_some() {
        kinds.insert(label::REGION.into(), KeyKind::Region);
    }
    if !types.zone_ids.is_empty() {
        kinds.insert(label::ZONE_ID.into(), KeyKind::ZoneId);
    }
    kinds
}

fn zones(snapshot: &ClusterSnapshot) -> IndexVec<ZoneIx, Text> {
    let types = &snapshot.instance_types;
    let mut zones: Vec<Text> = Vec::new();
    for list in std::iter::once(&types.default).chain(types.by_node_class.values()) {
        for offering in list.iter().flat_map(|instance_type| &instance_type.offerings) {
            if zones.last() != Some(&offering.zone) && !zones.contains(&offering.zone) {
                zones.push(offering.zone.clone());
            }
        }
    }
    zones.sort();
    // Masks hold 64 zones; no region has a quarter of that.
    zones.truncate(ZoneSet::MAX_LEN);
    zones.into()
}
