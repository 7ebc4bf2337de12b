//! Pods as rows: those that request the same and may go to the same nodes.

use std::borrow::Cow;
use std::sync::Arc;

use domain::Text;
use domain::label::ZONE;
use domain::settings::SearchEffort;
use domain::taint::first_untolerated;
use rustc_hash::FxHashMap;

use super::host_groups::{HostGroups, per_node};
use crate::feasibility::scope::Scope;
use crate::ids::{IndexVec, PoolIx, ShapeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::memo::Memo;
use crate::model::pool::Compatible;
use crate::model::shape::Shape;
use crate::relaxation::{Row, RowIx, Rows};
use crate::work::{Item, LeastByZone};

/// What the pods of one row have in common.
pub(super) struct RowPods {
    /// Shapes that differ in which nodes of the cluster admit them; nodes admit all others as one
    /// of these.
    pub(super) shapes: Vec<ShapeIx>,
    /// The zone that they must be in.
    pub(super) zone: Option<Text>,
    /// By pool, the classes in which nodes may be launched for them.
    pub(super) classes: RowClasses,
}

/// Pods of one shape, by row.
#[derive(Clone, Default)]
pub(super) struct ShapeRows {
    /// How many there are; those that no new node could host are in no part.
    pub(super) count: u32,
    /// Those that must be in a certain zone first.
    pub(super) parts: Vec<Part>,
}

/// Pods of a shape that are in one row.
#[derive(Clone)]
pub(super) struct Part {
    /// The row.
    pub(super) row: RowIx,
    /// How many.
    pub(super) count: u32,
    /// Where they must be in a certain zone: what their nodes must meet, one of these.
    pub(super) pinned: Vec<ConjunctionId>,
}

/// By pool, positions among its [`Classes`].
type RowClasses = IndexVec<PoolIx, Vec<usize>>;

/// By pool, each distinct set of nodes that may be launched for some pods.
pub(super) type Classes = IndexVec<PoolIx, Vec<Arc<Compatible>>>;

/// Pods grouped into rows.
pub(super) struct DemandRows {
    pub(super) rows: Rows,
    pub(super) pods_of_row: IndexVec<RowIx, RowPods>,
    pub(super) rows_of_shape: IndexVec<ShapeIx, ShapeRows>,
    pub(super) classes: Classes,
    pub(super) host_groups: HostGroups,
}

/// Pods of one shape that need the same kind of node.
pub(super) struct Demand<'d> {
    shape: ShapeIx,
    count: u32,
    /// What their nodes must meet, one of these.
    ways: Cow<'d, [ConjunctionId]>,
    /// The zone, where that is settled.
    zone: Option<&'d Text>,
    /// Whether more is settled than what the pods themselves require.
    is_pinned: bool,
}

/// Demands of pods, counted by shape, of some of which a number is known to be in each of certain
/// zones.
pub(super) fn demands_of_pods<'d>(
    Scope { model, memo, .. }: Scope<'d, '_>,
    pods: &[(ShapeIx, u32)],
    least_by_zone: &'d [LeastByZone],
) -> Vec<Demand<'d>> {
    let zones_of: FxHashMap<ShapeIx, &LeastByZone> =
        least_by_zone.iter().map(|own| (own.shape, own)).collect();
    let mut demands = Vec::with_capacity(pods.len());
    for (shape, count) in pods.iter().copied() {
        let alternatives = &model.shape(shape).alternatives;
        let mut rest = count;
        if let Some(own) = zones_of.get(&shape) {
            for zone in &own.zones {
                let pinned = |way: &ConjunctionId| memo.sets_mut().pinned(*way, &ZONE.into(), zone);
                rest = rest.saturating_sub(own.least);
                demands.push(Demand {
                    shape,
                    count: own.least,
                    ways: alternatives.iter().filter_map(pinned).collect(),
                    zone: Some(zone),
                    is_pinned: true,
                });
            }
        }
        if rest > 0 {
            let ways = Cow::from(alternatives);
            demands.push(Demand { shape, count: rest, ways, zone: None, is_pinned: false });
        }
    }
    demands
}

/// Demands of items.
pub(super) fn demands_of_items(items: &[Item]) -> Vec<Demand<'_>> {
    let demand = |item: &'_ Item| Demand {
        shape: item.shape,
        count: u32::try_from(item.pods.len()).unwrap_or(u32::MAX),
        ways: Cow::from(vec![item.conjunction]),
        zone: None,
        is_pinned: true,
    };
    items.iter().map(demand).collect()
}

