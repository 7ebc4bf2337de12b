//! Stand-ins for the controllers of kube-controller-manager that make and delete pods.
//!
//! Each runs one step a call, as its original does one reconcile; [`crate::world::World::settle`] calls
//! them until none has anything left to do.

mod daemon_set;
mod deployment;
mod job;
mod replica_set;
mod stateful_set;

use std::collections::BTreeMap;

use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::WorkloadKind;
use manifests::WorkloadObject;

use crate::api::WorkloadId;
use crate::world::{Deletion, World};

pub(crate) use daemon_set::delete_pods as delete_daemon_pods;

/// Pods by the workload that owns them.
type Owned = BTreeMap<(OwnerKind, ObjectKey), Vec<Pod>>;

/// One step of every controller.
pub(crate) fn reconcile(world: &mut World) {
    deployment::reconcile(world);
    let mut owned = owned_pods(world);
    for id in world.api.keys::<WorkloadObject>() {
        let Some(workload) = world.api.get::<WorkloadObject>(&id).cloned() else { continue };
        let pods = owned.remove(&(owner_kind(id.kind), id.key.clone())).unwrap_or_default();
        match id.kind {
            WorkloadKind::Deployment => {}
            WorkloadKind::ReplicaSet => replica_set::reconcile(world, &workload, &pods),
            WorkloadKind::StatefulSet => stateful_set::reconcile(world, &workload, &pods),
            WorkloadKind::Job => job::reconcile(world, &workload, &pods),
        }
    }
    daemon_set::reconcile(world, &owned);
}

/// Deletes what a workload made.
pub(crate) fn delete_dependents(world: &mut World, id: &WorkloadId) {
    if id.kind == WorkloadKind::Deployment {
        for key in deployment::replica_sets_of(world, &id.key) {
            world.delete_workload(&WorkloadId { kind: WorkloadKind::ReplicaSet, key });
        }
        return;
    }
    for pod in owned_pods(world).remove(&(owner_kind(id.kind), id.key.clone())).unwrap_or_default()
    {
        world.delete_pod(&pod.key, Deletion::Graceful);
    }
}

fn owned_pods(world: &World) -> Owned {
    let mut owned = Owned::new();
    for pod in world.api.list::<Pod>() {
        if let Some(owner) = &pod.owner {
            let key = ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
            owned.entry((owner.kind, key)).or_default().push(pod.clone());
        }
    }
    owned
}

const fn owner_kind(kind: WorkloadKind) -> OwnerKind {
    match kind {
        WorkloadKind::Deployment => OwnerKind::Deployment,
        WorkloadKind::ReplicaSet => OwnerKind::ReplicaSet,
        WorkloadKind::StatefulSet => OwnerKind::StatefulSet,
        WorkloadKind::Job => OwnerKind::Job,
    }
}

/// Creates a pod of a workload under a drawn name.
fn create_named_by_chance(world: &mut World, object: &WorkloadObject) {
    let id = WorkloadId { kind: object.workload.kind, key: object.workload.key.clone() };
    let serial = world.pods_made.entry(id.clone()).or_default();
    *serial += 1;
    let suffix = world.seed.draw("pod-name", &format!("{id} {serial}")).name_suffix(5);
    world.create_pod(object.pod(format!("{}-{suffix}", id.key.name).into()));
}

#[cfg(test)]
mod tests;
