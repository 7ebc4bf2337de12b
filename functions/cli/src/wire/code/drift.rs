//! Codes of how a node has drifted.

use domain::drift::DriftReason;
use schemars::JsonSchema;
use serde::Serialize;

/// How a node differs from what it was made from, in Karpenter's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum DriftCode {
    /// The NodePool's template changed.
    NodePoolDrifted,
    /// A label of the node is outside the NodePool's requirements.
    RequirementsDrifted,
    /// The instance type is no longer on offer.
    InstanceTypeNotFound,
    /// The EC2NodeClass changed.
    NodeClassDrift,
    /// The image is no longer the one that is selected.
    #[serde(rename = "AMIDrift")]
    AmiDrift,
    /// The subnet is no longer selected.
    SubnetDrift,
    /// The security groups are no longer those selected.
    SecurityGroupDrift,
    /// The capacity reservation is no longer selected.
    CapacityReservationDrift,
    /// The placement group is no longer the one that is selected.
    PlacementGroupDrift,
    /// EC2 recommended to replace the instance, and the NodePool wants that done.
    RebalanceRecommended,
    /// The node is past its age limit, and nodes of its NodePool expire gracefully.
    Expired,
}

impl From<&DriftReason> for DriftCode {
    fn from(reason: &DriftReason) -> Self {
        match reason {
            DriftReason::NodePoolDrifted => Self::NodePoolDrifted,
            DriftReason::RequirementsDrifted(_) => Self::RequirementsDrifted,
            DriftReason::InstanceTypeNotFound => Self::InstanceTypeNotFound,
            DriftReason::NodeClassDrift => Self::NodeClassDrift,
            DriftReason::AmiDrift => Self::AmiDrift,
            DriftReason::SubnetDrift => Self::SubnetDrift,
            DriftReason::SecurityGroupDrift => Self::SecurityGroupDrift,
            DriftReason::CapacityReservationDrift => Self::CapacityReservationDrift,
            DriftReason::PlacementGroupDrift => Self::PlacementGroupDrift,
            DriftReason::RebalanceRecommended => Self::RebalanceRecommended,
            DriftReason::Expired => Self::Expired,
        }
    }
}
