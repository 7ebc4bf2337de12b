//! Disruption: nodes that are empty, unneeded, drifted, expired or unhealthy go, replacements first.
//!
//! What is proposed in one run is stored and validated in a later one against a fresh look; then it is
//! started, waited for and ended step by step. Each step is stored, so that any run can go on. A command
//! that cannot be carried out leaves nothing behind: taints that no command and no ending claim accounts
//! for are removed.

mod cleanup;
mod drift;
mod propose;
mod start;
mod wait;
mod winding_down;

pub(crate) use winding_down::wind_down;

use domain::node_claim::{ConditionType, NodeClaim};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text};

use crate::event::Event;
use crate::launch::LaunchReport;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, FunctionName, Lease, LeaseAnswer, Ports, Versioned};
use crate::record::command::{CommandPhase, CommandRecord};
use crate::run::{Problems, Run, RunOutcome, acquire, after, is_over, observe, record_events};
use crate::steps::command::{Proposal, proposal};
use crate::steps::pod_events::consolidatable_in;
use crate::steps::snapshot::{Observation, snapshot};

/// The lease under which claims are written is asked for so often, …
const LEASE_ATTEMPTS: usize = 4;
/// … with such a pause: whoever has it has it for a round.
const LEASE_ATTEMPT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// What a disruption run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct DisruptionReport {
    /// What happened to commands, in order.
    pub changes: Vec<CommandChange>,
    /// Why what was to be proposed was not, where its check failed.
    pub refused: Vec<Text>,
    /// Nodes that stay, and why, where that was looked into.
    pub blocked: Vec<domain::plan::BlockedNode>,
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

/// Runs disruption once. An error means that nothing was decided; commands under way wait.
pub async fn disrupt<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<DisruptionReport>, PortError> {
    let lease = match acquire(ports, run, FunctionName::Disruption).await? {
        LeaseAnswer::Acquired(lease) => lease,
        LeaseAnswer::Held(lease) => return Ok(RunOutcome::Held(lease)),
    };
    let launching = launching_lease(ports, run).await;
    let held = launching.as_ref().ok().and_then(Option::as_ref);
    let result = match &launching {
        Ok(_) => disrupt_under(ports, run, &lease, held).await,
        Err(error) => Err(error.clone()),
    };
    let mut released = ports.store().release_lease(&lease).await;
    if let Some(held) = held {
        released = released.and(ports.store().release_lease(held).await);
    }
    let mut report = result?;
    report.problems.note(|| "release the leases".to_owned(), released);
    Ok(RunOutcome::Ran(report))
}

/// The lease under which claims are written, where a command is about to start. It is taken before the
/// look at the cluster, so that no other run launches for the same pods, or under the same limits,
/// between that look and the launch of replacements.
///
/// Schedules wake provisioning in the same second, every minute: who does not wait for its round to end would
/// find the lease taken each time.
async fn launching_lease<P: Ports>(ports: &P, run: &Run<'_>) -> Result<Option<Lease>, PortError> {
    let commands = ports.store().commands().await?;
    let now = ports.clock().now();
    let is_starting = commands.iter().any(|command| match command.record.phase {
        CommandPhase::Proposed => proposal(&command.record, now) == Proposal::Due,
        CommandPhase::Starting { .. } => true,
        CommandPhase::Waiting { .. } | CommandPhase::Ending { .. } => false,
    });
    if !is_starting {
        return Ok(None);
    }
    for attempt in 1..=LEASE_ATTEMPTS {
        match acquire(ports, run, FunctionName::Provisioning).await? {
            LeaseAnswer::Acquired(lease) => return Ok(Some(lease)),
            LeaseAnswer::Held(_) if attempt == LEASE_ATTEMPTS || is_over(ports, run) => break,
            LeaseAnswer::Held(_) => {
                let next = after(ports.clock().now(), LEASE_ATTEMPT_PAUSE);
                ports.clock().sleep_until(next).await;
            }
        }
    }
    Ok(None)
}

