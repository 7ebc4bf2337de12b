//! Namespace.

use domain::workload::Namespace;

use super::metadata::Metadata;
use crate::field::Field;
use crate::object::Object;

/// The label that every Namespace has.
///
/// Source: Kubernetes "Well-Known Labels, Annotations and Taints".
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn read(root: Field<'_>) -> Option<Object> {
    let metadata = Metadata::of(root);
    let mut labels = metadata.labels;
    labels.insert(root.reader().interner().text(NAME_LABEL), metadata.name.clone());
    Some(Object::Namespace(Namespace { name: metadata.name, labels }))
}
