//! Scaling workloads as PrewarmSchedules want them, and events about objects without effect.

use super::report::ProvisioningReport;
use crate::ports::error::found;
use crate::ports::{Cluster, Ports};
use crate::run::record_events;
use crate::steps::schedule::{next_scaling, scaled_event, scalings, schedule_warnings};
use crate::steps::snapshot::ClusterState;
use crate::steps::unreadable::unreadable_warnings;

/// Sets the replicas of workloads as PrewarmSchedules want them now, and records events about
/// schedules without effect, and about other objects that cannot be read.
///
/// Runs before planning, which does not depend on it: pods that a schedule wants are planned for
/// whether or not they exist yet.
pub(super) async fn scale_workloads<P: Ports>(
    ports: &P,
    observed: &ClusterState,
    report: &mut ProvisioningReport,
) {
    let mut events = schedule_warnings(&observed.listing);
    events.extend(unreadable_warnings(&observed.listing));
    for scaling in scalings(&observed.listing, observed.now) {
        let scaled = ports.cluster().scale_workload(&scaling.workload, scaling.to).await;
        let operation = || format!("scale {}", scaling.workload);
        if let Some(Some(())) = report.problems.record(operation, found(scaled)) {
            events.push(scaled_event(&scaling));
            report.scaled.push(scaling);
        }
    }
    record_events(ports.cluster(), &events, &mut report.problems).await;
    if let Some(turn) = next_scaling(&observed.listing, observed.now) {
        report.requeue_after(turn.duration_since(observed.now));
    }
}
