//! Codes of what kind of change is suggested.

use schemars::JsonSchema;
use serde::Serialize;
use suggestion::CandidateKind;

/// What kind of change a suggestion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum SuggestionCode {
    /// A NodePool launches other nodes, or lets nodes go otherwise.
    NodePool,
    /// The limits of a NodePool are higher.
    Limits,
    /// A PrewarmSchedule has capacity ready before a peak.
    PrewarmSchedule,
    /// A PodDisruptionBudget that never allowed an eviction allows some.
    PodDisruptionBudget,
    /// Pods request less of what they never used.
    Requests,
}

impl From<CandidateKind> for SuggestionCode {
    fn from(kind: CandidateKind) -> Self {
        match kind {
            CandidateKind::NodePool => Self::NodePool,
            CandidateKind::Limits => Self::Limits,
            CandidateKind::Prewarm => Self::PrewarmSchedule,
            CandidateKind::Budget => Self::PodDisruptionBudget,
            CandidateKind::Requests => Self::Requests,
        }
    }
}
