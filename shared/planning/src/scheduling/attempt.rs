//! Placing and packing, again where the first answer does not hold or costs too much.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::pod::PodKey;
use domain::settings::SearchEffort;
use parallel::both;

use super::relaxations::Relaxations;
use super::soft_spread;
use super::stranded::take_off_stranded;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::{SoftSpread, Topology};
use crate::ids::{IndexVec, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::memo::Memo;
use crate::packing::relaxed::PackingRelaxation;
use crate::packing::{Packing, Search, pack_for_less};
use crate::placement::{Cap, Placements, Placer};
use crate::relaxation::Budget;
use crate::work::{Item, NewNode, PODS_FOR_THREADS};

/// With more nodes than this, soft spreads are left to the choice of zones: packing again would
/// take too long.
const fn compared_nodes_max(effort: SearchEffort) -> usize {
    match effort {
        SearchEffort::Quick => 64,
        SearchEffort::Full => 500,
    }
}

/// Places for pods, and nodes to launch.
pub(super) struct Attempt {
    /// Where pods go.
    pub(super) outcome: Placements,
    /// Nodes to launch.
    pub(super) packing: Packing,
    /// What is left of the limits.
    pub(super) limits: Limits,
    /// What the nodes were held against; none where no pod needs a new one.
    pub(super) relaxation: Option<PackingRelaxation>,
}

/// How hard a cheap plan is sought.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// One packing, to know who is left.
    Quick,
    /// As far as the search budget goes.
    Full,
    /// As far as the search budget goes, and the plan is held against a bound.
    Bounded,
}

/// Finds places twice where pods carry a soft spread over zones: with the spread required, and
/// relaxed. The price decides between the two.
pub(super) fn attempt(
    placer: &mut Placer,
    state: &State,
    waiting: &[PodIx],
    effort: Effort,
) -> Attempt {
    let scope = placer.scope();
    let Scope { model, topology, memo } = scope;
    let pods = pods_by_shape(model, waiting);
    let has_soft_spread =
        soft_spread::has_soft_zone_spread(topology, pods.iter().map(|(shape, _)| *shape));
    if has_soft_spread {
        placer.reset_with(SoftSpread::Relaxed, state.clone());
    }
    let is_quick = model.snapshot.settings.search_effort == SearchEffort::Quick;
    let least_by_zone = if is_quick { Vec::new() } else { placer.least_by_zone(&pods) };
    let is_bounded = effort == Effort::Bounded && !model.is_weighted();
    let budget = budget(model, &pods);
    let relaxations = Relaxations::new(scope, &pods, least_by_zone, budget, is_bounded);
    let known = (effort != Effort::Quick).then_some(&relaxations);
    let mut first = || fitted(placer, state, waiting, known);
    let (outcome, mut packing, limits) = match known {
        // Before anything is placed: that takes a while, and the relaxations are sure to be wanted.
        Some(own) if new_nodes_are_for(model, state, &pods) >= PODS_FOR_THREADS => {
            both(first, || own.solve_ahead()).0
        }
        _ => first(),
    };
    if !has_soft_spread || packing.nodes.is_empty() {
        return Attempt { outcome, packing, limits, relaxation: relaxations.into_solved() };
    }
    let price = |nodes: &[NewNode]| -> UsdPerHour {
        nodes.iter().filter_map(|node| node.price(model, memo)).sum()
    };
    soft_spread::settle_zones(scope, &placer.state, &mut packing.nodes);
    let open = (outcome, packing, limits);
    let open_state = std::mem::replace(&mut placer.state, state.clone());
    placer.reset_with(SoftSpread::Required, state.clone());
    let (known_price, known_nodes) = (price(&open.1.nodes), open.1.nodes.len());
    if known_nodes > compared_nodes_max(model.snapshot.settings.search_effort) {
        let (outcome, packing, limits) = open;
        placer.reset_with(SoftSpread::Relaxed, open_state);
        return Attempt { outcome, packing, limits, relaxation: relaxations.into_solved() };
    }
    let quick = fitted(placer, state, waiting, None);
    let is_near =
        soft_spread::may_be_worth_its_premium(price(&quick.1.nodes), known_price, known_nodes);
    let kept = if is_near {
        placer.reset(state.clone());
        fitted(placer, state, waiting, known)
    } else {
        quick
    };
    let is_complete =
        kept.1.left.len() + kept.0.failed.len() <= open.1.left.len() + open.0.failed.len();
    let is_kept = is_complete
        && soft_spread::is_worth_its_premium(price(&kept.1.nodes), known_price, known_nodes);
    let (outcome, packing, limits) = if is_kept { kept } else { open };
    if !is_kept {
        placer.reset_with(SoftSpread::Relaxed, open_state);
    }
    Attempt { outcome, packing, limits, relaxation: relaxations.into_solved() }
}

