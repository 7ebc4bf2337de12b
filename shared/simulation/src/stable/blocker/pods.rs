//! Pods that hold savings back: whose they are, and what keeps them where they are.

use domain::Text;
use domain::label;
use domain::pod::{ObjectKey, OwnerKind, Pod, WhenUnsatisfiable};

use crate::stable::Owners;
use crate::workload::POD_TEMPLATE_HASH;

/// What owns a pod, as users name it: the Deployment rather than its ReplicaSet.
pub(super) fn owner_of(pod: &Pod, owners: &Owners) -> Text {
    let namespace = &pod.key.namespace;
    let Some(owner) = &pod.owner else { return format!("pod {}", pod.key).into() };
    if let Some(known) = owners.of(&ObjectKey::new(namespace.clone(), owner.name.clone())) {
        return known.clone();
    }
    let kind = match owner.kind {
        OwnerKind::DaemonSet => "DaemonSet",
        OwnerKind::Deployment => "Deployment",
        OwnerKind::ReplicaSet => "ReplicaSet",
        OwnerKind::StatefulSet => "StatefulSet",
        OwnerKind::Job => "Job",
        OwnerKind::ReplicationController => "ReplicationController",
        OwnerKind::Node | OwnerKind::Other => return format!("pod {}", pod.key).into(),
    };
    let hash = pod.labels.get(POD_TEMPLATE_HASH).map(|own| &**own);
    let is_of_deployment = |name: &str, last: &str| {
        owner.kind == OwnerKind::ReplicaSet
            && (hash == Some(last)
                || owners.has_deployment(&ObjectKey::new(namespace.clone(), name)))
    };
    match owner.name.rsplit_once('-') {
        Some((name, last)) if is_of_deployment(name, last) => {
            format!("Deployment {namespace}/{name}").into()
        }
        _ => format!("{kind} {namespace}/{}", owner.name).into(),
    }
}

/// Whether a constraint that must hold spreads a pod over zones.
pub(super) fn is_spread_over_zones(pod: &Pod) -> bool {
    pod.spec.topology_spread.iter().any(|own| {
        &*own.topology_key == label::ZONE
            && own.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
    })
}
