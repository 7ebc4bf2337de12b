//! Deployments: one ReplicaSet for each template, and a rollout from the old to the new by
//! `spec.strategy`.

use std::collections::BTreeMap;

use domain::pod::{ObjectKey, Owner, OwnerKind, Pod};
use domain::rollout::{Deployment, RolloutSpec, RolloutStatus};
use domain::workload::{PodTemplate, Workload, WorkloadKind};
use domain::{Text, Timestamp};
use manifests::WorkloadObject;

use crate::api::{Kind, WorkloadId};
use crate::world::World;

/// The label of a ReplicaSet's pods that its Deployment adds.
pub(crate) const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// ReplicaSets by the Deployment that made them.
type ReplicaSets = BTreeMap<ObjectKey, Vec<ObjectKey>>;

/// The ReplicaSets that a Deployment made.
pub(super) fn replica_sets_of(world: &World, deployment: &ObjectKey) -> Vec<ObjectKey> {
    replica_sets(world).remove(deployment).unwrap_or_default()
}

fn replica_sets(world: &World) -> ReplicaSets {
    let mut sets = ReplicaSets::new();
    for object in world.api.list::<WorkloadObject>() {
        let Workload { kind: WorkloadKind::ReplicaSet, key, .. } = &object.workload else {
            continue;
        };
        let Some(owner) = &object.owner else { continue };
        if owner.kind == OwnerKind::Deployment {
            let deployment = ObjectKey::new(key.namespace.clone(), owner.name.clone());
            sets.entry(deployment).or_default().push(key.clone());
        }
    }
    sets
}

/// One step of every Deployment. Until a workload is written to, there is nothing to do again once
/// none of them rolls an update out, whose next step depends on pods.
pub(super) fn reconcile(world: &mut World) {
    let workloads = world.api.latest(Kind::Workload);
    if world.deployments_settled == Some(workloads) {
        return;
    }
    let mut sets = replica_sets(world);
    let mut is_rolling = false;
    for id in world.api.keys::<WorkloadObject>() {
        if id.kind != WorkloadKind::Deployment || world.is_recorded(&id) {
            continue;
        }
        let Some(deployment) = world.api.get::<WorkloadObject>(&id).cloned() else { continue };
        let own = sets.remove(&id.key).unwrap_or_default();
        let (current, older) = by_template(world, &deployment, own);
        let strategy = deployment.rollout.clone().unwrap_or_default();
        if strategy.is_paused && current.is_none() && !older.is_empty() {
            continue;
        }
        let current = current.unwrap_or_else(|| create(world, &deployment, older.len()));
        let wanted = deployment.workload.replicas;
        if older.is_empty() {
            scale(world, &current, wanted);
        } else if strategy.is_recreate {
            is_rolling = true;
            recreate(world, wanted, &current, &older);
        } else if !strategy.is_paused {
            is_rolling = true;
            roll(world, wanted, &strategy, &current, &older);
        }
    }
    let is_settled = !is_rolling && world.api.latest(Kind::Workload) == workloads;
    world.deployments_settled = is_settled.then_some(workloads);
}

/// The ReplicaSet of the Deployment's template, and those of earlier ones.
fn by_template(
    world: &World,
    deployment: &WorkloadObject,
    replica_sets: Vec<ObjectKey>,
) -> (Option<ObjectKey>, Vec<ObjectKey>) {
    let mut current = None;
    let mut older = Vec::new();
    for key in replica_sets {
        let has_template = object(world, &key).is_some_and(|own| is_current(own, deployment));
        if has_template && current.is_none() {
            current = Some(key);
        } else {
            older.push(key);
        }
    }
    (current, older)
}

/// Whether a ReplicaSet is that of a Deployment's template, as it was made anew last.
fn is_current(own: &WorkloadObject, deployment: &WorkloadObject) -> bool {
    let restarted_at = |of: &'_ WorkloadObject| of.rollout.as_ref()?.restarted_at.clone();
    is_same(&own.workload.template, &deployment.workload.template)
        && restarted_at(own) == restarted_at(deployment)
}

/// Whether two templates are one but for the label by which the Deployment controller tells the
/// pods of its ReplicaSets apart.
fn is_same(own: &PodTemplate, other: &PodTemplate) -> bool {
    let labels = |template: &'_ PodTemplate| -> Vec<(Text, Text)> {
        let labels = template.labels.iter().filter(|(key, _)| &***key != POD_TEMPLATE_HASH);
        labels.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    own.spec == other.spec && (own.labels == other.labels || labels(own) == labels(other))
}

fn object<'w>(world: &'w World, key: &ObjectKey) -> Option<&'w WorkloadObject> {
    world.api.get::<WorkloadObject>(&id_of(key))
}

fn replica_set<'w>(world: &'w World, key: &ObjectKey) -> Option<&'w Workload> {
    object(world, key).map(|object| &object.workload)
}

fn id_of(key: &ObjectKey) -> WorkloadId {
    WorkloadId { kind: WorkloadKind::ReplicaSet, key: key.clone() }
}

/// Makes the ReplicaSet of the Deployment's template, empty unless it is the first.
fn create(world: &mut World, deployment: &WorkloadObject, generation: usize) -> ObjectKey {
    let Workload { kind: _, key: own, replicas, template, selector } = &deployment.workload;
    let name = format!("{own} {generation} {}", world.now());
    let suffix = world.seed.draw("replica-set", &name).name_suffix(9);
    let key = ObjectKey::new(own.namespace.clone(), format!("{}-{suffix}", own.name));
    world.apply(WorkloadObject {
        workload: Workload {
            kind: WorkloadKind::ReplicaSet,
            key: key.clone(),
            replicas: if generation == 0 { *replicas } else { 0 },
            template: template.clone(),
            selector: selector.clone(),
        },
        uid: "".into(),
        owner: Some(Owner {
            kind: OwnerKind::Deployment,
            name: own.name.clone(),
            uid: deployment.uid.clone(),
        }),
        ..deployment.clone()
    });
    key
}