/// How many pods need new nodes at the least: by the resource that is scarcest on those that are
/// there, the smallest pods having it first.
fn new_nodes_are_for(model: &Model, state: &State, pods: &[(ShapeIx, u32)]) -> usize {
    let width = model.resources.len();
    let without_room = |resource: usize| {
        let mut requests: Vec<(i64, u32)> = pods
            .iter()
            .map(|(shape, count)| (model.shape(*shape).requests[resource], *count))
            .filter(|(request, _)| *request > 0)
            .collect();
        requests.sort_unstable();
        let mut free: i64 =
            state.free.iter().skip(resource).step_by(width).map(|own| (*own).max(0)).sum();
        let mut left = 0;
        for (request, count) in requests {
            let fitting = (free / request).min(count.into());
            free -= fitting * request;
            left += i64::from(count) - fitting;
        }
        left
    };
    let most = (0..width).map(without_room).max().unwrap_or(0);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Has zones chosen by what pods cost in them: where pods have to have one chosen for them, by
/// placing all again from the state; then between pods that count alike.
fn settle_zones(
    placer: &mut Placer,
    state: &State,
    waiting: &[PodIx],
    outcome: &mut Placements,
    relaxations: &Relaxations,
) {
    let model = placer.scope().model;
    let solved = || relaxations.solved().filter(|own| own.is_solved());
    let chosen = placer.shapes_in_chosen_zones(&outcome.items);
    if !chosen.is_empty()
        && let Some(known) = solved()
    {
        placer.choose_zones_by(known.zone_prices(model, &chosen), relaxations.pods());
        placer.reset(state.clone());
        *outcome = placer.place(waiting);
    }
    let sets = placer.shapes_that_count_alike(&outcome.items);
    if !sets.is_empty()
        && let Some(known) = solved()
    {
        let shapes: Vec<ShapeIx> = sets.iter().flatten().copied().collect();
        placer.exchange_zones(&mut outcome.items, &sets, &known.zone_prices(model, &shapes));
    }
}

/// Places pods and packs nodes, by relaxations if there are any; where a domain that pods were
/// counted in got no node for them, again.
fn fitted(
    placer: &mut Placer,
    state: &State,
    waiting: &[PodIx],
    relaxations: Option<&Relaxations>,
) -> (Placements, Packing, Limits) {
    let scope = placer.scope();
    let mut limits = Limits::of(scope.model, |_| false);
    let mut outcome = placer.place(waiting);
    if let Some(relaxations) = relaxations {
        settle_zones(placer, state, waiting, &mut outcome, relaxations);
    }
    let known = OnceCell::new();
    let search =
        |items: &[Item]| relaxations.map_or(Search::Quick, |relaxations| relaxations.search(items));
    let pack = |after: &State, limits: &mut Limits, outcome: &Placements| {
        let search = || *known.get_or_init(|| search(&outcome.items));
        let mut packing = pack_for_less(scope, after, limits, &outcome.items, search);
        take_off_stranded(scope, state, &outcome.placed, (&mut packing, limits));
        packing
    };
    let mut packing = pack(&placer.state, &mut limits, &outcome);
    // Pods that were counted in a domain and found no node there hold others back, or let too many
    // in: count them out and place all again, until each that is counted has a node.
    let mut caps = CAPS.iter().flat_map(|(cap, times)| std::iter::repeat_n(*cap, *times));
    while !packing.left.is_empty() {
        let cap = caps.next().unwrap_or(Cap::NoneOfShape);
        if !placer.cap(&outcome.items, &packing.left, cap) {
            break;
        }
        placer.reset(state.clone());
        limits = Limits::of(scope.model, |_| false);
        outcome = placer.place(waiting);
        packing = pack(&placer.state, &mut limits, &outcome);
    }
    (outcome, packing, limits)
}

/// How many pods of each shape someone waits for, in the order of the pods' names.
fn pods_by_shape(model: &Model, waiting: &[PodIx]) -> Vec<(ShapeIx, u32)> {
    let mut first: BTreeMap<ShapeIx, &PodKey> = BTreeMap::new();
    for pod in waiting {
        if let Some(shape) = model.shapes.of_pod[*pod] {
            let own = first.entry(shape).or_insert(&model.pod(*pod).key);
            *own = (*own).min(&model.pod(*pod).key);
        }
    }
    let mut pods: Vec<(ShapeIx, u32)> = counted(model, waiting.iter()).into_iter().collect();
    // Shapes are numbered as the snapshot lists pods.
    pods.sort_by_key(|(shape, _)| first.get(shape).copied());
    pods
}

/// A price that no new nodes for the pods can be below, whatever offerings are chosen by: of a
/// relaxation at what offerings cost.
pub(super) fn lower_bound_at_cost(
    model: &Model,
    waiting: &[PodIx],
    demand: &[(ShapeIx, u32)],
) -> UsdPerHour {
    let model = &model.at_cost();
    let mut waits = IndexVec::filled(false, model.shapes.list.len());
    for shape in waiting.iter().filter_map(|pod| model.shapes.of_pod[*pod]) {
        waits[shape] = true;
    }
    let topology = &Topology::of(model, &waits, &waits);
    let memo = &Memo::of(model);
    let scope = Scope { model, topology, memo };
    let pods = pods_by_shape(model, waiting);
    let is_quick = model.snapshot.settings.search_effort == SearchEffort::Quick;
    let least_by_zone = if is_quick {
        Vec::new()
    } else {
        Placer::new(scope, State::of(model, topology)).least_by_zone(&pods)
    };
    let solved = PackingRelaxation::solve(scope, &pods, &least_by_zone, budget(model, &pods));
    solved.map_or(UsdPerHour::ZERO, |own| own.lower_bound(model, demand, budget(model, demand)))
}

/// By shape, how many of the pods someone waits for.
fn counted<'p>(model: &Model, pods: impl Iterator<Item = &'p PodIx>) -> BTreeMap<ShapeIx, u32> {
    let mut counts = BTreeMap::new();
    for pod in pods.filter(|pod| model.pod(**pod).virtual_of.is_none()) {
        if let Some(shape) = model.shapes.of_pod[*pod] {
            *counts.entry(shape).or_default() += 1;
        }
    }
    counts
}

