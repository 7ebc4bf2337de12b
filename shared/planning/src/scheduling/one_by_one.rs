//! Places for pods one after the other, each for itself: on a node that is there, on one that is
//! planned, or on a new one within the limits.
//!
//! Placing and packing settle the domains of all pods before any node is chosen, and pods that
//! found no node in theirs are counted out. Where pods are left in the end, taking them one by one
//! may find them room: what the plan has to spare, or what another order leaves to them. Costs come
//! second here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use domain::money::UsdPerHour;

use super::attempt::Attempt;
use crate::feasibility::fit::Fit;
use crate::feasibility::host::{HostCounts, host_affinity};
use crate::feasibility::limits::Limits;
use crate::feasibility::state::State;
use crate::feasibility::topology::SoftSpread;
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx};
use crate::packing::{Packing, joined, pack};
use crate::placement::{Choice, Placements, Placer, Precedence};
use crate::work::{Item, NewNode};

/// How often pods are tried on planned nodes, at most.
const TRIES_MAX: usize = 20_000;

/// Pods are gone through this often at most: one may open a place to another.
const ROUNDS_MAX: usize = 3;

/// The order in which pods come, within their priority.
#[derive(Clone, Copy)]
pub(super) enum Turn<'o> {
    /// By name.
    ByName,
    /// Those that ask for less first.
    SmallerFirst,
    /// Those of these shapes before all others; of either, those that ask for less.
    TheseFirst(&'o BTreeSet<ShapeIx>),
    /// As listed.
    Listed(&'o [PodIx]),
}

/// Gives pods that are left a place where the plan has room for them after all, by priority.
/// Nobody else's place changes.
///
/// Work grows with the shapes of these pods times the nodes to launch, up to a bound.
pub(super) fn place_left(
    placer: &mut Placer,
    limits: &mut Limits,
    outcome: &mut Placements,
    packing: &mut Packing,
) {
    let left: Vec<PodIx> = outcome.failed.iter().chain(&packing.left).copied().collect();
    if left.is_empty() {
        return;
    }
    let shapes = left.iter().filter_map(|pod| placer.scope().model.shapes.of_pod[*pod]).collect();
    let own = placer_of_single_pods(placer, placer.soft_spread, placer.state.clone(), shapes);
    let (limits_so_far, nodes) = (limits.clone(), std::mem::take(&mut packing.nodes));
    let mut places = Places::of(own, limits_so_far, nodes);
    let mut served: BTreeSet<PodIx> = BTreeSet::new();
    let priority = |shape: ShapeIx| placer.scope().model.shape(shape).spec.priority;
    let order = in_turn(placer, &left, Turn::ByName);
    for equal in order.chunk_by(|a, b| priority(a.0) == priority(b.0)) {
        served.extend(places.launch_together(equal));
        let rest = equal.iter().copied().filter(|(_, pod)| !served.contains(pod)).collect();
        served.extend(places.place(rest));
    }
    placer.state = places.placer.state;
    *limits = places.limits;
    packing.nodes = places.nodes;
    outcome.placed.extend(places.placed);
    for item in &mut outcome.items {
        item.pods.retain(|pod| !served.contains(pod));
    }
    outcome.items.retain(|item| !item.pods.is_empty());
    outcome.items.extend(places.items);
    outcome.failed.retain(|pod| !served.contains(pod));
    packing.left.retain(|pod| !served.contains(pod));
}

/// Places all pods from the state, one by one; and the state after it. Of those of `shapes` what
/// they prefer is given up.
pub(super) fn attempt_one_by_one(
    placer: &Placer,
    state: &State,
    waiting: &[PodIx],
    shapes: &BTreeSet<ShapeIx>,
    turn: Turn,
) -> (Attempt, State) {
    let scope = placer.scope();
    let own = placer_of_single_pods(placer, SoftSpread::Relaxed, state.clone(), shapes.clone());
    let mut places = Places::of(own, Limits::of(scope.model, |_| false), Vec::new());
    let served = places.place(in_turn(placer, waiting, turn));
    let failed = waiting.iter().copied().filter(|pod| !served.contains(pod)).collect();
    let Places { placer: own, mut limits, mut nodes, placed, items, .. } = places;
    // The same pods on cheaper nodes, where each of them still has one.
    let mut fresh = Limits::of(scope.model, |_| false);
    let together = pack(scope, &own.state, &mut fresh, &items);
    if together.left.is_empty() {
        (limits, nodes) = (fresh, together.nodes);
    }
    let packing = Packing { nodes, left: Vec::new() };
    let outcome = Placements { placed, items, failed };
    (Attempt { outcome, packing, limits, relaxation: None }, own.state)
}

/// Pods of an order that find no place where all are placed from the state, one by one.
pub(super) fn left_one_by_one(
    placer: &Placer,
    state: &State,
    shapes: &BTreeSet<ShapeIx>,
    order: &[PodIx],
) -> BTreeSet<PodIx> {
    let own = placer_of_single_pods(placer, SoftSpread::Relaxed, state.clone(), shapes.clone());
    let limits = Limits::of(placer.scope().model, |_| false);
    let served =
        Places::of(own, limits, Vec::new()).place(in_turn(placer, order, Turn::Listed(order)));
    order.iter().copied().filter(|pod| !served.contains(pod)).collect()
}

/// A placer that knows nothing of what packings taught about domains, which does not hold for one
/// pod at a time. Pods of the shapes give up what they prefer.
fn placer_of_single_pods<'m, 'a>(
    placer: &Placer<'m, 'a>,
    soft_spread: SoftSpread,
    state: State,
    shapes: BTreeSet<ShapeIx>,
) -> Placer<'m, 'a> {
    let mut own = Placer::new(placer.scope(), state);
    own.soft_spread = soft_spread;
    own.order_by(Precedence { shapes, ..Precedence::default() });
    own
}

/// Pods that have a shape, those of higher priority first.
pub(super) fn in_turn(placer: &Placer, pods: &[PodIx], turn: Turn) -> Vec<(ShapeIx, PodIx)> {
    let model = placer.scope().model;
    let pods = if let Turn::Listed(listed) = turn { listed } else { pods };
    let shaped = pods.iter().filter_map(|pod| Some((model.shapes.of_pod[*pod]?, *pod)));
    let mut order: Vec<(ShapeIx, PodIx)> = shaped.collect();
    let priority = |shape: ShapeIx| Reverse(model.shape(shape).spec.priority);
    let rank = |pod: PodIx| model.key_rank(pod);
    let (first, by_size) = match turn {
        Turn::Listed(_) => {
            order.sort_by_key(|(shape, _)| priority(*shape));
            return order;
        }
        Turn::ByName => (None, false),
        Turn::SmallerFirst => (None, true),
        Turn::TheseFirst(shapes) => (Some(shapes), true),
    };
    let comes_late = |shape: &ShapeIx| first.is_some_and(|own| !own.contains(shape));
    let requests = |shape: ShapeIx| by_size.then(|| &model.shape(shape).requests);
    order.sort_by_cached_key(|(shape, pod)| {
        (priority(*shape), comes_late(shape), requests(*shape), rank(*pod))
    });
    order
}

/// Where pods went so far.
struct Places<'m, 'a> {
    placer: Placer<'m, 'a>,
    limits: Limits,
    nodes: Vec<NewNode>,
    placed: Vec<(PodIx, NodeIx)>,
    /// What went to new nodes.
    items: Vec<Item>,
    tries_left: usize,
}

impl<'m, 'a> Places<'m, 'a> {
    fn of(placer: Placer<'m, 'a>, limits: Limits, nodes: Vec<NewNode>) -> Self {
        let (placed, items) = (Vec::new(), Vec::new());
        Self { placer, limits, nodes, placed, items, tries_left: TRIES_MAX }
    }

    /// Gives pods a place in this order; returns those that have one. In one round none is tried
    /// after another of its shape that found nothing.
    fn place(&mut self, mut order: Vec<(ShapeIx, PodIx)>) -> BTreeSet<PodIx> {
        let mut served = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let mut refused: BTreeSet<ShapeIx> = BTreeSet::new();
            let before = order.len();
            order.retain(|(shape, pod)| {
                if refused.contains(shape) {
                    return true;
                }
                let has_place = self.take(*shape, *pod);
                if has_place {
                    served.insert(*pod);
                } else {
                    refused.insert(*shape);
                }
                !has_place
            });
            if order.len() == before {
                break;
            }
        }
        served
    }

    /// Packs pods of one priority onto new nodes, of those that are free to go anywhere and whose
    /// requirements can be met in several ways: placing chose the best way for all pods of a shape,
    /// and limits may leave room by another. Returns those that have a place.
    fn launch_together(&mut self, order: &[(ShapeIx, PodIx)]) -> BTreeSet<PodIx> {
        let scope = self.placer.scope();
        let mut placer = Placer::new(scope, self.placer.state.clone());
        placer.soft_spread = self.placer.soft_spread;
        let mut ways: BTreeMap<ShapeIx, Vec<Choice>> = BTreeMap::new();
        for (shape, _) in order {
            let own = scope.model.shape(*shape);
            if own.alternatives.len() > 1 && own.unschedulable.is_none() && placer.is_free(*shape) {
                ways.entry(*shape).or_insert_with(|| placer.choices_in_order(*shape));
            }
        }
        let mut served = BTreeSet::new();
        for number in 0..ways.values().map(Vec::len).max().unwrap_or(0) {
            let mut items: Vec<Item> = Vec::new();
            for (shape, pod) in order.iter().filter(|(_, pod)| !served.contains(pod)) {
                let Some(choice) = ways.get(shape).and_then(|own| own.get(number)) else {
                    continue;
                };
                match items.iter_mut().find(|item| item.shape == *shape) {
                    Some(item) => item.pods.push(*pod),
                    None => items.push(item(*shape, *pod, choice)),
                }
            }
            items.retain(|item| self.may_launch(item.shape, &item.fit));
            let packing = pack(scope, &self.placer.state, &mut self.limits, &items);
            let left: BTreeSet<PodIx> = packing.left.into_iter().collect();
            for mut item in items {
                item.pods.retain(|pod| !left.contains(pod));
                served.extend(item.pods.iter().copied());
                self.items.push(item);
            }
            self.nodes.extend(packing.nodes);
        }
        self.items.retain(|item| !item.pods.is_empty());
        served
    }

    /// Gives the pod a place; returns whether there was one.
    fn take(&mut self, shape: ShapeIx, pod: PodIx) -> bool {
        let own = self.placer.scope().model.shape(shape);
        if own.is_never_schedulable() {
            return false;
        }
        // A pod that has to share a host with one of a planned node goes nowhere else.
        let joins_planned = self.joins_planned(shape);
        if !joins_planned && let Some(node) = self.placer.place_on_best(shape) {
            self.placed.push((pod, node));
            return true;
        }
        if own.unschedulable.is_some() {
            return false;
        }
        let choices = self.placer.choices_in_order(shape);
        self.join(shape, pod, &choices) || !joins_planned && self.launch(shape, pod, &choices)
    }

    /// Adds the pod to the planned node that costs the least more with it.
    fn join(&mut self, shape: ShapeIx, pod: PodIx, choices: &[Choice]) -> bool {
        let scope = self.placer.scope();
        let hosts: Vec<usize> =
            (0..self.nodes.len()).filter(|index| self.may_share(shape, *index)).collect();
        let mut best: Option<(UsdPerHour, usize, &Choice, NewNode)> = None;
        let ways = choices.iter().flat_map(|own| hosts.iter().map(move |index| (own, *index)));
        for (choice, index) in ways.take(self.tries_left) {
            self.tries_left -= 1;
            let node = &self.nodes[index];
            let more = (pod, choice.conjunction, &*choice.fit);
            let Some((joined, price)) = joined(scope, &self.limits, node, more) else { continue };
            let added = price - node.price(scope.model, scope.memo).unwrap_or_default();
            if best.as_ref().is_none_or(|(least, ..)| added < *least) {
                best = Some((added, index, choice, joined));
            }
            if added <= UsdPerHour::ZERO {
                break;
            }
        }
        let Some((_, index, choice, joined)) = best else { return false };
        let types = &scope.model.pools[joined.pool].types;
        let capacity = |node: &NewNode| &types[node.type_index].capacity;
        self.limits.take_instead(joined.pool, capacity(&joined), capacity(&self.nodes[index]));
        self.placer.count_on_new_node(shape, choice, joined.pool);
        self.note_item(item(shape, pod, choice));
        self.nodes[index] = joined;
        true
    }

    /// Plans another node for the pod.
    fn launch(&mut self, shape: ShapeIx, pod: PodIx, choices: &[Choice]) -> bool {
        let scope = self.placer.scope();
        for choice in choices.iter().filter(|choice| self.may_launch(shape, &choice.fit)) {
            let item = item(shape, pod, choice);
            let mut limits = self.limits.clone();
            let alone = std::slice::from_ref(&item);
            let Packing { nodes, left } = pack(scope, &self.placer.state, &mut limits, alone);
            if let (true, [node]) = (left.is_empty(), nodes.as_slice()) {
                self.placer.count_on_new_node(shape, choice, node.pool);
                self.limits = limits;
                self.nodes.extend(nodes);
                self.note_item(item);
                return true;
            }
        }
        false
    }

    fn note_item(&mut self, own: Item) {
        let is_same =
            |item: &&mut Item| item.shape == own.shape && item.conjunction == own.conjunction;
        match self.items.iter_mut().find(is_same) {
            Some(item) => item.pods.extend(own.pods),
            None => self.items.push(own),
        }
    }

    /// Whether limits allow a node that is large enough.
    fn may_launch(&self, shape: ShapeIx, fit: &Fit) -> bool {
        let model = self.placer.scope().model;
        let requests = &model.shape(shape).requests;
        fit.pools.iter().chain(&fit.avoided).any(|own| {
            let pool = &model.pools[own.pool];
            let mut types = pool.with_room(&own.compatible.types, requests);
            self.limits.keep_allowed(own.pool, pool, &mut types);
            types.iter().next().is_some()
        })
    }

    /// Whether the pod has to share a host with pods of which only planned nodes have any.
    fn joins_planned(&self, shape: ShapeIx) -> bool {
        let mut groups = host_affinity(self.placer.scope().topology, shape).map(|(group, _)| group);
        groups.any(|group| self.placer.state.matched[group].is_empty() && self.is_planned(group))
    }

    /// Whether a planned node has a pod that the group selects.
    fn is_planned(&self, group: GroupIx) -> bool {
        let topology = self.placer.scope().topology;
        let mut shapes = self.nodes.iter().flat_map(|node| self.shapes_on(node));
        shapes.any(|(shape, _)| topology.constraints[shape].selected_by.contains(&group))
    }

    /// Whether one more pod of the shape may be on a planned node, as far as its host decides.
    fn may_share(&self, shape: ShapeIx, index: usize) -> bool {
        let scope = self.placer.scope();
        let (model, topology) = (scope.model, scope.topology);
        let mut hosts = HostCounts::in_any_order();
        for (own, count) in self.shapes_on(&self.nodes[index]) {
            hosts.add(model, topology, own, count);
        }
        let is_open =
            |group| self.placer.state.matched[group].is_empty() && !self.is_planned(group);
        hosts.room_for(model, topology, shape, &is_open) > 0
    }

    /// What is on a planned node, by shape.
    fn shapes_on(&self, node: &NewNode) -> impl Iterator<Item = (ShapeIx, u32)> {
        let model = self.placer.scope().model;
        node.members.iter().filter_map(|member| {
            let shape = model.shapes.of_pod[*member.pods.first()?]?;
            Some((shape, u32::try_from(member.pods.len()).unwrap_or(u32::MAX)))
        })
    }
}

