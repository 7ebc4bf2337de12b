//! Starting a command: creates claims of replacements, taints nodes, launches replacements.
//!
//! Claims come before taints: a tainted node counts as ending, so provisioning would launch for its
//! pods as well if their replacement did not exist yet.

use domain::node_claim::{ConditionStatus, ConditionType};
use domain::plan::VALIDATION_WAIT;
use domain::reason::NotDisruptable;
use domain::taint::Taint;
use domain::{SignedDuration, Text, Timestamp};

use super::report::CommandEvent;
use super::run_state::DisruptionRun;
use super::wait::REPLACEMENT_REQUEUE_INTERVAL;
use crate::event::{Event, EventReason, Subject};
use crate::holding_back::{Share, hold_back_launches};
use crate::launch::{LaunchContext, choose, is_due, launch, write_claims};
use crate::ports::cluster::NodePatch;
use crate::ports::error::found;
use crate::ports::{ClaimStore, Cluster, Lease, NodeRef, Ports, Versioned};
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::command::{CommandPhase, CommandRecord};
use crate::record::fuses::HeldBack;
use crate::record::nomination::{NOMINATION_TTL, Nomination};
use crate::run::{after, change_claim};
use crate::steps::command::{checked, validated};
use crate::steps::condition::{ConditionState, set_condition};
use crate::steps::create::{Identity, NotCreatable, claim_record};

/// Requeue interval while another run holds the lease.
const LEASE_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// How long nothing else is proposed while budgets do not allow what was.
const BUDGET_AWAITED_MAX: SignedDuration = SignedDuration::from_mins(1);
/// Requeue interval during that time.
const BUDGET_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// The claims of a command's replacements.
#[derive(Default)]
struct Replacements {
    /// Claims that are stored: fewer than planned when one was refused or is not creatable.
    written: Vec<Versioned<ClaimRecord>>,
    /// A replacement that nothing can be launched for, and why.
    not_creatable: Option<(Text, NotCreatable)>,
    /// What keeps all of them from being launched now.
    held_back: Option<HeldBack>,
}