async fn disrupt_under<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
    launching: Option<&Lease>,
) -> Result<DisruptionReport, PortError> {
    let observed = observe(ports, lease).await?;
    let snapshot = snapshot(&observed, run.settings);
    let mut disruption = DisruptionRun::new((ports, run), &observed, &snapshot, launching);
    disruption.clean_up().await;
    disruption.keep_drift().await;
    for command in &observed.commands {
        if is_over(ports, run) {
            disruption.requeue_after(SignedDuration::ZERO);
            break;
        }
        disruption.step(command.clone()).await;
    }
    // Whoever has just started something plans anew with a fresh look.
    if !disruption.is_proposal_open && !disruption.has_started && !is_over(ports, run) {
        disruption.propose(lease).await;
        disruption.requeue_when_consolidatable();
    }
    let DisruptionRun { mut report, events, .. } = disruption;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    Ok(report)
}

/// One run at work.
struct DisruptionRun<'a, P> {
    ports: &'a P,
    run: &'a Run<'a>,
    observed: &'a Observation,
    snapshot: &'a ClusterSnapshot,
    /// Held where a command is about to start.
    launching: Option<&'a Lease>,
    report: DisruptionReport,
    events: Vec<Event>,
    /// A proposal waits: nothing else is proposed until it is settled.
    is_proposal_open: bool,
    /// A command was started or ended in this run: what was seen no longer holds.
    has_started: bool,
}

impl<'a, P: Ports> DisruptionRun<'a, P> {
    /// Nothing is done yet.
    fn new(
        (ports, run): (&'a P, &'a Run<'a>),
        observed: &'a Observation,
        snapshot: &'a ClusterSnapshot,
        launching: Option<&'a Lease>,
    ) -> Self {
        Self {
            ports,
            run,
            observed,
            snapshot,
            launching,
            report: DisruptionReport::default(),
            events: Vec::new(),
            is_proposal_open: false,
            has_started: false,
        }
    }
}

impl<P: Ports> DisruptionRun<'_, P> {
    async fn step(&mut self, command: Versioned<CommandRecord>) {
        match command.record.phase {
            CommandPhase::Proposed => match proposal(&command.record, self.observed.now) {
                Proposal::Waits(rest) => {
                    self.is_proposal_open = true;
                    self.requeue_after(rest);
                }
                Proposal::Expired => {
                    self.note(&command.record, CommandEvent::Forgotten);
                    self.forget(&command).await;
                }
                Proposal::Due => self.validate(command).await,
            },
            CommandPhase::Starting { since } => self.start(command, since).await,
            CommandPhase::Waiting { since } => self.wait(command, since).await,
            CommandPhase::Ending { .. } => self.end(command).await,
        }
    }

    fn note(&mut self, command: &CommandRecord, what: CommandEvent) {
        self.report.changes.push(CommandChange {
            command: command.id.clone(),
            reason: command.disruption.reason,
            nodes: command.disruption.nodes.clone(),
            what,
        });
    }

    /// Comes back when the next node has been left alone for `consolidateAfter`: a node that has lost its
    /// pods need not wait for the tick after that.
    fn requeue_when_consolidatable(&mut self) {
        let pools = &self.observed.view.node_pools;
        let is_kept =
            |claim: &&NodeClaim| claim.deleted.is_none() && claim.is(ConditionType::Initialized);
        let next = self
            .snapshot
            .node_claims
            .iter()
            .filter(is_kept)
            .filter_map(|claim| {
                let name = claim.node_pool()?;
                let pool = pools.iter().find(|pool| pool.name == *name);
                consolidatable_in(claim, pool, self.observed.now)
            })
            .min();
        if let Some(pause) = next {
            self.requeue_after(pause);
        }
    }

    fn requeue_after(&mut self, pause: SignedDuration) {
        let own = self.report.requeue_after;
        self.report.requeue_after = Some(own.map_or(pause, |own| own.min(pause)));
    }

    /// Writes a command's next state. `None` where somebody else was faster or the write failed.
    async fn save(
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
                    let doing = || format!("write command {}", record.id);
                    self.report.problems.note(doing, Err::<(), _>(error));
                }
                self.requeue_after(SignedDuration::from_secs(1));
                None
            }
        }
    }

    async fn forget(&mut self, command: &Versioned<CommandRecord>) {
        let id = &command.record.id;
        let deleted = self.ports.store().delete_command(id, command.version).await;
        self.report.problems.note(|| format!("delete command {id}"), deleted);
    }
}

#[cfg(test)]
mod tests;
