//! Codes of what must never happen in a simulated run.

use schemars::JsonSchema;
use serde::Serialize;
use simulation::invariant::Violation;

/// What must never happen, and did: a defect of Outrigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum InvariantCode {
    /// Two instances live for one NodeClaim.
    TwoInstances,
    /// An instance belongs to no NodeClaim and was not ended.
    OrphanedInstance,
    /// A NodeClaim was ended as if its instance were gone, which lives.
    LiveInstanceGivenUp,
    /// Nodes of a NodePool have more than its limits allow.
    LimitExceeded,
    /// More nodes of a NodePool go at once than its budgets allow.
    BudgetExceeded,
    /// A pod was deleted past a PodDisruptionBudget, and no deadline forced it.
    PodDisruptionBudgetBypassed,
    /// A node was disrupted although it or a pod on it has `karpenter.sh/do-not-disrupt`.
    DoNotDisruptIgnored,
    /// A node was consolidated before `consolidateAfter` had passed.
    ConsolidatedTooSoon,
    /// A pod was evicted by choice while no other node had room for it.
    EvictedWithoutReplacement,
    /// The instance that EC2 chose cannot hold the pods that were planned for it.
    TooSmallInstance,
    /// A client token was used for two NodeClaims, or launched two instances.
    TokenReused,
    /// Consolidation replaced nodes by what costs as much or more.
    ReplacementTooExpensive,
    /// A plan broke a rule of the checker, so that nothing of it was done.
    InvalidPlan,
}

impl From<&Violation> for InvariantCode {
    fn from(violation: &Violation) -> Self {
        match violation {
            Violation::TwoInstances { .. } => Self::TwoInstances,
            Violation::OrphanedInstance { .. } => Self::OrphanedInstance,
            Violation::LiveInstanceGivenUp { .. } => Self::LiveInstanceGivenUp,
            Violation::LimitExceeded { .. } => Self::LimitExceeded,
            Violation::BudgetExceeded { .. } => Self::BudgetExceeded,
            Violation::PdbBypassed { .. } => Self::PodDisruptionBudgetBypassed,
            Violation::DoNotDisruptIgnored { .. } => Self::DoNotDisruptIgnored,
            Violation::ConsolidatedTooSoon { .. } => Self::ConsolidatedTooSoon,
            Violation::EvictedWithoutReplacement { .. } => Self::EvictedWithoutReplacement,
            Violation::TooSmallInstance { .. } => Self::TooSmallInstance,
            Violation::TokenReused { .. } => Self::TokenReused,
            Violation::DearerReplacement { .. } => Self::ReplacementTooExpensive,
            Violation::InvalidPlan(_) => Self::InvalidPlan,
        }
    }
}
