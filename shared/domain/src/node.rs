//! Nodes, as the cluster sees them.

use crate::label::Labels;
use crate::node_claim::ConditionStatus;
use crate::resource::Resources;
use crate::taint::{Taint, TaintEffect, UNSCHEDULABLE};
use crate::{Text, Timestamp};

/// A Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The name.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Text,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Timestamp>,
    /// Labels, keys normalised; the host name filled in where it is missing.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Labels,
    /// Taints, a cordon (`spec.unschedulable`) among them.
    pub taints: Vec<Taint>,
    /// `spec.providerID`.
    pub provider_id: Option<Text>,
    /// `status.capacity`.
    pub capacity: Resources,
    /// `status.allocatable`; the capacity where it is missing.
    pub allocatable: Resources,
    /// Conditions that are reported.
    pub conditions: Vec<NodeCondition>,
}

impl Node {
    /// The taint that stands for a cordon.
    pub fn cordon() -> Taint {
        Taint { key: UNSCHEDULABLE.into(), value: "".into(), effect: TaintEffect::NoSchedule }
    }

    /// The status of a condition by its word.
    pub fn condition(&self, kind: &str) -> Option<&NodeCondition> {
        self.conditions.iter().find(|condition| &*condition.kind == kind)
    }

    /// Whether it reports that it is not ready (a node that reports nothing counts as ready).
    pub fn is_not_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|ready| ready.status != ConditionStatus::True)
    }

    /// Whether it wears the taint that marks it as going away.
    pub fn is_disrupted(&self) -> bool {
        self.taints.iter().any(|taint| &*taint.key == crate::taint::DISRUPTED)
    }
}

/// A condition of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCondition {
    /// Which one: `Ready`, `DiskPressure`, `KernelReady`, ….
    pub kind: Text,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// When the status last changed.
    pub changed: Option<Timestamp>,
}
