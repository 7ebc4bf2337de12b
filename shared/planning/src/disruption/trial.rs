//! Trials: where the pods of some nodes would go if the nodes went away.

use domain::money::UsdPerHour;
use domain::node_pool::NeverOr;
use domain::plan::{Placement, PlannedDisruption, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NodePoolUnfit, Unconsolidatable};

use super::candidate::is_within_window;
use super::evaluation::count;
use crate::model::Model;
use crate::model::pool::MinValuesUnmet;
use crate::scheduling::claim::{Names, claim};
use crate::scheduling::limits::Limits;
use crate::scheduling::packing::{Packed, pack, with_room};
use crate::scheduling::placement::{Item, NewNode, Placer};
use crate::scheduling::state::State;
use crate::scheduling::topology::Topology;
use crate::scheduling::{Launched, Scheduling, launched};

/// What became of the pods in a trial.
pub(super) struct Trial {
    /// Pods that go to nodes that stay.
    pub(super) moved: Vec<(usize, usize)>,
    /// Pods that need new nodes.
    pub(super) items: Vec<Item>,
    /// Nodes that would be launched, where they were packed.
    pub(super) packed: Vec<Packed>,
    /// Pods without a place.
    pub(super) failed: Vec<usize>,
    /// The state after the moves.
    pub(super) state: State,
    /// Nodes that are taken away in it.
    without: Vec<usize>,
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
    has_taken_in: Vec<bool>,
}

impl Gradual {
    /// Whether the node took in pods of others.
    pub(super) fn has_taken_in(&self, node: usize) -> bool {
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
    gone: Vec<bool>,
    /// What this plan launches already, as limits count it.
    pub(super) launched: Vec<Launched>,
    /// Nodes where kube-scheduler puts no pods.
    unschedulable: Vec<bool>,
}

impl<'s, 'a> Trials<'s, 'a> {
    /// Starts where scheduling left off. Pods do not move to nodes that are still starting, nor to nodes
    /// within their own `consolidateAfter` window: those may be next to go.
    pub(super) fn of(model: &'s Model<'a>, scheduling: &'s Scheduling) -> Self {
        let mut state = scheduling.state.clone();
        let mut unschedulable = state.closed.clone();
        for (index, node) in model.nodes.iter().enumerate() {
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
            gone: vec![false; model.nodes.len()],
            launched: scheduling.launched.clone(),
            unschedulable,
        }
    }

    /// Why a move with such a saving is not worth it when kube-scheduler puts the nodes' pods where it likes: in one
    /// of the orders in which they may come, new nodes for pods without a place cost more than there is to spare, or
    /// there can be none.
    pub(super) fn scattered(
        &mut self,
        nodes: &[usize],
        trial: &Trial,
        (saving, spare): (UsdPerHour, UsdPerHour),
    ) -> Option<Unconsolidatable> {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        for (index, closed) in state.closed.iter_mut().enumerate() {
            *closed = self.unschedulable[index] || self.gone[index] || nodes.contains(&index);
        }
        let new: Vec<NewNode> =
            trial.packed.iter().filter_map(|own| NewNode::of(&self.model.pools, own)).collect();
        let pods = self.pods_of(nodes);
        self.placer.reset(state.clone());
        if self.placer.fit_anyhow(&pods, &new) {
            return None;
        }
        self.orders(pods).into_iter().find_map(|pods| {
            self.placer.reset(state.clone());
            let left = self.placer.place_by_score(&pods, &mut new.clone());
            if left.is_empty() {
                return None;
            }
            match self.price_of(nodes, &left) {
                Ok(price) if price <= spare => None,
                Ok(price) => {
                    Some(Unconsolidatable::Scattered { pods: count(left.len()), saving, price })
                }
                Err(pod) => Some(Unconsolidatable::NoPlace(self.model.pod(pod).key.clone())),
            }
        })
    }

    /// Orders in which pods may come: node by node forth and back, and the smallest first.
    fn orders(&self, pods: Vec<usize>) -> [Vec<usize>; 3] {
        let back: Vec<usize> = pods.iter().rev().copied().collect();
        let mut small_first = pods.clone();
        small_first.sort_by_key(|pod| {
            self.model.shapes.of_pod[*pod].map(|shape| &self.model.shape(shape).requests)
        });
        [pods, back, small_first]
    }

