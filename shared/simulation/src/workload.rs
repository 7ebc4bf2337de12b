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

use std::collections::{BTreeMap, BTreeSet};

use domain::pod::{ObjectKey, OwnerKind, Pod};
use domain::workload::{Workload, WorkloadKind};
use manifests::WorkloadObject;

use crate::api::{Kind, OwnerKey, WorkloadId};
use crate::last_step::LastStep;
use crate::world::{Deletion, World};

pub(crate) use daemon_set::delete_pods as delete_daemon_pods;
pub(crate) use deployment::{POD_TEMPLATE_HASH, deployment_of, restart};

/// A workload and copies of its pods, for a controller that changes them while it iterates.
type Unsettled = (WorkloadObject, Vec<Pod>);

/// Owners of pods that may have something to do since the last step.
struct News {
    /// Owners whose pods were written to, or for which there was something to do, by kind.
    owners: BTreeMap<OwnerKind, BTreeSet<ObjectKey>>,
    /// Whether a workload was written to, and any ReplicaSet may have something to do.
    of_workloads: bool,
    /// Whether a Node or a DaemonSet was, and any DaemonSet may.
    of_daemon_sets: bool,
}

impl News {
    fn of(world: &World) -> Self {
        let api = &world.api;
        let Some(LastStep { version, unsettled }) = &world.controllers else {
            return Self { owners: BTreeMap::new(), of_workloads: true, of_daemon_sets: true };
        };
        let mut owners: BTreeMap<OwnerKind, BTreeSet<ObjectKey>> = BTreeMap::new();
        for (kind, key) in unsettled.iter().chain(api.pods().owners_changed_after(*version)) {
            owners.entry(*kind).or_default().insert(key.clone());
        }
        let are_newer = |kinds: &[Kind]| kinds.iter().any(|kind| api.latest(*kind) > *version);
        Self {
            owners,
            of_workloads: are_newer(&[Kind::Workload]),
            of_daemon_sets: are_newer(&[Kind::Node, Kind::DaemonSet]),
        }
    }

    fn is_of(&self, kind: OwnerKind, key: &ObjectKey) -> bool {
        self.owners.get(&kind).is_some_and(|own| own.contains(key))
    }
}

/// One step of every controller.
pub(crate) fn reconcile(world: &mut World) {
    recorded::reconcile(world);
    deployment::reconcile(world);
    let news = News::of(world);
    let version = world.api.revision();
    let (unsettled, daemons) = (unsettled(world, &news), daemon_set::steps(world, &news));
    let of_workloads = unsettled.iter().map(|(object, _)| owner_key(&object.workload));
    let owners = of_workloads.chain(daemons.iter().map(daemon_set::Step::owner)).collect();
    world.controllers = Some(LastStep { version, unsettled: owners });
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
fn unsettled(world: &World, news: &News) -> Vec<Unsettled> {
    let step = |object: &WorkloadObject| {
        let Workload { kind, key, .. } = &object.workload;
        let pods = || world.api.pods().of(&owner_key(&object.workload)).map(|pod| &**pod);
        let is_settled = match kind {
            WorkloadKind::Deployment => true,
            WorkloadKind::ReplicaSet => {
                !(news.of_workloads || news.is_of(owner_kind(*kind), key))
                    || replica_set::is_settled(object, pods())
            }
            WorkloadKind::StatefulSet | WorkloadKind::Job => false,
        };
        if is_settled || world.is_recorded(&WorkloadId { kind: *kind, key: key.clone() }) {
            return None;
        }
        Some((object.clone(), pods().cloned().collect()))
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
    let owner = (owner_kind(id.kind), id.key.clone());
    let pods: Vec<ObjectKey> = world.api.pods().of(&owner).map(|pod| pod.key.clone()).collect();
    for pod in pods {
        world.delete_pod(&pod, Deletion::Graceful);
    }
}

fn owner_key(workload: &Workload) -> OwnerKey {
    (owner_kind(workload.kind), workload.key.clone())
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
