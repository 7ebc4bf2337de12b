//! Pods that look the same to the relaxation: they ask for the same and may go to the same nodes.

use std::rc::Rc;

use domain::taint::first_untolerated;
use rustc_hash::FxHashMap;

use crate::ids::{IndexVec, PoolIx, ShapeIx};
use crate::model::Model;
use crate::model::pool::Compatible;
use crate::model::shape::Shape;
use crate::scheduling::topology::{Rule, Topology};

/// Pods that ask for the same and may go to the same nodes.
pub(super) struct Demand {
    /// A shape of theirs.
    pub(super) shape: ShapeIx,
    /// How many there are.
    pub(super) count: u32,
    /// How many of them one node may hold at most, as far as they repel each other.
    pub(super) per_node: u32,
    /// By pool, the classes that they may be launched in.
    pub(super) classes: OwnClasses,
}

/// By pool, the classes that pods of one demand may be launched in.
type OwnClasses = IndexVec<PoolIx, Vec<usize>>;

/// By pool, what may be launched for pods: each distinct one is a class.
pub(super) type Classes = IndexVec<PoolIx, Vec<Rc<Compatible>>>;

/// Groups pods by what the relaxation sees of them. Also returns, by shape, its demand.
pub(super) fn demands(
    model: &Model,
    topology: &Topology,
    pods: &[(ShapeIx, u32)],
) -> (Vec<Demand>, IndexVec<ShapeIx, Option<usize>>, Classes) {
    let mut classes: Classes = IndexVec::filled(Vec::new(), model.pools.len());
    let mut known_classes: FxHashMap<(PoolIx, *const Compatible), usize> = FxHashMap::default();
    let mut known: FxHashMap<(&[i64], OwnClasses), usize> = FxHashMap::default();
    let mut demands: Vec<Demand> = Vec::new();
    let mut demand_of = IndexVec::filled(None, model.shapes.list.len());
    for (index, count) in pods.iter().copied() {
        let shape = model.shape(index);
        let mut own = IndexVec::filled(Vec::new(), model.pools.len());
        for (pool_index, compatible) in launchable(model, shape) {
            let address = (pool_index, Rc::as_ptr(&compatible));
            let class = *known_classes.entry(address).or_insert_with(|| {
                classes[pool_index].push(compatible);
                classes[pool_index].len() - 1
            });
            if !own[pool_index].contains(&class) {
                own[pool_index].push(class);
            }
        }
        if own.iter().all(Vec::is_empty) {
            continue;
        }
        let per_node = per_node(topology, index, shape).min(count);
        let demand = *known.entry((&shape.requests, own)).or_insert_with_key(|(_, own)| {
            let classes = own.clone();
            demands.push(Demand { shape: index, count: 0, per_node: 0, classes });
            demands.len() - 1
        });
        demands[demand].count += count;
        demands[demand].per_node = demands[demand].per_node.saturating_add(per_node);
        demand_of[index] = Some(demand);
    }
    (demands, demand_of, classes)
}

/// What each pool might launch for pods of the shape, by any of the ways to meet what they require.
fn launchable(model: &Model, shape: &Shape) -> Vec<(PoolIx, Rc<Compatible>)> {
    let mut found = Vec::new();
    for (index, pool) in model.pools.iter_enumerated() {
        let taints = &pool.node_pool.template.taints;
        if first_untolerated(&shape.spec.tolerations, taints).is_some() {
            continue;
        }
        for way in &shape.alternatives {
            let mut sets = model.sets.borrow_mut();
            if let Ok(compatible) = pool.compatible(*way, &model.key_kinds, &mut sets) {
                found.push((index, compatible));
            }
        }
    }
    found
}

/// How many pods of one shape one node may hold: one, where each keeps the others off. A spread by host
/// does not count: it allows more once every host has some.
fn per_node(topology: &Topology, index: ShapeIx, shape: &Shape) -> u32 {
    let repels_itself = topology.ties[index].owned.iter().any(|owned| {
        let group = &topology.groups[owned.group];
        owned.weight == 0
            && owned.selects_itself
            && group.rule == Rule::AntiAffinity
            && group.is_by_host()
    });
    if repels_itself || !shape.shares_hosts_freely() { 1 } else { u32::MAX }
}
