//! Codes of why a node that is there does not take a pod.

use domain::reason::NodeUnfit;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a node that is there, or a claim in flight, does not take a pod: the first thing that rules
/// it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum NodeRefusalCode {
    /// The node is going away.
    NodeLeaving,
    /// The pod does not tolerate a taint.
    UntoleratedTaint,
    /// The pod requires another value of a label, or a label that the node does not have.
    LabelMismatch,
    /// Too little of a resource is free.
    InsufficientResources,
    /// Another pod of the node opens a host port that the pod opens.
    HostPortConflict,
    /// The node can attach no more volumes of a CSI driver.
    VolumeAttachLimit,
    /// A volume claim of the pod is in use, and only one pod may use it at a time.
    VolumeClaimInUse,
    /// A topology spread constraint would be broken.
    TopologySpread,
    /// A required constraint needs a label as topology key that the node does not have.
    NoTopologyDomain,
    /// No pod that required pod affinity selects is in the node's domain.
    PodAffinity,
    /// Pod anti-affinity, the pod's or another's, keeps the pod out of the node's domain.
    PodAntiAffinity,
}

impl From<&NodeUnfit> for NodeRefusalCode {
    fn from(unfit: &NodeUnfit) -> Self {
        match unfit {
            NodeUnfit::Leaving => Self::NodeLeaving,
            NodeUnfit::Taint(_) => Self::UntoleratedTaint,
            NodeUnfit::Label { .. } => Self::LabelMismatch,
            NodeUnfit::Room { .. } => Self::InsufficientResources,
            NodeUnfit::HostPort(_) => Self::HostPortConflict,
            NodeUnfit::AttachLimit { .. } => Self::VolumeAttachLimit,
            NodeUnfit::VolumeInUse => Self::VolumeClaimInUse,
            NodeUnfit::TopologySpread { .. } => Self::TopologySpread,
            NodeUnfit::NoDomain(_) => Self::NoTopologyDomain,
            NodeUnfit::PodAffinity(_) => Self::PodAffinity,
            NodeUnfit::PodAntiAffinity(_) => Self::PodAntiAffinity,
        }
    }
}
