//! Codes of what holds savings back.

use schemars::JsonSchema;
use serde::Serialize;
use simulation::stable::blocker::Kind;

/// What holds savings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum BlockerCode {
    /// PodDisruptionBudgets that allow no disruption.
    PodDisruptionBudget,
    /// Pods with `karpenter.sh/do-not-disrupt`.
    DoNotDisruptPods,
    /// Nodes or NodeClaims with `karpenter.sh/do-not-disrupt`.
    DoNotDisruptNode,
    /// A NodePool that does not allow spot.
    OnDemandOnly,
    /// Feature gate SpotToSpotConsolidation is off.
    SpotToSpotOff,
    /// NodePools with `consolidationPolicy: WhenEmpty`.
    WhenEmpty,
    /// NodePools with `consolidateAfter: Never`.
    NeverConsolidated,
    /// NodePools with a budget that never lets a node go.
    NoBudget,
    /// Pods with a topology spread constraint over zones that must hold.
    ZoneSpread,
    /// DaemonSets, which take their share of every node.
    DaemonSet,
}

impl From<Kind> for BlockerCode {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::PodDisruptionBudget => Self::PodDisruptionBudget,
            Kind::DoNotDisruptPods => Self::DoNotDisruptPods,
            Kind::DoNotDisruptNode => Self::DoNotDisruptNode,
            Kind::OnDemandOnly => Self::OnDemandOnly,
            Kind::SpotToSpotOff => Self::SpotToSpotOff,
            Kind::WhenEmpty => Self::WhenEmpty,
            Kind::NeverConsolidated => Self::NeverConsolidated,
            Kind::NoBudget => Self::NoBudget,
            Kind::ZoneSpread => Self::ZoneSpread,
            Kind::DaemonSet => Self::DaemonSet,
        }
    }
}
