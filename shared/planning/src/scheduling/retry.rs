//! Further attempts where pods are left: they choose first.
//!
//! Pods are placed largest first. A pod that could have a node of its own then may take room that
//! another needs, which only nodes that are there or a limited NodePool can host. In the end pods
//! are taken one by one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use domain::pod::PodKey;

use super::attempt::{Attempt, Effort, attempt};
use super::left::compare_left;
use super::one_by_one::{Turn, attempt_one_by_one};
use super::reorder::better_order;
use crate::feasibility::state::State;
use crate::feasibility::topology::SoftSpread;
use crate::ids::{PodIx, ShapeIx};
use crate::model::Model;
use crate::placement::{Placer, Precedence};

/// Attempts that are kept beyond the first, at most.
const RETRIES_MAX: usize = 3;

/// Shapes that are tried first alone, at most.
const SHAPES_MAX: usize = 8;

/// Ways of meeting requirements that are tried, at most.
const WAYS_MAX: usize = 4;

/// With more pods and nodes than this only the likeliest orders are tried.
const PODS_AND_NODES_MAX: usize = 500;

/// An attempt, and where it left the placer.
struct Reached {
    attempt: Attempt,
    precedence: Precedence,
    soft_spread: SoftSpread,
    state: State,
}

/// The attempt that leaves the fewest pods of the highest priorities. As long as one leaves fewer
/// than the one before, others are made, with other pods first.
pub(super) fn best_attempt(
    placer: &mut Placer,
    state: &State,
    waiting: &[PodIx],
    effort: Effort,
) -> Attempt {
    let model = placer.scope().model;
    let known = attempt(placer, state, waiting, effort);
    let mut shapes = shapes_to_retry(placer, &known);
    if shapes.is_empty() {
        return known;
    }
    let mut best = reached(placer, known);
    for _ in 0..RETRIES_MAX {
        let orders = orders(placer, &shapes, &best, waiting);
        if !improve(placer, state, waiting, &mut best, orders) {
            break;
        }
        shapes.extend(shapes_to_retry(placer, &best.attempt));
    }
    if waiting.len() + model.nodes.len() <= PODS_AND_NODES_MAX {
        let served_first = best.precedence.shapes.clone();
        let mut turns = vec![Turn::ByName, Turn::SmallerFirst];
        if !served_first.is_empty() {
            turns.push(Turn::TheseFirst(&served_first));
        }
        for turn in turns {
            if shapes_to_retry(placer, &best.attempt).is_empty() {
                break;
            }
            let next = attempt_one_by_one(placer, state, waiting, &shapes, turn);
            best = better_of(model, best, next);
        }
        let retried = shapes_to_retry(placer, &best.attempt);
        if improve(placer, state, waiting, &mut best, orders_by_way(model, &retried)) {
            shapes.extend(shapes_to_retry(placer, &best.attempt));
        }
        let retried = shapes_to_retry(placer, &best.attempt);
        if !retried.is_empty() {
            let order = better_order(placer, state, waiting, &retried);
            let turn = Turn::Listed(&order);
            let next = attempt_one_by_one(placer, state, waiting, &shapes, turn);
            best = better_of(model, best, next);
        }
    }
    placer.order_by(Precedence::default());
    placer.reset_with(best.soft_spread, best.state);
    best.attempt
}

/// Makes an attempt with each of the orders until one leaves fewer pods than the best so far, which
/// it then is; returns whether one does.
fn improve(
    placer: &mut Placer,
    state: &State,
    waiting: &[PodIx],
    best: &mut Reached,
    orders: Vec<Precedence>,
) -> bool {
    let model = placer.scope().model;
    let better = orders.into_iter().find_map(|order| {
        placer.order_by(order);
        let quick = attempt_anew(placer, state, waiting, Effort::Quick);
        leaves_fewer(model, &quick.attempt, &best.attempt).then_some(quick)
    });
    let Some(quick) = better else { return false };
    let full = attempt_anew(placer, state, waiting, Effort::Full);
    let solved = best.attempt.relaxation.take();
    *best = if leaves_fewer(model, &quick.attempt, &full.attempt) { quick } else { full };
    best.attempt.relaxation = best.attempt.relaxation.take().or(solved);
    true
}

/// For pods whose requirements can be met in several ways: all of them met in each of these.
/// Placing chooses the cheapest for all, and limits may leave more room by another.
fn orders_by_way(model: &Model, shapes: &BTreeSet<ShapeIx>) -> Vec<Precedence> {
    let ways = shapes.iter().map(|shape| model.shape(*shape).alternatives.len()).max();
    let numbers = 0..ways.filter(|ways| *ways > 1).unwrap_or(0).min(WAYS_MAX);
    numbers.map(|way| Precedence { way: Some(way), ..Precedence::default() }).collect()
}

/// The attempt so far or, where it leaves fewer pods, one that took pods one by one.
fn better_of(model: &Model, best: Reached, (next, state): (Attempt, State)) -> Reached {
    if !leaves_fewer(model, &next, &best.attempt) {
        return best;
    }
    let Reached { attempt: known, precedence, .. } = best;
    let attempt = Attempt { relaxation: known.relaxation, ..next };
    Reached { attempt, precedence, soft_spread: SoftSpread::Relaxed, state }
}

