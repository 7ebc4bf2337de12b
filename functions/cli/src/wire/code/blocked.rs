//! Codes of why a node is not disrupted.

use domain::reason::{NotDisruptable, Unconsolidatable};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a node stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum BlockedCode {
    NotDisruptable(NotDisruptableCode),
    NotConsolidated(NotConsolidatedCode),
}

/// What keeps a node from being disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum NotDisruptableCode {
    /// The Node or its NodeClaim has `karpenter.sh/do-not-disrupt`.
    DoNotDisrupt,
    /// A pod on the node has `karpenter.sh/do-not-disrupt`.
    PodDoNotDisrupt,
    /// A PodDisruptionBudget does not let a pod go.
    PodDisruptionBudget,
    /// The node has not finished starting.
    NotInitialized,
    /// Pods have just been given a place on the node.
    Nominated,
    /// The budgets of the NodePool allow no more disruptions now.
    DisruptionBudget,
    /// A pod came or went less than `consolidateAfter` ago.
    ConsolidateAfter,
    /// The NodePool's `consolidationPolicy` does not consolidate the node as it is.
    ConsolidationPolicy,
    /// The pods request as much of the node as `outrigger.dev/consolidate-below` of the NodePool
    /// says, or more.
    Utilized,
    /// The NodePool of the node does not exist or cannot be read.
    NodePoolNotFound,
    /// The catalogue does not price the node.
    PriceUnknown,
    /// A disruption that was proposed is not worth it any more.
    NoLongerWorthIt,
    /// The node has drifted, and a pod finds no other place.
    DriftedWithoutPlace,
    /// The node has drifted, and its replacement cannot be launched.
    DriftedWithoutReplacement,
    /// The node has drifted, and another one is replaced first.
    DriftedLater,
    /// The node has drifted, and the wave of `outrigger.dev/drift-waves` allows no more.
    DriftWave,
    /// The node has drifted, and drift of the NodePool is halted (`outrigger.dev/drift-halted`).
    DriftHalted,
    /// Something that this version does not do.
    NotSupported,
    /// More than a fifth of the NodePool's nodes are unhealthy, so that none is repaired.
    TooManyUnhealthy,
}

/// Why a node is not consolidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum NotConsolidatedCode {
    /// A pod of the node has no other place, be it on a new node.
    NoPlace,
    /// Pods would need new nodes, and none that holds them together may be launched.
    NoReplacement,
    /// Pods would need a new node that costs as much as is saved, or more.
    ReplacementTooExpensive,
    /// Pods would need a new spot node, and feature gate `SpotToSpotConsolidation` is off.
    SpotToSpotDisabled,
    /// Too few cheaper spot types would hold the pods.
    TooFewSpotTypes,
    /// What is cheaper has fewer distinct values of a label than `minValues`.
    MinValues,
    /// The node could go together with others, and what replaces them cannot be launched.
    ReplacementNotLaunchable,
    /// It would save less than moving the pods has to save.
    SavingTooSmall,
    /// The pods would go to spot nodes, where their interruptions cost more than is saved.
    DearInterruptions,
    /// More than its share of a workload's replicas would be on one spot offering.
    SpotShare,
    /// kube-scheduler would spread the pods otherwise, which costs what would be saved.
    SchedulerDivergence,
    /// The saving scores too low for a NodePool with `consolidationPolicy: Balanced`.
    ScoreTooLow,
    /// The node can go, and another move comes first.
    AnotherMoveFirst,
}

impl From<&NotDisruptable> for BlockedCode {
    fn from(reason: &NotDisruptable) -> Self {
        use NotDisruptableCode as Code;
        Self::NotDisruptable(match reason {
            NotDisruptable::DoNotDisrupt => Code::DoNotDisrupt,
            NotDisruptable::PodDoNotDisrupt(_) => Code::PodDoNotDisrupt,
            NotDisruptable::Pdb { .. } => Code::PodDisruptionBudget,
            NotDisruptable::NotInitialized => Code::NotInitialized,
            NotDisruptable::Nominated => Code::Nominated,
            NotDisruptable::Budget { .. } => Code::DisruptionBudget,
            NotDisruptable::ConsolidateAfter { .. } => Code::ConsolidateAfter,
            NotDisruptable::Policy(..) => Code::ConsolidationPolicy,
            NotDisruptable::Utilized { .. } => Code::Utilized,
            NotDisruptable::NoNodePool(_) => Code::NodePoolNotFound,
            NotDisruptable::UnknownPrice => Code::PriceUnknown,
            NotDisruptable::NotWorthIt(_) => Code::NoLongerWorthIt,
            NotDisruptable::Unconsolidatable(reason) => {
                return Self::NotConsolidated(reason.into());
            }
            NotDisruptable::DriftWithoutPlace { .. } => Code::DriftedWithoutPlace,
            NotDisruptable::DriftWithoutReplacement { .. } => Code::DriftedWithoutReplacement,
            NotDisruptable::DriftLater { .. } => Code::DriftedLater,
            NotDisruptable::DriftWave { .. } => Code::DriftWave,
            NotDisruptable::DriftHalted { .. } => Code::DriftHalted,
            NotDisruptable::NotSupportedYet(_) => Code::NotSupported,
            NotDisruptable::TooManyUnhealthy { .. } => Code::TooManyUnhealthy,
        })
    }
}

impl From<&Unconsolidatable> for NotConsolidatedCode {
    fn from(reason: &Unconsolidatable) -> Self {
        match reason {
            Unconsolidatable::NoPlace(_) => Self::NoPlace,
            Unconsolidatable::NoReplacement { .. } => Self::NoReplacement,
            Unconsolidatable::NothingCheaper { .. } => Self::ReplacementTooExpensive,
            Unconsolidatable::SpotToSpot { .. } => Self::SpotToSpotDisabled,
            Unconsolidatable::TooFewSpotTypes { .. } => Self::TooFewSpotTypes,
            Unconsolidatable::MinValues(_) => Self::MinValues,
            Unconsolidatable::NotLaunchable(_) => Self::ReplacementNotLaunchable,
            Unconsolidatable::TooLittle { .. } => Self::SavingTooSmall,
            Unconsolidatable::DearInterruptions { .. } => Self::DearInterruptions,
            Unconsolidatable::SpotShare { .. } => Self::SpotShare,
            Unconsolidatable::SchedulerDivergence { .. } => Self::SchedulerDivergence,
            Unconsolidatable::Unbalanced { .. } => Self::ScoreTooLow,
            Unconsolidatable::Later { .. } => Self::AnotherMoveFirst,
        }
    }
}
