//! CapacityBuffers and schedules: capacity that is wanted before pods are there.

use crate::Text;
use crate::pod::ObjectKey;
use crate::resource::Resources;
use crate::workload::WorkloadKind;

/// A CapacityBuffer (`autoscaling.x-k8s.io/v1beta1`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityBuffer {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// `spec.provisioningStrategy`; only `buffer.x-k8s.io/active-capacity` is acted on.
    pub provisioning_strategy: Text,
    /// Where the shape of its pods comes from.
    pub source: BufferSource,
    /// At least so many.
    pub replicas: Option<u32>,
    /// A share of the referenced workload's replicas, in percent.
    pub percentage: Option<u32>,
    /// At most so much of each resource.
    pub limits: Resources,
}

/// Where the pods of a CapacityBuffer come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferSource {
    /// A PodTemplate by name.
    PodTemplate(Text),
    /// A workload by kind and name.
    Workload(WorkloadKind, Text),
}

/// A ScaledObject (`keda.sh/v1alpha1`), as far as its cron triggers go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Kind and name of its target.
    pub target: (WorkloadKind, Text),
    /// `minReplicaCount`.
    pub min_replicas: u32,
    /// `maxReplicaCount`.
    pub max_replicas: u32,
    /// Its cron triggers.
    pub triggers: Vec<CronTrigger>,
}

/// A trigger of type `cron`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronTrigger {
    /// An IANA time zone.
    pub timezone: Text,
    /// When the window opens.
    pub start: Text,
    /// When it closes.
    pub end: Text,
    /// How many replicas while it is open.
    pub desired_replicas: u32,
}
