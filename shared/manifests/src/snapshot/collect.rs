//! Objects of a cluster, sorted by kind.

use std::collections::BTreeSet;

use domain::node_claim::NodeClaim;
use domain::pod::ObjectKey;
use domain::snapshot::ClusterObjects;
use domain::spot::SpotHistory;

use super::buffers;
use super::daemon;
use super::expansion;
use super::foreign::drop_foreign;
use super::missing;
use super::settle::{Settled, Unsettled};
use crate::error::Warning;
use crate::object::Object;

/// Sorts objects by kind, and completes those that depend on others once all are there.
///
/// Objects may be added in any order. InstanceCatalogs are ignored: they are no part of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ObjectCollector {
    /// All kinds that need no completion; pods, workloads and DaemonSets are in `unsettled`.
    objects: ClusterObjects,
    node_claims: Vec<NodeClaim>,
    spot: SpotHistory,
    unsettled: Unsettled,
}

/// What an [`ObjectCollector`] collected.
#[derive(Clone, Debug, Default)]
pub struct CollectedObjects {
    /// All kinds but NodeClaims. Lists are in the order in which objects were added; NodePools and
    /// NodeClaims of other controllers are left out.
    pub objects: ClusterObjects,
    /// NodeClaims.
    pub node_claims: Vec<NodeClaim>,
    /// What SpotHistories say together.
    pub spot: SpotHistory,
    /// References to objects that were not added, and NodePools that were left out.
    pub warnings: Vec<Warning>,
}

impl ObjectCollector {
    /// Adds an object.
    pub fn add(&mut self, object: Object) {
        let Self { objects, node_claims, spot, unsettled } = self;
        match object {
            Object::NodePool(object) => objects.node_pools.push(object),
            Object::NodeClaim(object) => node_claims.push(object),
            Object::NodeOverlay(object) => objects.node_overlays.push(object),
            Object::Ec2NodeClass(object) => objects.node_classes.push(*object),
            Object::CapacityBuffer(object) => objects.capacity_buffers.push(object),
            Object::ScaledObject(object) => objects.scaled_objects.push(object),
            Object::ClusterLimit(object) => objects.cluster_limits.push(object),
            Object::Commitment(object) => objects.commitments.push(object),
            Object::PrewarmSchedule(object) => objects.prewarm_schedules.push(object),
            Object::SpotHistory(object) => spot.merge(object.history),
            Object::Node(object) => objects.nodes.push(object),
            Object::PodTemplate(object) => objects.pod_templates.push(object),
            Object::Namespace(object) => objects.namespaces.push(object),
            Object::Service(object) => objects.services.push(object),
            Object::SchedulerConfig(object) => objects.scheduler = object,
            Object::PersistentVolume(object) => objects.persistent_volumes.push(object),
            Object::PersistentVolumeClaim(object) => objects.persistent_volume_claims.push(object),
            Object::StorageClass(object) => objects.storage_classes.push(object),
            Object::CsiNode(object) => objects.csi_nodes.push(object),
            Object::PodDisruptionBudget(object) => objects.pod_disruption_budgets.push(object),
            Object::Pod(object) => unsettled.pods.push(object),
            Object::Workload(object) => unsettled.workloads.push(object),
            Object::DaemonSet(object) => unsettled.daemon_sets.push(object),
            Object::PriorityClass(object) => unsettled.priority_classes.push(object),
            Object::InstanceCatalog(_) => {}
        }
    }

    /// The objects added so far, without pods, workloads and DaemonSets, which are not complete.
    pub fn added(&self) -> &ClusterObjects {
        &self.objects
    }

    /// The objects, with priorities resolved and with what running daemon pods request.
    pub fn complete(self) -> CollectedObjects {
        let Self { objects, node_claims, spot, unsettled } = self;
        CollectedObjects { spot, ..collected(objects, node_claims, unsettled.settle()) }
    }

    /// Like [`ObjectCollector::complete`], for objects that somebody picked: with pending pods
    /// `NAME-0`, `NAME-1`, … for workloads that own no pod among them, with what stands in for
    /// DaemonSets that are missing though their pods are there, and with a warning for each kind
    /// that is missing though something needs it.
    pub fn complete_picked(self) -> CollectedObjects {
        let Self { objects, node_claims, spot, unsettled } = self;
        let known: BTreeSet<ObjectKey> =
            unsettled.daemon_sets.iter().map(|own| own.daemon_set.key.clone()).collect();
        let mut settled = unsettled.settle();
        let expanded = expansion::missing_pods(&settled.workloads, &settled.pods);
        let stand_ins = daemon::unknown_daemon_sets(&known, &settled.pods);
        let warnings = missing::warnings(&objects, &settled.pods, &stand_ins);
        settled.pods.extend(expanded);
        settled.daemon_sets.extend(stand_ins);
        settled.warnings.extend(warnings);
        let mut collected = collected(objects, node_claims, settled);
        collected.warnings.extend(buffers::warnings(&collected.objects));
        CollectedObjects { spot, ..collected }
    }
}

fn collected(
    objects: ClusterObjects,
    mut node_claims: Vec<NodeClaim>,
    settled: Settled,
) -> CollectedObjects {
    let Settled { pods, workloads, daemon_sets, mut warnings } = settled;
    let pods = pods.into();
    let workloads = workloads.into_iter().map(|object| object.workload).collect();
    let mut objects = ClusterObjects { pods, workloads, daemon_sets, ..objects };
    drop_foreign(&mut objects, &mut node_claims, &mut warnings);
    CollectedObjects { objects, node_claims, spot: SpotHistory::default(), warnings }
}
