//! What objects of Karpenter's API have besides `spec`, read strictly: a misspelt field is an
//! error.

use domain::node_claim::ConditionStatus;
use domain::pod::ObjectKey;

use crate::field::Field;
use crate::kubernetes::Metadata;

/// Fields of an object in the Kubernetes API.
const OBJECT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Fields of `metadata` in the Kubernetes API.
const METADATA_FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Reads `metadata` of an object outside namespaces.
pub(crate) fn read_metadata(root: Field<'_>) -> Metadata {
    check_fields(root);
    Metadata::of(root)
}

/// Reads `metadata` of a NodePool or an EC2NodeClass, which may have fields of a newer API.
pub(super) fn read_metadata_or_newer(root: Field<'_>) -> Metadata {
    root.only_or_newer(&OBJECT_FIELDS);
    root.get("metadata").only_or_newer(&METADATA_FIELDS);
    Metadata::of(root)
}

/// Reads `metadata` of an object in a namespace.
pub(crate) fn read_namespaced(root: Field<'_>) -> (Metadata, ObjectKey) {
    check_fields(root);
    Metadata::namespaced(root)
}

fn check_fields(root: Field<'_>) {
    root.only(&OBJECT_FIELDS);
    root.get("metadata").only(&METADATA_FIELDS);
}

/// Condition Ready of a status: `None` where it is not reported, or not known.
pub(crate) fn read_ready(status: Field<'_>) -> Option<bool> {
    let ready = status
        .get("conditions")
        .items()
        .find(|condition| condition.get("type").str() == Some("Ready"))?;
    match ready.get("status").word()? {
        ConditionStatus::True => Some(true),
        ConditionStatus::False => Some(false),
        ConditionStatus::Unknown => None,
    }
}