/// One pod for a new node of a kind.
fn item(shape: ShapeIx, pod: PodIx, choice: &Choice) -> Item {
    Item { shape, conjunction: choice.conjunction, fit: choice.fit.clone(), pods: vec![pod] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::scope::Scope;
    use crate::feasibility::topology::Topology;
    use crate::ids::IndexVec;
    use crate::model::Model;
    use crate::model::memo::Memo;
    use crate::scheduling::waiting_pods;
    use crate::testing::{Cluster, cluster, near, node, pod};
    use domain::label::HOSTNAME;
    use domain::resource::{NODES, Resources};

    /// Where pods go one by one, `pod on node` or `pods on a new node`; and who has no place.
    fn places(world: &Cluster, turn: Turn) -> (Vec<String>, Vec<String>) {
        let model = Model::new(&world.0, &[]);
        let all = IndexVec::filled(true, model.shapes.list.len());
        let topology = Topology::of(&model, &all, &all);
        let state = State::of(&model, &topology);
        let memo = Memo::of(&model);
        let scope = Scope { model: &model, topology: &topology, memo: &memo };
        let placer = Placer::new(scope, state.clone());
        let waiting = waiting_pods(&model);
        let (attempt, _) = attempt_one_by_one(&placer, &state, &waiting, &BTreeSet::new(), turn);
        let name = |pod: &PodIx| model.pod(*pod).key.name.to_string();
        let placed = attempt.outcome.placed.iter();
        let mut places: Vec<String> = placed
            .map(|(pod, node)| format!("{} on {}", name(pod), model.nodes[*node].name))
            .collect();
        for node in &attempt.packing.nodes {
            let mut pods: Vec<String> =
                node.members.iter().flat_map(|own| own.pods.iter().map(name)).collect();
            pods.sort();
            places.push(format!("{} on a new node", pods.join(", ")));
        }
        places.sort();
        (places, attempt.outcome.failed.iter().map(name).collect())
    }

    /// One node may be launched, and one is there that has a CPU to spare.
    fn one_more() -> Cluster {
        cluster()
            .default_pool(|pool| pool.limits = Resources::new().with(NODES, 2))
            .node(node("there"))
            .pod(pod("runs").cpu(3000).on("there"))
    }

    #[test]
    fn pods_go_to_nodes_that_are_there_then_to_planned_ones_and_new_ones() {
        let world =
            one_more().pod(pod("a").cpu(500)).pod(pod("b").cpu(2000)).pod(pod("c").cpu(1500));
        let (places, left) = places(&world, Turn::ByName);
        assert_eq!(places, ["a on there", "b, c on a new node"]);
        assert_eq!(left, [""; 0]);
    }

    #[test]
    fn the_order_decides_who_gets_what_limits_leave() {
        let world = one_more().pod(pod("large").cpu(7000)).pods(4, &pod("small").cpu(1900));
        let (_, left) = places(&world, Turn::ByName);
        assert_eq!(left.len(), 4, "the large one has the node");
        let (_, left) = places(&world, Turn::SmallerFirst);
        assert_eq!(left, ["large"]);
        let model = Model::new(&world.0, &[]);
        let large = model.shapes.pods.iter_enumerated().find(|(_, pod)| &*pod.key.name == "large");
        let first = large.and_then(|(pod, _)| model.shapes.of_pod[pod]).into_iter().collect();
        let (_, left) = places(&world, Turn::TheseFirst(&first));
        assert_eq!(left.len(), 4, "the large one comes first");
    }

    #[test]
    fn a_pod_that_has_to_share_a_host_follows_to_the_planned_one() {
        let first = pod("first").label("app", "x").cpu(3500);
        let follows = pod("follows").cpu(300).affinity(near(HOSTNAME, ("app", "x")));
        let (places, left) = places(&one_more().pod(first).pod(follows), Turn::ByName);
        assert_eq!(places, ["first, follows on a new node"]);
        assert_eq!(left, [""; 0]);
    }

    #[test]
    fn no_second_host_is_opened_for_pods_that_share_one() {
        let together = pod("x").label("app", "x").affinity(near(HOSTNAME, ("app", "x")));
        let (places, left) = places(&one_more().pods(5, &together.cpu(3000)), Turn::ByName);
        assert_eq!(places.len(), 1, "{places:?}");
        assert!(!left.is_empty(), "the largest node has no room for five");
    }
}
