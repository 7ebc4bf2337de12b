//! The Kubernetes cluster: what is listed of it, and what is written to it.

use std::collections::BTreeMap;
use std::fmt;

use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::pod::{ObjectKey, Pod, PodKey, VirtualPodSource};
use domain::rollout::Deployment;
use domain::snapshot::ClusterObjects;
use domain::taint::{Taint, TaintEffect};
use domain::workload::WorkloadKind;
use domain::{Text, Timestamp};

use super::error::PortError;
use crate::event::{Event, Subject};
use crate::pod_fingerprints::PodFingerprints;
use crate::status::{CapacityBufferStatus, NodeClassStatus, NodePoolStatus, Observed};

/// A Kubernetes cluster.
///
/// Every write is conditional on the object's uid, so that a successor of the same name is never
/// changed, and is idempotent: a change that is already made counts as done.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Cluster {
    /// Lists everything that decisions depend on, each kind as of the time of the call or later.
    async fn observe(&self) -> Result<ClusterListing, PortError>;

    /// Waits until what provisioning acts on has changed, or until a moment, whichever comes first.
    ///
    /// A change is: a pod without a node was marked unschedulable by the scheduler, or changed
    /// while it was; or a Node was given taint `karpenter.sh/disrupted`. No change is missed since
    /// the last [`Cluster::observe`] of this value or the last result of this method, whichever is
    /// later. An adapter that cannot tell, because its watch expired, returns [`Demand::Changed`]
    /// once, since listing once too often does no harm, and then waits until the cluster is listed.
    ///
    /// # Errors
    ///
    /// When changes cannot be watched: the caller lists again.
    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError>;

    /// Begins to follow what provisioning acts on, where this value does not follow it yet or has
    /// lost its place: for who waits for changes and lists nothing else. Changed where there is
    /// demand that this value had not seen; from then on [`Cluster::demand_changed`] misses none.
    async fn follow_demand(&self) -> Result<Demand, PortError>;

    /// Whether a pod waits for a node, as [`Cluster::demand_changed`] means it, that did not when
    /// the cluster was last listed or looked at by this value: one read, which may be some seconds
    /// behind. Changed where this value has not listed the cluster yet.
    async fn demand_now(&self) -> Result<Demand, PortError>;

    /// ConfigMap `kube-system/outrigger`; `None` where it does not exist.
    async fn controls(&self) -> Result<Option<ControlsObject>, PortError>;

    /// Writes an installation's id into that ConfigMap.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has changed since it was read.
    async fn mark_owner(&self, installation: &str, seen: &ControlsObject) -> Result<(), PortError>;

    /// When a Karpenter in the cluster last renewed the lease of its leader; `None` where nobody
    /// holds that.
    async fn karpenter_renewed(&self) -> Result<Option<Timestamp>, PortError>;

    /// VolumeAttachments (`storage.k8s.io/v1`) of a Node, in any order.
    async fn volume_attachments(&self, node: &str) -> Result<Vec<VolumeAttachment>, PortError>;

    /// Changes a Node in one write.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no Node of that name and uid.
    async fn patch_node(&self, node: &NodeRef, patch: &NodePatch) -> Result<(), PortError>;

    /// Deletes a Node; finalizers keep it until they are removed. A Node that is gone or being
    /// deleted counts as deleted.
    async fn delete_node(&self, node: &NodeRef) -> Result<(), PortError>;

    /// Evicts a pod through the Eviction API (`policy/v1`), with its own grace period.
    async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError>;

    /// Writes `status.nominatedNodeName` of a pod: kube-scheduler tries that node first, and keeps
    /// its room from other pods of the same or lower priority.
    ///
    /// Source: <https://github.com/kubernetes/enhancements/issues/5278>.
    ///
    /// # Errors
    ///
    /// `Conflict` when the pod is bound by now, or another node stands in the field than was seen;
    /// `NotFound` when there is no pod of that name and uid.
    async fn nominate_pod(&self, nomination: &PodNomination) -> Result<(), PortError>;

    /// Writes the deletion cost of a pod, which its ReplicaSet reads when it shrinks, and that it
    /// is ours ([`domain::label::MANAGED_POD_DELETION_COST`]).
    ///
    /// # Errors
    ///
    /// `Conflict` when somebody else has set it; `NotFound` when there is no pod of that name and
    /// uid.
    async fn set_pod_deletion_cost(&self, change: &PodDeletionCost) -> Result<(), PortError>;

    /// Deletes a pod regardless of PodDisruptionBudgets, with a grace period of at least 1 s. A pod
    /// that is gone counts as deleted.
    async fn delete_pod(&self, pod: &PodRef, grace_seconds: u32) -> Result<(), PortError>;

    /// Mirrors a claim to its NodeClaim object: creates it with finalizer
    /// `karpenter.sh/termination`, owned by its NodePool so that it is deleted with the pool, and
    /// with the claim's uid in annotation `outrigger.dev/claim-uid`, or updates finalizer, labels,
    /// annotations and status of an existing one. Annotations of others stay.
    ///
    /// # Errors
    ///
    /// `Conflict` when the object of that name does not belong to the claim
    /// ([`NodeClaimObject::belongs_to`]).
    async fn mirror_node_claim(&self, claim: &NodeClaim) -> Result<(), PortError>;

    /// Removes our finalizer from a NodeClaim object and deletes it; one that is gone counts as
    /// deleted. Only an object that belongs to the claim with the uid is changed.
    async fn remove_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError>;

    /// Hands a NodeClaim object over to another controller: removes annotation
    /// `outrigger.dev/claim-uid` and leaves the rest, finalizer and status included. Only an object
    /// that belongs to the claim with the uid is changed; one that is gone counts as handed over.
    async fn release_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError>;

    /// Writes annotations and status of a NodePool.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of that name and uid.
    async fn update_node_pool(
        &self,
        node_pool: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError>;

    /// Writes annotations, finalizer and status of an EC2NodeClass.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of that name and uid.
    async fn update_node_class(
        &self,
        node_class: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError>;

    /// Sets the replicas of a workload through its scale subresource.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of that kind and name.
    async fn scale_workload(&self, workload: &WorkloadRef, replicas: u32) -> Result<(), PortError>;

    /// The Deployment that a ReplicaSet belongs to, as it is at the time of the call; `None` where
    /// the ReplicaSet belongs to none, or either is gone.
    async fn deployment_of(
        &self,
        replica_set: &NamespacedRef,
    ) -> Result<Option<Deployment>, PortError>;

    /// Asks for a rollout of a Deployment, as `kubectl rollout restart` does: writes a time into
    /// annotation `kubectl.kubernetes.io/restartedAt` of its template, and the same into
    /// `outrigger.dev/restarted-at` of its own.
    ///
    /// # Errors
    ///
    /// `Conflict` when it has changed since it was read; `NotFound` when it is gone.
    async fn restart_deployment(
        &self,
        deployment: &Deployment,
        at: Timestamp,
    ) -> Result<(), PortError>;

    /// Writes the status of a CapacityBuffer; conditions of other kinds than ours stay.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none of that key and uid.
    async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError>;

    /// Records events. Equal ones within [`crate::event::EventReason::dedupe`] are aggregated into
    /// one.
    async fn record_events(&self, events: &[Event]) -> Result<(), PortError>;
}

/// What one listing of the cluster found.
#[derive(Clone, Debug, Default)]
pub struct ClusterListing {
    /// Objects that plans are made from.
    pub objects: ClusterObjects,
    /// NodeClaim objects: mirrors of claims, and NodeClaims that others created.
    pub node_claims: Vec<NodeClaimObject>,
    /// `status` of NodePools, by name. A missing one was never written.
    pub node_pool_states: BTreeMap<Text, Observed<NodePoolStatus>>,
    /// `status` of EC2NodeClasses, by name. A missing one was never written.
    pub node_class_states: BTreeMap<Text, Observed<NodeClassStatus>>,
    /// `status` of CapacityBuffers, malformed ones included. A missing one was never written.
    pub capacity_buffer_states: BTreeMap<ObjectKey, Observed<CapacityBufferStatus>>,
    /// Malformed schedules and buffers, which have no effect.
    pub unreadable_sources: Vec<UnreadableSource>,
    /// Malformed objects of which an event tells their author what holds in their place.
    pub unreadable_objects: Vec<UnreadableObject>,
    /// How many warnings there are about a NodePool or an EC2NodeClass that is in use, such as of
    /// fields of a newer API. Objects without any are not listed.
    pub object_warnings: BTreeMap<WarnedObject, usize>,
    /// What was worked out of the pods of this listing, and may have been of earlier ones.
    pub pod_fingerprints: PodFingerprints,
}

/// A NodePool or an EC2NodeClass that something is said about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarnedObject {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: Text,
}

