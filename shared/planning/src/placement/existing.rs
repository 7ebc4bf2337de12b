//! Existing nodes: which of them take one more pod, and which of those breaks the fewest wishes.

use std::rc::Rc;

use domain::pod::HostPort;
use domain::taint::{TaintEffect, first_untolerated, tolerated};

use super::ties::Tie;
use super::{Placements, Placer};
use crate::feasibility::node::node_meets;
use crate::feasibility::state::Counts;
use crate::feasibility::topology::{Group, Owned, Rule};
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx};
use crate::model::node::NodeView;

impl Placer<'_, '_> {
    /// Puts as many pods as fit on existing nodes; returns the rest.
    pub(super) fn fill_existing(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        if self.only_room_counts(shape) {
            return self.fill_by_room(shape, pods, placements);
        }
        let mut rest = pods.into_iter();
        while rest.len() > 0 {
            let Some(node) = self.best_existing(shape) else { break };
            self.state.place(self.model, self.topology, shape, node, 1);
            placements.placed.extend(rest.by_ref().take(1).map(|pod| (pod, node)));
        }
        rest.collect()
    }

    /// Whether a node that admits the shape takes as many of its pods as it has room for.
    pub(super) fn only_room_counts(&self, shape: ShapeIx) -> bool {
        let own = self.model.shape(shape);
        self.topology.ties[shape].is_free()
            && own.preferences.is_empty()
            && own.spec.host_ports.is_empty()
            && own.spec.volumes.is_empty()
    }

    /// The same for a shape of which a node takes as many pods as it has room for.
    fn fill_by_room(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        let requests = &self.model.shape(shape).requests;
        let mut rest = pods.into_iter();
        for node in self.allowed_nodes(shape).iter().copied() {
            if rest.len() == 0 {
                break;
            }
            if self.state.closed[node] {
                continue;
            }
            let room = self.state.room_for(self.model, node, requests);
            let count = room.min(u32::try_from(rest.len()).unwrap_or(u32::MAX));
            if count > 0 {
                self.state.place(self.model, self.topology, shape, node, count);
                let placed = rest.by_ref().take(count as usize).map(|pod| (pod, node));
                placements.placed.extend(placed);
            }
        }
        rest.collect()
    }

    /// Nodes whose labels and taints admit the shape, in the order in which pods try them; those with a
    /// `PreferNoSchedule` taint it does not tolerate last.
    pub(super) fn allowed_nodes(&mut self, shape: ShapeIx) -> Rc<Vec<NodeIx>> {
        let own = self.model.shape(shape);
        let key = (own.alternatives.clone(), own.spec.tolerations.clone());
        if let Some(known) = self.allowed.get(&key) {
            return known.clone();
        }
        let admitted = |node: &NodeView| {
            first_untolerated(&own.spec.tolerations, &node.taints).is_none()
                && own.alternatives.iter().any(|way| node_meets(self.model, node, *way))
        };
        let is_avoided = |node: &NodeView| {
            node.taints.iter().any(|taint| {
                taint.effect == TaintEffect::PreferNoSchedule
                    && !tolerated(&own.spec.tolerations, taint)
            })
        };
        let mut nodes: Vec<NodeIx> = self
            .model
            .nodes
            .indices()
            .filter(|node| {
                let node = &self.model.nodes[*node];
                !node.is_leaving() && admitted(node)
            })
            .collect();
        let rank = |node: &NodeIx| self.rank.get(*node).copied().unwrap_or(0);
        nodes.sort_by_cached_key(|node| (is_avoided(&self.model.nodes[*node]), rank(node)));
        let nodes = Rc::new(nodes);
        self.allowed.insert(key, nodes.clone());
        nodes
    }

    /// The existing node that takes one more pod and breaks the fewest soft_spread, first in order among equals.
    pub(super) fn best_existing(&mut self, shape: ShapeIx) -> Option<NodeIx> {
        let own = self.model.shape(shape);
        let has_preferences = !own.preferences.is_empty()
            || self.topology.ties[shape].owned.iter().any(|owned| owned.weight > 0);
        let ties = self.ties_of(shape);
        let mut best: Option<(NodeIx, i64)> = None;
        for node in self.allowed_nodes(shape).iter().copied() {
            if !self.has_room(shape, node) || !self.keeps_required(&ties, node) {
                continue;
            }
            let penalty = if has_preferences { self.penalty_on(shape, &ties, node) } else { 0 };
            if best.is_none_or(|(_, least)| penalty < least) {
                best = Some((node, penalty));
            }
            if penalty == 0 {
                break;
            }
        }
        best.map(|(node, _)| node)
    }

