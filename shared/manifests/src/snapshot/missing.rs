//! Kinds that are missing among objects that somebody picked, though others need them: a plan over
//! such input is made without knowing what they would forbid.

use std::collections::BTreeSet;

use domain::label;
use domain::pod::{ObjectKey, Pod};
use domain::snapshot::ClusterObjects;
use domain::workload::DaemonSet;

use crate::error::Warning;

/// DaemonSets named of those that are missing.
const EXAMPLES_MAX: usize = 3;

/// One warning for each kind that is missing. `stand_ins` is what stands in for DaemonSets.
pub(super) fn warnings(
    objects: &ClusterObjects,
    pods: &[Pod],
    stand_ins: &[DaemonSet],
) -> Vec<Warning> {
    let all = [
        daemon_sets(pods, stand_ins),
        budgets(objects, pods),
        claims(objects, pods),
        volumes(objects),
        storage_classes(objects),
        csi_nodes(objects, pods),
    ];
    all.into_iter().flatten().map(|what| Warning { what, place: None }).collect()
}

fn daemon_sets(pods: &[Pod], stand_ins: &[DaemonSet]) -> Option<String> {
    let keys: BTreeSet<&ObjectKey> = stand_ins.iter().map(|own| &own.key).collect();
    let is_theirs = |pod: &&Pod| {
        let owner = pod.owner.as_ref().filter(|_| pod.is_daemon() && pod.node_name.is_some());
        owner.is_some_and(|owner| {
            keys.contains(&ObjectKey::new(pod.key.namespace.clone(), owner.name.clone()))
        })
    };
    let count = pods.iter().filter(is_theirs).count();
    let named: Vec<String> = keys.iter().take(EXAMPLES_MAX).map(ToString::to_string).collect();
    let more = if keys.len() > EXAMPLES_MAX { ", …" } else { "" };
    (!keys.is_empty()).then(|| {
        let are = if count == 1 { "is" } else { "are" };
        format!(
            "DaemonSets are not in the input though {count} of their pods {are} ({}{more}): new nodes \
             are planned with room for such pods",
            named.join(", ")
        )
    })
}

/// Budgets are missing where nodes may go whose pods would have to move.
fn budgets(objects: &ClusterObjects, pods: &[Pod]) -> Option<String> {
    let managed: BTreeSet<_> = objects
        .nodes
        .iter()
        .filter(|node| node.labels.contains_key(label::NODE_POOL))
        .map(|node| &node.name)
        .collect();
    let moves = |pod: &&Pod| {
        pod.is_reschedulable() && pod.node_name.as_ref().is_some_and(|node| managed.contains(node))
    };
    let count = pods.iter().filter(moves).count();
    (objects.pod_disruption_budgets.is_empty() && count > 0).then(|| {
        let each = if count == 1 { "the one pod" } else { &*format!("each of the {count} pods") };
        format!(
            "no PodDisruptionBudget is in the input: {each} on nodes of NodePools counts as one that \
             may be evicted"
        )
    })
}

fn claims(objects: &ClusterObjects, pods: &[Pod]) -> Option<String> {
    let uses_one = |pod: &&Pod| !pod.is_terminal() && !pod.spec.volumes.is_empty();
    let count = pods.iter().filter(uses_one).count();
    (objects.persistent_volume_claims.is_empty() && count > 0).then(|| {
        let use_one = match count {
            1 => "1 pod uses one: where its volumes are".to_owned(),
            _ => format!("{count} pods use one: where their volumes are"),
        };
        format!("no PersistentVolumeClaim is in the input, and {use_one} is not known")
    })
}

fn volumes(objects: &ClusterObjects) -> Option<String> {
    let bound = objects.persistent_volume_claims.iter();
    let count = bound.filter(|claim| claim.spec.volume_name.is_some()).count();
    (objects.persistent_volumes.is_empty() && count > 0).then(|| {
        format!(
            "no PersistentVolume is in the input, and {count} PersistentVolumeClaims are bound to \
             one: the zones of their volumes are not known"
        )
    })
}

fn storage_classes(objects: &ClusterObjects) -> Option<String> {
    let unbound =
        objects.persistent_volume_claims.iter().filter(|own| own.spec.volume_name.is_none());
    let count = unbound.count();
    (objects.storage_classes.is_empty() && count > 0).then(|| {
        format!(
            "no StorageClass is in the input, and {count} PersistentVolumeClaims wait for a volume: \
             the zones that it may be in are not known"
        )
    })
}

fn csi_nodes(objects: &ClusterObjects, pods: &[Pod]) -> Option<String> {
    let attached =
        |pod: &&Pod| !pod.is_terminal() && pod.node_name.is_some() && !pod.spec.volumes.is_empty();
    let count = pods.iter().filter(attached).count();
    (objects.csi_nodes.is_empty() && count > 0).then(|| {
        let have = if count == 1 { "1 pod has" } else { &*format!("{count} pods have") };
        format!(
            "no CSINode is in the input, and {have} volumes attached: how many more a node can attach \
             is not known"
        )
    })
}
