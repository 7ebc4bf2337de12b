//! Constraints between the pods of one new node: spread by host, (anti-)affinity by host, host
//! ports.

use domain::pod::HostPort;
use rustc_hash::FxHashMap;

use super::constraint::Occupancy;
use super::topology::{Owned, Rule, Topology};
use crate::ids::{GroupIx, ShapeIx};
use crate::model::Model;

/// What the pods of one new node count for, by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounts {
    /// Whether pods that carry no constraint by host count as if they came after all others.
    constrained_first: bool,
    matched: FxHashMap<GroupIx, u32>,
    owners: FxHashMap<GroupIx, u32>,
    ports: Vec<HostPort>,
}

/// Whether no pod of an affinity by host has a place yet, so that the first may open a host.
pub(crate) type IsOpen<'f> = &'f dyn Fn(GroupIx) -> bool;

impl HostCounts {
    /// Counts of pods that may come in any order: those that carry no constraint by host then need
    /// not count against a spread, as they may come last. Others come in the order in which they
    /// are added.
    pub(crate) fn in_any_order() -> Self {
        Self { constrained_first: true, ..Self::default() }
    }

    /// How many more pods of a shape the node may hold.
    pub(crate) fn room_for(
        &self,
        model: &Model,
        topology: &Topology,
        shape: ShapeIx,
        is_open: IsOpen,
    ) -> u32 {
        let mut room = u32::MAX;
        let ports = &model.shape(shape).spec.host_ports;
        if !ports.is_empty() {
            let is_taken = |port: &HostPort| self.ports.iter().any(|own| own.conflicts_with(port));
            if ports.iter().any(is_taken) {
                return 0;
            }
            room = 1;
        }
        if !model.shape(shape).volumes.exclusive.is_empty() {
            room = room.min(1);
        }
        let constraints = &topology.constraints[shape];
        for owned in constraints.owned.iter().filter(|owned| owned.weight == 0) {
            let group = &topology.groups[owned.group];
            if !group.is_by_host() {
                continue;
            }
            let occupancy = Occupancy { is_unmatched: is_open(owned.group), least: 0 };
            let constraint = topology.owned_constraint(owned, occupancy);
            let count = self.matched.get(&owned.group).copied().unwrap_or(0);
            room = room.min(constraint.allowed.room(count, constraint.adds_up));
        }
        for constraint in topology.repelling(shape) {
            let count = self.owners.get(&constraint.group).copied().unwrap_or(0);
            room = room.min(constraint.allowed.room(count, constraint.adds_up));
        }
        room
    }

    /// Counts pods of a shape in.
    pub(crate) fn add(&mut self, model: &Model, topology: &Topology, shape: ShapeIx, count: u32) {
        let constraints = &topology.constraints[shape];
        let comes_last = self.constrained_first && may_come_last(topology, shape);
        for group in constraints.selected_by.iter().copied() {
            let own = &topology.groups[group];
            let is_ahead = !comes_last || !matches!(own.rule, Rule::Spread { .. });
            if own.is_by_host() && is_ahead {
                *self.matched.entry(group).or_default() += count;
            }
        }
        for owned in constraints.owned.iter().filter(|owned| owned.weight == 0) {
            let group = &topology.groups[owned.group];
            if group.is_by_host() && group.rule == Rule::AntiAffinity {
                *self.owners.entry(owned.group).or_default() += count;
            }
        }
        self.ports.extend(model.shape(shape).spec.host_ports.iter().cloned());
    }
}

/// Whether pods of the shape may come to a host after all others: they carry no required constraint
/// by host, and none needs them there.
fn may_come_last(topology: &Topology, shape: ShapeIx) -> bool {
    let constraints = &topology.constraints[shape];
    let carries = |owned: &Owned| owned.weight == 0 && topology.groups[owned.group].is_by_host();
    let is_joined = |group: &GroupIx| {
        let group = &topology.groups[*group];
        group.is_by_host() && group.rule == Rule::Affinity
    };
    !constraints.owned.iter().any(carries) && !constraints.selected_by.iter().any(is_joined)
}

/// Groups of required affinity by host that a shape carries, and whether its pods may be the first
/// of each.
pub(crate) fn host_affinity(
    topology: &Topology,
    shape: ShapeIx,
) -> impl Iterator<Item = (GroupIx, bool)> {
    topology.constraints[shape]
        .owned
        .iter()
        .filter(|owned| owned.weight == 0)
        .filter(|owned| {
            let group = &topology.groups[owned.group];
            group.is_by_host() && group.rule == Rule::Affinity
        })
        .map(|owned| (owned.group, owned.may_be_first))
}
