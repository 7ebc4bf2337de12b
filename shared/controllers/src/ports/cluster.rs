//! The Kubernetes cluster: what is in it, and the few things that are done to it.

use std::collections::BTreeMap;
use std::fmt;

use domain::buffer::{CapacityBuffer, PrewarmSchedule, ScaledObject};
use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::overlay::NodeOverlay;
use domain::pdb::PodDisruptionBudget;
use domain::pod::{ObjectKey, Pod, PodKey, VirtualPodSource};
use domain::taint::{Taint, TaintEffect};
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{DaemonSet, Namespace, PodTemplateObject, Workload, WorkloadKind};
use domain::{Text, Timestamp};

use super::error::PortError;
use crate::event::Event;
use crate::status::{CapacityBufferStatus, NodeClassStatus, NodePoolStatus, Observed};

/// A Kubernetes cluster.
///
/// Every write is conditional on the object's uid, so that a successor of the same name is never hit,
/// and is idempotent: what is already as asked counts as done.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Cluster {
    /// Everything that decisions depend on, as consistent as lists of one moment are.
    async fn observe(&self) -> Result<ClusterView, PortError>;

    /// Waits until what provisioning acts upon has changed, or until a moment, whichever comes first.
    ///
    /// A change is: a pod without a node was marked unschedulable by the scheduler, or changed while it
    /// was; or a Node was given the taint `karpenter.sh/disrupted`. None is missed that happened since the
    /// last [`Cluster::observe`] of this value or the last answer of this method, whichever is later;
    /// where an adapter cannot tell (its watch expired), it answers [`Demand::Changed`] once, since looking
    /// once too often does no harm, and waits from then on until somebody looks. An error means that nobody can say: the caller looks again.
    async fn demand_changed(&self, until: Timestamp) -> Result<Demand, PortError>;

    /// VolumeAttachments (`storage.k8s.io/v1`) of a Node, in any order.
    async fn volume_attachments(&self, node: &str) -> Result<Vec<VolumeAttachment>, PortError>;

    /// Changes a Node in one write. `NotFound` where no Node of that name and uid is there.
    async fn patch_node(&self, node: &NodeRef, patch: &NodePatch) -> Result<(), PortError>;

    /// Asks for the deletion of a Node; finalizers hold it until they are removed. A Node that is gone,
    /// or being deleted already, counts as done.
    async fn delete_node(&self, node: &NodeRef) -> Result<(), PortError>;

    /// Asks the Eviction API (`policy/v1`) to let a pod go, with its own grace period.
    async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError>;

    /// Deletes a pod past its PodDisruptionBudgets with a grace period in seconds, at least 1.
    /// A pod that is gone counts as done.
    async fn delete_pod(&self, pod: &PodRef, grace_seconds: u32) -> Result<(), PortError>;

    /// Writes the NodeClaim object that shows a claim: creates it with finalizer
    /// `karpenter.sh/termination`, owned by its NodePool (so that it goes with the pool), and with the
    /// claim's uid in annotation `outrigger.dev/claim-uid`, or
    /// brings finalizer, labels, annotations and status of an existing one up to date. Annotations that
    /// others set stay. `Conflict` where the object of that name does not belong to the claim
    /// ([`NodeClaimObject::belongs_to`]).
    async fn mirror_node_claim(&self, claim: &NodeClaim) -> Result<(), PortError>;

    /// Removes our finalizer from a NodeClaim object and deletes it; what is gone counts as done.
    /// Only an object that belongs to the claim of the given uid is touched.
    async fn remove_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError>;

    /// Hands a NodeClaim object over to whoever looks after NodeClaims next: removes annotation
    /// `outrigger.dev/claim-uid` and leaves everything else, finalizer and status among it, as it is.
    /// Only an object that belongs to the claim of the given uid is touched; what is gone counts as done.
    async fn release_node_claim(&self, name: &str, claim_uid: &str) -> Result<(), PortError>;

    /// Writes annotations and status of a NodePool. `NotFound` where none of that name and uid is there.
    async fn update_node_pool(
        &self,
        node_pool: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError>;

    /// Writes annotations, finalizer and status of an EC2NodeClass. `NotFound` where none of that name and
    /// uid is there.
    async fn update_node_class(
        &self,
        node_class: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError>;

    /// Sets the replicas of a workload through its scale subresource. `NotFound` where none of that kind and name is
    /// there.
    async fn scale_workload(&self, workload: &WorkloadRef, replicas: u32) -> Result<(), PortError>;

    /// Writes the status of a CapacityBuffer; conditions of kinds that are not ours stay. `NotFound` where none of
    /// that key and uid is there.
    async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError>;

    /// Records events. Equal ones within [`crate::event::EventReason::dedupe`] fold into one.
    async fn record_events(&self, events: &[Event]) -> Result<(), PortError>;
}

/// One look at a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    /// NodePools.
    pub node_pools: Vec<NodePool>,
    /// EC2NodeClasses.
    pub node_classes: Vec<Ec2NodeClass>,
    /// NodeOverlays.
    pub node_overlays: Vec<NodeOverlay>,
    /// NodeClaim objects: mirrors of ours, and what others made.
    pub node_claims: Vec<NodeClaimObject>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Pods: bound, pending and ended.
    pub pods: Vec<Pod>,
    /// DaemonSets.
    pub daemon_sets: Vec<DaemonSet>,
    /// Replicated workloads that buffers and schedules may refer to.
    pub workloads: Vec<Workload>,
    /// PodTemplate objects that buffers may refer to.
    pub pod_templates: Vec<PodTemplateObject>,
    /// PodDisruptionBudgets.
    pub pod_disruption_budgets: Vec<PodDisruptionBudget>,
    /// PersistentVolumeClaims.
    pub persistent_volume_claims: Vec<PersistentVolumeClaim>,
    /// PersistentVolumes.
    pub persistent_volumes: Vec<PersistentVolume>,
    /// StorageClasses.
    pub storage_classes: Vec<StorageClass>,
    /// CSINodes.
    pub csi_nodes: Vec<CsiNode>,
    /// Namespaces.
    pub namespaces: Vec<Namespace>,
    /// CapacityBuffers.
    pub capacity_buffers: Vec<CapacityBuffer>,
    /// ScaledObjects with cron triggers.
    pub scaled_objects: Vec<ScaledObject>,
    /// PrewarmSchedules.
    pub prewarm_schedules: Vec<PrewarmSchedule>,
    /// `status` of NodePools, by name. One that is missing here counts as never written.
    pub node_pool_states: BTreeMap<Text, Observed<NodePoolStatus>>,
    /// `status` of EC2NodeClasses, by name. One that is missing here counts as never written.
    pub node_class_states: BTreeMap<Text, Observed<NodeClassStatus>>,
    /// `status` of CapacityBuffers, those that cannot be read among them. One that is missing here counts as never
    /// written.
    pub capacity_buffer_states: BTreeMap<ObjectKey, Observed<CapacityBufferStatus>>,
    /// Schedules and buffers that cannot be read, and so have no effect.
    pub unreadable_sources: Vec<UnreadableSource>,
}

