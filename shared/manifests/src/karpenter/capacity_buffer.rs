//! CapacityBuffer (`autoscaling.x-k8s.io/v1beta1`).

use domain::buffer::{BufferSource, CapacityBuffer};
use domain::workload::WorkloadKind;

use super::metadata::read_namespaced;
use crate::field::Field;

/// The strategy that keeps nodes ready.
pub(super) const ACTIVE_CAPACITY: &str = "buffer.x-k8s.io/active-capacity";

/// Workloads that a buffer or a schedule can follow.
pub(crate) const SCALABLE: [(WorkloadKind, &str); 3] = [
    (WorkloadKind::Deployment, "Deployment"),
    (WorkloadKind::StatefulSet, "StatefulSet"),
    (WorkloadKind::ReplicaSet, "ReplicaSet"),
];

/// Which rule a CapacityBuffer breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BufferRule {
    /// Pods of no shape, or of two.
    #[error("exactly one of podTemplateRef and scalableRef is needed")]
    OneReference,
    /// A template and no number.
    #[error("podTemplateRef needs replicas or limits beside it")]
    NoSize,
    /// A reference to an object without a name or kind.
    #[error("it is empty")]
    Empty,
}

/// Reads a CapacityBuffer.
pub(crate) fn read_capacity_buffer(root: Field<'_>) -> Option<CapacityBuffer> {
    let (metadata, key) = read_namespaced(root);
    let spec = root.get("spec").required();
    spec.only(&[
        "provisioningStrategy",
        "podTemplateRef",
        "scalableRef",
        "replicas",
        "percentage",
        "limits",
    ]);
    check_size(spec);
    let strategy = spec.get("provisioningStrategy").text();
    let strategy = strategy.unwrap_or_else(|| root.reader().interner().text(ACTIVE_CAPACITY));
    if &*strategy != ACTIVE_CAPACITY {
        spec.get("provisioningStrategy")
            .warn(format!("only {ACTIVE_CAPACITY} is acted on: the buffer has no effect"));
    }
    Some(CapacityBuffer {
        key,
        uid: metadata.uid,
        provisioning_strategy: strategy,
        source: read_source(spec)?,
        replicas: spec.get("replicas").count(),
        percentage: spec.get("percentage").count(),
        limits: spec.get("limits").resources(),
    })
}

fn check_size(spec: Field<'_>) {
    let has = |key| spec.get(key).exists();
    if has("podTemplateRef") && !has("replicas") && !has("limits") {
        spec.get("podTemplateRef").note_rule(BufferRule::NoSize);
    }
    if has("scalableRef") && !["replicas", "percentage", "limits"].into_iter().any(has) {
        spec.get("scalableRef").warn(
            "replicas, percentage or limits is needed beside it to say how many pods: the buffer has no effect",
        );
    }
    if has("percentage") && !has("scalableRef") {
        spec.get("percentage").warn(
            "scalableRef is needed beside it, whose replicas it is a share of: it has no effect",
        );
    }
}

fn read_source(spec: Field<'_>) -> Option<BufferSource> {
    let (template, scalable) = (spec.get("podTemplateRef"), spec.get("scalableRef"));
    if template.exists() == scalable.exists() {
        spec.note_rule(BufferRule::OneReference);
        return None;
    }
    if template.exists() {
        template.only(&["name"]);
        return filled(template.get("name"))?.text().map(BufferSource::PodTemplate);
    }
    scalable.only(&["apiGroup", "kind", "name"]);
    let (kind, name) = (filled(scalable.get("kind")), filled(scalable.get("name")));
    let (kind, name) = (kind?.str()?, name?.text()?);
    let group = scalable.get("apiGroup").str();
    let workload = SCALABLE.iter().find(|(_, word)| *word == kind);
    // Without a group, these kinds can only be those of apps; an empty one is the core group.
    Some(match workload.filter(|_| group.is_none_or(|group| group == "apps")) {
        Some((workload, _)) => BufferSource::Workload(*workload, name),
        None => BufferSource::Unsupported(match group.filter(|group| !group.is_empty()) {
            Some(group) => format!("{group}/{kind} {name}").into(),
            None => format!("{kind} {name}").into(),
        }),
    })
}

/// A field that must be there, and not empty.
fn filled(field: Field<'_>) -> Option<Field<'_>> {
    let is_empty = field.required().str()?.is_empty();
    if is_empty {
        field.note_rule(BufferRule::Empty);
    }
    (!is_empty).then_some(field)
}
