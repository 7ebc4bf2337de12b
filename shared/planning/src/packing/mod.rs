//! Which new nodes to launch for the pods that need one.
//!
//! A bin is an offering of an instance type in a NodePool. Filling a bin with what is left to place
//! gives a pattern; its score is its price over the sum of what its pods cost at the very least
//! (see [`crate::feasibility::fit::PoolFit::value`]). The best pattern is launched, as often in a
//! row as there are pods for it, until nothing is left. A fill only gets worse as pods run out, so
//! scores are worked out again only when a bin comes to the front (lazy greedy, as for submodular
//! covering).
//!
//! Work is bounded by the number of bins and claims times that of items: pods of one shape are one
//! item however many they are. Ties go to the bin that comes first: heavier pool, then by name.

mod bundle;
mod cover;
mod effort;
mod fill;
mod first;
mod joined;
mod kinds;
mod merge;
mod outcome;
mod packer;
mod pattern;
mod queue;
pub(crate) mod relaxed;
mod runs;
mod setup;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::feasibility::fit::Fit;
use crate::feasibility::host::host_affinity;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::ids::{IndexVec, ItemIx, PodIx};
use crate::packing::effort::{
    first_moves_within_budget, is_priced, move_towards, rounds_within_budget,
};
use crate::packing::first::First;
pub(crate) use crate::packing::joined::joined;
use crate::packing::merge::{dissolve, merge, move_to_cheaper_pools};
use crate::packing::relaxed::PackingRelaxation;
use crate::packing::setup::Setup;
use crate::work::{Item, NewNode};
pub(crate) use outcome::Packing;

/// How a cheap packing is searched for.
#[derive(Clone, Copy)]
pub(crate) enum Search<'r> {
    /// Not at all: one packing, to know what it comes to.
    Quick,
    /// By what pods cost in the packing before.
    Alone,
    /// By what the relaxation says pods cost.
    With(&'r PackingRelaxation),
}

/// Packs items into new nodes within the pools' limits, as [`pack_for_less`] does without a
/// relaxation.
pub(crate) fn pack(scope: Scope, state: &State, limits: &mut Limits, items: &[Item]) -> Packing {
    pack_for_less(scope, state, limits, items, || Search::Alone)
}

/// Packs items into new nodes within the pools' limits, as cheaply as the search budget finds.
///
/// The first packing values each pod at its cheapest share, or as the relaxation does. In a
/// packing, pods that end on nodes that are used badly cost more than their share: the next round
/// values them at what they cost, so that bins that serve them well come to the front. The cheapest
/// packing of all rounds counts, so the answer is never dearer than the first. Rounds are bounded
/// by work, not by time: the same input, the same answer. How to search is asked last: another
/// thread may be solving the relaxation.
pub(crate) fn pack_for_less<'r>(
    scope: Scope,
    state: &State,
    limits: &mut Limits,
    items: &[Item],
    search: impl FnOnce() -> Search<'r>,
) -> Packing {
    let packing = pack_in_pools(scope, state, limits, items, search);
    let rest = for_avoided_pools(items_left(scope, items, &packing.left));
    pack_rest(scope, state, limits, packing, &rest)
}

/// Adds nodes for some of the pods that a packing leaves.
fn pack_rest(
    scope: Scope,
    state: &State,
    limits: &mut Limits,
    packing: Packing,
    rest: &[Item],
) -> Packing {
    if rest.is_empty() {
        return packing;
    }
    let Packing { mut nodes, left } = packing;
    let late = pack_in_pools(scope, state, limits, rest, || Search::Quick);
    nodes.extend(late.nodes);
    let is_tried: BTreeSet<PodIx> =
        rest.iter().flat_map(|item| item.pods.iter().copied()).collect();
    let left = left.into_iter().filter(|pod| !is_tried.contains(pod)).chain(late.left).collect();
    Packing { nodes, left }
}

