//! Namespace.

use domain::label::EVICT_BY;
use domain::workload::Namespace;

use super::metadata::Metadata;
use super::rollout::read_evict_by;
use crate::field::Field;

/// The label that every Namespace has.
///
/// Source: Kubernetes "Well-Known Labels, Annotations and Taints".
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn read(root: Field<'_>) -> Namespace {
    let metadata = Metadata::of(root);
    let mut labels = metadata.labels;
    labels.insert(root.reader().interner().text(NAME_LABEL), metadata.name.clone());
    let evict_by = read_evict_by(root.get("metadata").get("annotations").get(EVICT_BY));
    Namespace { name: metadata.name, labels, evict_by }
}
