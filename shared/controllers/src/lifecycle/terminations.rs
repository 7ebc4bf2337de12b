//! The fuse on terminations: how many nodes and instances begin to end in a minute.

use domain::node_claim::ConditionType;
use domain::{SignedDuration, Timestamp};

use super::LifecycleRun;
use crate::holding_back::Tally;
use crate::ports::Ports;
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::fuses::{Counted, Fuse, HeldBack};
use crate::safeguards::Scope;

/// How long before EC2 takes an instance nothing holds its end back any more: a spot interruption
/// comes two minutes ahead, maintenance days.
const TAKEN_WITHIN: SignedDuration = SignedDuration::from_mins(5);

impl<P: Ports> LifecycleRun<'_, P> {
    /// Whether the run may do anything about a claim. Where only interruptions are handled, these
    /// are claims that EC2 interrupts, and those that join to replace them.
    pub(super) fn is_in_scope(&self, record: &ClaimRecord) -> bool {
        match self.admission.scope {
            Scope::All => true,
            Scope::Interruptions => match &record.ending {
                Some(ending) => ending.reason == EndReason::INTERRUPTED,
                None => !record.claim.is(ConditionType::Initialized),
            },
            Scope::Nothing => false,
        }
    }

    /// Whether the end of a claim may begin now, or has begun before. What ends anyway is not
    /// held back: an instance that is gone, or that EC2 takes soon. A failed status check is no
    /// such end: of a whole zone, it says more about the checks than about the nodes.
    pub(super) fn may_begin_to_end(&mut self, record: &ClaimRecord) -> bool {
        let has_begun = [ConditionType::Drained, ConditionType::InstanceTerminating]
            .iter()
            .any(|kind| record.claim.condition(*kind).is_some());
        let is_taken = record.ending.as_ref().is_some_and(|ending| {
            let is_soon = |taken: Timestamp| taken.duration_since(self.now) <= TAKEN_WITHIN;
            ending.reason == EndReason::INTERRUPTED && ending.deadline.is_some_and(is_soon)
        });
        let ends_anyway =
            is_taken || !self.instance(record).is_some_and(|instance| instance.state.is_alive());
        if has_begun || ends_anyway {
            return true;
        }
        if self.terminations_left == 0 {
            self.held_back.push(record.launch.node_pool.clone());
            return false;
        }
        self.terminations_left -= 1;
        self.terminations.push(record.name().clone());
        true
    }

    /// Stores the count of what begins to end, before any pod is evicted for it. Where that fails,
    /// nothing that begins goes on in this run.
    pub(super) async fn count_terminations(&mut self, tally: &mut Tally) {
        let begun = std::mem::take(&mut self.terminations);
        if begun.is_empty() {
            return;
        }
        let counted = tally.count(self.ports, begun.len()).await;
        let operation = || format!("count {} terminations", begun.len());
        if self.report.problems.record(operation, counted).is_none() {
            self.to_drain.retain(|(claim, _)| !begun.contains(claim.record.name()));
            self.to_terminate.retain(|claim| !begun.contains(claim.record.name()));
        }
    }

    /// Says what the fuse holds back.
    pub(super) fn report_held_back(&mut self) {
        let mut node_pools = std::mem::take(&mut self.held_back);
        if node_pools.is_empty() {
            return;
        }
        let count = node_pools.len();
        node_pools.sort();
        node_pools.dedup();
        let percent = self.admission.fuses.terminations_per_tick_percent;
        let fuse = Fuse::TerminationsPerTick(percent);
        let held = HeldBack { what: Counted::Terminations, count, fuse, node_pools };
        self.events.extend(held.events());
        self.report.held_back = Some(held);
    }
}