/// Orders worth a try, the likeliest first: the shapes that were ever left before all others, or
/// the smaller pods; all spread evenly, where some must be over several keys; one pod first in each
/// domain where others that are left must join it; those that may be in the fewest of the domains
/// over which they are spread; in the best order so far, each shape of which most pods are left,
/// since together they may take each other's room; the first of those that seek their own kind in
/// each of the domains that it may be in; and one pod first in each domain of a spread.
fn orders(
    placer: &mut Placer,
    shapes: &BTreeSet<ShapeIx>,
    best: &Reached,
    waiting: &[PodIx],
) -> Vec<Precedence> {
    let first = |shapes| Precedence { shapes, ..Precedence::default() };
    let in_domains = |wanted| Precedence { wanted, ..Precedence::default() };
    let mut orders =
        vec![first(shapes.clone()), Precedence { smaller_first: true, ..Precedence::default() }];
    if shapes.iter().any(|shape| placer.spreads(*shape).nth(1).is_some()) {
        orders.push(Precedence { is_even: true, ..Precedence::default() });
    }
    let model = placer.scope().model;
    let shape_of = |pod: &PodIx| model.shapes.of_pod[*pod];
    let waiting_shapes: BTreeSet<ShapeIx> = waiting.iter().filter_map(shape_of).collect();
    let wanted = placer.wanted_for(shapes, &waiting_shapes);
    if !wanted.is_empty() {
        orders.push(in_domains(wanted));
    }
    let by_name = by_name(model, waiting, shapes);
    let mut in_each_domain = placer.first_domains(&by_name, &waiting_shapes);
    if waiting.len() + model.nodes.len() > PODS_AND_NODES_MAX {
        orders.extend(in_each_domain.into_iter().map(in_domains));
        return orders;
    }
    if shapes.iter().any(|shape| placer.domains_to_spread_over(*shape).is_some()) {
        in_each_domain.push(placer.wanted_for_spreads(shapes, &waiting_shapes));
        let domains = waiting_shapes
            .into_iter()
            .filter_map(|shape| Some((shape, placer.domains_to_spread_over(shape)?)));
        orders.push(Precedence { domains: domains.collect(), ..Precedence::default() });
    }
    if shapes.len() > 1 {
        let mut by_shape: BTreeMap<ShapeIx, Vec<&PodKey>> = BTreeMap::new();
        for pod in left(&best.attempt) {
            if let Some(shape) = model.shapes.of_pod[pod].filter(|shape| shapes.contains(shape)) {
                by_shape.entry(shape).or_default().push(&model.pod(pod).key);
            }
        }
        let mut by_shape: Vec<_> = by_shape.into_iter().collect();
        by_shape.sort_by_key(|(_, pods)| (Reverse(pods.len()), pods.iter().copied().min()));
        orders.extend(by_shape.into_iter().take(SHAPES_MAX).map(|(shape, _)| {
            let mut order = best.precedence.clone();
            if order.shapes.insert(shape) {
                return order;
            }
            // All of them are first already: this one before the others, and small ones next.
            Precedence { smaller_first: true, ..first(BTreeSet::from([shape])) }
        }));
    }
    orders.extend(in_each_domain.into_iter().map(in_domains));
    orders
}

/// Shapes by the first of their pods.
fn by_name(model: &Model, waiting: &[PodIx], shapes: &BTreeSet<ShapeIx>) -> Vec<ShapeIx> {
    let mut first: BTreeMap<ShapeIx, usize> = BTreeMap::new();
    for pod in waiting {
        if let Some(shape) = model.shapes.of_pod[*pod].filter(|shape| shapes.contains(shape)) {
            let rank = first.entry(shape).or_insert(usize::MAX);
            *rank = (*rank).min(model.key_rank(*pod));
        }
    }
    let mut shapes: Vec<(usize, ShapeIx)> =
        first.into_iter().map(|(shape, rank)| (rank, shape)).collect();
    shapes.sort_unstable();
    shapes.into_iter().map(|(_, shape)| shape).collect()
}

fn attempt_anew(placer: &mut Placer, state: &State, waiting: &[PodIx], effort: Effort) -> Reached {
    placer.reset_with(SoftSpread::Required, state.clone());
    let next = attempt(placer, state, waiting, effort);
    reached(placer, next)
}

fn reached(placer: &Placer, attempt: Attempt) -> Reached {
    Reached {
        attempt,
        precedence: placer.precedence().clone(),
        soft_spread: placer.soft_spread,
        state: placer.state.clone(),
    }
}

fn left(attempt: &Attempt) -> impl Iterator<Item = PodIx> {
    attempt.outcome.failed.iter().chain(&attempt.packing.left).copied()
}

/// Shapes of pods that are left although something could host one of them.
fn shapes_to_retry(placer: &mut Placer, attempt: &Attempt) -> BTreeSet<ShapeIx> {
    let model = placer.scope().model;
    let shapes: BTreeSet<ShapeIx> =
        left(attempt).filter_map(|pod| model.shapes.of_pod[pod]).collect();
    shapes.into_iter().filter(|shape| placer.has_any_host(*shape)).collect()
}

/// Whether the first attempt leaves fewer pods of the highest priority of which they do not leave
/// the same number.
fn leaves_fewer(model: &Model, a: &Attempt, b: &Attempt) -> bool {
    compare_left(model, left(a), left(b)).is_lt()
}