fn scale(world: &mut World, key: &ObjectKey, replicas: u32) {
    if replica_set(world, key).is_some_and(|own| own.replicas != replicas) {
        world.scale(&id_of(key), replicas);
    }
}

/// One step of a rolling update: grow the new one as far as the surge allows, shrink the old ones
/// as far as enough pods stay ready, and drop those that are empty.
fn roll(
    world: &mut World,
    wanted: u32,
    strategy: &RolloutSpec,
    current: &ObjectKey,
    older: &[ObjectKey],
) {
    let (surge, unavailable_most) = (strategy.surge(wanted), strategy.unavailable(wanted));
    let replicas =
        |world: &World, key: &ObjectKey| replica_set(world, key).map_or(0, |own| own.replicas);
    let total: u32 = older.iter().chain([current]).map(|key| replicas(world, key)).sum();
    let new = replicas(world, current);
    let room = (wanted + surge).saturating_sub(total);
    if new < wanted && room > 0 {
        scale(world, current, (new + room).min(wanted));
    } else if new > wanted {
        scale(world, current, wanted);
    }
    let ready_new = ready_of(world, current);
    let new_unready = replicas(world, current).saturating_sub(ready_new);
    let total: u32 = older.iter().chain([current]).map(|key| replicas(world, key)).sum();
    let mut spare =
        total.saturating_sub(new_unready).saturating_sub(wanted.saturating_sub(unavailable_most));
    for key in older {
        let own = replicas(world, key);
        let less = own.min(spare);
        spare -= less;
        if less > 0 {
            scale(world, key, own - less);
        }
        drop_if_empty(world, key);
    }
}

/// One step of strategy Recreate: new pods are made once all old ones are gone.
fn recreate(world: &mut World, wanted: u32, current: &ObjectKey, older: &[ObjectKey]) {
    for key in older {
        scale(world, key, 0);
        drop_if_empty(world, key);
    }
    if older.iter().all(|key| replica_set(world, key).is_none()) {
        scale(world, current, wanted);
    }
}

/// Drops the ReplicaSet of an earlier template once it has no pods.
fn drop_if_empty(world: &mut World, key: &ObjectKey) {
    let has_none = replica_set(world, key).is_some_and(|own| own.replicas == 0)
        && !world.api.list::<Pod>().any(|pod| is_owned(pod, key));
    if has_none {
        let _ = world.api.remove::<WorkloadObject>(&id_of(key));
    }
}

/// The Deployment of a ReplicaSet with its status, as its controller would write it.
pub(crate) fn deployment_of(world: &World, replica_set: &ObjectKey) -> Option<Deployment> {
    let owner = object(world, replica_set)?.owner.as_ref()?;
    let key = ObjectKey::new(replica_set.namespace.clone(), owner.name.clone());
    let id = WorkloadId { kind: WorkloadKind::Deployment, key };
    let own = world.api.get::<WorkloadObject>(&id)?;
    let spec = own.rollout.clone().unwrap_or_default();
    let sets = replica_sets_of(world, &own.workload.key);
    let (current, older) = by_template(world, own, sets);
    let active = |key: &ObjectKey| {
        let pods = world.api.list::<Pod>().filter(|pod| is_owned(pod, key) && pod.is_active());
        u32::try_from(pods.count()).unwrap_or(u32::MAX)
    };
    let all = || older.iter().chain(&current);
    let started: Option<Timestamp> = spec.restarted_at.as_ref().and_then(|at| at.parse().ok());
    let deadline = started.and_then(|at| at.checked_add(spec.progress_deadline).ok());
    Some(Deployment {
        key: own.workload.key.clone(),
        uid: own.uid.clone(),
        resource_version: "".into(),
        replicas: own.workload.replicas,
        status: RolloutStatus {
            is_observed: current.is_some(),
            replicas: all().map(active).sum(),
            updated: current.as_ref().map(active).unwrap_or_default(),
            available: all().map(|key| ready_of(world, key)).sum(),
            is_stuck: deadline.is_some_and(|deadline| deadline <= world.now()),
        },
        spec,
    })
}

/// Lets a Deployment make its pods anew.
pub(crate) fn restart(world: &mut World, deployment: &ObjectKey, at: Timestamp) -> bool {
    let id = WorkloadId { kind: WorkloadKind::Deployment, key: deployment.clone() };
    let at: Text = at.to_string().into();
    let change = |own: &mut WorkloadObject| {
        let rollout = own.rollout.get_or_insert_default();
        (rollout.restarted_at, rollout.asked_at) = (Some(at.clone()), Some(at));
    };
    world.api.update::<WorkloadObject>(&id, None, change).is_ok()
}

fn is_owned(pod: &Pod, key: &ObjectKey) -> bool {
    pod.key.namespace == key.namespace
        && pod.owner.as_ref().is_some_and(|owner| owner.name == key.name)
}

fn ready_of(world: &World, key: &ObjectKey) -> u32 {
    let is_ready = |pod: &&Pod| is_owned(pod, key) && pod.is_active() && pod.ready == Some(true);
    u32::try_from(world.api.list::<Pod>().filter(is_ready).count()).unwrap_or(u32::MAX)
}
