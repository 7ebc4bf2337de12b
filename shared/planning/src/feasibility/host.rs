//! Constraints between the pods of one new node: spread by host, (anti-)affinity by host, host ports.

use domain::pod::HostPort;
use rustc_hash::FxHashMap;

use super::topology::{Rule, Topology};
use crate::ids::{GroupIx, ShapeIx};
use crate::model::Model;

/// What the pods of one new node count for, by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCounts {
    matched: FxHashMap<GroupIx, u32>,
    owners: FxHashMap<GroupIx, u32>,
    ports: Vec<HostPort>,
}

/// Affinity by host that nobody serves yet: whether its first pod may still be placed.
pub(crate) type IsOpen<'f> = &'f dyn Fn(GroupIx) -> bool;

impl HostCounts {
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
        let ties = &topology.ties[shape];
        for owned in ties.owned.iter().filter(|owned| owned.weight == 0) {
            let group = &topology.groups[owned.group];
            if !group.is_by_host() {
                continue;
            }
            let matched = self.matched.get(&owned.group).copied().unwrap_or(0);
            let own = match group.rule {
                Rule::Spread { max_skew, .. } => {
                    let skew = u32::try_from(max_skew).unwrap_or(0);
                    if owned.selects_itself {
                        skew.saturating_sub(matched)
                    } else if matched <= skew {
                        u32::MAX
                    } else {
                        0
                    }
                }
                Rule::AntiAffinity if matched > 0 => 0,
                Rule::AntiAffinity if owned.selects_itself => 1,
                Rule::AntiAffinity => u32::MAX,
                Rule::Affinity if matched > 0 || owned.selects_itself && is_open(owned.group) => {
                    u32::MAX
                }
                Rule::Affinity => 0,
            };
            room = room.min(own);
        }
        let is_repelled = ties.selected_by.iter().any(|group| {
            topology.groups[*group].rule == Rule::AntiAffinity && self.owners.contains_key(group)
        });
        if is_repelled { 0 } else { room }
    }

    /// Counts pods of a shape in.
    pub(crate) fn add(&mut self, model: &Model, topology: &Topology, shape: ShapeIx, count: u32) {
        let ties = &topology.ties[shape];
        for group in ties.selected_by.iter().copied() {
            if topology.groups[group].is_by_host() {
                *self.matched.entry(group).or_default() += count;
            }
        }
        for owned in ties.owned.iter().filter(|owned| owned.weight == 0) {
            let group = &topology.groups[owned.group];
            if group.is_by_host() && group.rule == Rule::AntiAffinity {
                *self.owners.entry(owned.group).or_default() += count;
            }
        }
        self.ports.extend(model.shape(shape).spec.host_ports.iter().cloned());
    }
}

/// Groups of required affinity by host that a shape carries.
pub(crate) fn host_affinity(
    topology: &Topology,
    shape: ShapeIx,
) -> impl Iterator<Item = (GroupIx, bool)> {
    topology.ties[shape]
        .owned
        .iter()
        .filter(|owned| owned.weight == 0)
        .filter(|owned| {
            let group = &topology.groups[owned.group];
            group.is_by_host() && group.rule == Rule::Affinity
        })
        .map(|owned| (owned.group, owned.selects_itself))
}
