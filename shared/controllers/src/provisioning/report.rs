//! What a provisioning run did.

use domain::plan::Plan;
use domain::{SignedDuration, Text};

use crate::launch::LaunchReport;
use crate::lease::Report;
use crate::run::Problems;
use crate::steps::create::NotCreatable;
use crate::steps::schedule::Scaling;

/// What a provisioning run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ProvisioningReport {
    /// Launches that an earlier run had left unfinished.
    pub resumed: LaunchReport,
    /// What was planned, with the pods that nothing can host and why.
    pub plan: Plan,
    /// Workloads whose replicas were set, as PrewarmSchedules want them.
    pub scaled: Vec<Scaling>,
    /// Why the plan was not carried out, where its check failed.
    pub refused: Vec<Text>,
    /// Planned claims that were not written, and why.
    pub not_created: Vec<(Text, NotCreatable)>,
    /// Launches of this plan.
    pub launched: LaunchReport,
    /// Pods wait, nodes go away whose pods will, or a schedule is going to scale a workload: look again after so long.
    /// `None` when nothing of that is the case.
    pub requeue_after: Option<SignedDuration>,
    /// How long the pod that waits the longest has been there, one that has a place on a node that is still
    /// to come included; `None` when no pod waits.
    pub longest_wait: Option<SignedDuration>,
    /// What else did not work.
    pub problems: Problems,
}

impl ProvisioningReport {
    /// Asks for another look after so long, unless an earlier one is asked for.
    pub(super) fn requeue_after(&mut self, pause: SignedDuration) {
        self.requeue_after = Some(self.requeue_after.map_or(pause, |own| own.min(pause)));
    }
}

impl Report for ProvisioningReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }
}
