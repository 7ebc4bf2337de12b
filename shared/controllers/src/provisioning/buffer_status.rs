//! Status of CapacityBuffers, as a plan leaves it.

use domain::pod::{ObjectKey, VirtualPodSource};

use super::report::ProvisioningReport;
use crate::ports::cluster::NamespacedRef;
use crate::ports::error::found;
use crate::ports::{Cluster, Ports};
use crate::run::{Problems, Run};
use crate::status::{CapacityBufferStatus, Observed};
use crate::steps::buffer_status::{capacity_buffer_status, unreadable_buffer_status};
use crate::steps::snapshot::ClusterState;

/// Writes the status of CapacityBuffers after a plan.
pub(super) async fn update_buffers<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &ClusterState,
    report: &mut ProvisioningReport,
) {
    if !run.settings.feature_gates.capacity_buffer {
        return;
    }
    let listing = &observed.listing;
    let nothing = Observed::default();
    let before =
        |key: &ObjectKey| listing.capacity_buffer_states.get(key).unwrap_or(&nothing).clone();
    let readable = listing.objects.capacity_buffers.iter().filter_map(|buffer| {
        let status = capacity_buffer_status(listing, buffer, &report.plan, observed.now)?;
        Some((NamespacedRef { key: buffer.key.clone(), uid: buffer.uid.clone() }, status))
    });
    let unreadable = listing.unreadable_sources.iter().filter_map(|own| match &own.source {
        VirtualPodSource::CapacityBuffer(key) => {
            let status = unreadable_buffer_status(&before(key), own, observed.now);
            Some((NamespacedRef { key: key.clone(), uid: own.uid.clone() }, status))
        }
        VirtualPodSource::ScaledObject(_) | VirtualPodSource::PrewarmSchedule(_) => None,
    });
    let changed: Vec<(NamespacedRef, CapacityBufferStatus)> = readable
        .chain(unreadable)
        .filter(|(buffer, status)| before(&buffer.key).status != *status)
        .collect();
    for (buffer, status) in changed {
        write(ports.cluster(), &buffer, &status, &mut report.problems).await;
    }
}

async fn write<C: Cluster>(
    cluster: &C,
    buffer: &NamespacedRef,
    status: &CapacityBufferStatus,
    problems: &mut Problems,
) {
    let written = cluster.update_capacity_buffer(buffer, status).await;
    problems.record(|| format!("write CapacityBuffer {}", buffer.key), found(written));
}