/// Items of pods that are left. Pods that must share a node with others are left out: these have
/// their node.
fn items_left(scope: Scope, items: &[Item], left: &[PodIx]) -> Vec<Item> {
    if left.is_empty() {
        return Vec::new();
    }
    let left: BTreeSet<PodIx> = left.iter().copied().collect();
    items
        .iter()
        .filter(|item| host_affinity(scope.topology, item.shape).next().is_none())
        .map(|item| {
            let pods = item.pods.iter().copied().filter(|pod| left.contains(pod)).collect();
            Item { pods, ..item.clone() }
        })
        .filter(|item| !item.pods.is_empty())
        .collect()
}

/// The items for the pools whose `PreferNoSchedule` taint they would rather avoid.
fn for_avoided_pools(items: Vec<Item>) -> Vec<Item> {
    let has_avoided = items.into_iter().filter(|item| !item.fit.avoided.is_empty());
    has_avoided
        .map(|item| {
            let pools = item.fit.avoided.clone();
            let fit = Arc::new(Fit { pools, avoided: Vec::new(), is_avoided: true });
            Item { fit, ..item }
        })
        .collect()
}

/// Packs items into new nodes of the pools that they prefer.
fn pack_in_pools<'r>(
    scope: Scope,
    state: &State,
    limits: &mut Limits,
    items: &[Item],
    search: impl FnOnce() -> Search<'r>,
) -> Packing {
    if items.is_empty() {
        return Packing { nodes: Vec::new(), left: Vec::new() };
    }
    let setup = Setup::of(scope, state, items);
    let mut values = setup.values.clone();
    let search = search();
    let mut best = match search {
        Search::With(relaxation) => First::new(&setup, relaxation, limits, items).pack(),
        Search::Alone | Search::Quick => setup.pack(limits.clone(), items.to_vec(), &values),
    };
    let rounds = match search {
        Search::With(_) if is_priced(items.len(), &best) => 1,
        Search::Quick => 1,
        Search::With(_) | Search::Alone => {
            rounds_within_budget(items.len(), best.packing.nodes.len())
        }
    };
    let mut last_paid: Option<IndexVec<ItemIx, f64>> = None;
    for _ in 1..rounds {
        let paid = last_paid.take().unwrap_or_else(|| best.paid.clone());
        move_towards(&mut values, &paid, STEP);
        let next = setup.pack(limits.clone(), items.to_vec(), &values);
        last_paid = Some(next.paid.clone());
        if next.is_better_than(&best) {
            best = next;
        }
    }
    if !best.packing.left.is_empty() {
        for scarce in setup.under_scarcity(limits) {
            let next = scarce.pack(limits.clone(), items.to_vec(), &scarce.values);
            if next.is_better_than(&best) {
                best = next;
            }
            let next = scarce.pack_bundles_last(limits, items);
            if let Some(next) = next.filter(|next| next.is_better_than(&best)) {
                best = next;
            }
        }
    }
    if matches!(search, Search::Quick) {
        *limits = best.limits;
        return best.packing;
    }
    for bin in setup.first_moves(items, &values, first_moves_within_budget(items.len(), &best)) {
        if bin.price >= best.cost {
            continue;
        }
        let next = setup.pack_after(Some(&bin), limits.clone(), items.to_vec(), &setup.values);
        if next.is_better_than(&best) {
            best = next;
        }
    }
    *limits = best.limits;
    let Packing { nodes, left } = best.packing;
    let count = nodes.len();
    // Fewer nodes take less of the limits, which pods that are left can have.
    let capacity = |node: &NewNode| &scope.model.pools[node.pool].types[node.type_index].capacity;
    for node in &nodes {
        limits.give_back(node.pool, capacity(node));
    }
    let mut nodes = dissolve(scope, merge(scope, nodes));
    for node in &nodes {
        limits.take(node.pool, capacity(node));
    }
    move_to_cheaper_pools(scope, limits, &mut nodes);
    let rest = if nodes.len() < count { items_left(scope, items, &left) } else { Vec::new() };
    pack_rest(scope, state, limits, Packing { nodes, left }, &rest)
}

/// How far values move towards what pods cost, each round.
const STEP: f64 = 0.5;