/// A schedule or a buffer that is there and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableSource {
    /// The object.
    pub source: VirtualPodSource,
    /// `metadata.uid`.
    pub uid: Text,
    /// What is wrong with it, and in which field.
    pub problem: Text,
}

/// Whether what provisioning acts upon changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// It did.
    Changed,
    /// It did not until the moment given.
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

/// What to write on a NodePool. Empty fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolUpdate {
    /// Annotations to set.
    pub annotations: Labels,
    /// The status to write, whole; conditions of kinds that are not ours stay.
    pub status: Option<NodePoolStatus>,
}

/// What to write on an EC2NodeClass. Empty fields change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClassUpdate {
    /// Annotations to set.
    pub annotations: Labels,
    /// What to do with finalizer `karpenter.k8s.aws/termination`.
    pub finalizer: FinalizerChange,
    /// The status to write, whole; conditions of kinds that are not ours stay.
    pub status: Option<NodeClassStatus>,
}

/// A NodeClaim object as it stands in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClaimObject {
    /// What it says. `deleted` is set once somebody has asked for its deletion; `uid` is the object's.
    pub claim: NodeClaim,
    /// The uid of the claim it mirrors, from annotation `outrigger.dev/claim-uid`; `None` for an object
    /// that somebody else made.
    pub mirror_of: Option<Text>,
}

impl NodeClaimObject {
    /// Whether it shows the claim of a uid: as its mirror, or because the claim was made from it.
    pub fn belongs_to(&self, claim_uid: &str) -> bool {
        **self.claim_uid() == *claim_uid
    }

    /// The uid of the claim that it shows, be it its own.
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

/// What to change on a Node. Empty fields change nothing.
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
    /// What to do with finalizer `karpenter.sh/termination`.
    pub finalizer: FinalizerChange,
    /// The NodeClaim object to name as the Node's owner (with `blockOwnerDeletion`), beside other owners.
    pub owner: Option<ObjectRef>,
}

impl NodePatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What to do with our finalizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FinalizerChange {
    /// Leave it.
    #[default]
    Keep,
    /// Add it where it is missing.
    Add,
    /// Remove it where it is there.
    Remove,
}

/// What the Eviction API answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The pod is being deleted.
    Accepted,
    /// The pod is gone, or another of its name is there (404; 409 by uid).
    Gone,
    /// A PodDisruptionBudget does not let it go now (429), or several guard it (500).
    Blocked {
        /// What the API server said.
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
