//! The linear relaxation of packing: pods and offerings as the rows and offers of
//! [`crate::relaxation`], and its answers in terms of shapes and instance types.
//!
//! The relaxation keeps what a node must have for its pods: room beside the DaemonSets, labels,
//! taints, and no more pods than may share a host ([`host_groups`]). Of a shape that must be spread
//! over zones, it keeps how many pods each zone has at the least, and of limits of NodePools what
//! all nodes of a pool take together. It drops everything else: affinity, soft constraints,
//! `minValues`, whole numbers of nodes. Fewer constraints never cost more, so its bound holds for
//! every plan.

mod host_groups;
mod offers;
mod rows;
mod zone_prices;

use std::sync::OnceLock;

use domain::money::UsdPerHour;
use rustc_hash::FxHashMap;

use crate::feasibility::scope::Scope;
use crate::ids::{IndexVec, ShapeIx};
use crate::model::Model;
use crate::model::pool::NodeKind;
use crate::packing::relaxed::host_groups::{HostGroups, is_mixed};
use crate::packing::relaxed::offers::{Sold, free_capacity, sold};
use crate::packing::relaxed::rows::{
    Classes, DemandRows, RowPods, ShapeRows, demand_rows, demands_of_items, demands_of_pods,
};
use crate::relaxation::{Budget, OfferIx, Relaxation, RowIx, Rows};
use crate::work::{Item, LeastByZone};

/// A pattern of the fractional solution.
pub(crate) struct ColumnUse {
    /// The type that the pods fit on.
    pub(crate) node: NodeKind,
    /// Rows, with how many pods of each one node holds.
    pub(crate) pods: Vec<(RowIx, u32)>,
    /// How many such nodes are launched; not a whole number.
    pub(crate) level: f64,
}

/// The linear relaxation of launching nodes for some pods.
pub(crate) struct PackingRelaxation {
    relaxation: Relaxation,
    rows: Rows,
    pods_of_row: IndexVec<RowIx, RowPods>,
    rows_of_shape: IndexVec<ShapeIx, ShapeRows>,
    classes: Classes,
    host_groups: HostGroups,
    /// Most used first.
    fractional: Vec<ColumnUse>,
    /// By offer, what it is a node of.
    nodes: IndexVec<OfferIx, NodeKind>,
    /// Types on which pods can be worth nearly the price, each with the most that they can be
    /// worth, in nano-USD per hour.
    well_used: FxHashMap<NodeKind, f64>,
    /// A bound that was proved ahead of being asked for.
    proved: OnceLock<Proved>,
}

/// What a bound is for, and the bound.
struct Proved {
    /// By shape.
    pods: Vec<(ShapeIx, u32)>,
    bound: UsdPerHour,
}

impl PackingRelaxation {
    /// Solves the relaxation for pods, by shape, as far as the budget goes: what it says holds for
    /// any plan. `None` where no new node could host any of them.
    ///
    /// Of the shapes in `least_by_zone`, so many pods will be in each of these zones, whatever the
    /// plan.
    pub(crate) fn solve(
        scope: Scope,
        pods: &[(ShapeIx, u32)],
        least_by_zone: &[LeastByZone],
        budget: &Budget,
    ) -> Option<Self> {
        let demands = demands_of_pods(scope, pods, least_by_zone);
        Self::of(scope, demand_rows(scope, &demands, true), budget)
    }

    /// Solves the relaxation for items, as far as the budget goes: what it says holds for nodes in
    /// the domains that placement has chosen. `None` where no new node could host any of them.
    pub(crate) fn solve_items(scope: Scope, items: &[Item], budget: &Budget) -> Option<Self> {
        let demands = demand_rows(scope, &demands_of_items(items), false);
        Self::of(scope, demands, &budget.without_proof())
    }

    fn of(scope: Scope, demands: DemandRows, budget: &Budget) -> Option<Self> {
        let DemandRows { rows, pods_of_row, rows_of_shape, classes, host_groups } = demands;
        let Sold { nodes, offers, limited, covered, limits } =
            sold(scope, &rows, &pods_of_row, &classes, &host_groups);
        if rows.is_empty() || offers.is_empty() {
            return None;
        }
        let relaxation = Relaxation::solve(&rows, offers, limited, limits, budget);
        let relaxation = relaxation.beside_covered(covered);
        let fractional = fractional_solution(&relaxation, &nodes);
        let mut well_used = FxHashMap::default();
        for (offer, bound) in relaxation.well_used() {
            let own = well_used.entry(nodes[*offer]).or_insert(*bound);
            *own = bound.max(*own);
        }
        Some(Self {
            relaxation,
            rows,
            pods_of_row,
            rows_of_shape,
            classes,
            host_groups,
            fractional,
            nodes,
            well_used,
            proved: OnceLock::new(),
        })
    }

    /// How many rows there are.
    pub(crate) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Whether every item has a row of its own kind of node; otherwise the rows leave open what
    /// placement has settled, or which pods may share a host.
    pub(crate) fn tells_apart(&self, scope: Scope, items: &[Item]) -> bool {
        let Scope { model, topology, .. } = scope;
        items.iter().all(|item| {
            if is_mixed(topology, item.shape) {
                return false;
            }
            let mut parts = self.rows_of_shape[item.shape].parts.iter();
            parts.any(|part| part.pinned.contains(&item.conjunction))
                || model.shape(item.shape).alternatives.contains(&item.conjunction)
        })
    }

