//! Merging nodes still to be launched: two whose pods fit on one that costs no more become one, and
//! one whose pods fit on the others is not launched at all.
//!
//! Packing fills one node after the other, so a pod that is cheap on a node of its own gets one
//! although a node chosen later has room for it. Left alone, the next plan would consolidate what
//! this one launched.

use std::collections::BTreeMap;

use domain::money::UsdPerHour;

use crate::feasibility::fit::fit;
use crate::feasibility::host::{HostCounts, host_affinity};
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::topology::Topology;
use crate::ids::{PodIx, PoolIx, TypeIx};
use crate::model::Model;
use crate::model::pool::{Compatible, Pool};
use crate::work::{Member, NewNode};

/// Among more nodes than this none is merged: work grows with pairs, and a large packing gains
/// little.
const NODES_MAX: usize = 48;

/// Merges pairs as long as one costs no more than both, the largest saving first.
pub(crate) fn merge(scope: Scope, nodes: Vec<NewNode>) -> Vec<NewNode> {
    if nodes.len() < 2 || nodes.len() > NODES_MAX {
        return nodes;
    }
    let mut slots: Vec<Option<NewNode>> = nodes.into_iter().map(Some).collect();
    let mut savings: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for second in 1..slots.len() {
        for first in 0..second {
            weigh(scope, &slots, (first, second), &mut savings);
        }
    }
    loop {
        // Of equal savings the first pair counts.
        let best = savings.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
        let Some((&(first, second), _)) = best else { break };
        savings.retain(|pair, _| {
            [first, second].iter().all(|gone| pair.0 != *gone && pair.1 != *gone)
        });
        let (Some(a), Some(b)) = (slots[first].take(), slots[second].take()) else { break };
        slots[first] = merged(scope, &a, &b).map(|(merged, _)| merged);
        for other in 0..slots.len() {
            if other != first {
                let pair = (other.min(first), other.max(first));
                weigh(scope, &slots, pair, &mut savings);
            }
        }
    }
    slots.into_iter().flatten().collect()
}

/// Launches nodes from another pool of the same weight where that is cheaper and its limits allow:
/// merging looks at the pools of the two nodes only.
pub(crate) fn move_to_cheaper_pools(scope: Scope, limits: &mut Limits, nodes: &mut [NewNode]) {
    let Scope { model, memo, .. } = scope;
    if nodes.len() > NODES_MAX || model.pools.len() < 2 {
        return;
    }
    for node in nodes {
        let Some(mut least) = node.price(model, memo) else { continue };
        let mut best: Option<NewNode> = None;
        for pool in model.pools.indices() {
            if let Some((moved, price)) = in_pool(scope, limits, pool, node)
                && price < least
            {
                (best, least) = (Some(moved), price);
            }
        }
        let Some(moved) = best else { continue };
        let capacity = |node: &NewNode| &model.pools[node.pool].types[node.type_index].capacity;
        limits.give_back(node.pool, capacity(node));
        limits.take(moved.pool, capacity(&moved));
        *node = moved;
    }
}

/// The node launched from a pool of the same weight instead, and what it costs there.
fn in_pool(
    scope: Scope,
    limits: &Limits,
    index: PoolIx,
    node: &NewNode,
) -> Option<(NewNode, UsdPerHour)> {
    let Scope { model, memo, .. } = scope;
    let pool = &model.pools[index];
    let weight = |pool: PoolIx| model.pools[pool].node_pool.weight;
    if index == node.pool || weight(index) != weight(node.pool) || is_reserved(model, node) {
        return None;
    }
    let mut compatible = compatible_in(scope, index, node)?;
    compatible.types = pool.with_room(&compatible.types, &node.requests);
    limits.keep_allowed(index, pool, &mut compatible.types);
    let types = &compatible.types;
    let is_met = pool.min_values_unmet(types, compatible.zones, compatible.purchases).is_none();
    let priced = *memo
        .cheapest(pool, compatible.zones, compatible.purchases)
        .iter()
        .find(|priced| types.contains(priced.index) && is_met)?;
    let policy = model.snapshot.settings.min_values_policy;
    let type_index = pool.counted_type(policy, &compatible, priced.index);
    let moved = NewNode { pool: index, compatible, type_index, ..node.clone() };
    (!is_reserved(model, &moved)).then_some((moved, priced.offering.price))
}

