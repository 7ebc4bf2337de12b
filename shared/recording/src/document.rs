//! The lines of a recording, as they are written.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `apiVersion` of the header.
pub const API_VERSION: &str = "outrigger.dev/v1alpha1";
/// `kind` of the header.
pub const KIND: &str = "Recording";

/// One line of a recording: the header, which is the first, or a fact.
#[cfg(feature = "schema")]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Recording")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// Any other line.
    Fact(Fact),
}

/// What the first line says of the whole recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = API_VERSION)))]
    pub api_version: String,
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    pub kind: String,
    /// The moment that facts count from, RFC 3339.
    pub start: String,
    /// The cluster's name, where it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The cluster's region, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The API server's version, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Whether names, and labels of pods, are pseudonyms.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pseudonymised: bool,
    /// Where it comes from, in words: who holds rights to it, and what was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// Something that happened, or that later facts refer to. `at` is in milliseconds after the
/// header's `start`; it is negative for what had happened before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Fact {
    /// What pods have in common.
    Spec(SpecFact),
    /// A pod was created.
    Pod(PodFact),
    /// A pod was bound to a node.
    Bound(BoundFact),
    /// A pod takes no room any more: it has ended, or its deletion was asked for.
    Ended(EndedFact),
    /// What a pod used.
    Used(UsedFact),
    /// A Node joined the cluster.
    Node(NodeFact),
    /// A Node left the cluster.
    NodeGone(GoneFact),
    /// A NodeClaim was created.
    Claim(ClaimFact),
    /// A NodeClaim is gone.
    ClaimGone(GoneFact),
    /// Another object that scheduling or disruption depends on was created or changed.
    Object(ObjectFact),
    /// Such an object is gone.
    ObjectGone(ObjectGoneFact),
    /// The recording ends.
    Stopped(StoppedFact),
}

/// What pods have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecFact {
    /// What pods refer to it by.
    pub id: u64,
    /// Labels of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pods that scheduling or disruption depends on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// `spec` of the pods as Kubernetes has it, as far as it matters to scheduling: the requests of
    /// all containers as those of one.
    pub spec: Value,
}

/// A pod was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// What later facts refer to it by.
    pub id: u64,
    /// Its namespace; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Which labels, annotations and `spec` it has.
    pub spec: u64,
    /// `KIND/NAME` of its controlling owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `KIND/NAME` of the workload whose replica it is, where that is not its owner: the Deployment
    /// of its ReplicaSet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// `metadata.uid`, where what was drawn from it is to be drawn again: of recorded simulations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// A pod was bound to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoundFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Which pod.
    pub id: u64,
    /// The Node's name.
    pub node: String,
}

/// A pod takes no room any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndedFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Which pod.
    pub id: u64,
    /// How.
    pub how: HowEnded,
    /// For how long it had run, in milliseconds: of pods that ended by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<i64>,
}

/// How a pod's time on its node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub enum HowEnded {
    /// Its containers exited with status 0.
    Succeeded,
    /// Its containers exited, at least one with another status.
    Failed,
    /// Its owner or a user deleted it.
    Deleted,
    /// It was evicted: for a drain, or to make room for another pod.
    Evicted,
    /// It went with its node.
    Lost,
}

/// The most that a pod, or one container of it, used at any moment since it was said last: where
/// something measures it, such as the metrics API of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsedFact {
    /// When it was said, in milliseconds after the start.
    pub at: i64,
    /// Which pod.
    pub id: u64,
    /// The container whose use it is; of all containers together when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Whether that container is a sidecar: one of `initContainers` that goes on running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sidecar: bool,
    /// CPU, in millicores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<i64>,
    /// Memory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<i64>,
}

/// A Node joined the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Its name.
    pub name: String,
    /// Its NodePool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<String>,
    /// Its instance type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Its zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// `spot`, `on-demand` or `reserved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<String>,
}

/// A NodeClaim was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Its name.
    pub name: String,
    /// Its NodePool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<String>,
}

/// A Node or a NodeClaim is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GoneFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Its name.
    pub name: String,
}

/// An object was created or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Its manifest: a NodePool, EC2NodeClass, NodeOverlay, DaemonSet, PodDisruptionBudget,
    /// PersistentVolumeClaim and the like.
    pub object: Value,
}

/// An object is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectGoneFact {
    /// When, in milliseconds after the start.
    pub at: i64,
    /// Its kind.
    pub kind: String,
    /// Its namespace, for kinds that live in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// The recording ends; what a cluster did afterwards is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoppedFact {
    /// When, in milliseconds after the start.
    pub at: i64,
}

impl Fact {
    /// When it happened, in milliseconds after the start; `None` of what has no time.
    pub const fn at(&self) -> Option<i64> {
        Some(match self {
            Self::Spec(_) => return None,
            Self::Pod(own) => own.at,
            Self::Bound(own) => own.at,
            Self::Ended(own) => own.at,
            Self::Used(own) => own.at,
            Self::Node(own) => own.at,
            Self::NodeGone(own) | Self::ClaimGone(own) => own.at,
            Self::Claim(own) => own.at,
            Self::Object(own) => own.at,
            Self::ObjectGone(own) => own.at,
            Self::Stopped(own) => own.at,
        })
    }
}
