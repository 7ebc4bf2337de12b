//! Trials: where the pods of some nodes would go if the nodes went away.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::node_pool::NeverOr;
use domain::pdb::PodDisruptionBudget;
use domain::plan::{Placement, PlannedDisruption, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NodePoolUnfit, Unconsolidatable};

use super::candidate::is_within_window;
use super::evaluation::count;
use crate::feasibility::limits::Limits;
use crate::feasibility::state::State;
use crate::feasibility::topology::Topology;
use crate::ids::{IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::pool::MinValuesUnmet;
use crate::packing::pack;
use crate::packing::relaxed::PackingRelaxation;
use crate::placement::{Placer, Scored, UpcomingNode};
use crate::relaxation::Budget;
use crate::scheduling::claim::{Names, claim};
use crate::scheduling::{Launched, Scheduling, launched};
use crate::work::Item;
use crate::work::NewNode;

/// What became of the pods in a trial.
pub(super) struct Trial {
    /// Pods that go to nodes that stay.
    pub(super) moved: Vec<(PodIx, NodeIx)>,
    /// Pods that need new nodes.
    pub(super) items: Vec<Item>,
    /// Nodes that would be launched, where they were packed.
    pub(super) packed: Vec<NewNode>,
    /// Pods without a place.
    pub(super) failed: Vec<PodIx>,
    /// The state after the moves.
    pub(super) state: State,
    /// Nodes that are taken away in it.
    without: Vec<NodeIx>,
}

/// What is wrong with a move once kube-scheduler has spread its pods.
pub(super) struct Scatter {
    /// Why it is not worth it.
    pub(super) reason: Unconsolidatable,
    /// Pods that would find their places if new nodes had room for them too.
    pub(super) displaced: Vec<PodIx>,
}

/// The new nodes of a trial as claims.
#[derive(Default)]
pub(super) struct Launch {
    /// The claims.
    pub(super) claims: Vec<PlannedNodeClaim>,
    /// Why there is none for one of the nodes: what limits leave has too few values for `minValues`.
    pub(super) refused: Option<NodePoolUnfit>,
}

/// Nodes taken away one after the other, without anything new.
pub(super) struct Gradual {
    state: State,
    /// Nodes that took pods of others in.
    has_taken_in: IndexVec<NodeIx, bool>,
}

impl Gradual {
    /// Whether the node took in pods of others.
    pub(super) fn has_taken_in(&self, node: NodeIx) -> bool {
        self.has_taken_in[node]
    }
}

/// Tries out removals, one after the other, on a state that keeps those decided on.
pub(super) struct Trials<'s, 'a> {
    pub(super) model: &'s Model<'a>,
    pub(super) topology: &'s Topology,
    placer: Placer<'s, 'a>,
    state: State,
    /// Nodes that disruptions decided on take away.
    gone: IndexVec<NodeIx, bool>,
    /// What this plan launches already, as limits count it.
    pub(super) launched: Vec<Launched>,
    /// Nodes where kube-scheduler puts no pods.
    unschedulable: IndexVec<NodeIx, bool>,
    /// By shape, what one more of its pods would cost; empty until somebody asks.
    values: IndexVec<ShapeIx, f64>,
}

impl<'s, 'a> Trials<'s, 'a> {
    /// Starts where scheduling left off. Pods do not move to nodes that are still starting, nor to nodes
    /// within their own `consolidateAfter` window: those may be next to go.
    pub(super) fn of(model: &'s Model<'a>, scheduling: &'s Scheduling) -> Self {
        let mut state = scheduling.state.clone();
        let mut unschedulable = state.closed.clone();
        for (index, node) in model.nodes.iter_enumerated() {
            let wait = node.node_pool.map(|pool| pool.disruption.consolidate_after);
            let is_in_window = match wait {
                Some(NeverOr::After(wait)) => is_within_window(node, wait, model.snapshot.now),
                _ => false,
            };
            let starts = node.is_managed && !node.is_initialized;
            state.closed[index] |= starts || is_in_window;
            unschedulable[index] |= starts;
        }
        Self {
            model,
            topology: &scheduling.topology,
            placer: Placer::new(model, &scheduling.topology, state.clone()),
            state,
            gone: IndexVec::filled(false, model.nodes.len()),
            launched: scheduling.launched.clone(),
            unschedulable,
            values: IndexVec::new(),
        }
    }

    /// Why a move with such a saving is not worth it when kube-scheduler puts the nodes' pods where it likes: in one
    /// of the orders in which they may come, new nodes for pods without a place cost more than there is to spare, or
    /// there can be none. `None` where it is worth it.
    pub(super) fn scattered(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        (saving, spare): (UsdPerHour, UsdPerHour),
    ) -> Option<Scatter> {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        for (index, closed) in state.closed.iter_mut_enumerated() {
            *closed = self.unschedulable[index] || self.gone[index] || nodes.contains(&index);
        }
        let new: Vec<UpcomingNode> = trial
            .packed
            .iter()
            .filter_map(|own| UpcomingNode::of(&self.model.pools, own))
            .collect();
        let pods = self.pods_of(nodes);
        self.placer.reset(state.clone());
        if self.placer.fit_anyhow(&pods, &new) {
            return None;
        }
        self.orders(pods).into_iter().find_map(|pods| {
            self.placer.reset(state.clone());
            let scored = self.placer.place_by_score(&pods, &mut new.clone());
            if scored.left.is_empty() {
                return None;
            }
            let reason = match self.price_of(nodes, &scored.left) {
                Ok(price) if price <= spare => return None,
                Ok(price) => {
                    let pods = count(scored.left.len());
                    Unconsolidatable::SchedulerDivergence { pods, saving, price }
                }
                Err(pod) => Unconsolidatable::NoPlace(self.model.pod(pod).key.clone()),
            };
            Some(Scatter { reason, displaced: displaced(trial, scored) })
        })
    }

    /// Orders in which pods may come. Drains ask the largest first; those that budgets hold back come later.
    fn orders(&self, mut pods: Vec<PodIx>) -> Vec<Vec<PodIx>> {
        let size = |pod: PodIx| {
            let shape = self.model.shapes.of_pod[pod]?;
            Some(&self.model.shape(shape).requests[..2])
        };
        pods.sort_by(|a, b| {
            let key = |pod: PodIx| &self.model.pod(pod).key;
            size(*b).cmp(&size(*a)).then_with(|| key(*a).cmp(key(*b)))
        });
        let budgets = &self.model.snapshot.pod_disruption_budgets;
        let mut left: Vec<Option<u32>> =
            budgets.iter().map(|own| own.disruptions_allowed).collect();
        let (mut at_once, later): (Vec<PodIx>, Vec<PodIx>) = pods.iter().partition(|pod| {
            let guards = |own: &PodDisruptionBudget| own.guards(self.model.pod(**pod));
            budgets.iter().zip(&mut left).filter(|(own, _)| guards(own)).all(|(_, left)| {
                let goes = left.is_none_or(|left| left > 0);
                *left = left.map(|left| left.saturating_sub(1));
                goes
            })
        });
        if later.is_empty() {
            return vec![pods];
        }
        at_once.extend(later);
        vec![pods, at_once]
    }

    /// What new nodes for pods cost that are left. The error is a pod that gets none, as limits may have it.
    fn price_of(&mut self, nodes: &[NodeIx], left: &[PodIx]) -> Result<UsdPerHour, PodIx> {
        let model = self.model;
        let outcome = self.placer.place(left);
        let mut limits = self.limits(nodes);
        let state = &self.placer.state;
        let packing = pack(model, self.topology, state, &mut limits, &outcome.items);
        match outcome.failed.iter().chain(&packing.left).min() {
            Some(pod) => Err(*pod),
            None => Ok(packing.nodes.iter().filter_map(|packed| packed.price(model)).sum()),
        }
    }

    /// Has pods try these nodes first, in order: those that stay.
    pub(super) fn prefer(&mut self, order: Vec<NodeIx>) {
        self.placer.prefer(order);
    }

    /// Has pods go to none of these nodes.
    pub(super) fn close(&mut self, nodes: impl Iterator<Item = NodeIx>) {
        for node in nodes {
            self.state.closed[node] = true;
        }
    }

    /// Takes a node away with its pods, unless that was done before. One that only takes no pods still counts
    /// until then.
    fn remove(&self, state: &mut State, node: NodeIx) {
        if !self.gone[node] && !self.model.nodes[node].is_leaving() {
            state.closed[node] = false;
        }
        state.remove_node(self.model, self.topology, node);
    }

    /// How much of a node's price its pods are not worth: what is left of it once each of them costs what it would if
    /// all pods had the cheapest new nodes, parts of nodes included. Summed up, it is what the nodes cost more than
    /// they would have to.
    #[expect(clippy::cast_possible_truncation, reason = "only ranks")]
    pub(super) fn waste(&mut self, node: NodeIx) -> UsdPerHour {
        self.solve_values();
        let price = self.model.nodes[node].price().unwrap_or_default();
        let pods = self.pods_of(&[node]);
        let shapes = pods.iter().filter_map(|pod| self.model.shapes.of_pod[*pod]);
        let worth: f64 = shapes.map(|shape| self.values[shape]).sum();
        price - UsdPerHour::from_nanos(worth as i64)
    }

    /// How much of a node's price is not worth what new nodes have to host of its pods, once others have taken what they
    /// have room for. Of nodes of small pods that is much, which fit in what is left anywhere; together, several of
    /// them may want the same places.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "only ranks")]
    pub(super) fn waste_of_the_rest(&mut self, node: NodeIx, rest: &[Item]) -> UsdPerHour {
        self.solve_values();
        let price = self.model.nodes[node].price().unwrap_or_default();
        let worth = |item: &Item| self.values[item.shape] * item.pods.len() as f64;
        let worth: f64 = rest.iter().map(worth).sum();
        price - UsdPerHour::from_nanos(worth as i64)
    }

    fn solve_values(&mut self) {
        if self.values.is_empty() {
            self.values = self.solved_values();
        }
    }

    /// By shape, what one more of its pods would cost, in nano-USD an hour.
    fn solved_values(&mut self) -> IndexVec<ShapeIx, f64> {
        let model = self.model;
        let is_managed = |node: &NodeIx| model.nodes[*node].is_managed;
        let managed: Vec<NodeIx> = model.nodes.indices().filter(is_managed).collect();
        let mut counts: BTreeMap<ShapeIx, u32> = BTreeMap::new();
        for shape in self.pods_of(&managed).iter().filter_map(|pod| model.shapes.of_pod[*pod]) {
            *counts.entry(shape).or_default() += 1;
        }
        let pods: Vec<(ShapeIx, u32)> = counts.into_iter().collect();
        let relaxation =
            PackingRelaxation::solve(model, self.topology, &pods, &Budget::WITHOUT_PATTERNS);
        let mut values = IndexVec::filled(0.0, model.shapes.list.len());
        for (shape, _) in pods {
            let solved = relaxation.as_ref().and_then(|own| own.dual_price(shape));
            values[shape] = solved.unwrap_or_else(|| self.placer.value(shape));
        }
        values
    }

    /// A removal that has not begun.
    pub(super) fn gradual(&self) -> Gradual {
        Gradual {
            state: self.state.clone(),
            has_taken_in: IndexVec::filled(false, self.model.nodes.len()),
        }
    }

    /// Takes one more node away, if its pods fit on nodes that stay. Returns whether they do.
    pub(super) fn take_more(&mut self, gradual: &mut Gradual, node: NodeIx) -> bool {
        let mut state = gradual.state.clone();
        self.remove(&mut state, node);
        self.placer.reset(state);
        let outcome = self.placer.place(&self.pods_of(&[node]));
        if !outcome.failed.is_empty() || !outcome.items.is_empty() {
            return false;
        }
        for (_, host) in &outcome.placed {
            gradual.has_taken_in[*host] = true;
        }
        std::mem::swap(&mut gradual.state, &mut self.placer.state);
        true
    }

    /// Pods of the nodes that need another place.
    pub(super) fn pods_of(&self, nodes: &[NodeIx]) -> Vec<PodIx> {
        nodes
            .iter()
            .flat_map(|node| self.model.nodes[*node].bound.iter().copied())
            .filter(|pod| self.model.pod(*pod).is_reschedulable())
            .collect()
    }

    /// Where the nodes' pods would go; new nodes not packed yet.
    pub(super) fn try_without(&mut self, nodes: &[NodeIx]) -> Trial {
        self.try_with_room_for(&[], nodes)
    }

    /// The same with room on new nodes for some of the pods in any case.
    pub(super) fn try_with_room_for(&mut self, displaced: &[PodIx], nodes: &[NodeIx]) -> Trial {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        self.placer.reset(state);
        let (displaced, others): (Vec<PodIx>, Vec<PodIx>) =
            self.pods_of(nodes).into_iter().partition(|pod| displaced.contains(pod));
        let mut outcome = self.placer.place(&others);
        if !displaced.is_empty() {
            outcome.extend(self.placer.place_on_new_nodes(&displaced));
        }
        Trial {
            moved: outcome.placed,
            items: outcome.items,
            packed: Vec::new(),
            failed: outcome.failed,
            // Every placement starts over from a state of its own.
            state: std::mem::take(&mut self.placer.state),
            without: nodes.to_vec(),
        }
    }

    /// Where the nodes' pods would go, with as many new nodes as it takes.
    pub(super) fn rehome(&mut self, nodes: &[NodeIx]) -> Trial {
        let mut trial = self.try_without(nodes);
        let mut limits = self.limits(nodes);
        let items = std::mem::take(&mut trial.items);
        let packing = pack(self.model, self.topology, &trial.state, &mut limits, &items);
        trial.packed = packing.nodes;
        trial.failed.extend(packing.left);
        trial
    }

    /// What pools may launch once the nodes are gone, with what this plan launches already.
    pub(super) fn limits(&self, nodes: &[NodeIx]) -> Limits {
        let leaves_out = |node: NodeIx| self.gone[node] || nodes.contains(&node);
        let mut limits = Limits::of(self.model, leaves_out);
        for (pool, capacity) in &self.launched {
            limits.take(*pool, capacity);
        }
        limits
    }

    /// The same with the trial's new nodes counted, each as the type that it was packed for.
    pub(super) fn limits_with(&self, nodes: &[NodeIx], trial: &Trial) -> Limits {
        let mut limits = self.limits(nodes);
        for packed in &trial.packed {
            let pool = &self.model.pools[packed.pool];
            limits.take(packed.pool, &pool.types[packed.type_index].capacity);
        }
        limits
    }

    /// What pools may launch while all nodes still stand.
    pub(super) fn limits_beside_all(&self) -> Limits {
        let mut limits = Limits::of(self.model, |_| false);
        for (pool, capacity) in &self.launched {
            limits.take(*pool, capacity);
        }
        limits
    }

    /// The new nodes of a trial without the nodes, as claims: all of them, which count against limits from here
    /// on, or none. The error says what a pool falls short of: limits may leave it too few types for `minValues`.
    pub(super) fn launch(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        names: &mut Names,
    ) -> Result<Vec<PlannedNodeClaim>, NodePoolUnfit> {
        let before = self.launched.len();
        let launch = self.launch_what_can_be(nodes, trial, names);
        match launch.refused {
            Some(unfit) => {
                self.launched.truncate(before);
                Err(unfit)
            }
            None => Ok(launch.claims),
        }
    }

    /// The same, without those that a pool falls short of.
    pub(super) fn launch_what_can_be(
        &mut self,
        nodes: &[NodeIx],
        trial: &Trial,
        names: &mut Names,
    ) -> Launch {
        let mut limits = self.limits_with(nodes, trial);
        let mut launch = Launch::default();
        for packed in &trial.packed {
            if let Some(claim) = claim(self.model, packed, &mut limits, names) {
                self.launched.push(launched(self.model, packed.pool, &claim));
                launch.claims.push(claim);
            } else if launch.refused.is_none() {
                let unfit = too_few_values(self.model, packed, &limits);
                launch.refused = Some(unfit.unwrap_or(NodePoolUnfit::NoOffering));
            }
        }
        launch.claims.sort_by(|a, b| a.name.cmp(&b.name));
        launch
    }

    /// A trial as a disruption of the plan.
    pub(super) fn disruption(
        &self,
        reason: DisruptionReason,
        nodes: &[NodeIx],
        trial: &Trial,
        replacements: Vec<PlannedNodeClaim>,
    ) -> PlannedDisruption {
        let mut names: Vec<_> =
            nodes.iter().map(|node| self.model.nodes[*node].name.clone()).collect();
        names.sort();
        let mut pods: Vec<_> =
            self.pods_of(nodes).iter().map(|pod| self.model.pod(*pod).key.clone()).collect();
        pods.sort();
        let mut moves: Vec<Placement> = trial
            .moved
            .iter()
            .map(|(pod, node)| Placement {
                pod: self.model.pod(*pod).key.clone(),
                node: self.model.nodes[*node].name.clone(),
            })
            .collect();
        moves.sort();
        let before: UsdPerHour =
            nodes.iter().filter_map(|node| self.model.nodes[*node].price()).sum();
        let after: UsdPerHour = replacements.iter().map(|claim| claim.offering.price).sum();
        PlannedDisruption {
            reason,
            nodes: names,
            pods,
            replacements,
            moves,
            savings: before - after,
        }
    }

    /// Keeps what a trial did: the nodes go, their pods are where it put them.
    pub(super) fn commit(&mut self, nodes: &[NodeIx], trial: Trial) {
        let mut state = trial.state;
        for node in nodes.iter().filter(|node| !trial.without.contains(node)) {
            self.remove(&mut state, *node);
        }
        for node in nodes {
            self.gone[*node] = true;
        }
        self.state = state;
    }
}

/// Pods to have room for on new nodes: those that find their place on a node that stays taken; and where one finds its
/// place on a new node taken, those that took it.
fn displaced(trial: &Trial, scored: Scored) -> Vec<PodIx> {
    let is_for_new = |pod: &PodIx| trial.items.iter().any(|item| item.pods.contains(pod));
    let mut displaced = scored.left;
    let before = displaced.len();
    displaced.retain(|pod| !is_for_new(pod));
    if displaced.len() < before {
        displaced.extend(scored.on_new.into_iter().filter(|pod| !is_for_new(pod)));
    }
    displaced
}

/// Which of its pool's `minValues` a node that limits refuse falls short of.
fn too_few_values(model: &Model, packed: &NewNode, limits: &Limits) -> Option<NodePoolUnfit> {
    let pool = &model.pools[packed.pool];
    let compatible = &packed.compatible;
    let mut types = pool.with_room(&compatible.types, &packed.requests);
    limits.keep_allowed(packed.pool, pool, &mut types);
    let unmet = pool.min_values_unmet(&types, compatible.zones, compatible.purchases)?;
    let MinValuesUnmet { key, wanted, found } = unmet;
    Some(NodePoolUnfit::MinValues { key, wanted, found })
}