/// A node with more pods than this is not taken apart.
const PODS_MAX: usize = 8;

/// Takes nodes apart whose pods all fit on the others at no higher price, the cheapest first.
pub(crate) fn dissolve(scope: Scope, mut nodes: Vec<NewNode>) -> Vec<NewNode> {
    let Scope { model, memo, .. } = scope;
    if nodes.len() > NODES_MAX {
        return nodes;
    }
    nodes.sort_by_cached_key(|node| node.price(model, memo));
    let mut index = 0;
    while index < nodes.len() && nodes.len() > 1 {
        match without(scope, &nodes, index) {
            Some(fewer) => nodes = fewer,
            None => index += 1,
        }
    }
    nodes
}

/// The nodes without one of them, its pods on the others; `None` where some pod fits on none, or
/// must share its host with others of the node.
fn without(scope: Scope, nodes: &[NewNode], index: usize) -> Option<Vec<NewNode>> {
    let Scope { model, memo, .. } = scope;
    let going = &nodes[index];
    let pods: usize = going.members.iter().map(|member| member.pods.len()).sum();
    if pods > PODS_MAX || is_reserved(model, going) || shares_by_affinity(scope, going) {
        return None;
    }
    let mut rest: Vec<NewNode> = nodes.to_vec();
    rest.remove(index);
    for member in &going.members {
        for pod in &member.pods {
            let alone = alone(scope, going, member, *pod)?;
            let (host, joined) = rest.iter().enumerate().find_map(|(host, node)| {
                let (joined, price) = merged_into(scope, node, &alone)?;
                let is_same = joined.type_index == node.type_index;
                let has_limits = !model.pools[node.pool].limited.is_empty();
                (Some(price) <= node.price(model, memo) && (is_same || !has_limits))
                    .then_some((host, joined))
            })?;
            rest[host] = joined;
        }
    }
    Some(rest)
}

/// Whether a pod of the node requires another on its host.
fn shares_by_affinity(Scope { model, topology, .. }: Scope, node: &NewNode) -> bool {
    let shapes = node.members.iter().filter_map(|member| member.pods.first());
    let mut shapes = shapes.filter_map(|pod| model.shapes.of_pod[*pod]);
    shapes.any(|shape| host_affinity(topology, shape).next().is_some())
}

/// One pod of a node as a node of its own.
fn alone(scope: Scope, node: &NewNode, member: &Member, pod: PodIx) -> Option<NewNode> {
    let Scope { model, memo, .. } = scope;
    let shape = model.shape(model.shapes.of_pod[pod]?);
    let own = fit(model, memo, shape, member.conjunction);
    let own = own.pools.iter().find(|own| own.pool == node.pool)?;
    Some(NewNode {
        pool: node.pool,
        compatible: (*own.compatible).clone(),
        type_index: node.type_index,
        requests: shape.requests.clone(),
        members: vec![Member { conjunction: member.conjunction, pods: vec![pod] }],
        types_wanted: None,
    })
}

/// Notes what merging a pair saves, if it can be merged and costs no more.
fn weigh(
    scope: Scope,
    slots: &[Option<NewNode>],
    pair: (usize, usize),
    savings: &mut BTreeMap<(usize, usize), i64>,
) {
    let (Some(a), Some(b)) = (&slots[pair.0], &slots[pair.1]) else { return };
    let Scope { model, memo, .. } = scope;
    let Some((_, price)) = merged(scope, a, b) else { return };
    let both = a.price(model, memo).zip(b.price(model, memo)).map(|(a, b)| a + b);
    if let Some(both) = both.filter(|both| price <= *both) {
        savings.insert(pair, (both - price).nanos());
    }
}

/// One node for the pods of both, of the pool of one of them, on the cheapest type; and what it
/// costs.
fn merged(scope: Scope, a: &NewNode, b: &NewNode) -> Option<(NewNode, UsdPerHour)> {
    let model = scope.model;
    if is_reserved(model, a) || is_reserved(model, b) {
        return None;
    }
    let into_a = merged_into(scope, a, b);
    if a.pool == b.pool {
        return into_a;
    }
    let into_b = merged_into(scope, b, a);
    into_a.into_iter().chain(into_b).min_by_key(|(_, price)| *price)
}

