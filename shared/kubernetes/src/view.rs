//! Objects of all kinds put together into one look.

use std::collections::BTreeSet;

use controllers::ports::ClusterView;
use controllers::ports::cluster::NodeClaimObject;
use domain::buffer::{BufferSource, PrewarmTarget};
use domain::node_claim::NodeClaim;
use domain::pod::ObjectKey;
use domain::workload::WorkloadKind;
use manifests::{Object, Unsettled};

use crate::item::{Beside, Item};
use crate::kind::{self, Kind};

/// The annotation of a NodeClaim object that says which claim it shows.
pub(crate) const CLAIM_UID: &str = "outrigger.dev/claim-uid";

/// Objects gathered so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    view: ClusterView,
    unsettled: Unsettled,
}

impl Gathered {
    /// Takes an object in.
    pub(crate) fn take(&mut self, item: Item) {
        let Self { view, unsettled } = self;
        let (object, beside) = match item {
            Item::Pod(pod) => return unsettled.pods.push(pod),
            Item::Other(other) => *other,
            Item::Unreadable(unreadable) => {
                let (source, beside) = *unreadable;
                note_buffer(view, source.source.key(), beside);
                return view.unreadable_sources.push(source);
            }
        };
        match object {
            Object::NodePool(object) => {
                if let Beside::NodePool(state) = beside {
                    view.node_pool_states.insert(object.name.clone(), state);
                }
                view.node_pools.push(object);
            }
            Object::Ec2NodeClass(object) => {
                if let Beside::NodeClass(state) = beside {
                    view.node_class_states.insert(object.name.clone(), state);
                }
                view.node_classes.push(*object);
            }
            Object::NodeClaim(object) => view.node_claims.push(claim_object(object)),
            Object::NodeOverlay(object) => view.node_overlays.push(object),
            Object::CapacityBuffer(object) => {
                note_buffer(view, &object.key, beside);
                view.capacity_buffers.push(object);
            }
            Object::ScaledObject(object) => view.scaled_objects.push(object),
            Object::PrewarmSchedule(object) => view.prewarm_schedules.push(object),
            Object::Node(object) => view.nodes.push(object),
            Object::PodTemplate(object) => view.pod_templates.push(object),
            Object::Namespace(object) => view.namespaces.push(object),
            Object::PersistentVolume(object) => view.persistent_volumes.push(object),
            Object::PersistentVolumeClaim(object) => view.persistent_volume_claims.push(object),
            Object::StorageClass(object) => view.storage_classes.push(object),
            Object::CsiNode(object) => view.csi_nodes.push(object),
            Object::PodDisruptionBudget(object) => view.pod_disruption_budgets.push(object),
            Object::Workload(object) => unsettled.workloads.push(object),
            Object::DaemonSet(object) => unsettled.daemon_sets.push(object),
            Object::PriorityClass(object) => unsettled.priority_classes.push(object),
            // Of kinds that no list asks for.
            _ => {}
        }
    }

    /// Kinds that what was gathered refers to, and that nothing else needs: ReplicaSets alone may be many
    /// times as many as Deployments.
    pub(crate) fn referred(&self) -> Vec<&'static Kind> {
        let view = &self.view;
        let by_buffers = view.capacity_buffers.iter().filter_map(|buffer| match &buffer.source {
            BufferSource::Workload(kind, _) => Some(*kind),
            BufferSource::PodTemplate(_) => None,
        });
        let by_schedules =
            view.prewarm_schedules.iter().filter_map(|schedule| match &schedule.target {
                PrewarmTarget::Workload { kind, .. } => Some(*kind),
                PrewarmTarget::Template(_) => None,
            });
        let by_scaled = view.scaled_objects.iter().map(|object| object.target.0);
        let workloads: BTreeSet<WorkloadKind> =
            by_buffers.chain(by_schedules).chain(by_scaled).collect();
        let names_template = |source: &BufferSource| matches!(source, BufferSource::PodTemplate(_));
        let templates = view.capacity_buffers.iter().any(|buffer| names_template(&buffer.source));
        let templates = templates.then_some(kind::TEMPLATES);
        workloads.into_iter().map(kind::of_workload).chain(templates).collect()
    }

    /// The look, once every object knows what the others say.
    pub(crate) fn into_view(self) -> ClusterView {
        let Self { mut view, unsettled } = self;
        let settled = unsettled.settle();
        for warning in &settled.warnings {
            tracing::warn!("{warning}");
        }
        view.pods = settled.pods;
        view.daemon_sets = settled.daemon_sets;
        view.workloads = settled.workloads.into_iter().map(|object| object.workload).collect();
        view
    }
}

/// Notes what a CapacityBuffer, readable or not, says of itself.
fn note_buffer(view: &mut ClusterView, key: &ObjectKey, beside: Beside) {
    if let Beside::CapacityBuffer(state) = beside {
        view.capacity_buffer_states.insert(key.clone(), state);
    }
}

/// A NodeClaim object with the claim that it shows.
fn claim_object(mut claim: NodeClaim) -> NodeClaimObject {
    let mirror_of = claim.annotations.remove(CLAIM_UID);
    NodeClaimObject { claim, mirror_of }
}
