//! A disruption run at work: what it acts on, and what it has done so far.

use domain::SignedDuration;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::node_pool::NeverOr;
use domain::plan::VALIDATION_WAIT;
use domain::snapshot::ClusterSnapshot;

use super::report::{CommandChange, CommandEvent, DisruptionReport};
use crate::event::Event;
use crate::ports::error::ErrorKind;
use crate::ports::{ClaimStore, Lease, Ports, Versioned};
use crate::record::claim::{ClaimPhase, ClaimRecord};
use crate::record::command::CommandRecord;
use crate::run::Run;
use crate::safeguards::Admission;
use crate::steps::pod_events::{consolidatable_in, since_last_pod_event};
use crate::steps::snapshot::ClusterState;

/// How long pods that came or went are news, once their node is consolidatable.
const NEWS_TTL: SignedDuration = SignedDuration::from_secs(90);

/// Shortest interval between runs that look for something to propose: Karpenter's.
pub(super) const RUN_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// A disruption run at work.
pub(super) struct DisruptionRun<'a, P> {
    pub(super) ports: &'a P,
    pub(super) run: &'a Run<'a>,
    pub(super) observed: &'a ClusterState,
    pub(super) snapshot: &'a ClusterSnapshot,
    /// Provisioning's lease, held where a command is about to start.
    pub(super) launch_lease: Option<&'a Lease>,
    /// What the run may do.
    pub(super) admission: &'a Admission,
    pub(super) report: DisruptionReport,
    pub(super) events: Vec<Event>,
    /// A proposal awaits validation; nothing else is proposed until it is settled.
    pub(super) is_proposal_open: bool,
    /// A proposal waits for its budget; others may be made, but none ahead of budgets.
    pub(super) is_budget_awaited: bool,
    /// A command was started or ended in this run, so the snapshot is out of date.
    pub(super) has_started: bool,
}

impl<'a, P: Ports> DisruptionRun<'a, P> {
    /// A run that has done nothing yet.
    pub(super) fn new(
        ports: &'a P,
        run: &'a Run<'a>,
        observed: &'a ClusterState,
        snapshot: &'a ClusterSnapshot,
        admission: &'a Admission,
    ) -> Self {
        Self {
            ports,
            run,
            observed,
            snapshot,
            launch_lease: None,
            admission,
            report: DisruptionReport::default(),
            events: Vec::new(),
            is_proposal_open: false,
            is_budget_awaited: false,
            has_started: false,
        }
    }
}

impl<P: Ports> DisruptionRun<'_, P> {
    pub(super) fn record_change(&mut self, command: &CommandRecord, what: CommandEvent) {
        self.report.changes.push(CommandChange {
            command: command.id.clone(),
            reason: command.disruption.reason,
            nodes: command.disruption.nodes.clone(),
            what,
        });
    }

    /// Whether a proposal was rejected in this run.
    pub(super) fn has_rejected(&self) -> bool {
        let is_rejection =
            |what| matches!(what, &CommandEvent::Rejected(_) | CommandEvent::Refused(_));
        self.report.changes.iter().any(|change| is_rejection(&change.what))
    }

    /// Whether a plan may differ from the last. Where nothing is in flight, and pods have neither
    /// come nor gone of late, planning is left to the schedule's runs: what time alone brings is
    /// not urgent.
    pub(super) fn has_news(&self) -> bool {
        let pools = &self.observed.listing.objects.node_pools;
        let has_changed = |claim: &NodeClaim| {
            let pool = pools.iter().find(|pool| Some(&pool.name) == claim.node_pool());
            let after =
                pool.map_or(SignedDuration::ZERO, |pool| match pool.disruption.consolidate_after {
                    NeverOr::After(after) => after,
                    NeverOr::Never => SignedDuration::ZERO,
                });
            let since = since_last_pod_event(claim, self.observed.now);
            since.is_none_or(|since| since <= after + NEWS_TTL)
        };
        let is_settled = |record: &ClaimRecord| {
            record.phase() == ClaimPhase::Initialized
                && record.ending.is_none()
                && !has_changed(&record.claim)
        };
        self.run.continues.is_none()
            || !self.observed.commands.is_empty()
            || !self.observed.claims.iter().all(|claim| is_settled(&claim.record))
    }

    /// Requeues when the next nodes can be proposed, as long before they become consolidatable as
    /// validation takes, so that a node that has lost its pods does not wait for the next scheduled
    /// invocation. Nodes that come up within ten seconds of each other are proposed together, once
    /// all of them can be.
    pub(super) fn requeue_when_consolidatable(&mut self) {
        let pools = &self.observed.listing.objects.node_pools;
        let is_kept =
            |claim: &&NodeClaim| claim.deleted.is_none() && claim.is(ConditionType::Initialized);
        let pauses = self.snapshot.node_claims.iter().filter(is_kept).filter_map(|claim| {
            let name = claim.node_pool()?;
            let pool = pools.iter().find(|pool| pool.name == *name);
            let left = consolidatable_in(claim, pool, self.observed.now)?;
            Some(left - VALIDATION_WAIT).filter(SignedDuration::is_positive)
        });
        let pauses: Vec<SignedDuration> = pauses.collect();
        let Some(first) = pauses.iter().copied().min() else { return };
        let is_near = |pause: &SignedDuration| *pause <= first + RUN_INTERVAL;
        let last = pauses.into_iter().filter(is_near).max();
        self.requeue_after(last.unwrap_or(first));
    }

    pub(super) fn requeue_after(&mut self, pause: SignedDuration) {
        let own = self.report.requeue_after;
        self.report.requeue_after = Some(own.map_or(pause, |own| own.min(pause)));
    }

    /// Writes a command's next state. `None` when another run was faster or the write failed.
    pub(super) async fn save(
        &mut self,
        command: Versioned<CommandRecord>,
        record: CommandRecord,
    ) -> Option<Versioned<CommandRecord>> {
        if record == command.record {
            return Some(command);
        }
        let written = self.ports.store().update_command(&record, command.version).await;
        match written {
            Ok(version) => Some(Versioned { record, version }),
            Err(error) => {
                if error.kind != ErrorKind::Conflict {
                    let operation = || format!("write command {}", record.id);
                    self.report.problems.record(operation, Err::<(), _>(error));
                }
                self.requeue_after(SignedDuration::from_secs(1));
                None
            }
        }
    }

    pub(super) async fn delete_command(&mut self, command: &Versioned<CommandRecord>) {
        let id = &command.record.id;
        let deleted = self.ports.store().delete_command(id, command.version).await;
        self.report.problems.record(|| format!("delete command {id}"), deleted);
    }
}
