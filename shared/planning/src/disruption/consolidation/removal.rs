//! Which nodes are removed together without anything new.
//!
//! Removing one node takes room that another would need, so that what is removed first decides what
//! the cluster comes to. Nodes are removed in several orders, and the best order is varied: one
//! node comes first that was kept, or last that was removed. Work is counted, so that the same
//! cluster gives the same answer, and large clusters get fewer orders.

use domain::money::UsdPerHour;
use domain::resource::{CPU, MEMORY};

use super::search::{NODES_MAX, Search};
use crate::ids::NodeIx;

/// Most removals that are tried for one answer.
const STEPS_MAX: usize = 2_000;

/// Orders by room: how much CPU counts beside memory, in this many steps from nothing to all.
const CPU_WEIGHTS: u32 = 8;

/// Another set must save this much more than the best so far, so that what was decided stands
/// unless there is something better.
const IMPROVEMENT_MIN: f64 = 0.01;

/// Nodes in an order, those of them that are removed in it, and what that saves.
struct Removed {
    order: Vec<NodeIx>,
    nodes: Vec<NodeIx>,
    /// Nano-USD per hour, less what evictions cost.
    net: f64,
}

impl Search<'_, '_, '_> {
    /// Of the nodes that can be removed alone, those that are removed together: each of their pods
    /// has a place on a node that stays.
    pub(super) fn removable_together(&mut self) -> Vec<NodeIx> {
        let order = self.removable.clone();
        let mut steps = STEPS_MAX.saturating_sub(order.len());
        let by_room = self.orders_by_room(&order);
        let mut best = self.removed_in(order);
        for order in by_room {
            if !spend(&mut steps, order.len()) {
                return best.nodes;
            }
            let found = self.removed_in(order);
            if found.is_better_than(&best) {
                best = found;
            }
        }
        while let Some(found) = self.varied(&best, &mut steps) {
            best = found;
        }
        best.nodes
    }

    /// A better removal in which one node comes first that is kept, or last that is removed.
    fn varied(&mut self, best: &Removed, steps: &mut usize) -> Option<Removed> {
        for node in &best.order {
            if !spend(steps, best.order.len()) {
                return None;
            }
            let others = best.order.iter().copied().filter(|own| own != node);
            let order = if best.nodes.contains(node) {
                others.chain([*node]).collect()
            } else {
                std::iter::once(*node).chain(others).collect()
            };
            let found = self.removed_in(order);
            if found.is_better_than(best) {
                return Some(found);
            }
        }
        None
    }

    /// Removes one node after the other. A node that has received pods of another is kept.
    fn removed_in(&mut self, order: Vec<NodeIx>) -> Removed {
        let mut removal = self.trials.incremental_removal();
        let mut nodes: Vec<NodeIx> = Vec::new();
        for node in &order {
            if nodes.len() == NODES_MAX {
                break;
            }
            if !removal.has_received(*node) && self.trials.try_remove(&mut removal, *node) {
                nodes.push(*node);
            }
        }
        let net = nodes.iter().map(|node| self.net_saving(*node)).sum();
        Removed { order, nodes, net }
    }

    /// What removing a node saves, in nano-USD per hour, less what its evictions cost.
    pub(super) fn net_saving(&self, node: NodeIx) -> f64 {
        let price = self.model.nodes[node].price().unwrap_or_default();
        let required = self.scores.required_savings(&[node], 0, UsdPerHour::ZERO);
        (price - required).to_f64() * 1e9
    }

    /// Nodes by what they save for the room that they have, with CPU and memory in different
    /// proportions: where pods need more of one, the nodes that have more of it should stay.
    fn orders_by_room(&self, nodes: &[NodeIx]) -> Vec<Vec<NodeIx>> {
        #[expect(clippy::cast_precision_loss, reason = "only ranks")]
        let room = |node: &NodeIx| {
            let allocatable = self.model.nodes[*node].node.map(|own| &own.allocatable);
            [CPU, MEMORY].map(|name| allocatable.map_or(0, |own| own.get(name)) as f64)
        };
        let rooms: Vec<[f64; 2]> = nodes.iter().map(room).collect();
        let all = [0, 1].map(|index| rooms.iter().map(|own| own[index]).sum::<f64>().max(1.0));
        let by = |step: u32| {
            let weight = f64::from(step) / f64::from(CPU_WEIGHTS);
            let measured = nodes.iter().zip(&rooms).map(|(node, [cpu, memory])| {
                let share = weight * cpu / all[0] + (1.0 - weight) * memory / all[1];
                (self.net_saving(*node) / share.max(f64::MIN_POSITIVE), *node)
            });
            self.descending(measured.collect())
        };
        (0..=CPU_WEIGHTS).map(by).collect()
    }
}

impl Removed {
    fn is_better_than(&self, other: &Self) -> bool {
        self.net > other.net * (1.0 + IMPROVEMENT_MIN)
    }
}

/// Takes so many steps from those that are left; returns whether there are as many.
fn spend(left: &mut usize, steps: usize) -> bool {
    let rest = left.checked_sub(steps);
    *left = rest.unwrap_or(0);
    rest.is_some()
}
