//! Pods that keep off each other on one host, as resources of which every node has a few.
//!
//! Of pods that carry the same required anti-affinity by host and are selected by it, a node holds
//! one; of those that carry the same required spread over hosts, `maxSkew`, as a node that is not
//! there yet counts as the emptiest. Where such pods are of several shapes, no cap on one row says
//! so, but a resource does that each of them takes one of.
//!
//! Which pod comes first makes no difference to this: the last of them sees all others. Pods that
//! are selected and do not carry the constraint may come later, so they take nothing.

use domain::pod::HostPort;
use rustc_hash::FxHashMap;

use crate::feasibility::topology::{Owned, Rule, Topology};
use crate::ids::{GroupIx, ShapeIx};
use crate::model::Model;
use crate::model::shape::Shape;

/// Groups that become resources, at most.
const GROUPS_MAX: usize = 8;

/// Groups that need less than one part in this many of the nodes that another needs are left out:
/// they hardly decide how many nodes there are.
const NODES_PART_MIN: u32 = 4;

/// Of pods whose spread over hosts selects other pods too, a node is given this many.
const MIXED_PER_NODE: i64 = 16;

/// Groups of pods of several shapes that keep off each other.
pub(super) struct HostGroups {
    /// By group, how many of its pods a node holds.
    pub(super) caps: Vec<i64>,
    /// By shape, which of the groups it is in.
    of_shape: FxHashMap<ShapeIx, Vec<usize>>,
}

/// Whether pods of the shape must be spread over hosts together with others: by a constraint that
/// selects other waiting pods too.
pub(super) fn is_mixed(topology: &Topology, shape: ShapeIx) -> bool {
    topology.constraints[shape].owned.iter().any(|owned| {
        let group = &topology.groups[owned.group];
        let is_spread = matches!(group.rule, Rule::Spread { .. });
        owned.weight == 0 && group.is_by_host() && is_spread && topology.selects_others(owned.group)
    })
}

/// Pods of one group.
struct Candidate {
    cap: u32,
    pods: u32,
    shapes: Vec<ShapeIx>,
}

impl Candidate {
    fn nodes_needed(&self) -> u32 {
        self.pods.div_ceil(self.cap)
    }
}

/// What pods of a group share: a constraint, or a port that each of them opens at every address.
#[derive(PartialEq, Eq, Hash)]
enum GroupKey<'m> {
    Constraint(GroupIx),
    Port(&'m HostPort),
}

impl HostGroups {
    /// The groups of pods, counted by shape, that need the most nodes. Equal ones in the order of
    /// the shapes.
    pub(super) fn of(model: &Model, topology: &Topology, pods: &[(ShapeIx, u32)]) -> Self {
        let mut places: FxHashMap<GroupKey, usize> = FxHashMap::default();
        let mut candidates: Vec<Candidate> = Vec::new();
        for (index, count) in pods.iter().copied().filter(|(_, count)| *count > 0) {
            for (key, cap) in keys(model, topology, index) {
                let place = *places.entry(key).or_insert_with(|| {
                    candidates.push(Candidate { cap, pods: 0, shapes: Vec::new() });
                    candidates.len() - 1
                });
                let own = &mut candidates[place];
                if own.shapes.last() != Some(&index) {
                    own.pods = own.pods.saturating_add(count);
                    own.shapes.push(index);
                }
            }
        }
        candidates.retain(|own| own.shapes.len() > 1 && own.nodes_needed() > 1);
        candidates.sort_by_key(|own| std::cmp::Reverse(own.nodes_needed()));
        let most = candidates.first().map_or(0, Candidate::nodes_needed);
        candidates.retain(|own| own.nodes_needed() >= most / NODES_PART_MIN);
        candidates.truncate(GROUPS_MAX);
        let mut of_shape: FxHashMap<ShapeIx, Vec<usize>> = FxHashMap::default();
        for (place, own) in candidates.iter().enumerate() {
            for shape in &own.shapes {
                of_shape.entry(*shape).or_default().push(place);
            }
        }
        Self { caps: candidates.iter().map(|own| own.cap.into()).collect(), of_shape }
    }

    /// With one more group: pods whose spread over hosts selects other pods too. How many of them a
    /// node holds depends on which they are and which come first. A few may be together whichever
    /// they are, which keeps them from being planned for the same few large nodes. No bound may
    /// count on that.
    pub(super) fn with_mixed(mut self, topology: &Topology, pods: &[(ShapeIx, u32)]) -> Self {
        let mixed: Vec<ShapeIx> =
            pods.iter().map(|(shape, _)| *shape).filter(|own| is_mixed(topology, *own)).collect();
        let mixed: Vec<ShapeIx> =
            mixed.into_iter().filter(|own| !self.of_shape.contains_key(own)).collect();
        if mixed.len() > 1 {
            for shape in mixed {
                self.of_shape.entry(shape).or_default().push(self.caps.len());
            }
            self.caps.push(MIXED_PER_NODE);
        }
        self
    }

    /// What a pod of the shape requests: its resources, then one of each group that it is in.
    pub(super) fn requests(&self, index: ShapeIx, shape: &Shape) -> Vec<i64> {
        let mut requests = shape.requests.clone();
        let own = self.of_shape.get(&index).map_or(&[][..], Vec::as_slice);
        requests.extend((0..self.caps.len()).map(|group| i64::from(own.contains(&group))));
        requests
    }

    /// What a node has: its resources, then as much of each group as it holds.
    pub(super) fn amounts(&self, room: &[i64]) -> Vec<i64> {
        room.iter().chain(&self.caps).copied().collect()
    }
}

/// How many pods of one shape a node may hold.
pub(super) fn per_node(topology: &Topology, index: ShapeIx, shape: &Shape) -> u32 {
    let own = topology.constraints[index].owned.iter();
    let most = own.filter_map(|owned| cap(topology, owned)).min().unwrap_or(u32::MAX);
    if shape.shares_hosts_freely() { most } else { 1 }
}

fn keys<'m>(
    model: &'m Model,
    topology: &Topology,
    index: ShapeIx,
) -> impl Iterator<Item = (GroupKey<'m>, u32)> {
    let ports = model.shape(index).spec.host_ports.iter();
    let own = topology.constraints[index].owned.iter();
    own.filter_map(|owned| Some((GroupKey::Constraint(owned.group), cap(topology, owned)?)))
        .chain(ports.map(|port| (GroupKey::Port(port), 1)))
}

/// How many pods of shapes that carry a required constraint by host and are selected by it a new
/// node may hold; `None` where the constraint sets no limit.
fn cap(topology: &Topology, owned: &Owned) -> Option<u32> {
    let group = &topology.groups[owned.group];
    if owned.weight > 0 || !owned.selects_itself || !group.is_by_host() {
        return None;
    }
    match group.rule {
        Rule::AntiAffinity => Some(1),
        Rule::Spread { max_skew, .. } => Some(u32::try_from(max_skew).unwrap_or(1).max(1)),
        Rule::Affinity => None,
    }
}
