//! Everything a plan is made from: one look at a cluster, its claims and its catalogue.

use std::collections::BTreeMap;

use crate::buffer::{CapacityBuffer, PrewarmSchedule, ScaledObject};
use crate::instance_type::InstanceTypes;
use crate::node::Node;
use crate::node_claim::NodeClaim;
use crate::node_class::Ec2NodeClass;
use crate::node_pool::NodePool;
use crate::overlay::NodeOverlay;
use crate::pdb::PodDisruptionBudget;
use crate::pod::Pod;
use crate::settings::Settings;
use crate::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::workload::{DaemonSet, Namespace, PodTemplateObject, Workload};
use crate::{Text, Timestamp};

/// One consistent look at everything that decisions depend on, the time included.
///
/// Lists may come in any order: decisions do not depend on it. A plan is a function of this value
/// alone.
#[derive(Clone, Debug)]
pub struct ClusterSnapshot {
    /// The moment of the look.
    pub now: Timestamp,
    /// What names of new claims are drawn from.
    pub seed: u64,
    /// Settings.
    pub settings: Settings,
    /// NodePools.
    pub node_pools: Vec<NodePool>,
    /// EC2NodeClasses.
    pub node_classes: Vec<Ec2NodeClass>,
    /// NodeOverlays.
    pub node_overlays: Vec<NodeOverlay>,
    /// NodeClaims: launched or about to be.
    pub node_claims: Vec<NodeClaim>,
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
    /// Namespaces; one that is missing has only its name as a label.
    pub namespaces: Vec<Namespace>,
    /// CapacityBuffers.
    pub capacity_buffers: Vec<CapacityBuffer>,
    /// ScaledObjects with cron triggers.
    pub scaled_objects: Vec<ScaledObject>,
    /// PrewarmSchedules.
    pub prewarm_schedules: Vec<PrewarmSchedule>,
    /// What EC2 offers.
    pub instance_types: InstanceTypes,
    /// Pods that a recent plan gave a place on a node, by node, while the scheduler has not bound them yet:
    /// such a node must not be disrupted, and a plan leaves them their places.
    pub nominations: BTreeMap<Text, Vec<crate::pod::PodKey>>,
}

impl ClusterSnapshot {
    /// An empty cluster at a moment.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            now,
            seed: 0,
            settings: Settings::default(),
            node_pools: Vec::new(),
            node_classes: Vec::new(),
            node_overlays: Vec::new(),
            node_claims: Vec::new(),
            nodes: Vec::new(),
            pods: Vec::new(),
            daemon_sets: Vec::new(),
            workloads: Vec::new(),
            pod_templates: Vec::new(),
            pod_disruption_budgets: Vec::new(),
            persistent_volume_claims: Vec::new(),
            persistent_volumes: Vec::new(),
            storage_classes: Vec::new(),
            csi_nodes: Vec::new(),
            namespaces: Vec::new(),
            capacity_buffers: Vec::new(),
            scaled_objects: Vec::new(),
            prewarm_schedules: Vec::new(),
            instance_types: InstanceTypes::default(),
            nominations: BTreeMap::new(),
        }
    }
}
