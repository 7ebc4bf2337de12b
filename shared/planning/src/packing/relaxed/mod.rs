//! The linear relaxation of packing: pods and offerings as the rows and offers of
//! [`crate::relaxation`], and its answers in terms of shapes and instance types.
//!
//! The relaxation keeps what a node must have for its pods: room beside the DaemonSets, labels,
//! taints, one pod per host where pods repel their like. It drops everything else: limits, spreads,
//! affinity, soft constraints, `minValues`, whole numbers of nodes. Fewer constraints never cost
//! more, so its bound holds for every plan.

mod offers;
mod rows;

use domain::money::UsdPerHour;
use rustc_hash::FxHashMap;

use crate::feasibility::scope::Scope;
use crate::ids::{IndexVec, ShapeIx};
use crate::model::Model;
use crate::packing::bin::NodeKind;
use crate::packing::relaxed::offers::{Sold, free_capacity, sold};
use crate::packing::relaxed::rows::{DemandRows, RowPods, demand_rows};
use crate::relaxation::{Budget, OfferIx, Relaxation, RowIx, Rows};

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
    row_of_shape: IndexVec<ShapeIx, Option<RowIx>>,
    /// Most used first.
    fractional: Vec<ColumnUse>,
    /// Types on which pods can be worth nearly the price, each with the most that they can be
    /// worth, in nano-USD per hour.
    well_used: FxHashMap<NodeKind, f64>,
}

impl PackingRelaxation {
    /// Solves the relaxation for pods, by shape, as far as the budget goes. `None` where no new
    /// node could host any of them.
    pub(crate) fn solve(scope: Scope, pods: &[(ShapeIx, u32)], budget: &Budget) -> Option<Self> {
        let DemandRows { rows, pods_of_row, row_of_shape, classes } = demand_rows(scope, pods);
        let Sold { nodes, offers, limited } = sold(scope.model, &rows, &pods_of_row, &classes);
        if rows.is_empty() || offers.is_empty() {
            return None;
        }
        let relaxation = Relaxation::solve(&rows, offers, limited, budget);
        let fractional = fractional_solution(&relaxation, &nodes);
        let mut well_used = FxHashMap::default();
        for (offer, bound) in relaxation.well_used() {
            let own = well_used.entry(nodes[*offer]).or_insert(*bound);
            *own = bound.max(*own);
        }
        Some(Self { relaxation, rows, pods_of_row, row_of_shape, fractional, well_used })
    }

    /// Whether dual prices come from the program; otherwise they are a guess.
    pub(crate) fn is_solved(&self) -> bool {
        self.relaxation.is_solved()
    }

    /// The row that pods of a shape are part of; `None` where no new node could host them.
    pub(crate) fn row(&self, shape: ShapeIx) -> Option<RowIx> {
        self.row_of_shape[shape]
    }

    /// What one more pod of the shape costs, in nano-USD per hour; `None` for shapes without a row.
    pub(crate) fn dual_price(&self, shape: ShapeIx) -> Option<f64> {
        self.row(shape).map(|row| self.relaxation.dual_price(row))
    }

    /// Nodes that would cost the least if fractions of nodes could be launched, most used first.
    pub(crate) fn fractional_solution(&self) -> &[ColumnUse] {
        &self.fractional
    }

    /// The most that pods on one node of a type can be worth at the dual prices, in nano-USD per
    /// hour. `None` where that is well below the price of every offering of the type.
    pub(crate) fn dual_value_bound(&self, node: NodeKind) -> Option<f64> {
        self.well_used.get(&node).copied()
    }

    /// A price that no new nodes for the pods can be below, proved by the dual prices.
    ///
    /// `pods` are those that the bound is for, by shape: no more of a shape than the relaxation was
    /// solved for.
    pub(crate) fn lower_bound(
        &mut self,
        model: &Model,
        pods: &[(ShapeIx, u32)],
        budget: &Budget,
    ) -> UsdPerHour {
        for row in self.rows.iter_mut() {
            row.count = 0;
        }
        for (shape, count) in pods {
            if let Some(row) = self.row(*shape) {
                self.rows[row].count += count;
            }
        }
        let mut free = free_capacity(model, &self.rows, &self.pods_of_row);
        let nanos = self.relaxation.lower_bound(&self.rows, &mut free, budget);
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
