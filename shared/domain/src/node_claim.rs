//! NodeClaim (`karpenter.sh/v1`): the wish for one node, from launch to termination.

use std::sync::Arc;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::label::Labels;
use crate::node_pool::{NeverOr, NodeClassRef};
use crate::requirement::Requirement;
use crate::resource::Resources;
use crate::taint::Taint;
use crate::{SignedDuration, Text, Timestamp};

/// A NodeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClaim {
    /// The name.
    pub name: Text,
    /// `metadata.uid`; also the idempotency token of its launch.
    pub uid: Text,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp`.
    pub deleted: Option<Timestamp>,
    /// Labels, keys normalised.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Labels,
    /// `spec.requirements`, keys normalised.
    pub requirements: Arc<Vec<Requirement>>,
    /// `spec.resources.requests`: what its pods and daemons asked for at launch.
    pub requests: Resources,
    /// Taints.
    pub taints: Vec<Taint>,
    /// Startup taints.
    pub startup_taints: Vec<Taint>,
    /// The node class.
    pub node_class_ref: NodeClassRef,
    /// Its own copy of the pool's `terminationGracePeriod`.
    pub termination_grace_period: Option<SignedDuration>,
    /// Its own copy of the pool's `expireAfter`.
    pub expire_after: NeverOr,
    /// What happened to it.
    pub status: NodeClaimStatus,
}

impl NodeClaim {
    /// The NodePool that made it, if one did.
    pub fn node_pool(&self) -> Option<&Text> {
        self.labels.get(crate::label::NODE_POOL)
    }

    /// The status of a condition.
    pub fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether a condition is True.
    pub fn is(&self, kind: ConditionType) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == ConditionStatus::True)
    }
}

/// `status` of a NodeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClaimStatus {
    /// The Node's name, once it has registered.
    pub node_name: Option<Text>,
    /// `aws:///ZONE/INSTANCE`, once it has launched.
    pub provider_id: Option<Text>,
    /// The image it runs.
    pub image_id: Option<Text>,
    /// The instance type's capacity.
    pub capacity: Resources,
    /// The instance type's allocatable.
    pub allocatable: Resources,
    /// When a pod last came or went.
    pub last_pod_event: Option<Timestamp>,
    /// Where in the network its instance is, once that is known. The API's status has no such
    /// field: EC2 says it.
    pub network: Option<InstanceNetwork>,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

/// Where in the network an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceNetwork {
    /// `subnet-…` of its primary interface.
    pub subnet: Text,
    /// `sg-…`, sorted.
    pub security_groups: Vec<Text>,
}

/// A condition of a NodeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which one.
    pub kind: ConditionType,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// A word why.
    pub reason: Text,
    /// A sentence why.
    pub message: Text,
    /// When the status last changed.
    pub changed: Option<Timestamp>,
}

/// Conditions of NodeClaims.
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
pub enum ConditionType {
    /// EC2 launched an instance.
    Launched,
    /// Its Node joined.
    Registered,
    /// Its Node is ready for pods.
    Initialized,
    /// No pod came or went for `consolidateAfter`.
    Consolidatable,
    /// It no longer matches what it was made from.
    Drifted,
    /// Its pods are gone.
    Drained,
    /// Its volumes are detached.
    VolumesDetached,
    /// Its instance is being ended.
    InstanceTerminating,
    /// Its Node looks as planned.
    ConsistentStateFound,
    /// It is being disrupted, and why.
    DisruptionReason,
    /// All of Launched, Registered, Initialized.
    Ready,
}

impl ConditionType {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the word of the API.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// The status of a condition.
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
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can say.
    Unknown,
}

impl ConditionStatus {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}
