//! Codes of why a pod has no place.

use domain::reason::{NodePoolUnfit, PodUnschedulable, VolumeProblem};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a pod has no place: of the pod itself, of one of its volume claims, or of one NodePool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum UnschedulableCode {
    Pod(PodCode),
    VolumeClaim(VolumeClaimCode),
    NodePool(NodePoolCode),
}

/// Why a pod has no place, whatever the NodePools are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum PodCode {
    /// No NodePool may launch nodes.
    NoNodePool,
    /// The pod refuses nodes of any NodePool: `karpenter.sh/nodepool` `DoesNotExist`.
    RefusesManagedNodes,
    /// The pod requires a label that users may not set.
    RestrictedLabel,
    /// The pod has a resource claim; dynamic resource allocation is not supported.
    ResourceClaimNotSupported,
    /// The pod names a node by a field, which no new node can be.
    NodeNamedByField,
    /// The pod uses something that this version does not plan for.
    NotSupported,
}

/// What of a volume claim keeps its pod from running anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum VolumeClaimCode {
    /// The claim does not exist.
    VolumeClaimNotFound,
    /// The claim is being deleted.
    VolumeClaimDeleting,
    /// The claim has lost its volume.
    VolumeClaimLost,
    /// Binding of the claim has begun and is not complete.
    VolumeClaimBinding,
    /// The claim binds immediately and is not bound yet.
    VolumeClaimUnbound,
    /// The claim is in use, and only one pod may use it at a time (`ReadWriteOncePod`).
    VolumeClaimInUse,
    /// The claim is bound to a PersistentVolume that does not exist.
    VolumeNotFound,
    /// The claim is unbound and names no StorageClass, and there is no default.
    NoStorageClass,
    /// The claim names a StorageClass that does not exist.
    StorageClassNotFound,
    /// No zone has all volumes of the pod.
    VolumesIncompatible,
}

/// Why a NodePool cannot host a pod: the first thing that rules it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum NodePoolCode {
    /// The NodePool is being deleted.
    NodePoolDeleting,
    /// The NodePool or its EC2NodeClass is not ready.
    NodePoolNotReady,
    /// The NodePool keeps a fixed number of nodes (`spec.replicas`).
    NodePoolStatic,
    /// The pod does not tolerate a taint.
    UntoleratedTaint,
    /// The pod requires a label that nodes of the NodePool do not have.
    UndefinedLabel,
    /// The pod requires other values of a label than nodes have.
    LabelMismatch,
    /// The pod may run in one zone only, in which the EC2NodeClass has no subnet.
    NoSubnet,
    /// Subnets of the EC2NodeClass have too few free addresses where the pod may run
    /// (`outrigger.dev/min-free-addresses`).
    NoAddresses,
    /// No instance type meets what the NodePool itself requires.
    NodePoolRequirementsUnmet,
    /// The pod's own requirements contradict each other.
    PodRequirementsConflict,
    /// The pod's requirements leave no instance type.
    NoInstanceType,
    /// Instance types would do, and none can be launched where the pod may run.
    NoOffering,
    /// The largest instance type that the NodePool allows has too little of a resource.
    InsufficientResources,
    /// The NodePool buys no node for pods of so low a priority (`outrigger.dev/expendable-below`).
    Expendable,
    /// All images of the EC2NodeClass are younger than its `outrigger.dev/ami-min-age`.
    ImagesTooYoung,
    /// The NodePool is off (`outrigger.dev/off-schedule`).
    OffHours,
    /// What is left under a ClusterLimit is too small.
    ClusterLimitExceeded,
    /// A ClusterLimit cannot be read: nothing new is launched until it can.
    ClusterLimitUnreadable,
    /// What is left under the NodePool's limits is too small.
    LimitExceeded,
    /// What is left under the NodePool's limit in dollars is less than any node for the pod costs.
    UsdLimitExceeded,
    /// Fewer distinct values of a label are left than the NodePool's `minValues`.
    MinValues,
    /// DaemonSets of its nodes open a host port that the pod opens.
    HostPortConflict,
    /// A topology spread constraint leaves no domain.
    TopologySpread,
    /// Required pod affinity leaves no domain.
    PodAffinity,
    /// Pod anti-affinity, the pod's or another's, leaves no domain.
    PodAntiAffinity,
    /// Each topology constraint leaves domains, and no node is in those of all.
    TopologyConflict,
    /// A required constraint needs a label as topology key that nodes do not have.
    NoTopologyDomain,
    /// The pod's volumes are where the NodePool launches nothing.
    VolumeTopology,
}

