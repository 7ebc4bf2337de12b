//! What a call of hand-back did.

use domain::Text;

use crate::disruption::DisruptionReport;
use crate::lease::Report;
use crate::lifecycle::LifecycleReport;
use crate::run::Problems;

/// What was handed back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct HandBackReport {
    /// Claims handed back to Karpenter in this call.
    pub handed_back: Vec<Text>,
    /// Claims that are not handed back yet.
    pub left: Vec<LeftClaim>,
    /// Ids of disruption commands that are still stored.
    pub commands: Vec<Text>,
    /// The run of disruption that cancelled commands.
    pub disruption: DisruptionReport,
    /// The run of lifecycle that preceded the handover.
    pub lifecycle: LifecycleReport,
    /// Calls that failed during the handover.
    pub problems: Problems,
}

/// A claim that is not handed back yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftClaim {
    /// The claim.
    pub claim: Text,
    /// The reason.
    pub why: Text,
}

impl HandBackReport {
    /// Whether everything is handed back.
    pub const fn is_complete(&self) -> bool {
        self.left.is_empty() && self.commands.is_empty()
    }
}

impl Report for HandBackReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }
}
