//! The kinds of Kubernetes' own API, as far as scheduling and disruption look at them. Fields that are
//! not read are not judged.

mod disruption_budget;
mod metadata;
mod namespace;
mod node;
mod pod;
mod pod_spec;
mod priority;
mod selector;
mod topology;
mod volume;
mod workload;

use crate::reader::ReadKind;

pub(crate) use metadata::Metadata;
pub use pod::{PodObject, PodTraits};
pub use priority::{PriorityClass, PriorityRef};
pub(crate) use priority::SYSTEM_CLASSES;
pub use workload::{ClaimTemplate, DaemonSetObject, WorkloadObject};

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(kind: &str) -> Option<(&'static str, ReadKind)> {
    Some(match kind {
        "Pod" => ("", pod::read_pod),
        "PodTemplate" => ("", pod::read_pod_template),
        "Node" => ("", node::read_node),
        "Namespace" => ("", namespace::read),
        "PersistentVolume" => ("", volume::read_volume),
        "PersistentVolumeClaim" => ("", volume::read_claim),
        "DaemonSet" => ("apps", workload::read_daemon_set),
        "Deployment" => ("apps", workload::read_deployment),
        "StatefulSet" => ("apps", workload::read_stateful_set),
        "ReplicaSet" => ("apps", workload::read_replica_set),
        "Job" => ("batch", workload::read_job),
        "StorageClass" => ("storage.k8s.io", volume::read_storage_class),
        "CSINode" => ("storage.k8s.io", node::read_csi_node),
        "PodDisruptionBudget" => ("policy", disruption_budget::read),
        "PriorityClass" => ("scheduling.k8s.io", priority::read),
        _ => return None,
    })
}
