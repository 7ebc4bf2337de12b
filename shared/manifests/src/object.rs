//! What sources hold: objects by kind, each with its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::buffer::{CapacityBuffer, ScaledObject};
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::overlay::NodeOverlay;
use domain::pdb::PodDisruptionBudget;
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{Namespace, PodTemplateObject};

use crate::error::{ManifestError, Warning};
use crate::kubernetes::{DaemonSetObject, PodObject, PriorityClass, WorkloadObject};

/// An object of a kind that is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Object {
    /// `karpenter.sh` NodePool.
    NodePool(NodePool),
    /// `karpenter.sh` NodeClaim.
    NodeClaim(NodeClaim),
    /// `karpenter.sh` NodeOverlay.
    NodeOverlay(NodeOverlay),
    /// `karpenter.k8s.aws` EC2NodeClass.
    Ec2NodeClass(Box<Ec2NodeClass>),
    /// `autoscaling.x-k8s.io` CapacityBuffer.
    CapacityBuffer(CapacityBuffer),
    /// `keda.sh` ScaledObject.
    ScaledObject(ScaledObject),
    /// Pod.
    Pod(PodObject),
    /// Node.
    Node(Node),
    /// PodTemplate.
    PodTemplate(PodTemplateObject),
    /// Namespace.
    Namespace(Namespace),
    /// PersistentVolume.
    PersistentVolume(PersistentVolume),
    /// PersistentVolumeClaim.
    PersistentVolumeClaim(PersistentVolumeClaim),
    /// `apps` DaemonSet.
    DaemonSet(DaemonSetObject),
    /// `apps` Deployment, StatefulSet or ReplicaSet, or `batch` Job.
    Workload(WorkloadObject),
    /// `storage.k8s.io` StorageClass.
    StorageClass(StorageClass),
    /// `storage.k8s.io` CSINode.
    CsiNode(CsiNode),
    /// `policy` PodDisruptionBudget.
    PodDisruptionBudget(PodDisruptionBudget),
    /// `scheduling.k8s.io` PriorityClass.
    PriorityClass(PriorityClass),
    /// `outrigger.dev` InstanceCatalog, as it stands: the catalogue reads it.
    InstanceCatalog(serde_json::Value),
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The source's name.
    pub file: Arc<str>,
    /// The line on which the object starts.
    pub line: u32,
    /// The value.
    pub value: T,
}

/// What sources hold.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Objects that could be read, in the order of the sources.
    pub objects: Vec<Located<Object>>,
    /// Why others were left out.
    pub errors: Vec<ManifestError>,
    /// What was read in a way its author may not expect.
    pub warnings: Vec<Warning>,
    /// Objects of kinds that are not read, by kind.
    pub skipped: BTreeMap<String, usize>,
}
