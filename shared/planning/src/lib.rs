//! Planning: a snapshot in, a plan with its reasons out. Pure: no I/O, no clock, no randomness.
//!
//! [`plan`] is a whole plan, what `outrigger plan` prints. The functions use its two halves,
//! [`scheduling::schedule`] and [`disruption`].

pub mod disruption;
pub mod explain;
mod feasibility;
mod ids;
mod model;
mod packing;
mod placement;
mod relaxation;
pub mod scheduling;
#[cfg(test)]
mod testing;
mod virtual_pods;
mod work;

use domain::commitment::Bill;
use domain::money::UsdPerHour;
use domain::plan::Plan;
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;

pub use model::overlay::AppliedOverlays;

/// Virtual pods: those of CapacityBuffers, then those of schedules that are due.
pub fn virtual_pods(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    virtual_pods::virtual_pods(snapshot)
}

/// What commitments cover of the nodes that are there and in flight; `None` where none holds.
pub fn committed(snapshot: &ClusterSnapshot) -> Option<Bill> {
    model::committed(snapshot)
}

/// What removing an on-demand node alone would save: its price beyond commitments. `None` of other
/// nodes, and where no commitment holds.
pub fn price_beyond_commitments(snapshot: &ClusterSnapshot, node: &str) -> Option<UsdPerHour> {
    model::price_beyond_commitments(snapshot, node)
}

/// Places for pods that have none, and nodes to take away or replace.
pub fn plan(snapshot: &ClusterSnapshot) -> Plan {
    disruption::plan(snapshot)
}
