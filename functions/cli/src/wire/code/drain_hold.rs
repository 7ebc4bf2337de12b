//! Codes of what holds a pod on a node that is being drained.

use domain::drain::DrainHold;
use schemars::JsonSchema;
use serde::Serialize;

/// What holds a pod on a node that is being drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum DrainHoldCode {
    /// `karpenter.sh/do-not-disrupt`, for good or for a time.
    DoNotDisrupt,
    /// A PodDisruptionBudget that allows no disruption now.
    PodDisruptionBudget,
    /// A PodDisruptionBudget that never allows one, or several that guard the pod.
    PodDisruptionBudgetForGood,
    /// It ends: its grace period runs, or a finalizer keeps it.
    Terminating,
    /// A rollout of its Deployment is to end it.
    Rollout,
    /// Pods go before it.
    InTurn,
    /// It has no place elsewhere yet.
    AwaitingCapacity,
}

impl From<&DrainHold> for DrainHoldCode {
    fn from(hold: &DrainHold) -> Self {
        match hold {
            DrainHold::DoNotDisrupt { .. } => Self::DoNotDisrupt,
            DrainHold::PodDisruptionBudget { is_for_good: true, .. } => {
                Self::PodDisruptionBudgetForGood
            }
            DrainHold::PodDisruptionBudget { .. } => Self::PodDisruptionBudget,
            DrainHold::Terminating { .. } => Self::Terminating,
            DrainHold::Rollout => Self::Rollout,
            DrainHold::InTurn => Self::InTurn,
            DrainHold::Room => Self::AwaitingCapacity,
        }
    }
}