impl<P: Ports> DisruptionRun<'_, P> {
    /// Validates a proposal that is due, and starts it if it still holds.
    pub(super) async fn validate(&mut self, command: Versioned<CommandRecord>) {
        if self.launch_lease.is_none() {
            self.is_proposal_open = true;
            self.record_change(&command.record, CommandEvent::StartDelayed);
            return self.requeue_after(LEASE_REQUEUE_INTERVAL);
        }
        if self.has_started {
            // The command started before it used up budgets and room: the next run lists anew.
            self.is_proposal_open = true;
            return self.requeue_after(SignedDuration::ZERO);
        }
        let disruption = match validated(&self.run.core, self.snapshot, &command.record.disruption)
        {
            Ok(disruption) => disruption,
            Err(NotDisruptable::Budget { .. }) if self.is_any_node_leaving() => {
                // It was proposed ahead, or another command was faster. A drain may take for ever:
                // what other budgets allow does not wait for it.
                let age = self.observed.now.duration_since(command.record.proposed);
                if age >= BUDGET_AWAITED_MAX {
                    self.is_budget_awaited = true;
                    return;
                }
                self.is_proposal_open = true;
                return self.requeue_after(BUDGET_REQUEUE_INTERVAL);
            }
            Err(NotDisruptable::ConsolidateAfter { left, .. })
                if left <= self.patience(&command.record) =>
            {
                // It was proposed while `consolidateAfter` had almost passed.
                self.is_proposal_open = true;
                return self.requeue_after(left);
            }
            Err(refusal) => {
                self.reject(&command, EventReason::ConsolidationRejected, &refusal.to_string());
                self.record_change(&command.record, CommandEvent::Rejected(refusal));
                return self.delete_command(&command).await;
            }
        };
        let refused = checked(&self.run.core, self.snapshot, vec![disruption.clone()]);
        if !refused.is_empty() {
            self.record_change(&command.record, CommandEvent::Refused(refused));
            return self.delete_command(&command).await;
        }
        let since = self.observed.now;
        let candidates = command
            .record
            .candidates
            .iter()
            .zip(&command.record.disruption.nodes)
            .filter(|(_, node)| disruption.nodes.contains(node))
            .map(|(claim, _)| claim.clone())
            .collect();
        let record = CommandRecord {
            disruption,
            candidates,
            phase: CommandPhase::Starting { since },
            ..command.record.clone()
        };
        if let Some(command) = self.save(command, record).await {
            self.start(command, since).await;
        }
    }

    /// For how long a proposal may still wait for `consolidateAfter` to pass: twice as long as for
    /// its validation, which pods that come and go by themselves seldom outlast.
    fn patience(&self, command: &CommandRecord) -> SignedDuration {
        VALIDATION_WAIT * 3 - self.observed.now.duration_since(command.proposed)
    }

    fn is_any_node_leaving(&self) -> bool {
        let nodes = &self.snapshot.objects.nodes;
        nodes.iter().any(|node| node.is_disrupted() || node.deleted.is_some())
    }

    fn reject(&mut self, command: &Versioned<CommandRecord>, reason: EventReason, why: &str) {
        for node in self.nodes_of(&command.record) {
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            self.events.push(Event::new(about, reason, why));
        }
    }

    /// Starts a command, or resumes its start.
    pub(super) async fn start(&mut self, command: Versioned<CommandRecord>, since: Timestamp) {
        self.has_started = true;
        let Some(lease) = self.launch_lease else {
            self.record_change(&command.record, CommandEvent::StartDelayed);
            return self.requeue_after(LEASE_REQUEUE_INTERVAL);
        };
        let Some(replacements) = self.write_replacements(&command.record, lease).await else {
            return self.requeue_after(SignedDuration::from_secs(1));
        };
        let expected = command.record.disruption.replacements.len();
        let Replacements { written: replacements, not_creatable, held_back } = replacements;
        if replacements.len() < expected {
            self.withdraw(replacements).await;
            let why = match (not_creatable, held_back) {
                (Some((name, why)), _) => {
                    format!("replacement {name} can no longer be launched: {why}")
                }
                (None, Some(held_back)) => {
                    self.events.extend(held_back.events());
                    let why = held_back.to_string();
                    self.report.held_back = Some(held_back);
                    why
                }
                (None, None) => "the claim of a replacement could not be created".to_owned(),
            };
            return self.cancel(command, &why).await;
        }
        let missing = self.taint(&command.record).await;
        if missing > 0 && expected > 0 {
            self.withdraw(replacements).await;
            return self.cancel(command, "a node to be replaced is gone").await;
        }
        self.nominate_moves(&command.record).await;
        let names: Vec<Text> =
            replacements.iter().map(|claim| claim.record.claim.name.clone()).collect();
        self.started_events(&command.record, &names);
        let context = LaunchContext {
            now: self.observed.now,
            node_classes: &self.observed.listing.objects.node_classes,
            instance_types: &self.observed.instance_types,
        };
        let now = self.observed.now;
        let due = replacements.into_iter().filter(|claim| is_due(&claim.record, now)).collect();
        let launched = launch(self.ports, self.run, due, context).await;
        self.report.launched.launches.extend(launched.launches);
        self.report.launched.left += launched.left;
        self.report.problems.0.extend(launched.problems.0);
        self.record_change(&command.record, CommandEvent::Started(names));
        let phase = if expected == 0 {
            CommandPhase::Ending { since }
        } else {
            CommandPhase::Waiting { since }
        };
        let record = CommandRecord { phase, ..command.record.clone() };
        let Some(command) = self.save(command, record).await else { return };
        if expected == 0 {
            self.end(command).await;
        } else {
            self.requeue_after(REPLACEMENT_REQUEUE_INTERVAL);
        }
    }

    /// Creates the claims of the replacements; `None` when the store failed.
    async fn write_replacements(
        &mut self,
        command: &CommandRecord,
        lease: &Lease,
    ) -> Option<Replacements> {
        let identity =
            Identity { cluster: self.run.cluster, cause: &command.id, replaces: Some(&command.id) };
        let mut records = Vec::new();
        let mut replacements = Replacements::default();
        for planned in &command.disruption.replacements {
            // A claim that an earlier attempt created counts, even if its offerings are unavailable
            // by now.
            if let Some(own) = self.observed.claim(&planned.name) {
                replacements.written.push(own.clone());
                continue;
            }
            match claim_record(planned, self.snapshot, &identity) {
                Ok(record) => records.push(record),
                Err(why) => replacements.not_creatable = Some((planned.name.clone(), why)),
            }
        }
        let store = self.ports.store();
        choose(self.ports.cloud(), &mut records, &self.observed.listing.objects.node_classes).await;
        // Fewer than all of them would only be ended again.
        let bounds = (&self.admission.fuses, Share::All);
        let held = hold_back_launches(self.ports, self.run, bounds, records, self.observed).await;
        let operation = || format!("count replacements of command {}", command.id);
        let (records, held_back) = self.report.problems.record(operation, held)?;
        replacements.held_back = held_back;
        let new = write_claims(store, records, lease, &mut self.report.problems).await;
        let operation = || format!("write replacements of command {}", command.id);
        replacements.written.extend(self.report.problems.record(operation, new)?);
        Some(replacements)
    }

    /// Taints the nodes and sets DisruptionReason on their claims. Returns how many are gone.
    async fn taint(&mut self, command: &CommandRecord) -> usize {
        let patch = NodePatch { add_taints: vec![Taint::disrupted()], ..NodePatch::default() };
        let mut missing = 0;
        for name in &command.candidates {
            let Some(claim) = self.observed.claim(name) else {
                missing += 1;
                continue;
            };
            if let Some(node) = self.observed.node_of(&claim.record) {
                let patched = self.ports.cluster().patch_node(&NodeRef::from(node), &patch).await;
                let operation = || format!("taint Node {}", node.name);
                if !matches!(self.report.problems.record(operation, found(patched)), Some(Some(())))
                {
                    missing += 1;
                    continue;
                }
            }
            let now = self.observed.now;
            let reason = command.disruption.reason.as_str();
            let state = ConditionState::new(ConditionStatus::True, reason, "it is being disrupted");
            let kind = ConditionType::DisruptionReason;
            let changed = change_claim(self.ports.store(), claim.clone(), |mut record| {
                set_condition(&mut record.claim, kind, state, now);
                record
            })
            .await;
            self.report.problems.record(|| format!("mark claim {name}"), changed);
        }
        missing
    }

    /// Ends replacements that are not needed any more.
    pub(super) async fn withdraw(&mut self, replacements: Vec<Versioned<ClaimRecord>>) {
        let now = self.observed.now;
        for claim in replacements {
            let name = claim.record.claim.name.clone();
            let changed = change_claim(self.ports.store(), claim, |record| {
                record.ended(now, EndReason::ReplacementNotNeeded, None)
            })
            .await;
            self.report.problems.record(|| format!("end claim {name}"), changed);
        }
    }

    /// Nominates nodes that stay, so that they keep room for the pods that move there.
    async fn nominate_moves(&mut self, command: &CommandRecord) {
        let until = after(self.observed.now, NOMINATION_TTL);
        let mut nominations: Vec<Nomination> = Vec::new();
        for moved in &command.disruption.moves {
            match nominations.iter_mut().find(|nomination| nomination.node == moved.node) {
                Some(nomination) => nomination.pods.push(moved.pod.clone()),
                None => nominations.push(Nomination {
                    node: moved.node.clone(),
                    pods: vec![moved.pod.clone()],
                    until,
                }),
            }
        }
        if !nominations.is_empty() {
            let nominated = self.ports.store().nominate(&nominations).await;
            self.report.problems.record(|| "nominate nodes".to_owned(), nominated);
        }
    }

    fn started_events(&mut self, command: &CommandRecord, replacements: &[Text]) {
        let reason = command.disruption.reason;
        for node in self.nodes_of(command) {
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            let event = if replacements.is_empty() {
                let message = format!("terminating without replacement: {reason}");
                Event::new(about, EventReason::DisruptionTerminating, message)
            } else {
                let message =
                    format!("launching replacement {}: {reason}", replacements.join(", "));
                Event::new(about, EventReason::DisruptionLaunching, message)
            };
            self.events.push(event);
        }
    }

    /// The Nodes of a command that exist.
    pub(super) fn nodes_of(&self, command: &CommandRecord) -> Vec<domain::node::Node> {
        command
            .candidates
            .iter()
            .filter_map(|name| self.observed.claim(name))
            .filter_map(|claim| self.observed.node_of(&claim.record))
            .cloned()
            .collect()
    }
}
