//! The kinds of Kubernetes' own API, as far as scheduling and disruption look at them. Fields that
//! are not read are not judged.

mod disruption_budget;
mod metadata;
mod namespace;
mod node;
mod pod;
mod pod_spec;
mod priority;
mod resize;
mod rollout;
mod scheduler_config;
mod selector;
mod service;
#[cfg(test)]
mod tests;
mod topology;
mod validation;
mod volume;
mod workload;

use crate::object::{Kind, Object, ReadKind};

pub(crate) use metadata::Metadata;
pub(crate) use pod::read_pod_template_spec;
pub use pod::{PodObject, PodTraits};
pub(crate) use priority::SYSTEM_CLASSES;
pub use priority::{PriorityClass, PriorityRef};
pub(crate) use scheduler_config::is_scheduler_config;
pub use scheduler_config::{ReadSchedulerConfig, SCHEDULER_CONFIG_KEY, read_scheduler_config};
pub(crate) use validation::check as check_as_an_api_server;
pub use workload::{ClaimTemplate, DaemonSetObject, JobSpec, WorkloadObject};

/// The kinds that are read. Fields that count are the same in all versions of these APIs.
pub(crate) const KINDS: [Kind; 17] = [
    kind("", "Pod", |root| Some(Object::Pod(pod::read_pod(root)))),
    kind("", "PodTemplate", |root| Some(Object::PodTemplate(pod::read_pod_template(root)))),
    kind("", "Node", |root| Some(Object::Node(node::read_node(root)))),
    kind("", "Namespace", |root| Some(Object::Namespace(namespace::read(root)))),
    kind("", "Service", |root| Some(Object::Service(service::read(root)))),
    // Only the one that says how the scheduler is configured; others are skipped.
    kind("", "ConfigMap", |root| {
        scheduler_config::read_config_map(root).map(Object::SchedulerConfig)
    }),
    kind("", "PersistentVolume", |root| Some(Object::PersistentVolume(volume::read_volume(root)))),
    kind("", "PersistentVolumeClaim", |root| {
        Some(Object::PersistentVolumeClaim(volume::read_claim(root)))
    }),
    kind("apps", "DaemonSet", |root| Some(Object::DaemonSet(workload::read_daemon_set(root)))),
    kind("apps", "Deployment", |root| Some(Object::Workload(workload::read_deployment(root)))),
    kind("apps", "StatefulSet", |root| Some(Object::Workload(workload::read_stateful_set(root)))),
    kind("apps", "ReplicaSet", |root| Some(Object::Workload(workload::read_replica_set(root)))),
    kind("batch", "Job", |root| Some(Object::Workload(workload::read_job(root)))),
    kind("storage.k8s.io", "StorageClass", |root| {
        volume::read_storage_class(root).map(Object::StorageClass)
    }),
    kind("storage.k8s.io", "CSINode", |root| Some(Object::CsiNode(node::read_csi_node(root)))),
    kind("policy", "PodDisruptionBudget", |root| {
        Some(Object::PodDisruptionBudget(disruption_budget::read(root)))
    }),
    kind("scheduling.k8s.io", "PriorityClass", |root| {
        priority::read(root).map(Object::PriorityClass)
    }),
];

const fn kind(group: &'static str, name: &'static str, read: ReadKind) -> Kind {
    Kind { group, name, versions: &[], read }
}
