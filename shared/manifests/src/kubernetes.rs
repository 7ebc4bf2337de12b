//! The kinds of Kubernetes' own API, as far as scheduling and disruption look at them. Fields that
//! are not read are not judged.

mod disruption_budget;
mod metadata;
mod namespace;
mod node;
mod pod;
mod pod_spec;
mod priority;
mod selector;
#[cfg(test)]
mod tests;
mod topology;
mod volume;
mod workload;

use crate::object::{Object, ReadKind};

pub(crate) use metadata::Metadata;
pub(crate) use pod::read_pod_template_spec;
pub use pod::{PodObject, PodTraits};
pub(crate) use priority::SYSTEM_CLASSES;
pub use priority::{PriorityClass, PriorityRef};
pub use workload::{ClaimTemplate, DaemonSetObject, WorkloadObject};

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(kind: &str) -> Option<(&'static str, ReadKind)> {
    let (group, read): (_, ReadKind) = match kind {
        "Pod" => ("", |root| Some(Object::Pod(pod::read_pod(root)))),
        "PodTemplate" => ("", |root| Some(Object::PodTemplate(pod::read_pod_template(root)))),
        "Node" => ("", |root| Some(Object::Node(node::read_node(root)))),
        "Namespace" => ("", |root| Some(Object::Namespace(namespace::read(root)))),
        "PersistentVolume" => {
            ("", |root| Some(Object::PersistentVolume(volume::read_volume(root))))
        }
        "PersistentVolumeClaim" => {
            ("", |root| Some(Object::PersistentVolumeClaim(volume::read_claim(root))))
        }
        "DaemonSet" => ("apps", |root| Some(Object::DaemonSet(workload::read_daemon_set(root)))),
        "Deployment" => ("apps", |root| Some(Object::Workload(workload::read_deployment(root)))),
        "StatefulSet" => ("apps", |root| Some(Object::Workload(workload::read_stateful_set(root)))),
        "ReplicaSet" => ("apps", |root| Some(Object::Workload(workload::read_replica_set(root)))),
        "Job" => ("batch", |root| Some(Object::Workload(workload::read_job(root)))),
        "StorageClass" => {
            ("storage.k8s.io", |root| volume::read_storage_class(root).map(Object::StorageClass))
        }
        "CSINode" => ("storage.k8s.io", |root| Some(Object::CsiNode(node::read_csi_node(root)))),
        "PodDisruptionBudget" => {
            ("policy", |root| Some(Object::PodDisruptionBudget(disruption_budget::read(root))))
        }
        "PriorityClass" => {
            ("scheduling.k8s.io", |root| priority::read(root).map(Object::PriorityClass))
        }
        _ => return None,
    };
    Some((group, read))
}