/// A malformed schedule or buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableSource {
    /// The object.
    pub source: VirtualPodSource,
    /// `metadata.uid`.
    pub uid: Text,
    /// What is wrong, with the field.
    pub problem: Text,
}

/// A malformed object that is no schedule and no buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableObject {
    /// The object.
    pub about: Subject,
    /// What holds in its place, and what is wrong, with the field.
    pub problem: Text,
}

/// ConfigMap `kube-system/outrigger`: whose cluster it is, and what an operator has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlsObject {
    /// `metadata.uid`.
    pub uid: Text,
    /// `metadata.resourceVersion`.
    pub resource_version: Text,
    /// `data`.
    pub data: BTreeMap<Text, Text>,
}

impl ControlsObject {
    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.data.get(key).map(|value| &**value)
    }
}

/// Whether what provisioning acts on changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// It did.
    Changed,
    /// It did not until the given moment.
    Unchanged,
}

/// A cluster-scoped object by name and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The name.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Text,
}

impl From<&NodePool> for ObjectRef {
    fn from(pool: &NodePool) -> Self {
        Self { name: pool.name.clone(), uid: pool.uid.clone() }
    }
}

impl From<&Ec2NodeClass> for ObjectRef {
    fn from(class: &Ec2NodeClass) -> Self {
        Self { name: class.name.clone(), uid: class.uid.clone() }
    }
}

