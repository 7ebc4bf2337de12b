//! Everything a plan is made from: the objects of a cluster, its claims and its catalogue.

use std::collections::BTreeMap;

use crate::buffer::{CapacityBuffer, PrewarmSchedule, ScaledObject};
use crate::cluster_limit::ClusterLimit;
use crate::commitment::Commitment;
use crate::instance_type::InstanceTypes;
use crate::node::Node;
use crate::node_claim::NodeClaim;
use crate::node_class::Ec2NodeClass;
use crate::node_pool::NodePool;
use crate::overlay::NodeOverlay;
use crate::pdb::PodDisruptionBudget;
use crate::pod::{Pod, PodKey};
use crate::scheduler::SchedulerConfig;
use crate::settings::Settings;
use crate::shared_list::SharedList;
use crate::spot::{SkippedSpot, SpotHistory};
use crate::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::workload::{DaemonSet, Namespace, PodTemplateObject, Service, Workload};
use crate::{Text, Timestamp};

/// Objects listed from a Kubernetes cluster, by kind.
///
/// The order of a list carries no meaning: no decision depends on it. Every list may be empty.
#[derive(Clone, Debug, Default)]
pub struct ClusterObjects {
    /// NodePools.
    pub node_pools: Vec<NodePool>,
    /// EC2NodeClasses.
    pub node_classes: Vec<Ec2NodeClass>,
    /// NodeOverlays.
    pub node_overlays: Vec<NodeOverlay>,
    /// Nodes.
    pub nodes: SharedList<Node>,
    /// Pods: bound, pending and terminal.
    pub pods: SharedList<Pod>,
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
    /// Namespaces. A namespace that is not listed has one label: `kubernetes.io/metadata.name`.
    pub namespaces: Vec<Namespace>,
    /// Services: what the scheduler deduces selectors of default constraints from, beside owners.
    pub services: Vec<Service>,
    /// CapacityBuffers.
    pub capacity_buffers: Vec<CapacityBuffer>,
    /// ScaledObjects with cron triggers.
    pub scaled_objects: Vec<ScaledObject>,
    /// PrewarmSchedules.
    pub prewarm_schedules: Vec<PrewarmSchedule>,
    /// ClusterLimits.
    pub cluster_limits: Vec<ClusterLimit>,
    /// Commitments.
    pub commitments: Vec<Commitment>,
    /// How the cluster's scheduler is configured: ConfigMap `kube-system/outrigger`, or what stands
    /// in for it.
    pub scheduler: SchedulerConfig,
}

/// Everything that a plan depends on, read at one moment.
///
/// A plan is a function of this value alone.
#[derive(Clone, Debug)]
pub struct ClusterSnapshot {
    /// When the snapshot was taken.
    pub now: Timestamp,
    /// The seed from which the names of new claims are drawn.
    pub seed: u64,
    /// Feature gates and policies.
    pub settings: Settings,
    /// What the cluster holds.
    pub objects: ClusterObjects,
    /// NodeClaims, launched or about to be.
    pub node_claims: Vec<NodeClaim>,
    /// What EC2 offers.
    pub instance_types: InstanceTypes,
    /// Pods that a recent plan placed and kube-scheduler has not bound yet, by the name of the node
    /// (or claim). Such a node must not be disrupted, and a new plan leaves these pods their
    /// places.
    pub nominations: BTreeMap<Text, Vec<PodKey>>,
    /// What the installation remembers of the region's spot offerings.
    pub spot: SpotHistory,
    /// Spot offerings that EC2 skips, as far as this cluster's launches of late tell.
    pub skipped_spot: SkippedSpot,
}

impl ClusterSnapshot {
    /// An empty cluster at a moment.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            now,
            seed: 0,
            settings: Settings::default(),
            objects: ClusterObjects::default(),
            node_claims: Vec::new(),
            instance_types: InstanceTypes::default(),
            nominations: BTreeMap::new(),
            spot: SpotHistory::default(),
            skipped_spot: SkippedSpot::default(),
        }
    }
}
