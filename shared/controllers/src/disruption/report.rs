//! What a disruption run did.

use std::collections::BTreeMap;

use domain::plan::{BlockedNode, PlanFigures};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::{SignedDuration, Text};

use crate::launch::LaunchReport;
use crate::lease::Report;
use crate::ports::FunctionName;
use crate::record::fuses::HeldBack;
use crate::run::Problems;

/// What a disruption run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct DisruptionReport {
    /// Changes of commands, in the order in which they happened.
    pub changes: Vec<CommandChange>,
    /// Violations because of which nothing was proposed; empty for a sound plan.
    pub refused: Vec<Text>,
    /// Nodes that are not disrupted, with the reason, as far as planning looked for one.
    pub blocked: Vec<BlockedNode>,
    /// What planning had to choose from; `None` where it proposed nothing.
    pub figures: Option<PlanFigures>,
    /// What nodes that were sent off save until their NodePools are on again, by NodePool, in
    /// millionths of a dollar.
    pub off_hours_saved: BTreeMap<Text, i64>,
    /// Nodes from which a leftover taint `karpenter.sh/disrupted` was removed.
    pub untainted: Vec<Text>,
    /// Replacements that a fuse holds back; their commands were cancelled.
    pub held_back: Option<HeldBack>,
    /// Launches of replacements.
    pub launched: LaunchReport,
    /// When to run again; `None` when no command is in flight, no node is about to become
    /// consolidatable, and functions do not wake each other: where they do, disruption looks at the
    /// cluster every few seconds.
    pub requeue_after: Option<SignedDuration>,
    /// Fencing token of the lease under which it ran.
    pub token: u64,
    /// Calls that failed without stopping the run.
    pub problems: Problems,
}

/// A change of a disruption command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandChange {
    /// The command's id.
    pub command: Text,
    /// Why its nodes are disrupted.
    pub reason: DisruptionReason,
    /// Its nodes.
    pub nodes: Vec<Text>,
    /// The outcome.
    pub what: CommandEvent,
}

/// Ways in which a command changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEvent {
    /// It was proposed.
    Proposed,
    /// Validation found that it no longer holds.
    Rejected(NotDisruptable),
    /// The checker found violations.
    Refused(Vec<Text>),
    /// It was not validated in time.
    Forgotten,
    /// It was started; the claims that replace its nodes.
    Started(Vec<Text>),
    /// Its start is delayed: another run holds the lease under which claims are created.
    StartDelayed,
    /// This many replacements are not initialized yet.
    Waiting(usize),
    /// It was cancelled, and why.
    Cancelled(Text),
    /// The claims of its nodes are marked as ending.
    Ended,
}

impl Report for DisruptionReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }

    fn set_token(&mut self, token: u64) {
        self.token = token;
    }

    fn concerns(&self) -> Option<FunctionName> {
        let is_ended = |own: &CommandChange| own.what == CommandEvent::Ended;
        let has_news = !self.launched.launches.is_empty() || self.changes.iter().any(is_ended);
        has_news.then_some(FunctionName::Lifecycle)
    }
}
