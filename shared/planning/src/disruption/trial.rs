//! Trials: where the pods of some nodes would go if the nodes were removed.

mod divergence;
mod incremental;
mod launch;
mod replay;
mod spot_gate;
mod waste;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use domain::address_ledger::AddressLedger;
use domain::commitment::Usage;
use domain::money::UsdPerHour;
use domain::node_pool::NeverOr;
use domain::plan::{Placement, PlannedDisruption, PlannedNodeClaim};
use domain::reason::DisruptionReason;
use domain::{Text, Timestamp};

pub(super) use replay::Replaced;

use super::consolidate_after::is_within_consolidate_after;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::Topology;
use crate::ids::{IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::commitments::{ModelCommitments, OnDemand};
use crate::model::node::NodeView;
use crate::model::successor::{must_move, needs_successor};
use crate::packing::pack;
use crate::placement::{Placements, Placer};
use crate::scheduling::commitment_fill::{Unfilled, fill_commitments};
use crate::scheduling::committed::planned_on_demand;
use crate::scheduling::node_zones::{NodeZones, Settled};
use crate::scheduling::spot_share::SpotShares;
use crate::scheduling::{Launched, Scheduling};
use crate::work::{Item, NewNode, price_beyond_commitments};

/// Where the pods of removed nodes would go.
pub(super) struct Trial {
    /// Pods that go to remaining nodes.
    pub(super) moved: Vec<(PodIx, NodeIx)>,
    /// Pods that need new nodes.
    pub(super) items: Vec<Item>,
    /// Nodes to launch, once they have been packed.
    pub(super) packed: Vec<NewNode>,
    /// Pods without a place.
    pub(super) failed: Vec<PodIx>,
    /// The state after the moves.
    pub(super) state: State,
    /// Nodes that are removed in that state.
    removed: Vec<NodeIx>,
}

impl Trial {
    /// The first pod without a place. Virtual pods keep no node from going.
    pub(super) fn first_left(&self, model: &Model) -> Option<PodIx> {
        self.failed.iter().copied().find(|pod| model.pod(*pod).virtual_of.is_none())
    }
}

/// A removal that was decided on.
pub(super) struct Decision {
    /// Why the nodes are removed.
    pub(super) reason: DisruptionReason,
    /// The nodes.
    pub(super) nodes: Vec<NodeIx>,
    /// Where their pods go.
    pub(super) trial: Trial,
    /// New nodes, launched before the nodes are removed.
    pub(super) replacements: Vec<PlannedNodeClaim>,
}

/// Tries out removals, one after the other, on a state that keeps those decided on.
pub(super) struct Trials<'s, 'a> {
    pub(super) model: &'s Model<'a>,
    pub(super) topology: &'s Topology,
    pub(super) scope: Scope<'s, 'a>,
    placer: Placer<'s, 'a>,
    state: State,
    /// Virtual pods that have their room on each node.
    virtual_pods: IndexVec<NodeIx, Vec<PodIx>>,
    /// Nodes that disruptions decided on remove.
    removed: IndexVec<NodeIx, bool>,
    /// Where virtual pods get their room instead.
    pub(super) relocated: BTreeMap<PodIx, Text>,
    /// What this plan launches already, as limits and reservations count it.
    pub(super) launched: Vec<Launched>,
    /// Nodes within their own `consolidateAfter`.
    waiting: Vec<NodeIx>,
    /// Nodes on which kube-scheduler places no pods.
    unschedulable: IndexVec<NodeIx, bool>,
    /// What one more pod of each shape would cost, in nano-USD per hour; empty until it is needed.
    dual_prices: IndexVec<ShapeIx, f64>,
    /// The share of them that no new nodes cost less than.
    proven_share: f64,
    /// By shape, see [`Self::may_launch_nothing_for`]; empty until that is asked.
    stays_on_spot: OnceCell<IndexVec<ShapeIx, bool>>,
    /// How replicas are spread over spot offerings, where somebody asks for that.
    pub(super) spot_shares: Option<SpotShares<'a>>,
    /// How nodes are spread over zones, where anybody asks.
    pub(super) zones: Option<NodeZones>,
    /// Free addresses with what this plan launches already; `None` where nobody asks about them.
    pub(super) addresses: Option<AddressLedger>,
    /// What runs on demand once this plan's decisions so far are carried out; `None` where no
    /// commitment holds.
    on_demand: Option<Usage>,
}

impl<'s, 'a> Trials<'s, 'a> {
    /// Starts where scheduling left off. Pods do not move to nodes that are still starting, nor to
    /// nodes within their own `consolidateAfter` at `acts_at`: those may be removed next. Where
    /// some nodes are marked as the next to go, the others stay, and take pods.
    pub(super) fn of(model: &'s Model<'a>, scheduling: &'s Scheduling, acts_at: Timestamp) -> Self {
        let are_known = model.nodes.iter().any(NodeView::is_candidate);
        let may_go_next = |node: &NodeView| {
            let wait = node.node_pool.map(|pool| pool.disruption.consolidate_after);
            (!are_known || node.is_candidate())
                && matches!(wait, Some(NeverOr::After(wait)) if is_within_consolidate_after(node, wait, acts_at))
        };
        Self::closing(model, scheduling, may_go_next)
    }

    /// As if `consolidateAfter` kept no node from taking pods.
    pub(super) fn beyond_windows(model: &'s Model<'a>, scheduling: &'s Scheduling) -> Self {
        Self::closing(model, scheduling, |_| false)
    }

    /// Closes nodes that are still starting and those that `may_go_next`.
    fn closing(
        model: &'s Model<'a>,
        scheduling: &'s Scheduling,
        may_go_next: impl Fn(&NodeView) -> bool,
    ) -> Self {
        let mut state = scheduling.state.clone();
        let mut unschedulable = state.closed.clone();
        let mut waiting = Vec::new();
        for (index, node) in model.nodes.iter_enumerated() {
            let is_starting = node.is_managed && !node.is_initialized;
            unschedulable[index] |= is_starting;
            state.closed[index] |= is_starting;
            if !state.closed[index] && may_go_next(node) {
                state.closed[index] = true;
                waiting.push(index);
            }
        }
        Self {
            model,
            topology: &scheduling.topology,
            scope: scheduling.scope(model),
            placer: Placer::new(scheduling.scope(model), state.clone()),
            state,
            virtual_pods: virtual_pods_by_node(model, scheduling),
            removed: IndexVec::filled(false, model.nodes.len()),
            relocated: BTreeMap::new(),
            launched: scheduling.launched.clone(),
            waiting,
            unschedulable,
            dual_prices: IndexVec::new(),
            proven_share: 0.0,
            stays_on_spot: OnceCell::new(),
            spot_shares: SpotShares::of(model, &scheduling.placed),
            zones: scheduling.zones.clone(),
            addresses: scheduling.limits.addresses.clone(),
            on_demand: on_demand(model, scheduling),
        }
    }

    /// Sets the order in which pods try nodes.
    pub(super) fn prefer(&mut self, order: Vec<NodeIx>) {
        self.placer.prefer(order);
    }

    /// Places no pods on any of these nodes, whether or not their `consolidateAfter` has passed.
    pub(super) fn close_for_good(&mut self, nodes: &[NodeIx]) {
        self.close(nodes.iter().copied());
        self.waiting.retain(|node| !nodes.contains(node));
    }

    /// Lets nodes within their own `consolidateAfter` take pods; returns whether there are any.
    pub(super) fn open_waiting(&mut self) -> bool {
        for node in &self.waiting {
            self.state.closed[*node] = self.removed[*node];
        }
        !self.waiting.is_empty()
    }

    /// Keeps pods off nodes within their own `consolidateAfter` again.
    pub(super) fn close_waiting(&mut self) {
        for node in self.waiting.iter().filter(|node| !self.removed[**node]) {
            self.state.closed[*node] = true;
        }
    }

    /// Places no pods on any of these nodes from here on.
    pub(super) fn close(&mut self, nodes: impl Iterator<Item = NodeIx>) {
        for node in nodes {
            self.state.closed[node] = true;
        }
    }

    /// Removes a node with its pods from the state, unless that was done before. One that is only
    /// closed still counts until then.
    fn remove(&self, state: &mut State, node: NodeIx) {
        if !self.removed[node] && !self.model.nodes[node].is_leaving() {
            state.closed[node] = false;
        }
        state.remove_node(self.model, self.topology, node, &self.virtual_pods[node]);
    }

    /// Pods of the nodes that need another place.
    pub(super) fn pods_of(&self, nodes: &[NodeIx]) -> Vec<PodIx> {
        nodes
            .iter()
            .flat_map(|node| self.model.nodes[*node].bound.iter().copied())
            .filter(|pod| must_move(self.model, *pod))
            .collect()
    }

    /// Virtual pods that need room elsewhere once the nodes are gone.
    fn virtual_pods_of(&self, nodes: &[NodeIx]) -> Vec<PodIx> {
        nodes.iter().flat_map(|node| self.virtual_pods[*node].iter().copied()).collect()
    }

    /// What the nodes are weighed at together, as far as their prices are known.
    pub(super) fn price_of(&self, nodes: &[NodeIx]) -> UsdPerHour {
        self.saved_without(nodes, |node| self.model.nodes[*node].price())
    }

    /// What the nodes cost together beyond commitments, as far as their prices are known.
    pub(super) fn cost_of(&self, nodes: &[NodeIx]) -> UsdPerHour {
        self.saved_without(nodes, |node| self.model.nodes[*node].cost())
    }

    fn saved_without(
        &self,
        nodes: &[NodeIx],
        price: impl Fn(&NodeIx) -> Option<UsdPerHour>,
    ) -> UsdPerHour {
        let Some((own, usage)) = self.committed() else {
            return nodes.iter().filter_map(price).sum();
        };
        let (on_demand, others): (Vec<NodeIx>, Vec<NodeIx>) =
            nodes.iter().partition(|node| own.of_node(**node).is_some());
        let instances = on_demand.iter().filter_map(|node| own.of_node(*node));
        let saved = own.saved_without(usage, instances.map(|own| &own.instance));
        saved + others.iter().filter_map(price).sum::<UsdPerHour>()
    }

    /// What new nodes in place of the `nodes` are weighed at, beyond commitments.
    pub(super) fn price_of_new(&self, nodes: &[NodeIx], packed: &[NewNode]) -> UsdPerHour {
        let (model, memo) = (self.model, self.scope.memo);
        self.added_by(nodes, packed, |own| own.price(model, memo))
    }

    /// What new nodes in place of the `nodes` cost, beyond commitments.
    pub(super) fn cost_of_new(&self, nodes: &[NodeIx], packed: &[NewNode]) -> UsdPerHour {
        let (model, memo) = (self.model, self.scope.memo);
        self.added_by(nodes, packed, |own| own.cost(model, memo))
    }

    fn added_by(
        &self,
        nodes: &[NodeIx],
        packed: &[NewNode],
        price: impl Fn(&NewNode) -> Option<UsdPerHour>,
    ) -> UsdPerHour {
        let Some((own, usage)) = self.committed() else {
            return packed.iter().filter_map(price).sum();
        };
        let rest = without(own, usage, nodes);
        price_beyond_commitments((self.model, self.scope.memo), (own, &rest), packed, price)
    }

    /// Commitments, with what runs on demand once this plan's decisions so far are carried out.
    fn committed(&self) -> Option<(&'s ModelCommitments, &Usage)> {
        self.model.commitments.as_ref().zip(self.on_demand.as_ref())
    }

    /// Commitments, with what runs on demand without the nodes.
    pub(super) fn committed_without(
        &self,
        nodes: &[NodeIx],
    ) -> Option<(&'s ModelCommitments, Usage)> {
        let (own, usage) = self.committed()?;
        Some((own, without(own, usage, nodes)))
    }

    /// Where the nodes' pods would go if the `displaced` ones among them went to new nodes in any
    /// case. New nodes are not packed yet.
    pub(super) fn try_with_room_for(&mut self, displaced: &[PodIx], nodes: &[NodeIx]) -> Trial {
        let pods = self.pods_of(nodes);
        self.try_moving(pods, displaced, nodes)
    }

    /// Where those of the nodes' pods would go that get a place ahead of their end. Others stay
    /// until their grace period has passed: a place for them would stand empty until then. New
    /// nodes are not packed yet.
    pub(super) fn try_with_successors(&mut self, nodes: &[NodeIx]) -> Trial {
        let mut pods = self.pods_of(nodes);
        pods.retain(|pod| needs_successor(self.model, *pod));
        self.try_moving(pods, &[], nodes)
    }

    /// Where the nodes' pods would go; `None` as soon as what needs new nodes is not wanted any
    /// more. New nodes are not packed yet.
    pub(super) fn try_while(
        &mut self,
        nodes: &[NodeIx],
        is_wanted: impl FnMut(&[Item]) -> bool,
    ) -> Option<Trial> {
        self.placer.reset(self.state_without(nodes));
        let mut pods = self.pods_of(nodes);
        pods.extend(self.virtual_pods_of(nodes));
        let outcome = self.placer.place_while(&pods, is_wanted)?;
        Some(self.trial_of(outcome, nodes))
    }

    /// The state once the nodes are removed with their pods.
    fn state_without(&self, nodes: &[NodeIx]) -> State {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        state
    }

    /// Where these pods and the virtual ones of the nodes would go without the nodes.
    fn try_moving(&mut self, pods: Vec<PodIx>, displaced: &[PodIx], nodes: &[NodeIx]) -> Trial {
        self.placer.reset(self.state_without(nodes));
        let (displaced, mut others): (Vec<PodIx>, Vec<PodIx>) =
            pods.into_iter().partition(|pod| displaced.contains(pod));
        others.extend(self.virtual_pods_of(nodes));
        let mut outcome = self.placer.place(&others);
        if !displaced.is_empty() {
            outcome.extend(self.placer.place_on_new_nodes(&displaced));
        }
        self.trial_of(outcome, nodes)
    }

    /// What placing came to, with the placer's state.
    fn trial_of(&mut self, outcome: Placements, nodes: &[NodeIx]) -> Trial {
        Trial {
            moved: outcome.placed,
            items: outcome.items,
            packed: Vec::new(),
            failed: outcome.failed,
            // Every placement starts over from a state of its own.
            state: std::mem::take(&mut self.placer.state),
            removed: nodes.to_vec(),
        }
    }

    /// Where the nodes' pods would go, with as many new nodes as it takes.
    pub(super) fn reschedule(&mut self, nodes: &[NodeIx]) -> Trial {
        let mut trial = self.try_with_successors(nodes);
        let mut limits = self.limits(nodes);
        let items = std::mem::take(&mut trial.items);
        let mut packing = pack(self.scope, &trial.state, &mut limits, &items);
        if let Some((_, usage)) = self.committed_without(nodes) {
            let (state, before) = (&trial.state, self.limits(nodes));
            let (items, usage, relaxation) = (&items, &usage, None);
            let unfilled = Unfilled { state, items, usage, limits: before, relaxation };
            packing = fill_commitments(self.scope, unfilled, &mut limits, packing);
        }
        trial.packed = packing.nodes;
        if let Some(shares) = &self.spot_shares {
            let mut shares = shares.clone();
            shares.leave(self.model, nodes);
            shares.place(self.model, &trial.moved);
            trial.packed = shares.settle(self.scope, &mut limits, trial.packed);
        }
        if let Some(zones) = &self.zones {
            let mut zones = zones.clone();
            zones.leave(self.model, nodes);
            let Settled { nodes, left } = zones.settle(self.scope, &mut limits, &trial.packed);
            trial.packed = nodes;
            trial.failed.extend(left);
        }
        trial.failed.extend(packing.left);
        trial
    }

    /// What pools may launch once the nodes are removed, with what this plan launches already.
    pub(super) fn limits(&self, nodes: &[NodeIx]) -> Limits {
        let leaves_out = |node: NodeIx| self.removed[node] || nodes.contains(&node);
        self.limits_without(leaves_out)
    }

    /// What pools may launch while all nodes still exist.
    pub(super) fn limits_beside_all(&self) -> Limits {
        self.limits_without(|_| false)
    }

    /// What pools may launch once the nodes are removed and the trial's new nodes are launched,
    /// each as the type that it was packed for.
    pub(super) fn limits_with(&self, nodes: &[NodeIx], trial: &Trial) -> Limits {
        let mut limits = self.limits(nodes);
        for packed in &trial.packed {
            let pool = &self.model.pools[packed.pool];
            limits.take(packed.pool, &pool.types[packed.type_index].capacity);
        }
        limits
    }

    fn limits_without(&self, leaves_out: impl Fn(NodeIx) -> bool) -> Limits {
        let mut limits = Limits::of(self.model, leaves_out);
        limits.addresses.clone_from(&self.addresses);
        for launched in &self.launched {
            launched.count(&mut limits);
        }
        limits
    }

    /// Keeps what a trial did: the nodes are removed, and their pods are where it placed them.
    pub(super) fn commit(&mut self, nodes: &[NodeIx], trial: Trial) {
        if let Some(shares) = &mut self.spot_shares {
            shares.leave(self.model, nodes);
            shares.place(self.model, &trial.moved);
        }
        if let Some(zones) = &mut self.zones {
            zones.leave(self.model, nodes);
            let mut limits = Limits::none();
            limits.addresses = self.addresses.take();
            for node in &trial.packed {
                zones.count(self.model, &mut limits, node);
            }
            self.addresses = limits.addresses;
        }
        let mut state = trial.state;
        for node in nodes.iter().filter(|node| !trial.removed.contains(node)) {
            self.remove(&mut state, *node);
        }
        for node in nodes {
            self.removed[*node] = true;
        }
        if let Some((_, mut usage)) = self.committed_without(nodes) {
            let (model, memo) = (self.model, self.scope.memo);
            let launched = trial.packed.iter().filter_map(|node| node.on_demand(model, memo));
            for OnDemand { instance, price } in launched {
                usage.add(&instance, price);
            }
            self.on_demand = Some(usage);
        }
        self.state = state;
    }

    /// What claims in place of the nodes cost, beyond commitments.
    fn cost_of_claims(&self, nodes: &[NodeIx], claims: &[PlannedNodeClaim]) -> UsdPerHour {
        let price = |claim: &PlannedNodeClaim| claim.offering.price;
        let Some((own, rest)) = self.committed_without(nodes) else {
            return claims.iter().map(price).sum();
        };
        let on_demand: Vec<OnDemand> = claims.iter().filter_map(planned_on_demand).collect();
        let others = claims.iter().filter(|claim| planned_on_demand(claim).is_none());
        others.map(price).sum::<UsdPerHour>() + own.added_by(&rest, &on_demand)
    }

    /// Commits a decision and returns it as a disruption of the plan.
    pub(super) fn decide(&mut self, decision: Decision) -> PlannedDisruption {
        let Decision { reason, nodes, trial, replacements } = decision;
        let model = self.model;
        let mut names: Vec<_> = nodes.iter().map(|node| model.nodes[*node].name.clone()).collect();
        names.sort();
        let mut pods: Vec<_> =
            self.pods_of(&nodes).iter().map(|pod| model.pod(*pod).key.clone()).collect();
        pods.sort();
        let mut moves: Vec<Placement> = Vec::with_capacity(trial.moved.len());
        for (pod, node) in &trial.moved {
            let (pod_index, pod, node) = (*pod, model.pod(*pod), model.nodes[*node].name.clone());
            if pod.virtual_of.is_some() {
                self.relocated.insert(pod_index, node);
            } else {
                moves.push(Placement { pod: pod.key.clone(), node });
            }
        }
        moves.sort();
        let savings = self.cost_of(&nodes) - self.cost_of_claims(&nodes, &replacements);
        self.commit(&nodes, trial);
        PlannedDisruption { reason, nodes: names, pods, replacements, moves, savings }
    }
}

/// What runs on demand once what scheduling launches is there; `None` where no commitment holds.
fn on_demand(model: &Model, scheduling: &Scheduling) -> Option<Usage> {
    let mut usage = model.commitments.as_ref()?.usage.clone();
    let launched = scheduling.plan.node_claims.iter().filter_map(planned_on_demand);
    for OnDemand { instance, price } in launched {
        usage.add(&instance, price);
    }
    Some(usage)
}

/// What runs on demand without some nodes.
fn without(own: &ModelCommitments, usage: &Usage, nodes: &[NodeIx]) -> Usage {
    let mut rest = usage.clone();
    for OnDemand { instance, .. } in nodes.iter().filter_map(|node| own.of_node(*node)) {
        rest.remove(instance);
    }
    rest
}

/// Virtual pods that scheduling placed on each node.
fn virtual_pods_by_node(model: &Model, scheduling: &Scheduling) -> IndexVec<NodeIx, Vec<PodIx>> {
    let mut by_node = IndexVec::filled(Vec::new(), model.nodes.len());
    for (pod, node) in &scheduling.placed {
        if model.pod(*pod).virtual_of.is_some() {
            by_node[*node].push(*pod);
        }
    }
    by_node
}
