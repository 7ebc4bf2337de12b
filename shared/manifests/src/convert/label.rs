//! Names of labels and annotations that changed.

use documents::Value;

use super::tree::{self, own};
use crate::field::Field;

/// Labels, old name and new.
const LABELS: [(&str, &str); 1] = [("karpenter.sh/provisioner-name", "karpenter.sh/nodepool")];

/// Annotations, old name and new.
const ANNOTATIONS: [(&str, &str); 2] = [
    ("karpenter.sh/do-not-evict", "karpenter.sh/do-not-disrupt"),
    ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-disrupt"),
];

fn renamed(key: &str, names: &[(&str, &'static str)]) -> Option<&'static str> {
    names.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// Labels of nodes, under their new names.
pub(super) fn labels(field: Field<'_>) -> Option<Value<'static>> {
    with_new_names(field, &LABELS)
}

/// Annotations of nodes, under their new names.
pub(super) fn annotations(field: Field<'_>) -> Option<Value<'static>> {
    with_new_names(field, &ANNOTATIONS)
}

fn with_new_names(field: Field<'_>, names: &[(&str, &'static str)]) -> Option<Value<'static>> {
    let mut members = Vec::new();
    for (key, member) in field.entries() {
        let new = renamed(key, names);
        if let Some(new) = new {
            member.warn(format!("{key} is now {new}"));
        }
        members.push((new.unwrap_or(key), own(member)));
    }
    field.exists().then(|| tree::object(tree::line_of(field), members))
}

/// Requirements, keys under their new names.
pub(super) fn requirements(field: Field<'_>) -> Vec<Value<'static>> {
    field
        .items()
        .filter_map(|item| {
            let mut requirement = own(item)?;
            let key = item.get("key");
            if let Some((old, new)) = key.str().and_then(|old| Some((old, renamed(old, &LABELS)?)))
            {
                key.warn(format!("{old} is now {new}"));
                tree::set(&mut requirement, &["key"], tree::text(tree::line_of(key), new));
            }
            Some(requirement)
        })
        .collect()
}

/// A pod's own part of an object: the pod, or the template of its pods.
fn pod_of<'v, 'a>(object: &'v Value<'a>) -> Option<&'v Value<'a>> {
    match object.get("kind")?.as_str()? {
        "Pod" => Some(object),
        "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "Job" => {
            object.get("spec")?.get("template")
        }
        _ => None,
    }
}

/// Whether a pod, or a template of pods, relies on an old name.
pub(super) fn has_old_names(object: &Value<'_>) -> bool {
    let Some(pod) = pod_of(object) else { return false };
    let part = |part: &str, member: &str| pod.get(part).and_then(|part| part.get(member));
    let uses = |part: Option<&Value<'_>>, names: &[(&str, &str)]| {
        part.is_some_and(|part| names.iter().any(|(old, _)| part.get(old).is_some()))
    };
    uses(part("spec", "nodeSelector"), &LABELS)
        || uses(part("metadata", "annotations"), &ANNOTATIONS)
}

/// Warns where a pod, or a template of pods, relies on an old name: no node carries it any more.
///
/// The object itself is left as it is. It belongs to somebody else than the NodePools.
pub(super) fn warn_of_old_names(object: Field<'_>) {
    let is_pod = object.get("kind").str() == Some("Pod");
    let pod = if is_pod { object } else { object.get("spec").get("template") };
    for (key, label) in pod.get("spec").get("nodeSelector").entries() {
        if let Some(new) = renamed(key, &LABELS) {
            label.warn(format!("no node has label {key} any more: it is now {new}"));
        }
    }
    for (key, annotation) in pod.get("metadata").get("annotations").entries() {
        if let Some(new) = renamed(key, &ANNOTATIONS) {
            annotation.warn(format!("annotation {key} has no effect any more: it is now {new}"));
        }
    }
}
