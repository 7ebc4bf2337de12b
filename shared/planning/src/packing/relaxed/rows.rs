//! Pods as rows: those that request the same and may go to the same nodes.

use std::rc::Rc;

use domain::taint::first_untolerated;
use rustc_hash::FxHashMap;

use crate::feasibility::scope::Scope;
use crate::feasibility::topology::{Rule, Topology};
use crate::ids::{IndexVec, PoolIx, ShapeIx};
use crate::model::Model;
use crate::model::memo::Memo;
use crate::model::pool::Compatible;
use crate::model::shape::Shape;
use crate::relaxation::{Row, RowIx, Rows};

/// What the pods of one row have in common.
pub(super) struct RowPods {
    /// One of their shapes.
    pub(super) shape: ShapeIx,
    /// By pool, the classes in which nodes may be launched for them.
    pub(super) classes: RowClasses,
}

/// By pool, positions among its [`Classes`].
type RowClasses = IndexVec<PoolIx, Vec<usize>>;

/// By pool, each distinct set of nodes that may be launched for some pods.
pub(super) type Classes = IndexVec<PoolIx, Vec<Rc<Compatible>>>;

/// Pods grouped into rows.
pub(super) struct DemandRows {
    pub(super) rows: Rows,
    pub(super) pods_of_row: IndexVec<RowIx, RowPods>,
    /// `None` for shapes that no new node could host.
    pub(super) row_of_shape: IndexVec<ShapeIx, Option<RowIx>>,
    pub(super) classes: Classes,
}

/// Groups pods, counted by shape, into rows.
pub(super) fn demand_rows(scope: Scope, pods: &[(ShapeIx, u32)]) -> DemandRows {
    let Scope { model, topology, memo } = scope;
    let mut classes: Classes = IndexVec::filled(Vec::new(), model.pools.len());
    let mut known_classes: FxHashMap<(PoolIx, *const Compatible), usize> = FxHashMap::default();
    let mut known: FxHashMap<(&[i64], RowClasses), RowIx> = FxHashMap::default();
    let mut rows = Rows::new();
    let mut pods_of_row = IndexVec::new();
    let mut row_of_shape = IndexVec::filled(None, model.shapes.list.len());
    for (index, count) in pods.iter().copied() {
        let shape = model.shape(index);
        let mut own = IndexVec::filled(Vec::new(), model.pools.len());
        for (pool, compatible) in launchable(model, memo, shape) {
            let address = (pool, Rc::as_ptr(&compatible));
            let class = *known_classes.entry(address).or_insert_with(|| {
                classes[pool].push(compatible);
                classes[pool].len() - 1
            });
            if !own[pool].contains(&class) {
                own[pool].push(class);
            }
        }
        if own.iter().all(Vec::is_empty) {
            continue;
        }
        let per_node = per_node(topology, index, shape).min(count);
        let row = *known.entry((&shape.requests, own)).or_insert_with_key(|(_, own)| {
            pods_of_row.push(RowPods { shape: index, classes: own.clone() });
            rows.push(Row { count: 0, per_node: 0, requests: shape.requests.clone() })
        });
        rows[row].count += count;
        rows[row].per_node = rows[row].per_node.saturating_add(per_node);
        row_of_shape[index] = Some(row);
    }
    DemandRows { rows, pods_of_row, row_of_shape, classes }
}

/// What each pool might launch for pods of the shape, by any of their node affinity terms.
fn launchable(model: &Model, memo: &Memo, shape: &Shape) -> Vec<(PoolIx, Rc<Compatible>)> {
    let mut found = Vec::new();
    for (index, pool) in model.pools.iter_enumerated() {
        let taints = &pool.node_pool.template.taints;
        if first_untolerated(&shape.spec.tolerations, taints).is_some() {
            continue;
        }
        for way in &shape.alternatives {
            if let Ok(compatible) = memo.compatible(model, pool, *way) {
                found.push((index, compatible));
            }
        }
    }
    found
}

/// How many pods of one shape a node may hold: one, where each keeps the others off. A spread over
/// hosts does not count: it allows more once every host has some.
fn per_node(topology: &Topology, index: ShapeIx, shape: &Shape) -> u32 {
    let repels_itself = topology.constraints[index].owned.iter().any(|owned| {
        let group = &topology.groups[owned.group];
        owned.weight == 0
            && owned.selects_itself
            && group.rule == Rule::AntiAffinity
            && group.is_by_host()
    });
    if repels_itself || !shape.shares_hosts_freely() { 1 } else { u32::MAX }
}
