//! ClusterLimit (`outrigger.dev/v1alpha1`).

use domain::Text;
use domain::cluster_limit::ClusterLimit;

use super::metadata::read_metadata;
use super::node_pool::read_limits;
use crate::error::ManifestError;
use crate::field::Field;

/// Reads a ClusterLimit. What it limits is spelt as in a NodePool.
pub(crate) fn read_cluster_limit(root: Field<'_>) -> Option<ClusterLimit> {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    spec.only(&["limits"]);
    let limits = spec.get("limits").required();
    limits.exists().then(|| ClusterLimit::new(metadata.name, read_limits(limits)))
}

/// What holds in place of a ClusterLimit of which these things are wrong: any other object counts
/// as absent then, and a limit that is absent would loosen something.
pub fn unreadable_cluster_limit(name: &str, errors: &[ManifestError]) -> ClusterLimit {
    let shown = errors.iter().map(|error| match &error.place.field {
        Some(field) => format!("{field}: {}", error.problem),
        None => error.problem.to_string(),
    });
    let problem: Text = shown.collect::<Vec<_>>().join("; ").into();
    ClusterLimit::unreadable(if name.is_empty() { "(unnamed)" } else { name }, problem)
}