    /// What new nodes for pods cost that are left. The error is a pod that gets none, as limits may have it.
    fn price_of(&mut self, nodes: &[usize], left: &[usize]) -> Result<UsdPerHour, usize> {
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
    pub(super) fn prefer(&mut self, order: Vec<usize>) {
        self.placer.prefer(order);
    }

    /// Has pods go to none of these nodes.
    pub(super) fn close(&mut self, nodes: impl Iterator<Item = usize>) {
        for node in nodes {
            self.state.closed[node] = true;
        }
    }

    /// Takes a node away with its pods, unless that was done before. One that only takes no pods still counts
    /// until then.
    fn remove(&self, state: &mut State, node: usize) {
        if !self.gone[node] && !self.model.nodes[node].is_leaving() {
            state.closed[node] = false;
        }
        state.remove_node(self.model, self.topology, node);
    }

    /// How much of a node's price its pods are not worth: what is left of it once each of them costs what it
    /// would cost at least on a new node.
    #[expect(clippy::cast_possible_truncation, reason = "only ranks")]
    pub(super) fn waste(&mut self, node: usize) -> UsdPerHour {
        let price = self.model.nodes[node].price().unwrap_or_default();
        let worth: f64 = self
            .pods_of(&[node])
            .iter()
            .filter_map(|pod| self.model.shapes.of_pod[*pod])
            .map(|shape| self.placer.value(shape))
            .sum();
        price - UsdPerHour::from_nanos(worth as i64)
    }

    /// A removal that has not begun.
    pub(super) fn gradual(&self) -> Gradual {
        Gradual { state: self.state.clone(), has_taken_in: vec![false; self.model.nodes.len()] }
    }

    /// Takes one more node away, if its pods fit on nodes that stay. Returns whether they do.
    pub(super) fn take_more(&mut self, gradual: &mut Gradual, node: usize) -> bool {
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
    pub(super) fn pods_of(&self, nodes: &[usize]) -> Vec<usize> {
        nodes
            .iter()
            .flat_map(|node| self.model.nodes[*node].bound.iter().copied())
            .filter(|pod| self.model.pod(*pod).is_reschedulable())
            .collect()
    }

    /// Where the nodes' pods would go; new nodes not packed yet.
    pub(super) fn try_without(&mut self, nodes: &[usize]) -> Trial {
        let mut state = self.state.clone();
        for node in nodes {
            self.remove(&mut state, *node);
        }
        self.placer.reset(state);
        let outcome = self.placer.place(&self.pods_of(nodes));
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
    pub(super) fn rehome(&mut self, nodes: &[usize]) -> Trial {
        let mut trial = self.try_without(nodes);
        let mut limits = self.limits(nodes);
        let items = std::mem::take(&mut trial.items);
        let packing = pack(self.model, self.topology, &trial.state, &mut limits, &items);
        trial.packed = packing.nodes;
        trial.failed.extend(packing.left);
        trial
    }

    /// What pools may launch once the nodes are gone, with what this plan launches already.
    pub(super) fn limits(&self, nodes: &[usize]) -> Limits {
        let leaves_out = |node: usize| self.gone[node] || nodes.contains(&node);
        let mut limits = Limits::of(self.model, leaves_out);
        for (pool, capacity) in &self.launched {
            limits.take(*pool, capacity);
        }
        limits
    }

    /// The same with the trial's new nodes counted, each as the type that it was packed for.
    pub(super) fn limits_with(&self, nodes: &[usize], trial: &Trial) -> Limits {
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
        nodes: &[usize],
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
        nodes: &[usize],
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
        nodes: &[usize],
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
    pub(super) fn commit(&mut self, nodes: &[usize], trial: Trial) {
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

/// Which of its pool's `minValues` a node that limits refuse falls short of.
fn too_few_values(model: &Model, packed: &Packed, limits: &Limits) -> Option<NodePoolUnfit> {
    let pool = &model.pools[packed.pool];
    let compatible = &packed.compatible;
    let mut types = with_room(pool, &compatible.types, &packed.requests);
    limits.keep_allowed(packed.pool, pool, &mut types);
    let unmet = pool.min_values_unmet(&types, compatible.zones, compatible.purchases)?;
    let MinValuesUnmet { key, wanted, found } = unmet;
    Some(NodePoolUnfit::MinValues { key, wanted, found })
}
