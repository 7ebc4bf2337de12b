//! Proposing disruptions, which a later run validates.

use domain::plan::{ApprovedMove, BlockedNode, PlannedDisruption, VALIDATION_WAIT};
use domain::reason::{DisruptionReason, NotDisruptable, Unconsolidatable};
use domain::taint::Taint;
use domain::{SignedDuration, Text, Timestamp};

use super::last_proposal::Found;
use super::report::CommandEvent;
use super::run_state::DisruptionRun;
use crate::event::{Event, EventReason, Subject};
use crate::ports::{ClaimStore, Lease, Ports};
use crate::record::claim::EndReason;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::run::change_claim;
use crate::steps::command::{Proposal, checked, proposal};

/// Most events about blocked nodes in one run; the report has them all.
const BLOCKED_EVENTS_MAX: usize = 100;

impl<P: Ports> DisruptionRun<'_, P> {
    /// Proposes disruptions, and marks the nodes that go next. What needs neither replacement,
    /// budget nor validation is ended at once; the rest is stored. Where budgets allow nothing now,
    /// what they will allow next is proposed ahead: it is validated once they do.
    pub(super) async fn propose(&mut self, lease: &Lease) -> Found {
        let plan = (self.run.core.propose)(self.snapshot);
        self.report.blocked.clone_from(&plan.blocked);
        self.blocked_events(&plan.blocked);
        self.report.figures = Some(plan.figures.clone());
        if plan.disruptions.is_empty() {
            self.mark_candidates(&plan.candidates).await;
            let ahead = if self.is_budget_awaited { &[] } else { plan.awaiting_budget.as_slice() };
            for (number, disruption) in ahead.iter().enumerate() {
                if let Some(command) = self.proposed(number, disruption) {
                    self.store(&command, lease).await;
                }
            }
            return if ahead.is_empty() { Found::Nothing } else { Found::Something };
        }
        self.report.refused = checked(&self.run.core, self.snapshot, plan.disruptions.clone());
        if !self.report.refused.is_empty() {
            return Found::Something;
        }
        self.mark_candidates(&plan.candidates).await;
        for (number, disruption) in plan.disruptions.iter().enumerate() {
            let Some(command) = self.proposed(number, disruption) else { continue };
            self.approval_events(disruption, &plan.figures.approved);
            if ends_without_validation(disruption) {
                self.end_at_once(&command).await;
            } else {
                self.store(&command, lease).await;
            }
        }
        Found::Something
    }

    /// The record of a proposal. `None` where a node is managed by another controller, or has no
    /// record yet: lifecycle adopts it first.
    fn proposed(&self, number: usize, disruption: &PlannedDisruption) -> Option<CommandRecord> {
        let now = self.observed.now;
        Some(CommandRecord {
            id: format!("{now}-{number}").into(),
            disruption: disruption.clone(),
            candidates: self.candidates(disruption)?,
            proposed: self.planned_since(disruption),
            phase: CommandPhase::Proposed,
        })
    }

    /// Since when every plan has had it that these nodes go: all of them were marked by then. What
    /// is beyond the wait for validation makes no difference. Since now where a proposal has just
    /// been rejected: where plans and validation disagree, each would follow the other at once.
    fn planned_since(&self, disruption: &PlannedDisruption) -> Timestamp {
        let now = self.observed.now;
        let nodes = &self.observed.listing.objects.nodes;
        let marked_since = |name: &Text| {
            let node = nodes.iter().find(|own| own.name == *name)?;
            node.taints.iter().find_map(Taint::candidate_since)
        };
        let since: Option<Vec<Timestamp>> = disruption.nodes.iter().map(marked_since).collect();
        let since = since.filter(|_| !self.has_rejected());
        let since = since.and_then(|own| own.into_iter().max()).unwrap_or(now);
        since.clamp(now - VALIDATION_WAIT, now)
    }

    async fn store(&mut self, command: &CommandRecord, lease: &Lease) {
        let created = self.ports.store().create_command(command, lease).await;
        let operation = || format!("write command {}", command.id);
        if self.report.problems.record(operation, created).is_some() {
            self.record_change(command, CommandEvent::Proposed);
            let Proposal::Waits(wait) = proposal(command, self.observed.now) else {
                return self.requeue_after(SignedDuration::ZERO);
            };
            self.requeue_after(wait);
        }
    }

    async fn end_at_once(&mut self, command: &CommandRecord) {
        let reason = command.disruption.reason;
        let now = self.observed.now;
        // An unhealthy node is not drained: its pods are not waited for.
        let deadline = (reason == DisruptionReason::Unhealthy).then_some(now);
        for name in &command.candidates {
            let Some(claim) = self.observed.claim(name) else { continue };
            let deadline = deadline.or_else(|| self.off_deadline(reason, &claim.record));
            let changed = change_claim(self.ports.store(), claim.clone(), |record| {
                record.ended(now, EndReason::Disrupted(reason), deadline)
            })
            .await;
            self.report.problems.record(|| format!("end claim {name}"), changed);
        }
        self.note_off_hours(command);
        self.record_change(command, CommandEvent::Ended);
        self.requeue_after(SignedDuration::ZERO);
    }

    /// The claims of the nodes; `None` unless each has one.
    fn candidates(&self, disruption: &PlannedDisruption) -> Option<Vec<Text>> {
        disruption
            .nodes
            .iter()
            .map(|node| {
                let claim = self.observed.claim_of_node(node)?;
                Some(claim.record.claim.name.clone())
            })
            .collect()
    }

    /// Events about a move that `Balanced` NodePools approved, as Karpenter's: on the NodeClaim of
    /// a single node, otherwise on each NodePool.
    fn approval_events(&mut self, disruption: &PlannedDisruption, approved: &[ApprovedMove]) {
        for ApprovedMove { node_pool, nodes, score } in approved {
            if *nodes != disruption.nodes {
                continue;
            }
            let about = match nodes.as_slice() {
                [node] => self.observed.claim_of_node(node).map_or_else(
                    || Subject::NodePool(node_pool.clone()),
                    |claim| Subject::NodeClaim(claim.record.claim.name.clone()),
                ),
                _ => Subject::NodePool(node_pool.clone()),
            };
            self.events.push(Event::new(about, EventReason::ConsolidationApproved, score));
        }
    }

    fn blocked_events(&mut self, blocked: &[BlockedNode]) {
        let events = blocked.iter().filter_map(|blocked| {
            let node = self
                .observed
                .listing
                .objects
                .nodes
                .iter()
                .find(|node| node.name == blocked.node)?;
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            Some(Event::new(about, event_reason(&blocked.reason)?, &blocked.reason))
        });
        let events: Vec<Event> = events.take(BLOCKED_EVENTS_MAX).collect();
        self.events.extend(events);
    }
}

