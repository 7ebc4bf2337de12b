//! What makes pods: DaemonSets (which every new node must have room for) and replicated workloads.

use std::sync::Arc;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::Text;
use crate::label::Labels;
use crate::pod::{ObjectKey, PodSpec};
use crate::rollout::EvictBy;
use crate::selector::LabelSelector;

/// A pod that is not there yet: labels and specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTemplate {
    /// Labels.
    pub labels: Arc<Labels>,
    /// `spec`, as far as it matters for scheduling.
    pub spec: Arc<PodSpec>,
}

/// A DaemonSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSet {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its pods, with the tolerations that the DaemonSet controller adds. Where pods of it run,
    /// their requests are those of the newest: admission may have changed the template's.
    pub template: PodTemplate,
    /// Whether its pods use the network of their node (`hostNetwork`), and take no address.
    pub is_on_host_network: bool,
}

/// Kinds of replicated workload.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum WorkloadKind {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// batch/v1 Job.
    Job,
}

impl WorkloadKind {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::ReplicaSet => "ReplicaSet",
            Self::Job => "Job",
        }
    }
}

/// A replicated workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Which kind.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: ObjectKey,
    /// The number of pods wanted now.
    pub replicas: u32,
    /// Its pods.
    pub template: PodTemplate,
    /// `spec.selector`; `None` where it is not known. Of a Job, which has a selector of its own
    /// making, it decides nothing.
    pub selector: Option<LabelSelector>,
}

/// A Service, of which the scheduler reads whose pods it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `spec.selector`: labels that its pods have. A Service without any selects no pod.
    pub selector: Labels,
}

/// A PodTemplate object (v1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTemplateObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.generation`: grows with every change of the template; 0 where it was never
    /// applied.
    pub generation: i64,
    /// The template.
    pub template: PodTemplate,
}

/// A Namespace: its labels decide what namespace selectors of pod affinity reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The name.
    pub name: Text,
    /// Labels, with `kubernetes.io/metadata.name`.
    pub labels: Labels,
    /// How pods of its Deployments leave nodes that go by choice, where they do not say themselves.
    pub evict_by: Option<EvictBy>,
}
