//! Why a node has drifted.

use std::fmt;

use crate::Text;

/// How a NodeClaim differs from what it was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftReason {
    /// The NodePool's template changed.
    NodePoolDrifted,
    /// A label of the claim is outside the pool's requirements.
    RequirementsDrifted(Text),
    /// Its instance type is no longer on offer.
    InstanceTypeNotFound,
    /// The EC2NodeClass changed.
    NodeClassDrift,
    /// Its image is no longer the one that is selected.
    AmiDrift,
    /// Its subnet is no longer selected.
    SubnetDrift,
    /// Its security groups are no longer those selected.
    SecurityGroupDrift,
    /// Its capacity reservation is no longer selected.
    CapacityReservationDrift,
}

impl fmt::Display for DriftReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodePoolDrifted => write!(f, "NodePoolDrifted"),
            Self::RequirementsDrifted(key) => write!(f, "RequirementsDrifted ({key})"),
            Self::InstanceTypeNotFound => write!(f, "InstanceTypeNotFound"),
            Self::NodeClassDrift => write!(f, "NodeClassDrift"),
            Self::AmiDrift => write!(f, "AMIDrift"),
            Self::SubnetDrift => write!(f, "SubnetDrift"),
            Self::SecurityGroupDrift => write!(f, "SecurityGroupDrift"),
            Self::CapacityReservationDrift => write!(f, "CapacityReservationDrift"),
        }
    }
}
