//! Rows of the linear program: demands that must be covered.

use crate::ids::{IndexVec, idx};

idx! {
    /// A row of the linear program.
    RowIx
}

/// Copies that take the same amounts and fit on the same offers.
#[derive(Clone)]
pub(crate) struct Row {
    /// How many copies must be covered.
    pub(crate) count: u32,
    /// The most copies that one node may hold, whatever room it has.
    pub(crate) per_node: u32,
    /// What one copy takes of each resource.
    pub(crate) requests: Vec<i64>,
}

/// All rows of a linear program.
pub(crate) type Rows = IndexVec<RowIx, Row>;

/// One dual price per row, in the unit of the offers' prices.
pub(super) type Duals = IndexVec<RowIx, f64>;

/// What all rows are worth at the dual prices: the objective of the dual program.
pub(super) fn dual_value(duals: &Duals, rows: &Rows) -> f64 {
    duals.iter().zip(rows).map(|(dual, row)| dual * f64::from(row.count)).sum()
}
