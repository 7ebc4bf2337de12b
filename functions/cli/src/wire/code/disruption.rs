//! Codes of why a node is disrupted.

use domain::reason::DisruptionReason;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a node is disrupted. The first three are the voluntary ones that budgets can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum DisruptionCode {
    /// The node holds no pod that would need another place.
    Empty,
    /// The node's pods fit elsewhere, or on something cheaper.
    Underutilized,
    /// The node no longer matches its NodePool or EC2NodeClass.
    Drifted,
    /// The node has lived as long as it may (`expireAfter`).
    Expired,
    /// The node has reported trouble for too long.
    Unhealthy,
    /// EC2 takes the instance back.
    Interrupted,
    /// The NodePool has more nodes than `spec.replicas`.
    ScaledDown,
    /// The NodePool is off (`outrigger.dev/off-schedule`).
    OffHours,
}

impl From<DisruptionReason> for DisruptionCode {
    fn from(reason: DisruptionReason) -> Self {
        match reason {
            DisruptionReason::Empty => Self::Empty,
            DisruptionReason::Underutilized => Self::Underutilized,
            DisruptionReason::Drifted => Self::Drifted,
            DisruptionReason::Expired => Self::Expired,
            DisruptionReason::Unhealthy => Self::Unhealthy,
            DisruptionReason::Interrupted => Self::Interrupted,
            DisruptionReason::ScaledDown => Self::ScaledDown,
            DisruptionReason::OffHours => Self::OffHours,
        }
    }
}
