//! Virtual pods: capacity that is wanted before pods are there, as pods that take part in planning only.

use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;

/// The virtual pods of a snapshot's CapacityBuffers.
pub(crate) fn virtual_pods(_snapshot: &ClusterSnapshot) -> Vec<Pod> {
    Vec::new()
}