/// An object in a namespace by key and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedRef {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
}

/// A workload by kind and key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadRef {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl fmt::Display for WorkloadRef {
    /// `Deployment shop/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.key)
    }
}

/// Changes of a NodePool. Empty fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolUpdate {
    /// Annotations to set.
    pub annotations: Labels,
    /// The complete status to write; conditions of other kinds than ours stay.
    pub status: Option<NodePoolStatus>,
}

/// Changes of an EC2NodeClass. Empty fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClassUpdate {
    /// Annotations to set.
    pub annotations: Labels,
    /// The change of finalizer `karpenter.k8s.aws/termination`.
    pub finalizer: FinalizerChange,
    /// The complete status to write; conditions of other kinds than ours stay.
    pub status: Option<NodeClassStatus>,
}

/// A NodeClaim object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClaimObject {
    /// The object as read: `deleted` is set once its deletion was requested; `uid` is the object's.
    pub claim: NodeClaim,
    /// The uid of the claim that it mirrors, from annotation `outrigger.dev/claim-uid`; `None` for
    /// an object that others created.
    pub mirror_of: Option<Text>,
}

impl NodeClaimObject {
    /// Whether it belongs to the claim with a uid: as its mirror, or because the claim adopted it.
    pub fn belongs_to(&self, claim_uid: &str) -> bool {
        **self.claim_uid() == *claim_uid
    }

    /// The uid of the claim that it mirrors; its own uid for an object that others created.
    pub fn claim_uid(&self) -> &Text {
        self.mirror_of.as_ref().unwrap_or(&self.claim.uid)
    }
}

/// A Node by name and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// The name.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Text,
}

impl From<&Node> for NodeRef {
    fn from(node: &Node) -> Self {
        Self { name: node.name.clone(), uid: node.uid.clone() }
    }
}

/// A pod by key and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodRef {
    /// Namespace and name.
    pub key: PodKey,
    /// `metadata.uid`.
    pub uid: Text,
}

impl From<&Pod> for PodRef {
    fn from(pod: &Pod) -> Self {
        Self { key: pod.key.clone(), uid: pod.uid.clone() }
    }
}

/// A change of the node that a pod is nominated to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodNomination {
    /// The pod.
    pub pod: PodRef,
    /// The node that it was nominated to when it was listed.
    pub seen: Option<Text>,
    /// The node to nominate it to; `None` takes the nomination back.
    pub node: Option<Text>,
}

/// A change of what a pod costs to delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodDeletionCost {
    /// The pod.
    pub pod: PodRef,
    /// The cost; of one ReplicaSet, the pods of lower cost go first.
    pub cost: i32,
}

/// Changes of a Node. Empty fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePatch {
    /// Labels to set.
    pub labels: Labels,
    /// Labels to remove, by key.
    pub remove_labels: Vec<Text>,
    /// Annotations to set.
    pub annotations: Labels,
    /// Taints to add; one of the same key and effect is replaced.
    pub add_taints: Vec<Taint>,
    /// Taints to remove, by key and effect.
    pub remove_taints: Vec<(Text, TaintEffect)>,
    /// The change of finalizer `karpenter.sh/termination`.
    pub finalizer: FinalizerChange,
    /// The NodeClaim object to add to the owner references, with `blockOwnerDeletion`.
    pub owner: Option<ObjectRef>,
}

impl NodePatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of our finalizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinalizerChange {
    /// No change.
    #[default]
    Keep,
    /// Add it if it is missing.
    Add,
    /// Remove it if it is present.
    Remove,
}

/// A response of the Eviction API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The pod is being deleted.
    Accepted,
    /// The pod is gone, or another of its name exists (404; 409 by uid).
    Gone,
    /// A PodDisruptionBudget does not allow it now (429), or several budgets match it (500).
    Blocked {
        /// The API server's message.
        message: Text,
    },
}

/// A VolumeAttachment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeAttachment {
    /// The name.
    pub name: Text,
    /// The Node.
    pub node: Text,
    /// `spec.source.persistentVolumeName`; `None` for inline volumes.
    pub persistent_volume: Option<Text>,
}
