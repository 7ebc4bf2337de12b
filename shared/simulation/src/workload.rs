//! Stand-ins for the controllers of kube-controller-manager that make and delete pods.
//!
//! Each runs one step a call, as its original does one reconcile; [`crate::world::World::settle`]
//! calls them until none has anything left to do.

mod daemon_set;
mod deployment;
mod job;
mod recorded;
mod replica_set;
mod stateful_set;

use std::collections::BTreeMap;

use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::{Workload, WorkloadKind};
use manifests::WorkloadObject;

use crate::api::WorkloadId;
use crate::world::{Deletion, World};

pub(crate) use daemon_set::delete_pods as delete_daemon_pods;
pub(crate) use deployment::{POD_TEMPLATE_HASH, deployment_of, restart};

/// Namespace, kind and name of what owns a pod.
type OwnerRef<'a> = (&'a str, OwnerKind, &'a str);

/// Pods by what owns them.
type Owned<'a> = BTreeMap<OwnerRef<'a>, Vec<&'a Pod>>;

/// A workload and copies of its pods, for a controller that changes them while it iterates.
type Unsettled = (WorkloadObject, Vec<Pod>);

/// One step of every controller.
pub(crate) fn reconcile(world: &mut World) {
    recorded::reconcile(world);
    deployment::reconcile(world);
    let (unsettled, daemons) = {
        let owned = owned_pods(world);
        (unsettled(world, &owned), daemon_set::steps(world, &owned))
    };
    for (workload, pods) in unsettled {
        match workload.workload.kind {
            WorkloadKind::Deployment => {}
            WorkloadKind::ReplicaSet => replica_set::reconcile(world, &workload, &pods),
            WorkloadKind::StatefulSet => stateful_set::reconcile(world, &workload, &pods),
            WorkloadKind::Job => job::reconcile(world, &workload, &pods),
        }
    }
    daemon_set::take(world, daemons);
}

/// Workloads that may have something to do.
fn unsettled(world: &World, owned: &Owned<'_>) -> Vec<Unsettled> {
    let step = |object: &WorkloadObject| {
        let Workload { kind, key, .. } = &object.workload;
        let pods = owned.get(&(&*key.namespace, owner_kind(*kind), &*key.name));
        let pods = pods.map_or(&[][..], Vec::as_slice);
        let is_settled = match kind {
            WorkloadKind::Deployment => true,
            WorkloadKind::ReplicaSet => replica_set::is_settled(object, pods),
            WorkloadKind::StatefulSet | WorkloadKind::Job => false,
        };
        let id = WorkloadId { kind: *kind, key: key.clone() };
        let is_settled = is_settled || world.is_recorded(&id);
        (!is_settled).then(|| (object.clone(), pods.iter().copied().cloned().collect()))
    };
    world.api.list::<WorkloadObject>().filter_map(step).collect()
}

/// Deletes what a workload made.
pub(crate) fn delete_dependents(world: &mut World, id: &WorkloadId) {
    if id.kind == WorkloadKind::Job {
        world.jobs.remove(&id.key);
    }
    if id.kind == WorkloadKind::Deployment {
        for key in deployment::replica_sets_of(world, &id.key) {
            world.delete_workload(&WorkloadId { kind: WorkloadKind::ReplicaSet, key });
        }
        return;
    }
    let owner = (&*id.key.namespace, owner_kind(id.kind), &*id.key.name);
    let pods: Vec<ObjectKey> =
        owned_pods(world).remove(&owner).into_iter().flatten().map(|pod| pod.key.clone()).collect();
    for pod in pods {
        world.delete_pod(&pod, Deletion::Graceful);
    }
}

fn owned_pods(world: &World) -> Owned<'_> {
    let mut owned = Owned::new();
    // Pods of one owner come one after the other.
    let mut siblings: Option<(OwnerRef<'_>, Vec<&Pod>)> = None;
    for pod in world.api.list::<Pod>() {
        let Some(owner) = &pod.owner else { continue };
        let key = (&*pod.key.namespace, owner.kind, &*owner.name);
        match &mut siblings {
            Some((known, pods)) if *known == key => pods.push(pod),
            _ => {
                if let Some((known, pods)) = siblings.replace((key, vec![pod])) {
                    owned.entry(known).or_default().extend(pods);
                }
            }
        }
    }
    if let Some((known, pods)) = siblings {
        owned.entry(known).or_default().extend(pods);
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
    let suffix = draw_suffix(world, object);
    world.create_pod(object.pod(format!("{}-{suffix}", object.workload.key.name).into()));
}

/// The end of a pod's name; each of a workload's pods has another.
fn draw_suffix(world: &mut World, object: &WorkloadObject) -> String {
    let id = WorkloadId { kind: object.workload.kind, key: object.workload.key.clone() };
    let serial = world.pods_made.entry(id.clone()).or_default();
    *serial += 1;
    world.seed.draw("pod-name", &format!("{id} {serial}")).name_suffix(5)
}

#[cfg(test)]
mod tests;
