//! Where each kind is kept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

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
use domain::pod::{ObjectKey, Pod};
use domain::scheduler::SchedulerConfig;
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use domain::workload::{Namespace, PodTemplateObject, Service};
use manifests::{DaemonSetObject, WorkloadObject};

use super::object_list::ObjectList;
use super::pod_index::PodIndex;
use super::workload_id::WorkloadId;

/// An object and the version of its last write.
#[derive(Debug)]
pub struct Row<T> {
    /// Shared with indexes.
    pub(super) value: Arc<T>,
    pub(super) resource_version: u64,
}

pub(super) type Rows<K, T> = BTreeMap<K, Row<T>>;

/// One table a kind, and indexes.
#[derive(Debug, Default)]
pub struct Tables {
    pub(super) pods: Rows<ObjectKey, Pod>,
    pub(super) pod_index: PodIndex,
    pub(super) pod_list: RefCell<ObjectList<ObjectKey, Pod>>,
    pub(super) nodes: Rows<Text, Node>,
    pub(super) node_list: RefCell<ObjectList<Text, Node>>,
    pub(super) node_pools: Rows<Text, NodePool>,
    pub(super) node_classes: Rows<Text, Ec2NodeClass>,
    pub(super) node_claims: Rows<Text, NodeClaim>,
    pub(super) node_overlays: Rows<Text, NodeOverlay>,
    pub(super) workloads: Rows<WorkloadId, WorkloadObject>,
    pub(super) daemon_sets: Rows<ObjectKey, DaemonSetObject>,
    pub(super) pod_templates: Rows<ObjectKey, PodTemplateObject>,
    pub(super) pod_disruption_budgets: Rows<ObjectKey, PodDisruptionBudget>,
    pub(super) persistent_volume_claims: Rows<ObjectKey, PersistentVolumeClaim>,
    pub(super) persistent_volumes: Rows<Text, PersistentVolume>,
    pub(super) storage_classes: Rows<Text, StorageClass>,
    pub(super) csi_nodes: Rows<Text, CsiNode>,
    pub(super) namespaces: Rows<Text, Namespace>,
    pub(super) services: Rows<ObjectKey, Service>,
    /// Of ConfigMap `kube-system/outrigger`, the only one that is kept.
    pub(super) scheduler_configs: Rows<Text, SchedulerConfig>,
    pub(super) capacity_buffers: Rows<ObjectKey, CapacityBuffer>,
    pub(super) scaled_objects: Rows<ObjectKey, ScaledObject>,
    pub(super) prewarm_schedules: Rows<ObjectKey, PrewarmSchedule>,
    pub(super) cluster_limits: Rows<Text, ClusterLimit>,
    pub(super) commitments: Rows<Text, Commitment>,
}
