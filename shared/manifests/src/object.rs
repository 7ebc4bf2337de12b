//! What sources hold: objects by kind, each with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use documents::Value;
use domain::Text;
use domain::buffer::{CapacityBuffer, PrewarmSchedule, ScaledObject};
use domain::cluster_limit::ClusterLimit;
use domain::commitment::Commitment;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::overlay::NodeOverlay;
use domain::pdb::PodDisruptionBudget;
use domain::pod::ObjectKey;
use domain::scheduler::SchedulerConfig;
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{Namespace, PodTemplateObject, Service};

use crate::error::{ManifestError, Warning};
use crate::field::Field;
use crate::karpenter::SpotHistoryObject;
use crate::kubernetes::{DaemonSetObject, PodObject, PriorityClass, WorkloadObject};

/// An object of a kind that is read.
#[derive(Clone, Debug, PartialEq)]
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
    /// `outrigger.dev` ClusterLimit.
    ClusterLimit(ClusterLimit),
    /// `outrigger.dev` Commitment.
    Commitment(Commitment),
    /// `outrigger.dev` PrewarmSchedule.
    PrewarmSchedule(PrewarmSchedule),
    /// `outrigger.dev` SpotHistory.
    SpotHistory(SpotHistoryObject),
    /// Pod.
    Pod(PodObject),
    /// Node.
    Node(Node),
    /// PodTemplate.
    PodTemplate(PodTemplateObject),
    /// Namespace.
    Namespace(Namespace),
    /// Service.
    Service(Service),
    /// ConfigMap `kube-system/outrigger`, where it says how the scheduler is configured.
    SchedulerConfig(SchedulerConfig),
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
    InstanceCatalog(Value<'static>),
}

/// A function that reads one kind; `None` where something was noted that leaves nothing to return.
pub(crate) type ReadKind = fn(Field<'_>) -> Option<Object>;

/// A kind that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Its API group; empty for the core group.
    pub(crate) group: &'static str,
    /// What it is called.
    pub(crate) name: &'static str,
    /// The versions that are read, the current one first; empty where every version is.
    pub(crate) versions: &'static [&'static str],
    /// What reads it.
    pub(crate) read: ReadKind,
}

impl Kind {
    /// `GROUP/VERSION` of the current version, or `VERSION` of the core group.
    pub(crate) fn api_version(&self) -> String {
        let version = self.versions.first().copied().unwrap_or("v1");
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
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
    /// Which objects were left out because they are wrong.
    pub unreadable: BTreeSet<Identity>,
    /// Objects of kinds that are not read, by kind.
    pub skipped: BTreeMap<String, usize>,
}

/// What identifies an object: kind, namespace (for kinds that live in one) and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The kind.
    pub kind: &'static str,
    /// The namespace; `None` for kinds that live outside namespaces.
    pub namespace: Option<Text>,
    /// The name.
    pub name: Text,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl Object {
    /// Kind, namespace and name; `None` for catalogues, which are no objects of a cluster.
    pub fn identity(&self) -> Option<Identity> {
        let named = |kind, name: &Text| Identity { kind, namespace: None, name: name.clone() };
        let keyed = |kind, key: &ObjectKey| Identity {
            kind,
            namespace: Some(key.namespace.clone()),
            name: key.name.clone(),
        };
        Some(match self {
            Self::NodePool(object) => named("NodePool", &object.name),
            Self::NodeClaim(object) => named("NodeClaim", &object.name),
            Self::NodeOverlay(object) => named("NodeOverlay", &object.name),
            Self::Ec2NodeClass(object) => named("EC2NodeClass", &object.name),
            Self::CapacityBuffer(object) => keyed("CapacityBuffer", &object.key),
            Self::ScaledObject(object) => keyed("ScaledObject", &object.key),
            Self::ClusterLimit(object) => named("ClusterLimit", &object.name),
            Self::Commitment(object) => named("Commitment", &object.name),
            Self::PrewarmSchedule(object) => keyed("PrewarmSchedule", &object.key),
            Self::SpotHistory(object) => named("SpotHistory", &object.name),
            Self::Pod(object) => keyed("Pod", &object.pod.key),
            Self::Node(object) => named("Node", &object.name),
            Self::PodTemplate(object) => keyed("PodTemplate", &object.key),
            Self::Namespace(object) => named("Namespace", &object.name),
            Self::Service(object) => keyed("Service", &object.key),
            Self::SchedulerConfig(_) => Identity {
                kind: "ConfigMap",
                namespace: Some("kube-system".into()),
                name: "outrigger".into(),
            },
            Self::PersistentVolume(object) => named("PersistentVolume", &object.name),
            Self::PersistentVolumeClaim(object) => keyed("PersistentVolumeClaim", &object.key),
            Self::DaemonSet(object) => keyed("DaemonSet", &object.daemon_set.key),
            Self::Workload(object) => keyed(object.workload.kind.as_str(), &object.workload.key),
            Self::StorageClass(object) => named("StorageClass", &object.name),
            Self::CsiNode(object) => named("CSINode", &object.name),
            Self::PodDisruptionBudget(object) => keyed("PodDisruptionBudget", &object.key),
            Self::PriorityClass(object) => named("PriorityClass", &object.name),
            Self::InstanceCatalog(_) => return None,
        })
    }
}
