//! Objects put together into one look at a cluster.
//!
//! What one object leaves open and others say is settled here: priorities, what running daemon pods take,
//! and the pods that workloads ask for and that are not there yet.

mod daemon;
mod expansion;
mod priority;

use domain::Timestamp;
use domain::instance_type::InstanceTypes;
use domain::pod::Pod;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use rustc_hash::FxHashMap;

use crate::error::{Place, Warning};
use crate::kubernetes::{DaemonSetObject, PodObject, PriorityClass, WorkloadObject};
use crate::object::{Identity, Located, Object, Objects};
use priority::Priorities;

/// The cluster that the objects describe, at a moment.
///
/// Where an object is given twice the later one counts, with a warning. Workloads that own no pod among
/// the objects are expanded to pending pods `NAME-0`, `NAME-1`, …. The order of the objects makes no
/// difference but to the order of lists. InstanceCatalogs among the objects are the caller's to read.
pub fn snapshot(
    objects: Objects,
    now: Timestamp,
    settings: Settings,
    instance_types: InstanceTypes,
) -> (ClusterSnapshot, Vec<Warning>) {
    let mut warnings = Vec::new();
    let objects = latest(objects.objects, &mut warnings);
    let empty = ClusterSnapshot { settings, instance_types, ..ClusterSnapshot::empty(now) };
    let mut parts = Parts::around(empty);
    for located in objects {
        parts.take(located);
    }
    (parts.assemble(&mut warnings), warnings)
}

/// The last object of each identity, at the place of the first.
fn latest(objects: Vec<Located<Object>>, warnings: &mut Vec<Warning>) -> Vec<Located<Object>> {
    let mut kept: Vec<Located<Object>> = Vec::with_capacity(objects.len());
    let mut places: FxHashMap<Identity, usize> = FxHashMap::default();
    for located in objects {
        let Some(identity) = located.value.identity() else { continue };
        let Some(index) = places.get(&identity) else {
            places.insert(identity, kept.len());
            kept.push(located);
            continue;
        };
        let place =
            Place { file: located.file.clone(), line: located.line, object: None, field: None };
        let what = format!("{identity} is given twice: this one counts");
        warnings.push(Warning { what, place: Some(place) });
        if let Some(earlier) = kept.get_mut(*index) {
            *earlier = located;
        }
    }
    kept
}

/// Objects by kind: those that go into the snapshot as they are, and those that others complete.
struct Parts {
    snapshot: ClusterSnapshot,
    pods: Vec<PodObject>,
    workloads: Vec<WorkloadObject>,
    daemon_sets: Vec<DaemonSetObject>,
    priority_classes: Vec<PriorityClass>,
}

impl Parts {
    fn around(snapshot: ClusterSnapshot) -> Self {
        Self {
            snapshot,
            pods: Vec::new(),
            workloads: Vec::new(),
            daemon_sets: Vec::new(),
            priority_classes: Vec::new(),
        }
    }

    fn take(&mut self, located: Located<Object>) {
        let snapshot = &mut self.snapshot;
        match located.value {
            Object::NodePool(object) => snapshot.node_pools.push(object),
            Object::NodeClaim(object) => snapshot.node_claims.push(object),
            Object::NodeOverlay(object) => snapshot.node_overlays.push(object),
            Object::Ec2NodeClass(object) => snapshot.node_classes.push(*object),
            Object::CapacityBuffer(object) => snapshot.capacity_buffers.push(object),
            Object::ScaledObject(object) => snapshot.scaled_objects.push(object),
            Object::PrewarmSchedule(object) => snapshot.prewarm_schedules.push(object),
            Object::Node(object) => snapshot.nodes.push(object),
            Object::PodTemplate(object) => snapshot.pod_templates.push(object),
            Object::Namespace(object) => snapshot.namespaces.push(object),
            Object::PersistentVolume(object) => snapshot.persistent_volumes.push(object),
            Object::PersistentVolumeClaim(object) => snapshot.persistent_volume_claims.push(object),
            Object::StorageClass(object) => snapshot.storage_classes.push(object),
            Object::CsiNode(object) => snapshot.csi_nodes.push(object),
            Object::PodDisruptionBudget(object) => snapshot.pod_disruption_budgets.push(object),
            Object::Pod(object) => self.pods.push(object),
            Object::Workload(object) => self.workloads.push(object),
            Object::DaemonSet(object) => self.daemon_sets.push(object),
            Object::PriorityClass(object) => self.priority_classes.push(object),
            Object::InstanceCatalog(_) => {}
        }
    }

    fn assemble(self, warnings: &mut Vec<Warning>) -> ClusterSnapshot {
        let Self { mut snapshot, pods, mut workloads, mut daemon_sets, priority_classes } = self;
        let mut priorities = Priorities::of(priority_classes);
        let mut pods: Vec<Pod> = pods
            .into_iter()
            .map(|PodObject { mut pod, priority }| {
                priorities.settle(&mut pod.spec, &priority);
                pod
            })
            .collect();
        for workload in &mut workloads {
            priorities.settle(&mut workload.workload.template.spec, &workload.priority);
        }
        for daemon_set in &mut daemon_sets {
            priorities.settle(&mut daemon_set.daemon_set.template.spec, &daemon_set.priority);
        }
        warnings.extend(priorities.into_warnings());
        let expanded = expansion::missing_pods(&workloads, &pods);
        pods.extend(expanded);
        snapshot.daemon_sets = daemon::daemon_sets(daemon_sets, &pods);
        snapshot.workloads = workloads.into_iter().map(|workload| workload.workload).collect();
        snapshot.pods = pods;
        snapshot
    }
}

#[cfg(test)]
mod tests;