    /// Whether dual prices come from the program; otherwise they are a guess.
    pub(crate) fn is_solved(&self) -> bool {
        self.relaxation.is_solved()
    }

    /// No new nodes for any pods cost less than this share, from 0 to 1, of the sum of their dual
    /// prices; zero where nothing is proven.
    pub(crate) fn proven_share(&self) -> f64 {
        self.relaxation.proven_share()
    }

    /// The row that pods of an item are part of; `None` where no new node could host them.
    pub(crate) fn row(&self, item: &Item) -> Option<RowIx> {
        let parts = &self.rows_of_shape[item.shape].parts;
        let own = parts.iter().find(|part| part.pinned.contains(&item.conjunction));
        own.or(parts.last()).map(|part| part.row)
    }

    /// What a pod of a row requests: resources, then one of each group by host that it is in.
    pub(crate) fn requests(&self, row: RowIx) -> &[i64] {
        &self.rows[row].requests
    }

    /// How many pods of a row a node holds at most, whatever room it has.
    pub(crate) fn per_node(&self, row: RowIx) -> u32 {
        self.rows[row].per_node.max(1)
    }

    /// What a node with so much room has for pods of rows: resources, then groups by host.
    pub(crate) fn amounts(&self, room: &[i64]) -> Vec<i64> {
        self.host_groups.amounts(room)
    }

    /// What one more pod of an item costs, in nano-USD per hour; `None` for items without a row.
    pub(crate) fn dual_price(&self, item: &Item) -> Option<f64> {
        self.row(item).map(|row| self.relaxation.dual_price(row))
    }

    /// What one more pod of the shape costs where that is the cheapest, in nano-USD per hour;
    /// `None` for shapes without a row.
    pub(crate) fn least_dual_price(&self, shape: ShapeIx) -> Option<f64> {
        let duals =
            self.rows_of_shape[shape].parts.iter().map(|part| self.relaxation.dual_price(part.row));
        duals.reduce(f64::min)
    }

    /// Nodes that would cost the least if fractions of nodes could be launched, most used first.
    pub(crate) fn fractional_solution(&self) -> &[ColumnUse] {
        &self.fractional
    }

    /// Nodes in whole numbers, found from the fractional solution. None where that has none; a few
    /// pods may be missing.
    pub(crate) fn dive(&self, budget: &Budget) -> Vec<ColumnUse> {
        let found = self.relaxation.dive(&self.rows, budget).into_iter();
        let node = |own: crate::relaxation::ColumnUse| ColumnUse {
            node: self.nodes[own.offer],
            pods: own.pattern,
            level: own.level,
        };
        found.map(node).collect()
    }

    /// The most that pods on one node of a type can be worth at the dual prices, in nano-USD per
    /// hour. `None` where that is well below the price of every offering of the type.
    pub(crate) fn dual_value_bound(&self, node: NodeKind) -> Option<f64> {
        self.well_used.get(&node).copied()
    }

    /// Proves the [lower bound](Self::lower_bound) for pods ahead of somebody asking for it.
    pub(crate) fn prove(&self, model: &Model, pods: Vec<(ShapeIx, u32)>, budget: &Budget) {
        self.proved.get_or_init(|| {
            let bound = self.bound_for(model, &pods, budget);
            Proved { pods, bound }
        });
    }

    /// A price that no new nodes for the pods can be below, proved by the dual prices.
    ///
    /// `pods` are those that the bound is for, by shape: no more of a shape than the relaxation was
    /// solved for.
    pub(crate) fn lower_bound(
        &self,
        model: &Model,
        pods: &[(ShapeIx, u32)],
        budget: &Budget,
    ) -> UsdPerHour {
        match self.proved.get() {
            Some(proved) if proved.pods == pods => proved.bound,
            _ => self.bound_for(model, pods, budget),
        }
    }

    fn bound_for(&self, model: &Model, pods: &[(ShapeIx, u32)], budget: &Budget) -> UsdPerHour {
        let (mut rows, mut relaxation) = (self.rows.clone(), self.relaxation.clone());
        for row in rows.iter_mut() {
            row.count = 0;
        }
        for (shape, count) in pods {
            // Of fewer pods, fewer are known to be in each zone: those that are missing are taken
            // off each.
            let ShapeRows { count: solved, parts } = &self.rows_of_shape[*shape];
            let missing = solved.saturating_sub(*count);
            for part in parts {
                rows[part.row].count += part.count.saturating_sub(missing);
            }
        }
        let mut free = free_capacity(model, &rows, &self.pods_of_row, &self.host_groups);
        let nanos = relaxation.lower_bound(&rows, &mut free, budget);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounds down; prices are far below 2^63"
        )]
        UsdPerHour::from_nanos(nanos as i64)
    }
}

fn fractional_solution(
    relaxation: &Relaxation,
    nodes: &IndexVec<OfferIx, NodeKind>,
) -> Vec<ColumnUse> {
    let column = |own: &crate::relaxation::ColumnUse| ColumnUse {
        node: nodes[own.offer],
        pods: own.pattern.clone(),
        level: own.level,
    };
    let mut columns: Vec<ColumnUse> = relaxation.fractional_solution().iter().map(column).collect();
    columns.sort_by(|a, b| {
        b.level.total_cmp(&a.level).then_with(|| (a.node, &a.pods).cmp(&(b.node, &b.pods)))
    });
    columns
}
