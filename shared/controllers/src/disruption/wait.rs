//! Awaiting replacements, and marking claims as ending once these are initialized.

use domain::node_claim::ConditionType;
use domain::{SignedDuration, Timestamp};

use super::report::CommandEvent;
use super::run_state::DisruptionRun;
use crate::event::{Event, EventReason, Subject};
use crate::ports::{ClaimStore, Ports, Versioned};
use crate::record::claim::EndReason;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::run::change_claim;
use crate::steps::command::{Replacements, replacements};
use crate::steps::condition::clear;

/// Requeue interval while replacements start.
pub(super) const REPLACEMENT_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

impl<P: Ports> DisruptionRun<'_, P> {
    /// One step of a command that awaits its replacements.
    pub(super) async fn wait(&mut self, command: Versioned<CommandRecord>, since: Timestamp) {
        match replacements(&command.record, since, self.observed) {
            Replacements::Ready => {
                let phase = CommandPhase::Ending { since };
                let record = CommandRecord { phase, ..command.record.clone() };
                if let Some(command) = self.save(command, record).await {
                    self.end(command).await;
                }
            }
            Replacements::Awaited(count) => {
                self.record_change(&command.record, CommandEvent::Waiting(count));
                for node in self.nodes_of(&command.record) {
                    let about = Subject::Node(node.name.clone(), node.uid.clone());
                    let message = format!("{count} replacements are not ready yet");
                    let reason = EventReason::DisruptionWaitingReadiness;
                    self.events.push(Event::new(about, reason, message));
                }
                self.requeue_after(REPLACEMENT_REQUEUE_INTERVAL);
            }
            Replacements::Lost => self.cancel(command, "a replacement is gone").await,
            Replacements::Late => {
                self.cancel(command, "its replacements were not ready in time").await;
            }
        }
    }

    /// Marks the claims of a command as ending; lifecycle does the rest.
    pub(super) async fn end(&mut self, command: Versioned<CommandRecord>) {
        self.has_started = true;
        let reason = EndReason::Disrupted(command.record.disruption.reason);
        let now = self.observed.now;
        let mut is_complete = true;
        for name in &command.record.candidates {
            let current = self.ports.store().claim(name).await;
            let operation = || format!("read claim {name}");
            let Some(current) = self.report.problems.record(operation, current) else {
                is_complete = false;
                continue;
            };
            let Some(claim) = current else { continue };
            let deadline = self.off_deadline(command.record.disruption.reason, &claim.record);
            let changed = change_claim(self.ports.store(), claim, |record| {
                record.ended(now, reason, deadline)
            })
            .await;
            let operation = || format!("end claim {name}");
            is_complete &= self.report.problems.record(operation, changed).is_some();
        }
        if !is_complete {
            return self.requeue_after(SignedDuration::from_secs(1));
        }
        self.note_off_hours(&command.record);
        for node in self.nodes_of(&command.record) {
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            let message = format!("draining: {}", command.record.disruption.reason);
            self.events.push(Event::new(about, EventReason::DisruptionTerminating, message));
        }
        self.record_change(&command.record, CommandEvent::Ended);
        self.delete_command(&command).await;
    }

    /// Cancels a command: its nodes stay.
    pub(super) async fn cancel(&mut self, command: Versioned<CommandRecord>, why: &str) {
        let mut is_undone = true;
        for name in &command.record.candidates {
            is_undone &= self.unmark(name).await;
        }
        if is_undone {
            self.record_change(&command.record, CommandEvent::Cancelled(why.into()));
            self.delete_command(&command).await;
        } else {
            self.requeue_after(REPLACEMENT_REQUEUE_INTERVAL);
        }
    }

    /// Removes the marks of disruption from a claim and its Node, unless the claim is ending for
    /// another reason. Returns whether none are left.
    pub(super) async fn unmark(&mut self, name: &str) -> bool {
        let Some(claim) = self.observed.claim(name) else { return true };
        let changed = change_claim(self.ports.store(), claim.clone(), |mut record| {
            if record.ending.is_none() {
                clear(&mut record.claim, ConditionType::DisruptionReason);
            }
            record
        })
        .await;
        let operation = || format!("unmark claim {name}");
        match self.report.problems.record(operation, changed) {
            Some(Some(claim)) if claim.record.ending.is_none() => {
                match self.observed.node_of(&claim.record) {
                    Some(node) => self.untaint(node).await,
                    None => true,
                }
            }
            Some(_) => true,
            None => false,
        }
    }
}
