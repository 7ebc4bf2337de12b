//! Nodes and their sums.

use std::collections::BTreeMap;

use domain::commitment::Bill;
use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;

use super::drains::{DrainRow, drain_rows};
use super::node_row::{NodeRow, Usage, rows};

/// The nodes of a cluster and what they come to together.
#[derive(Clone, Debug)]
pub(crate) struct ClusterUse {
    /// One row a node, and one a claim whose Node has not joined.
    pub(crate) rows: Vec<NodeRow>,
    /// CPU of all nodes, in millicores.
    pub(crate) cpu: Usage,
    /// Memory of all nodes, in bytes.
    pub(crate) memory: Usage,
    /// Pods on nodes, daemons among them.
    pub(crate) pods: usize,
    /// Pods that are not bound and not over.
    pub(crate) pending: usize,
    /// What all nodes cost that the catalogue prices.
    pub(crate) price: UsdPerHour,
    /// What commitments cover of that; `None` where none holds.
    pub(crate) committed: Option<Bill>,
    /// Nodes that it does not.
    pub(crate) unpriced: usize,
    /// How many nodes a selector left out.
    pub(crate) not_selected: usize,
    /// Nodes by how they are bought; `None` for those that do not say.
    pub(crate) by_capacity_type: BTreeMap<Option<NodeCapacityType>, usize>,
    /// Nodes that are being drained.
    pub(crate) drains: Vec<DrainRow>,
}

impl ClusterUse {
    /// What all nodes cost beyond commitments.
    pub(crate) fn remaining(&self) -> UsdPerHour {
        self.price - self.committed.as_ref().map(|bill| bill.covered).unwrap_or_default()
    }

    /// Of a snapshot, as a plan would leave it.
    pub(crate) fn of(snapshot: &ClusterSnapshot, plan: &Plan) -> Self {
        let rows = rows(snapshot, plan);
        let sum = |usage: fn(&NodeRow) -> Usage| {
            rows.iter().map(usage).fold(Usage::default(), |all, own| Usage {
                used: all.used.saturating_add(own.used),
                allocatable: all.allocatable.saturating_add(own.allocatable),
            })
        };
        let mut by_capacity_type = BTreeMap::new();
        for row in &rows {
            *by_capacity_type.entry(row.capacity_type).or_default() += 1;
        }
        Self {
            cpu: sum(|row| row.cpu),
            memory: sum(|row| row.memory),
            pods: rows.iter().map(|row| row.pods).sum(),
            pending: snapshot
                .objects
                .pods
                .iter()
                .filter(|pod| pod.node_name.is_none() && !pod.is_terminal())
                .count(),
            price: rows.iter().filter_map(|row| row.price).sum(),
            committed: plan
                .committed
                .as_ref()
                .map_or_else(|| planning::committed(snapshot), |own| Some(own.after.clone())),
            unpriced: rows.iter().filter(|row| row.price.is_none()).count(),
            by_capacity_type,
            not_selected: 0,
            drains: drain_rows(snapshot, &rows),
            rows,
        }
    }
}