impl From<&PodUnschedulable> for UnschedulableCode {
    fn from(reason: &PodUnschedulable) -> Self {
        Self::Pod(match reason {
            PodUnschedulable::NoNodePool => PodCode::NoNodePool,
            PodUnschedulable::RefusesManagedNodes => PodCode::RefusesManagedNodes,
            PodUnschedulable::RestrictedLabel { .. } => PodCode::RestrictedLabel,
            PodUnschedulable::DeviceClaim { .. } => PodCode::ResourceClaimNotSupported,
            PodUnschedulable::NodeByField { .. } => PodCode::NodeNamedByField,
            PodUnschedulable::NotSupportedYet { .. } => PodCode::NotSupported,
            PodUnschedulable::Volume { problem, .. } => return Self::VolumeClaim(problem.into()),
            PodUnschedulable::NodePool { reason, .. } => return Self::NodePool(reason.into()),
        })
    }
}

impl From<&VolumeProblem> for VolumeClaimCode {
    fn from(problem: &VolumeProblem) -> Self {
        match problem {
            VolumeProblem::Missing => Self::VolumeClaimNotFound,
            VolumeProblem::Deleting => Self::VolumeClaimDeleting,
            VolumeProblem::Lost => Self::VolumeClaimLost,
            VolumeProblem::Binding => Self::VolumeClaimBinding,
            VolumeProblem::NoVolume(_) => Self::VolumeNotFound,
            VolumeProblem::NoStorageClass => Self::NoStorageClass,
            VolumeProblem::UnknownStorageClass(_) => Self::StorageClassNotFound,
            VolumeProblem::UnboundImmediate => Self::VolumeClaimUnbound,
            VolumeProblem::Incompatible => Self::VolumesIncompatible,
            VolumeProblem::InUse => Self::VolumeClaimInUse,
        }
    }
}

impl From<&NodePoolUnfit> for NodePoolCode {
    fn from(unfit: &NodePoolUnfit) -> Self {
        match unfit {
            NodePoolUnfit::Deleting => Self::NodePoolDeleting,
            NodePoolUnfit::NotReady | NodePoolUnfit::NodeClass { .. } => Self::NodePoolNotReady,
            NodePoolUnfit::Static => Self::NodePoolStatic,
            NodePoolUnfit::Taint(_) => Self::UntoleratedTaint,
            NodePoolUnfit::UndefinedLabel { .. } => Self::UndefinedLabel,
            NodePoolUnfit::Label { .. } => Self::LabelMismatch,
            NodePoolUnfit::NoSubnet { .. } => Self::NoSubnet,
            NodePoolUnfit::NoAddresses { .. } => Self::NoAddresses,
            NodePoolUnfit::UnmetRequirements(_) => Self::NodePoolRequirementsUnmet,
            NodePoolUnfit::PodContradiction => Self::PodRequirementsConflict,
            NodePoolUnfit::NoInstanceType { .. } => Self::NoInstanceType,
            NodePoolUnfit::NoOffering => Self::NoOffering,
            NodePoolUnfit::Expendable { .. } => Self::Expendable,
            NodePoolUnfit::ClusterLimit { .. } => Self::ClusterLimitExceeded,
            NodePoolUnfit::ClusterLimitUnreadable { .. } => Self::ClusterLimitUnreadable,
            NodePoolUnfit::OffHours { .. } => Self::OffHours,
            NodePoolUnfit::ImagesTooYoung { .. } => Self::ImagesTooYoung,
            NodePoolUnfit::TooSmall { .. } => Self::InsufficientResources,
            NodePoolUnfit::Limit { .. } => Self::LimitExceeded,
            NodePoolUnfit::UsdLimit { .. } => Self::UsdLimitExceeded,
            NodePoolUnfit::MinValues { .. } => Self::MinValues,
            NodePoolUnfit::HostPort(_) => Self::HostPortConflict,
            NodePoolUnfit::TopologySpread { .. } => Self::TopologySpread,
            NodePoolUnfit::PodAffinity { .. } => Self::PodAffinity,
            NodePoolUnfit::PodAntiAffinity { .. } => Self::PodAntiAffinity,
            NodePoolUnfit::TopologyTogether(_) => Self::TopologyConflict,
            NodePoolUnfit::NoDomain(_) => Self::NoTopologyDomain,
            NodePoolUnfit::VolumeTopology => Self::VolumeTopology,
        }
    }
}
