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
    /// Claims that are Karpenter's from now on.
    pub handed_back: Vec<Text>,
    /// Claims that are ours still.
    pub left: Vec<LeftClaim>,
    /// Disruption commands that are stored still.
    pub commands: Vec<Text>,
    /// What became of disruption commands.
    pub disruption: DisruptionReport,
    /// What became of claims before they were handed over.
    pub lifecycle: LifecycleReport,
    /// What did not work while they were.
    pub problems: Problems,
}

/// A claim that was not handed back yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftClaim {
    /// The claim.
    pub claim: Text,
    /// Why not.
    pub why: Text,
}

impl HandBackReport {
    /// Whether nothing is ours any more.
    pub const fn is_complete(&self) -> bool {
        self.left.is_empty() && self.commands.is_empty()
    }
}

impl Report for HandBackReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }
}
