//! Names of labels and annotations that changed.

use documents::{Data, Value};

use super::tree::{self, own};
use crate::field::Field;

/// Labels, old name and new.
const LABELS: [(&str, &str); 1] = [("karpenter.sh/provisioner-name", "karpenter.sh/nodepool")];

/// Annotations, old name and new.
const ANNOTATIONS: [(&str, &str); 2] = [
    ("karpenter.sh/do-not-evict", "karpenter.sh/do-not-disrupt"),
    ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-disrupt"),
];

/// Parts of a pod's affinity and spread that select pods, whose labels are their owner's.
const OF_PODS: [&str; 2] = ["labelSelector", "namespaceSelector"];

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

/// The way to an object's own pod: the object itself, or the template of its pods.
fn path_to_pod(object: &Value<'_>) -> Option<&'static [&'static str]> {
    Some(match object.get("kind")?.as_str()? {
        "Pod" => &[],
        "PodTemplate" => &["template"],
        "Deployment"
        | "StatefulSet"
        | "ReplicaSet"
        | "DaemonSet"
        | "Job"
        | "ReplicationController" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        _ => return None,
    })
}

/// Whether a pod, or a template of pods, relies on an old name.
pub(super) fn has_old_names(object: &Value<'_>) -> bool {
    let Some(path) = path_to_pod(object) else { return false };
    let Some(pod) = path.iter().try_fold(object, |inner, key| inner.get(key)) else { return false };
    let part = |part: &str, member: &str| pod.get(part).and_then(|part| part.get(member));
    let uses = |part: Option<&Value<'_>>, names: &[(&str, &str)]| {
        part.is_some_and(|part| names.iter().any(|(old, _)| part.get(old).is_some()))
    };
    uses(part("spec", "nodeSelector"), &LABELS)
        || uses(part("metadata", "annotations"), &ANNOTATIONS)
        || part("spec", "affinity").is_some_and(names_old_label)
        || part("spec", "topologySpreadConstraints").is_some_and(names_old_label)
}

/// Whether a key in the value, or in a value inside it, is an old label of nodes.
fn names_old_label(value: &Value<'_>) -> bool {
    match &value.data {
        Data::List(items) => items.iter().any(names_old_label),
        Data::Object(members) => members.iter().any(|(name, member)| {
            !OF_PODS.contains(&&**name)
                && (is_old_key(name, member).is_some() || names_old_label(member))
        }),
        _ => false,
    }
}

/// The new name of the label that a member `key` or `topologyKey` names by its old one.
fn is_old_key(name: &str, member: &Value<'_>) -> Option<&'static str> {
    let is_key = name == "key" || name == "topologyKey";
    renamed(member.as_str().filter(|_| is_key)?, &LABELS)
}

/// What becomes of old names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OldNames {
    /// They stay, and have no effect.
    Left,
    /// The new ones are written in their place.
    Rewritten,
}

/// Warns where a pod, or a template of pods, relies on an old name: no node carries it any more.
/// Gives the lines of the source on which they stand.
pub(super) fn warn_of_old_names(object: Field<'_>, fate: OldNames) -> Vec<u32> {
    let Some(path) = object.value().and_then(path_to_pod) else { return Vec::new() };
    let pod = path.iter().fold(object, |inner, key| inner.get(key));
    let mut lines = Vec::new();
    let mut warn = |field: Field<'_>, what: String| {
        lines.push(field.place().line);
        field.warn(what);
    };
    let spec = pod.get("spec");
    let label = |old: &str, new: &str| match fate {
        OldNames::Left => format!("no node has label {old} any more: it is now {new}"),
        OldNames::Rewritten => {
            format!("no node has label {old} any more: {new} is written in its place")
        }
    };
    for (key, field) in spec.get("nodeSelector").entries() {
        if let Some(new) = renamed(key, &LABELS) {
            warn(field, label(key, new));
        }
    }
    let mut open: Vec<Field<'_>> =
        vec![spec.get("topologySpreadConstraints"), spec.get("affinity")];
    while let Some(field) = open.pop() {
        let Some(value) = field.value() else { continue };
        match &value.data {
            Data::List(_) => open.extend(field.items().rev()),
            Data::Object(_) => {
                for (name, member) in field.entries().filter(|(name, _)| !OF_PODS.contains(name)) {
                    let new = member.value().and_then(|value| is_old_key(name, value));
                    match (new, member.value().and_then(Value::as_str)) {
                        (Some(new), Some(old)) => warn(member, label(old, new)),
                        _ => open.push(member),
                    }
                }
            }
            _ => {}
        }
    }
    for (key, field) in pod.get("metadata").get("annotations").entries() {
        if let Some(new) = renamed(key, &ANNOTATIONS) {
            let what = match fate {
                OldNames::Left => {
                    format!("annotation {key} has no effect any more: it is now {new}")
                }
                OldNames::Rewritten => {
                    format!(
                        "annotation {key} has no effect any more: {new} is written in its place"
                    )
                }
            };
            warn(field, what);
        }
    }
    lines
}

/// The object with new names in place of old ones, where those are not there as well.
pub(crate) fn rewritten(mut object: Value<'static>) -> Value<'static> {
    let Some(path) = path_to_pod(&object) else { return object };
    let pod = path.iter().try_fold(&mut object, |inner, key| tree::member_mut(inner, key));
    if let Some(pod) = pod {
        if let Some(spec) = tree::member_mut(pod, "spec") {
            rename_members(spec, "nodeSelector", &LABELS);
            for part in ["affinity", "topologySpreadConstraints"] {
                if let Some(part) = tree::member_mut(spec, part) {
                    rename_keys(part);
                }
            }
        }
        if let Some(metadata) = tree::member_mut(pod, "metadata") {
            rename_members(metadata, "annotations", &ANNOTATIONS);
        }
    }
    object
}

/// Renames members of a member. One whose new name is there already yields to it.
fn rename_members(of: &mut Value<'static>, member: &str, names: &[(&str, &'static str)]) {
    let Some(Value { data: Data::Object(members), .. }) = tree::member_mut(of, member) else {
        return;
    };
    for (old, new) in names {
        if members.iter().any(|(name, _)| name == new) {
            members.retain(|(name, _)| name != old);
        } else if let Some((name, _)) = members.iter_mut().find(|(name, _)| name == old) {
            *name = (*new).into();
        }
    }
}

fn rename_keys(value: &mut Value<'static>) {
    match &mut value.data {
        Data::List(items) => items.iter_mut().for_each(rename_keys),
        Data::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !OF_PODS.contains(&&**name))
            {
                match is_old_key(name, member) {
                    Some(new) => *member = tree::text(member.line, new),
                    None => rename_keys(member),
                }
            }
        }
        _ => {}
    }
}

/// The line with new names in place of old ones.
pub(crate) fn rewritten_line(line: &str) -> String {
    LABELS
        .iter()
        .chain(&ANNOTATIONS)
        .fold(line.to_owned(), |line, (old, new)| line.replace(old, new))
}
