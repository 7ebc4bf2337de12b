//! Objects put together into a snapshot of a cluster.
//!
//! What one object leaves open and others say is settled here: priorities, what running daemon pods
//! take, and the pods that workloads ask for and that are not there yet.

mod buffers;
mod collect;
mod daemon;
mod expansion;
mod foreign;
mod missing;
mod priority;
mod settle;

use domain::Timestamp;
use domain::instance_type::InstanceTypes;
use domain::settings::Settings;
use domain::snapshot::ClusterSnapshot;
use rustc_hash::FxHashMap;

use crate::error::{Place, Warning};
use crate::object::{Identity, Located, Object, Objects};
pub use collect::{CollectedObjects, ObjectCollector};
pub use daemon::unknown_daemon_sets;

/// The cluster that the objects describe, at a moment.
///
/// Where an object is given twice the later one counts, with a warning. Workloads that own no pod
/// among the objects are expanded to pending pods `NAME-0`, `NAME-1`, …, and pods of DaemonSets
/// that are not among them stand in for those. PodDisruptionBudgets without a status get the one
/// that Kubernetes would write. The order of the objects makes no difference but to the order of
/// lists. InstanceCatalogs among the objects are the caller's to read.
pub fn snapshot(
    objects: Objects,
    now: Timestamp,
    settings: Settings,
    instance_types: InstanceTypes,
) -> (ClusterSnapshot, Vec<Warning>) {
    let mut warnings = Vec::new();
    let objects = latest(objects.objects, &mut warnings);
    let mut collector = ObjectCollector::default();
    for located in objects {
        collector.add(located.value);
    }
    let mut collected = collector.complete_picked();
    warnings.extend(collected.warnings);
    for budget in &mut collected.objects.pod_disruption_budgets {
        budget.complete_status(&collected.objects.pods);
    }
    let snapshot = ClusterSnapshot {
        settings,
        instance_types,
        objects: collected.objects,
        node_claims: collected.node_claims,
        spot: collected.spot,
        ..ClusterSnapshot::empty(now)
    };
    (snapshot, warnings)
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

#[cfg(test)]
mod tests;
