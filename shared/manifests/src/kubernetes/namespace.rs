//! Namespace.

use domain::workload::Namespace;

use super::metadata::Metadata;
use crate::field::Field;

/// The label that every Namespace has.
///
/// Source: Kubernetes "Well-Known Labels, Annotations and Taints".
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn read(root: Field<'_>) -> Namespace {
    let metadata = Metadata::of(root);
    let mut labels = metadata.labels;
    labels.insert(root.reader().interner().text(NAME_LABEL), metadata.name.clone());
    Namespace { name: metadata.name, labels }
}
