//! ClusterLimit (`outrigger.dev/v1alpha1`).

use domain::cluster_limit::ClusterLimit;

use super::metadata::read_metadata;
use super::node_pool::read_limits;
use crate::field::Field;

/// Reads a ClusterLimit. What it limits is spelt as in a NodePool.
pub(crate) fn read_cluster_limit(root: Field<'_>) -> Option<ClusterLimit> {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    spec.only(&["limits"]);
    let limits = spec.get("limits").required();
    limits.exists().then(|| ClusterLimit { name: metadata.name, limits: read_limits(limits) })
}
