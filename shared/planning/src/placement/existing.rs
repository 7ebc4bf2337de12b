//! Existing nodes: which of them take one more pod, and which of those break the fewest
//! preferences.

use std::sync::Arc;

use domain::instance_type::CapacityType;
use domain::node_offering::capacity_type_of;
use domain::taint::{TaintEffect, tolerated};

use super::placer::{Placements, Placer};
use crate::feasibility::constraint::{Constraint, Occupancy};
use crate::feasibility::node::{NodeRefusal, admits, has_capacity, node_meets};
use crate::feasibility::node_constraint::{NodeConstraint, broken_requirement, broken_weight};
use crate::feasibility::state::{PodsOn, room_for};
use crate::ids::{NodeIx, PodIx, ShapeIx};
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;
use crate::model::shape::Shape;

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
        let nodes = self.roomy_nodes(shape);
        let mut full = 0;
        while rest.len() > 0 {
            // What has no room now has none for the pods after this one.
            let is_full = |node: &&NodeIx| self.check_capacity(shape, **node).is_err();
            full += nodes[full..].iter().take_while(is_full).count();
            let Some(node) = self.best_of(shape, &nodes[full..]) else { break };
            self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
            placements.placed.extend(rest.by_ref().take(1).map(|pod| (pod, node)));
            self.place_followers(shape, placements);
        }
        rest.collect()
    }

    /// Whether a node that admits the shape takes as many of its pods as it has room for.
    pub(super) fn only_room_counts(&self, shape: ShapeIx) -> bool {
        let own = self.model.shape(shape);
        self.topology.constraints[shape].is_empty()
            && own.preferences.is_empty()
            && own.spec.host_ports.is_empty()
            && own.spec.volumes.is_empty()
    }

    /// Fills nodes with pods of a shape of which a node takes as many as it has room for.
    fn fill_by_room(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        let requests = &self.model.shape(shape).requests;
        let mut rest = pods.into_iter();
        for node in self.roomy_nodes(shape).iter().copied() {
            if rest.len() == 0 {
                break;
            }
            if self.state.closed[node] || !self.state.has_room(self.model, node, requests) {
                continue;
            }
            let room = self.state.room_for(self.model, node, requests);
            let count = room.min(u32::try_from(rest.len()).unwrap_or(u32::MAX));
            self.state.place(
                self.model,
                self.topology,
                PodsOn { shape, node, count: i64::from(count) },
            );
            let placed = rest.by_ref().take(count as usize).map(|pod| (pod, node));
            placements.placed.extend(placed);
        }
        rest.collect()
    }

    /// Nodes whose labels and taints admit the shape, in the order in which pods try them; those
    /// with a `PreferNoSchedule` taint it does not tolerate last. Where pods differ in what their
    /// interruptions cost, those for which on-demand is bought try on-demand first, and the others
    /// last, so that each finds what was launched for it.
    pub(super) fn allowed_nodes(&mut self, shape: ShapeIx) -> Arc<Vec<NodeIx>> {
        let own = self.model.shape(shape);
        let key = (own.alternatives.clone(), own.spec.tolerations.clone());
        if let Some(known) = self.allowed.get(&key) {
            return known.clone();
        }
        let mut nodes: Vec<NodeIx> = self
            .model
            .nodes
            .indices()
            .filter(|node| {
                let node = &self.model.nodes[*node];
                admits(self.model, own, node).is_ok()
            })
            .collect();
        let rank = |node: &NodeIx| self.rank.get(*node).copied().unwrap_or(0);
        let apart = self.model.tells_pods_apart().then(|| self.buys_on_demand(shape));
        let is_for_others = |node: &NodeView| {
            // A Node that has joined and is not registered yet has few labels of its own.
            let of_claim = || capacity_type_of(&node.claim?.labels);
            let bought = node.capacity_type().or_else(of_claim);
            let is_on_demand = bought == Some(CapacityType::OnDemand);
            apart.is_some_and(|own| own != is_on_demand)
        };
        nodes.sort_by_cached_key(|node| {
            let view = &self.model.nodes[*node];
            (is_avoided(own, view), is_for_others(view), rank(node))
        });
        let nodes = Arc::new(nodes);
        self.allowed.insert(key, nodes.clone());
        nodes
    }

    /// Of the nodes that admit the shape, those that have room for a pod of it as the cluster
    /// stands, in the same order. Pods that are placed take room and none gives any back, so that
    /// no other node ever takes one.
    pub(super) fn roomy_nodes(&mut self, shape: ShapeIx) -> Arc<Vec<NodeIx>> {
        if let Some(known) = self.roomy.get(&shape) {
            return known.clone();
        }
        let (nodes, requests) = (&self.model.nodes, &self.model.shape(shape).requests);
        let has_room = |node: &NodeIx| room_for(&nodes[*node].free, requests) > 0;
        let allowed = self.allowed_nodes(shape);
        let roomy: Arc<Vec<NodeIx>> = Arc::new(allowed.iter().copied().filter(has_room).collect());
        self.roomy.insert(shape, roomy.clone());
        roomy
    }

    /// Whether on-demand would be launched for pods of the shape where both are allowed, since
    /// interruptions cost more than spot saves.
    fn buys_on_demand(&self, shape: ShapeIx) -> bool {
        let Self { model, memo, .. } = self;
        let passes_over_spot = |way: &ConjunctionId| {
            model.pools.iter().any(|pool| {
                let own = memo.compatible(model, pool, *way);
                own.is_ok_and(|own| pool.passes_over_spot(memo, &own))
            })
        };
        model.shape(shape).alternatives.iter().any(passes_over_spot)
    }

    /// The existing node that takes one more pod and breaks the fewest preferences; of those one
    /// where most of the pods fit that must join it there, first in order among equals.
    pub(super) fn best_existing(&mut self, shape: ShapeIx) -> Option<NodeIx> {
        let nodes = self.roomy_nodes(shape);
        self.best_of(shape, &nodes)
    }

    /// The node that [`Self::best_existing`] would choose among some that admit the shape.
    pub(super) fn best_of(&mut self, shape: ShapeIx, nodes: &[NodeIx]) -> Option<NodeIx> {
        if self.is_spread_evenly(shape) {
            return self.most_even(shape, nodes);
        }
        let own = self.model.shape(shape);
        let has_preferences = !own.preferences.is_empty()
            || self.topology.constraints[shape].owned.iter().any(|owned| owned.weight > 0);
        let constraints = self.node_constraints(shape);
        let followers = self.followers_of(shape);
        let wanted: u32 = followers.iter().map(|(_, count)| count).sum();
        let mut best: Option<(NodeIx, (i64, u32))> = None;
        for node in nodes.iter().copied() {
            if self.check_capacity(shape, node).is_err() || !self.keeps_required(&constraints, node)
            {
                continue;
            }
            let penalty =
                if has_preferences { self.penalty_on(shape, &constraints, node) } else { 0 };
            let missing = wanted - self.followers_beside(shape, node, &followers);
            if best.is_none_or(|(_, least)| (penalty, missing) < least) {
                best = Some((node, (penalty, missing)));
            }
            if penalty == 0 && missing == 0 {
                break;
            }
        }
        best.map(|(node, _)| node)
    }

    /// Whether one more pod of the shape may go to the node as things stand; else the first check
    /// that the node fails.
    pub(super) fn check_node(&mut self, shape: ShapeIx, node: NodeIx) -> Result<(), NodeRefusal> {
        if self.state.closed[node] {
            return Err(NodeRefusal::Leaving);
        }
        admits(self.model, self.model.shape(shape), &self.model.nodes[node])?;
        self.check_capacity(shape, node)?;
        let constraints = self.node_constraints(shape);
        match broken_requirement(&constraints, self.topology, &self.state, node) {
            Some(broken) => Err(NodeRefusal::Constraint(broken)),
            None => Ok(()),
        }
    }

    /// The nodes that take one more pod of the shape as things stand.
    pub(crate) fn hosts_of(&mut self, shape: ShapeIx) -> Vec<NodeIx> {
        let constraints = self.node_constraints(shape);
        let nodes = self.roomy_nodes(shape);
        let takes = |node: &NodeIx| {
            self.check_capacity(shape, *node).is_ok() && self.keeps_required(&constraints, *node)
        };
        nodes.iter().copied().filter(takes).collect()
    }

    /// Whether the node has room, ports and volume slots for one more pod of the shape.
    pub(super) fn check_capacity(&self, shape: ShapeIx, node: NodeIx) -> Result<(), NodeRefusal> {
        has_capacity(self.model, &self.state, shape, node)
    }

    /// Constraints between pods as they stand for the next pod of the shape: those that it carries,
    /// then the anti-affinity of others.
    pub(super) fn constraints_of(&mut self, shape: ShapeIx) -> Vec<Constraint> {
        let topology = self.topology;
        let own = &topology.constraints[shape];
        let mut all = Vec::with_capacity(own.owned.len() + own.selected_by.len());
        for owned in &own.owned {
            let occupancy = Occupancy {
                is_unmatched: self.state.matched[owned.group].is_empty(),
                least: self.least(shape, owned.group),
            };
            all.push(topology.owned_constraint(owned, occupancy));
        }
        let owners = &self.state.owners;
        all.extend(topology.repelling(shape).filter(|own| !owners[own.group].is_empty()));
        all
    }

    /// Constraints between pods, worked out for every domain that existing nodes are in.
    pub(super) fn node_constraints(&mut self, shape: ShapeIx) -> Vec<NodeConstraint> {
        let constraints = self.constraints_of(shape);
        let of = |constraint| NodeConstraint::of(constraint, self.topology, &self.state);
        constraints.into_iter().map(of).collect()
    }

    /// Whether one more pod on the node keeps everything that is required between pods.
    pub(super) fn keeps_required(&self, constraints: &[NodeConstraint], node: NodeIx) -> bool {
        broken_requirement(constraints, self.topology, &self.state, node).is_none()
    }

    /// The weight of the preferences that one more pod of the shape on the node would break.
    pub(super) fn penalty_on(
        &self,
        shape: ShapeIx,
        constraints: &[NodeConstraint],
        node: NodeIx,
    ) -> i64 {
        let view = &self.model.nodes[node];
        let preferences = self.model.shape(shape).preferences.iter();
        let unmet =
            preferences.filter(|(_, preference)| !node_meets(self.model, view, *preference));
        let unmet: i64 = unmet.map(|(weight, _)| i64::from(*weight)).sum();
        unmet + broken_weight(constraints, self.topology, &self.state, node)
    }
}

/// Whether a node has a `PreferNoSchedule` taint that the shape does not tolerate.
pub(super) fn is_avoided(shape: &Shape, node: &NodeView) -> bool {
    node.taints.iter().any(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule && !tolerated(&shape.spec.tolerations, taint)
    })
}
