//! What a provisioning run did.

use domain::plan::Plan;
use domain::{SignedDuration, Text};

use super::expendable::ExpendablePods;
use super::usd_limit::{ClusterUsage, UsdUsage};
use crate::launch::LaunchReport;
use crate::lease::Report;
use crate::ports::FunctionName;
use crate::record::fuses::HeldBack;
use crate::run::Problems;
use crate::steps::create::NotCreatable;
use crate::steps::schedule::Scaling;

/// What a provisioning run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ProvisioningReport {
    /// Launches that an earlier run left unfinished.
    pub resumed: LaunchReport,
    /// The plan, with the pods that nothing can host and why.
    pub plan: Plan,
    /// Workloads whose replicas were set for a PrewarmSchedule.
    pub scaled: Vec<Scaling>,
    /// Violations because of which the plan was not carried out; empty for a sound plan.
    pub refused: Vec<Text>,
    /// Planned claims that were not created, and why.
    pub not_created: Vec<(Text, NotCreatable)>,
    /// Planned claims that a fuse holds back; their pods are planned for again.
    pub held_back: Option<HeldBack>,
    /// Launches of this plan.
    pub launched: LaunchReport,
    /// When to run again: pods are pending, nodes are ending, or a schedule is about to scale a
    /// workload. `None` otherwise.
    pub requeue_after: Option<SignedDuration>,
    /// Age of the oldest pending pod, pods with a place on a node in flight included; `None` when
    /// no pod is pending.
    pub longest_wait: Option<SignedDuration>,
    /// NodePools with a limit in dollars, before this plan.
    pub usd_usage: Vec<UsdUsage>,
    /// What ClusterLimits limit, before this plan.
    pub cluster_usage: Vec<ClusterUsage>,
    /// Pods that buy no node; `None` where no NodePool has any.
    pub expendable: Option<ExpendablePods>,
    /// Fencing token of the lease under which it ran.
    pub token: u64,
    /// Other calls that failed without stopping the run.
    pub problems: Problems,
}

impl ProvisioningReport {
    /// Requeues after a pause, unless an earlier requeue is set.
    pub(super) fn requeue_after(&mut self, pause: SignedDuration) {
        self.requeue_after = Some(self.requeue_after.map_or(pause, |own| own.min(pause)));
    }
}

impl Report for ProvisioningReport {
    fn problems_mut(&mut self) -> Option<&mut Problems> {
        Some(&mut self.problems)
    }

    fn set_token(&mut self, token: u64) {
        self.token = token;
    }

    fn concerns(&self) -> Option<FunctionName> {
        let has_launched = !self.launched.launches.is_empty() || !self.resumed.launches.is_empty();
        has_launched.then_some(FunctionName::Lifecycle)
    }
}