/// Whether nodes end without validation: the disruption is forceful, and needs no replacement or
/// may not wait for one.
fn ends_without_validation(disruption: &PlannedDisruption) -> bool {
    match disruption.reason {
        DisruptionReason::Unhealthy | DisruptionReason::Interrupted => true,
        DisruptionReason::Expired | DisruptionReason::ScaledDown | DisruptionReason::OffHours => {
            disruption.replacements.is_empty()
        }
        DisruptionReason::Empty | DisruptionReason::Underutilized | DisruptionReason::Drifted => {
            false
        }
    }
}

/// The event reason for a blocked node, where users can do something about it.
fn event_reason(reason: &NotDisruptable) -> Option<EventReason> {
    match reason {
        // It is starting, in use, or due with one of the next commands: no event.
        NotDisruptable::Unconsolidatable(Unconsolidatable::Later { .. })
        | NotDisruptable::DriftLater { .. }
        | NotDisruptable::DriftWave { .. }
        | NotDisruptable::NotInitialized
        | NotDisruptable::Nominated
        | NotDisruptable::ConsolidateAfter { .. } => None,
        NotDisruptable::DoNotDisrupt
        | NotDisruptable::PodDoNotDisrupt(_)
        | NotDisruptable::Pdb { .. }
        | NotDisruptable::Budget { .. }
        | NotDisruptable::DriftWithoutPlace { .. }
        | NotDisruptable::DriftWithoutReplacement { .. }
        | NotDisruptable::DriftHalted { .. }
        | NotDisruptable::TooManyUnhealthy { .. } => Some(EventReason::DisruptionBlocked),
        NotDisruptable::Policy(..)
        | NotDisruptable::Utilized { .. }
        | NotDisruptable::NoNodePool(_)
        | NotDisruptable::UnknownPrice
        | NotDisruptable::NotWorthIt(_)
        | NotDisruptable::Unconsolidatable(_)
        | NotDisruptable::NotSupportedYet(_) => Some(EventReason::Unconsolidatable),
    }
}
