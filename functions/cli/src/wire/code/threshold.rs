//! Codes of thresholds that a change is held against.

use schemars::JsonSchema;
use serde::Serialize;

use crate::view::threshold::Threshold;

/// What became worse by more than is allowed, by the option that says how much is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum ThresholdCode {
    /// All nodes, once replaced, cost more (`--max-cost-increase`).
    CostIncrease,
    /// Pods lose their place, or are new and have none (`--max-newly-unschedulable`).
    NewlyUnschedulable,
    /// More of the pods are on spot nodes once all are replaced (`--max-spot-increase`).
    SpotIncrease,
    /// The change makes nodes drift (`--max-newly-drifted`).
    NewlyDrifted,
}

impl From<Threshold> for ThresholdCode {
    fn from(threshold: Threshold) -> Self {
        match threshold {
            Threshold::CostIncrease => Self::CostIncrease,
            Threshold::NewlyUnschedulable => Self::NewlyUnschedulable,
            Threshold::SpotIncrease => Self::SpotIncrease,
            Threshold::NewlyDrifted => Self::NewlyDrifted,
        }
    }
}