/// Groups pods into rows. Where it proves nothing, it may keep apart pods that hardly go together.
pub(super) fn demand_rows(scope: Scope, demands: &[Demand], proves: bool) -> DemandRows {
    let Scope { model, topology, .. } = scope;
    let count = demands.iter().fold(0_u32, |sum, demand| sum.saturating_add(demand.count));
    let mut grouping = Grouping {
        nodes_min: nodes_min(model.snapshot.settings.search_effort, count),
        classes: IndexVec::filled(Vec::new(), model.pools.len()),
        class_numbers: FxHashMap::default(),
        row_numbers: FxHashMap::default(),
        rows: Rows::new(),
        pods_of_row: IndexVec::new(),
    };
    let mut rows_of_shape = IndexVec::filled(ShapeRows::default(), model.shapes.list.len());
    let mut shapes: Vec<ShapeIx> = Vec::new();
    for demand in demands {
        let known = &mut rows_of_shape[demand.shape].count;
        if *known == 0 {
            shapes.push(demand.shape);
        }
        *known += demand.count;
    }
    let pods: Vec<(ShapeIx, u32)> =
        shapes.into_iter().map(|shape| (shape, rows_of_shape[shape].count)).collect();
    let mut host_groups = HostGroups::of(model, topology, &pods);
    if !proves {
        host_groups = host_groups.with_mixed(topology, &pods);
    }
    for demand in demands {
        let shape = model.shape(demand.shape);
        let pods = PodsOfShape {
            shape: demand.shape,
            requests: host_groups.requests(demand.shape, shape),
            per_node: per_node(topology, demand.shape, shape).min(demand.count),
            count: demand.count,
        };
        let Some(row) = grouping.row(scope, &pods, &demand.ways, demand.zone) else { continue };
        grouping.rows[row].count += demand.count;
        let pinned = if demand.is_pinned { demand.ways.to_vec() } else { Vec::new() };
        rows_of_shape[demand.shape].parts.push(Part { row, count: demand.count, pinned });
    }
    let Grouping { rows, pods_of_row, classes, .. } = grouping;
    DemandRows { rows, pods_of_row, rows_of_shape, classes, host_groups }
}

/// Pods of one shape, about to be put into rows.
struct PodsOfShape {
    shape: ShapeIx,
    /// Resources, then groups by host.
    requests: Vec<i64>,
    per_node: u32,
    count: u32,
}

impl PodsOfShape {
    /// Pods of which a node holds few need many nodes. Side by side with pods that need few, a cap
    /// on the sum of both would say little: so they are kept apart by order of magnitude.
    fn magnitude(&self, nodes_min: u32) -> u32 {
        let nodes = self.count.checked_div(self.per_node).unwrap_or(0);
        if nodes < nodes_min { 0 } else { nodes.ilog2() }
    }
}

/// Pods that need fewer nodes than this share rows with pods that may go to one node. Fewer rows
/// take less time; and of many pods there are too many rows to look for patterns otherwise.
const fn nodes_min(effort: SearchEffort, count: u32) -> u32 {
    match effort {
        SearchEffort::Full if count <= FEW_PODS => 2,
        SearchEffort::Full | SearchEffort::Quick => 8,
    }
}

/// Of so many pods, nodes are few enough for each to make a difference.
const FEW_PODS: u32 = 1000;

/// What tells rows apart.
#[derive(PartialEq, Eq, Hash)]
struct RowKey {
    requests: Vec<i64>,
    classes: RowClasses,
    magnitude: u32,
}

/// Rows while they are found.
struct Grouping {
    nodes_min: u32,
    classes: Classes,
    class_numbers: FxHashMap<(PoolIx, *const Compatible), usize>,
    row_numbers: FxHashMap<RowKey, RowIx>,
    rows: Rows,
    pods_of_row: IndexVec<RowIx, RowPods>,
}

impl Grouping {
    /// The row of pods whose nodes must meet one of the conjunctions; `None` where no new node
    /// could. Adds their cap to that of the row, and leaves counting them to the caller.
    fn row(
        &mut self,
        Scope { model, memo, .. }: Scope,
        pods: &PodsOfShape,
        ways: &[ConjunctionId],
        zone: Option<&Text>,
    ) -> Option<RowIx> {
        let shape = model.shape(pods.shape);
        let mut classes = IndexVec::filled(Vec::new(), model.pools.len());
        for (pool, compatible) in launchable(model, memo, shape, ways) {
            let known = &mut self.classes[pool];
            let address = (pool, Arc::as_ptr(&compatible));
            let class = *self.class_numbers.entry(address).or_insert_with(|| {
                known.push(compatible);
                known.len() - 1
            });
            if !classes[pool].contains(&class) {
                classes[pool].push(class);
            }
        }
        if classes.iter().all(Vec::is_empty) {
            return None;
        }
        let magnitude = pods.magnitude(self.nodes_min);
        let key = RowKey { requests: pods.requests.clone(), classes, magnitude };
        let row = *self.row_numbers.entry(key).or_insert_with_key(|key| {
            let classes = key.classes.clone();
            self.pods_of_row.push(RowPods { shapes: Vec::new(), zone: zone.cloned(), classes });
            self.rows.push(Row { count: 0, per_node: 0, requests: key.requests.clone() })
        });
        let per_node = &mut self.rows[row].per_node;
        *per_node = per_node.saturating_add(pods.per_node);
        let known = &mut self.pods_of_row[row];
        let is_alike = |other: &ShapeIx| {
            let other = model.shape(*other);
            other.spec.tolerations == shape.spec.tolerations
                && other.alternatives == shape.alternatives
        };
        if !known.shapes.iter().any(is_alike) {
            known.shapes.push(pods.shape);
        }
        Some(row)
    }
}

/// What each pool might launch for pods of the shape, by any of the conjunctions.
fn launchable(
    model: &Model,
    memo: &Memo,
    shape: &Shape,
    ways: &[ConjunctionId],
) -> Vec<(PoolIx, Arc<Compatible>)> {
    let mut found = Vec::new();
    for (index, pool) in model.pools.iter_enumerated() {
        let taints = &pool.node_pool.template.taints;
        if first_untolerated(&shape.spec.tolerations, taints).is_some() {
            continue;
        }
        for way in ways {
            if let Ok(compatible) = memo.compatible(model, pool, *way) {
                found.push((index, compatible));
            }
        }
    }
    found
}