/// What may be launched in a pool for the pods of a node; `None` where they may not go there: a
/// heavier pool never gives way to a lighter one.
fn compatible_in(scope: Scope, pool_index: PoolIx, packed: &NewNode) -> Option<Compatible> {
    let Scope { model, memo, .. } = scope;
    if packed.pool == pool_index {
        return Some(packed.compatible.clone());
    }
    let weight = |pool: PoolIx| model.pools[pool].node_pool.weight;
    if weight(pool_index) < weight(packed.pool) {
        return None;
    }
    let mut joint: Option<Compatible> = None;
    for member in &packed.members {
        let shape = member.pods.first().and_then(|pod| model.shapes.of_pod[*pod])?;
        let own = fit(model, memo, model.shape(shape), member.conjunction);
        let own = own.pools.iter().find(|own| own.pool == pool_index)?;
        joint = Some(match joint {
            None => (*own.compatible).clone(),
            Some(joint) => model.pools[pool_index].both(&joint, &own.compatible, memo)?,
        });
    }
    joint
}

fn merged_into(scope: Scope, a: &NewNode, b: &NewNode) -> Option<(NewNode, UsdPerHour)> {
    let Scope { model, topology, memo } = scope;
    let pool = &model.pools[a.pool];
    if is_reserved(model, a) {
        return None;
    }
    let other = compatible_in(scope, a.pool, b)?;
    let mut compatible = pool.both(&a.compatible, &other, memo)?;
    let requests: Vec<i64> = a.requests.iter().zip(&b.requests).map(|(a, b)| a + b).collect();
    compatible.types = pool.with_room(&compatible.types, &requests);
    let priced = *memo
        .cheapest(pool, compatible.zones, compatible.purchases)
        .iter()
        .filter(|priced| compatible.types.contains(priced.index))
        .find(|priced| is_within_both(pool, priced.index, a, b))?;
    let types = &compatible.types;
    let is_met = pool.min_values_unmet(types, compatible.zones, compatible.purchases).is_none();
    if !is_met || !shares_a_host(model, topology, a, b) {
        return None;
    }
    let policy = model.snapshot.settings.min_values_policy;
    let type_index = pool.counted_type(policy, &compatible, priced.index);
    if !is_within_both(pool, type_index, a, b) {
        return None;
    }
    let members = a.members.iter().chain(&b.members).cloned().collect();
    Some((
        NewNode { pool: a.pool, compatible, type_index, requests, members, types_wanted: None },
        priced.offering.price,
    ))
}

pub(super) fn is_reserved(model: &Model, packed: &NewNode) -> bool {
    model.pools[packed.pool].purchases.iter_enumerated().any(|(index, purchase)| {
        purchase.reservation.is_some() && packed.compatible.purchases.contains(index)
    })
}

/// Whether the type takes no more of the limits of the first node's pool than the nodes do.
fn is_within_both(pool: &Pool, index: TypeIx, a: &NewNode, b: &NewNode) -> bool {
    let capacity = |index: TypeIx| &pool.types[index].capacity;
    pool.limited.iter().all(|name| {
        let other = if a.pool == b.pool { capacity(b.type_index).get(name) } else { 0 };
        capacity(index).get(name) <= capacity(a.type_index).get(name) + other
    })
}

/// Whether all pods of both may be on one host.
fn shares_a_host(model: &Model, topology: &Topology, a: &NewNode, b: &NewNode) -> bool {
    let mut hosts = HostCounts::in_any_order();
    a.members.iter().chain(&b.members).all(|member| {
        let shape = member.pods.first().and_then(|pod| model.shapes.of_pod[*pod]);
        let count = u32::try_from(member.pods.len()).unwrap_or(u32::MAX);
        shape.is_none_or(|shape| {
            let room = hosts.room_for(model, topology, shape, &|_| true);
            hosts.add(model, topology, shape, count);
            room >= count
        })
    })
}
