//! The objects of a snapshot, as a simulated cluster takes them.
//!
//! A snapshot has what decides where pods go, and no more. Deployments and StatefulSets are taken
//! as they are, since pods point at theirs; everything else that makes pods is made from the pods
//! that are there.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::pod::{ObjectKey, Owner, OwnerKind, Pod};
use domain::scheduler::SchedulerConfig;
use domain::selector::LabelSelector;
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::workload::{DaemonSet, PodTemplate, Workload, WorkloadKind};
use manifests::{DaemonSetObject, Object, PodObject, PodTraits, PriorityRef, WorkloadObject};

use super::stateful_sets::StatefulSets;
use super::workload::{traits_of, workload_object};
use super::{Owners, hashes};

/// A cluster to simulate.
pub(super) struct Adopted {
    pub(super) objects: Vec<Object>,
    pub(super) owners: Owners,
}

/// The objects of a snapshot, with what makes its pods again.
pub(super) fn adopted(snapshot: &ClusterSnapshot) -> Adopted {
    let ClusterObjects {
        node_pools,
        node_classes,
        node_overlays,
        nodes,
        pods,
        daemon_sets,
        workloads,
        pod_templates,
        pod_disruption_budgets,
        persistent_volume_claims,
        persistent_volumes,
        storage_classes,
        csi_nodes,
        namespaces,
        services,
        capacity_buffers,
        scaled_objects,
        prewarm_schedules,
        cluster_limits,
        commitments,
        scheduler,
    } = &snapshot.objects;
    let mut objects = Vec::new();
    objects.extend(node_classes.iter().cloned().map(|own| Object::Ec2NodeClass(Box::new(own))));
    objects.extend(node_pools.iter().cloned().map(Object::NodePool));
    objects.extend(node_overlays.iter().cloned().map(Object::NodeOverlay));
    objects.extend(namespaces.iter().cloned().map(Object::Namespace));
    objects.extend(services.iter().cloned().map(Object::Service));
    if *scheduler != SchedulerConfig::default() {
        objects.push(Object::SchedulerConfig(scheduler.clone()));
    }
    objects.extend(storage_classes.iter().cloned().map(Object::StorageClass));
    objects.extend(persistent_volumes.iter().cloned().map(Object::PersistentVolume));
    objects.extend(persistent_volume_claims.iter().cloned().map(Object::PersistentVolumeClaim));
    objects.extend(pod_templates.iter().cloned().map(Object::PodTemplate));
    objects.extend(nodes.iter().cloned().map(Object::Node));
    objects.extend(csi_nodes.iter().cloned().map(Object::CsiNode));
    objects.extend(hashes::node_claims(snapshot).map(Object::NodeClaim));
    objects.extend(daemon_sets.iter().map(|own| Object::DaemonSet(daemon_set(own))));
    let deployments: Vec<&Workload> =
        workloads.iter().filter(|own| own.kind == WorkloadKind::Deployment).collect();
    objects.extend(deployments.iter().map(|own| Object::Workload(deployment(own))));
    let stateful_sets = StatefulSets::of(workloads, pods);
    objects.extend(stateful_sets.objects().map(Object::Workload));
    objects.extend(pod_disruption_budgets.iter().cloned().map(Object::PodDisruptionBudget));
    objects.extend(capacity_buffers.iter().cloned().map(Object::CapacityBuffer));
    objects.extend(scaled_objects.iter().cloned().map(Object::ScaledObject));
    objects.extend(cluster_limits.iter().cloned().map(Object::ClusterLimit));
    objects.extend(commitments.iter().cloned().map(Object::Commitment));
    objects.extend(prewarm_schedules.iter().cloned().map(Object::PrewarmSchedule));
    let deployments: BTreeSet<&ObjectKey> = deployments.iter().map(|own| &own.key).collect();
    let mut owners = BTreeMap::new();
    for pod in pods {
        if is_made_by_deployment(pod, &deployments) {
            continue;
        }
        let mut pod = pod.clone();
        if !stateful_sets.make(&pod)
            && let Some(stand_in) = stand_in(&mut pod, &mut owners)
        {
            objects.push(Object::Workload(stand_in));
        }
        let priority = PriorityRef { own: Some(pod.spec.priority), class: None };
        objects.push(Object::Pod(PodObject { pod, priority }));
    }
    let deployments = deployments.into_iter().cloned().collect();
    Adopted { objects, owners: Owners { stand_ins: owners, deployments } }
}

/// Whether a pod stands for one of a Deployment that has none yet: that makes its own.
fn is_made_by_deployment(pod: &Pod, deployments: &BTreeSet<&ObjectKey>) -> bool {
    pod.owner.as_ref().is_some_and(|owner| {
        owner.kind == OwnerKind::Deployment
            && deployments.contains(&ObjectKey::new(pod.key.namespace.clone(), owner.name.clone()))
    })
}

/// Gives a pod an owner of its own where nothing would make it again as it is. A ReplicaSet of one
/// replica keeps the volumes of a StatefulSet's pod, each of which has others.
fn stand_in(pod: &mut Pod, owners: &mut BTreeMap<ObjectKey, Text>) -> Option<WorkloadObject> {
    if !pod.is_active() || pod.is_mirror {
        return None;
    }
    let namespace = &pod.key.namespace;
    let known: Text = match &pod.owner {
        None => format!("pod {}", pod.key).into(),
        Some(owner) => match owner.kind {
            OwnerKind::StatefulSet => format!("StatefulSet {namespace}/{}", owner.name).into(),
            OwnerKind::Deployment => format!("Deployment {namespace}/{}", owner.name).into(),
            OwnerKind::Other | OwnerKind::ReplicationController => {
                format!("pod {}", pod.key).into()
            }
            OwnerKind::DaemonSet | OwnerKind::ReplicaSet | OwnerKind::Job | OwnerKind::Node => {
                return None;
            }
        },
    };
    owners.insert(pod.key.clone(), known);
    // Nothing else than Services selects pods that no controller of replicas owns.
    let is_selected_by_owner =
        pod.owner.as_ref().is_some_and(|owner| !matches!(owner.kind, OwnerKind::Other));
    let selector = (!is_selected_by_owner).then(LabelSelector::default);
    pod.owner =
        Some(Owner { kind: OwnerKind::ReplicaSet, name: pod.key.name.clone(), uid: "".into() });
    let workload = Workload {
        kind: WorkloadKind::ReplicaSet,
        key: pod.key.clone(),
        replicas: 1,
        template: PodTemplate { labels: pod.labels.clone(), spec: pod.spec.clone() },
        selector,
    };
    Some(workload_object(workload, traits_of(pod)))
}

fn deployment(workload: &Workload) -> WorkloadObject {
    workload_object(workload.clone(), PodTraits::default())
}

fn daemon_set(own: &DaemonSet) -> DaemonSetObject {
    DaemonSetObject {
        daemon_set: own.clone(),
        uid: "".into(),
        deleted: None,
        priority: PriorityRef { own: Some(own.template.spec.priority), class: None },
        traits: PodTraits::default(),
    }
}