/// What to spend on a relaxation for pods, by shape.
pub(super) fn budget(model: &Model, pods: &[(ShapeIx, u32)]) -> &'static Budget {
    let count = pods.iter().map(|(_, count)| count).sum();
    Budget::of(count, model.snapshot.settings.search_effort)
}

/// By shape, how many pods the plan found a place for; virtual pods, which no one waits for, left
/// out.
pub(super) fn demand(
    model: &Model,
    outcome: &Placements,
    nodes: &[NewNode],
) -> Vec<(ShapeIx, u32)> {
    let launched = nodes.iter().flat_map(|node| &node.members).flat_map(|member| &member.pods);
    counted(model, launched.chain(outcome.placed.iter().map(|(pod, _)| pod))).into_iter().collect()
}

/// How pods are counted out, and how often so: if leaving out those that found no node does not
/// settle it, nodes of these kinds are given up, and then new nodes for the shapes. In the end no
/// shape is left that was counted in vain.
const CAPS: [(Cap, usize); 2] = [(Cap::Found, 16), (Cap::NoneOfKind, 8)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cluster, cluster, instance_type, node, pod};

    fn for_new_nodes(world: &Cluster) -> usize {
        let model = Model::new(&world.0, &[]);
        let waiting = crate::scheduling::waiting_pods(&model);
        let shapes = IndexVec::filled(true, model.shapes.list.len());
        let state = State::of(&model, &Topology::of(&model, &shapes, &shapes));
        new_nodes_are_for(&model, &state, &pods_by_shape(&model, &waiting))
    }

    #[test]
    fn pods_need_new_nodes_where_those_there_have_no_room_for_the_smallest() {
        let empty = cluster().selling(vec![instance_type("m", 10, 1.0)]);
        let waiting = |own: Cluster| own.pods(5, &pod("a").cpu(3000)).pods(5, &pod("b").cpu(1000));
        assert_eq!(for_new_nodes(&waiting(empty.clone())), 10);
        // All of the smaller ones, and one of the larger.
        let one = empty.node(node("n").of_type("m"));
        assert_eq!(for_new_nodes(&waiting(one.clone())), 4);
        let three = one.node(node("o").of_type("m")).node(node("p").of_type("m"));
        assert_eq!(for_new_nodes(&waiting(three)), 0);
    }
}
