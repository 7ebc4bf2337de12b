//! Virtual pods: capacity that is wanted before pods exist, as pods that take part in planning
//! only.
//!
//! Such a pod is known by [`Pod::virtual_of`], never by its name.

mod buffer;
mod schedule;
mod source;

use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;

/// The virtual pods of a snapshot: of its CapacityBuffers, then of schedules that are due.
pub(crate) fn virtual_pods(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    let mut pods = buffer::virtual_pods(snapshot);
    pods.extend(schedule::virtual_pods(snapshot));
    pods
}
