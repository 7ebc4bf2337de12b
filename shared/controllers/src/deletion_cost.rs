//! Writes what pods cost to delete, for the ReplicaSets that shrink.

use crate::pod_writes::write_to_pods;
use crate::ports::{Cluster, Ports};
use crate::run::{Problems, Run};
use crate::steps::pod_deletion_cost::pod_deletion_costs;
use crate::steps::snapshot::ClusterState;

/// The most pods that one run writes to; the next goes on.
const POD_DELETION_COSTS_MAX: usize = 500;

/// Writes the deletion costs of pods that have none yet, or another than their node has by now.
/// Does nothing where feature gate `PodDeletionCostManagement` is off. Returns the calls that
/// failed.
pub(crate) async fn write_pod_deletion_costs<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &ClusterState,
) -> Problems {
    if !run.settings.feature_gates.pod_deletion_cost_management {
        return Problems::default();
    }
    let mut changes = pod_deletion_costs(observed);
    changes.truncate(POD_DELETION_COSTS_MAX);
    let cluster = ports.cluster();
    let writes = changes.iter().map(|own| (&own.pod.key, cluster.set_pod_deletion_cost(own)));
    write_to_pods(ports, run, "set deletion cost of pod", writes).await
}
