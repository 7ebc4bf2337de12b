//! What a disruption run did.

use domain::plan::BlockedNode;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::{SignedDuration, Text};

use crate::launch::LaunchReport;
use crate::lease::Report;
use crate::run::Problems;

/// What a disruption run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct DisruptionReport {
    /// What happened to commands, in order.
    pub changes: Vec<CommandChange>,
    /// Why what was to be proposed was not, where its check failed.
    pub refused: Vec<Text>,
    /// Nodes that stay, and why, where that was looked into.
    pub blocked: Vec<BlockedNode>,
    /// Nodes whose taint nobody accounted for.
    pub untainted: Vec<Text>,
    /// Launches of replacements.
    pub launched: LaunchReport,
    /// Work is under way: come back after so long. `None` when nothing waits.
    pub requeue_after: Option<SignedDuration>,
    /// What did not work.
    pub problems: Problems,
}

/// Something that happened to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandChange {
    /// The command's id.
    pub command: Text,
    /// Why its nodes go.
    pub reason: DisruptionReason,
    /// Its nodes.
    pub nodes: Vec<Text>,
    /// What happened.
    pub what: CommandEvent,
}

/// What can happen to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEvent {
    /// It was proposed.
    Proposed,
    /// Validation found that it no longer holds.
    Rejected(NotDisruptable),
    /// Its check found it unsound.
    Refused(Vec<Text>),
    /// Nobody came to validate it in time.
    Forgotten,
    /// It was started; these claims replace its nodes.
    Started(Vec<Text>),
    /// Its start waits: another run holds the lease under which claims are written.
    StartDelayed,
    /// So many replacements are not ready yet.
    Waiting(usize),
    /// It was given up, and why.
    Cancelled(Text),
    /// Its nodes are marked for their end.
    Ended,
}

impl Report for DisruptionReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }
}