    /// Whether the node has room, ports and volume slots for one more pod of the shape.
    pub(super) fn has_room(&self, shape: ShapeIx, node: NodeIx) -> bool {
        let own = self.model.shape(shape);
        if self.state.closed[node] || self.state.room_for(self.model, node, &own.requests) == 0 {
            return false;
        }
        let conflicts = |open: &Vec<HostPort>| {
            own.spec
                .host_ports
                .iter()
                .any(|port| open.iter().any(|other| port.conflicts_with(other)))
        };
        if !own.spec.host_ports.is_empty() && self.state.ports.get(&node).is_some_and(conflicts) {
            return false;
        }
        own.spec.volumes.is_empty() || self.attaches(shape, node)
    }

    /// Whether the node can attach the shape's volumes, and nobody else uses those of one pod only.
    pub(super) fn attaches(&self, shape: ShapeIx, node: NodeIx) -> bool {
        let volumes = &self.model.shape(shape).volumes;
        if volumes.exclusive.iter().any(|claim| self.state.exclusive.contains(claim)) {
            return false;
        }
        let name = self.model.nodes[node].name;
        let Some(csi) = self.model.snapshot.objects.csi_nodes.iter().find(|csi| csi.name == *name)
        else {
            return true;
        };
        let attached = self.state.attached.get(&node);
        csi.limits.iter().all(|(driver, limit)| {
            let before = attached
                .map_or(0, |attached| attached.iter().filter(|(own, _)| own == driver).count());
            let mut new: Vec<_> = volumes
                .attachments
                .iter()
                .filter(|volume| volume.0 == *driver)
                .filter(|volume| attached.is_none_or(|attached| !attached.contains(*volume)))
                .collect();
            new.sort();
            new.dedup();
            new.is_empty() || before + new.len() <= *limit as usize
        })
    }

    /// Pods in the node's domain that carry the anti-affinity.
    pub(super) fn owners_at(&self, group: GroupIx, node: NodeIx) -> u32 {
        self.count_at(&self.topology.groups[group], &self.state.owners[group], node)
    }

    /// What is counted in the node's domain of the group.
    pub(super) fn count_at(&self, group: &Group, counts: &Counts, node: NodeIx) -> u32 {
        if group.is_by_host() {
            return counts.by_node.get(&node).copied().unwrap_or(0);
        }
        self.model.nodes[node]
            .labels
            .get(&group.key)
            .and_then(|domain| counts.by_domain.get(domain))
            .copied()
            .unwrap_or(0)
    }

    /// Whether one more pod of the shape on the node keeps the constraint.
    pub(super) fn group_allows(&mut self, shape: ShapeIx, owned: Owned, node: NodeIx) -> bool {
        let group = &self.topology.groups[owned.group];
        let view = &self.model.nodes[node];
        if !view.labels.contains_key(&group.key) {
            // Anti-affinity has nothing to say about a node outside all domains.
            return group.rule == Rule::AntiAffinity;
        }
        let count = self.count_at(group, &self.state.matched[owned.group], node);
        match group.rule {
            Rule::Affinity => {
                count > 0 || (owned.selects_itself && self.state.matched[owned.group].is_empty())
            }
            Rule::AntiAffinity => count == 0,
            Rule::Spread { max_skew, .. } => {
                let least = self.least(shape, owned.group);
                i64::from(count) + i64::from(owned.selects_itself) - least <= i64::from(max_skew)
            }
        }
    }

    /// The weight of wishes that one more pod of the shape on the node would break.
    pub(super) fn penalty_on(&self, shape: ShapeIx, ties: &[Tie], node: NodeIx) -> i64 {
        let view = &self.model.nodes[node];
        let preferences = self.model.shape(shape).preferences.iter();
        let unmet =
            preferences.filter(|(_, preference)| !node_meets(self.model, view, *preference));
        let unmet: i64 = unmet.map(|(weight, _)| i64::from(*weight)).sum();
        unmet + self.broken_weight(ties, node)
    }
}
