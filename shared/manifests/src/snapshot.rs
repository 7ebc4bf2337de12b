//! Objects put together into one look at a cluster.
//!
//! What one object leaves open and others say is settled here: priorities, what running daemon pods take,
//! and the pods that workloads ask for and that are not there yet.

mod daemon;
mod expansion;
mod priority;
mod settle;

use domain::Timestamp;
use domain::instance_type::InstanceTypes;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use rustc_hash::FxHashMap;

use crate::error::{Place, Warning};
use crate::object::{Identity, Located, Object, Objects};
pub use settle::{Settled, Unsettled};

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
    unsettled: Unsettled,
}

impl Parts {
    fn around(snapshot: ClusterSnapshot) -> Self {
        Self { snapshot, unsettled: Unsettled::default() }
    }

    fn take(&mut self, located: Located<Object>) {
        let Self { snapshot, unsettled } = self;
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
            Object::Pod(object) => unsettled.pods.push(object),
            Object::Workload(object) => unsettled.workloads.push(object),
            Object::DaemonSet(object) => unsettled.daemon_sets.push(object),
            Object::PriorityClass(object) => unsettled.priority_classes.push(object),
            Object::InstanceCatalog(_) => {}
        }
    }

    fn assemble(self, warnings: &mut Vec<Warning>) -> ClusterSnapshot {
        let Self { mut snapshot, unsettled } = self;
        let mut settled = unsettled.settle();
        warnings.append(&mut settled.warnings);
        let expanded = expansion::missing_pods(&settled.workloads, &settled.pods);
        settled.pods.extend(expanded);
        snapshot.daemon_sets = settled.daemon_sets;
        snapshot.workloads =
            settled.workloads.into_iter().map(|workload| workload.workload).collect();
        snapshot.pods = settled.pods;
        snapshot
    }
}

#[cfg(test)]
mod tests;
