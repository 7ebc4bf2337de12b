//! Disruption: empty, underutilized, drifted, expired and unhealthy nodes are removed, replacements
//! first.
//!
//! A disruption is proposed and stored in one run, validated in a later one against a fresh
//! snapshot, then started, awaited and ended step by step. Every step is stored, so that any run
//! can resume it. A command that cannot be carried out leaves nothing behind: taints that neither a
//! command nor an ending claim accounts for are removed.

mod cancel_all;
mod candidates;
mod cleanup;
mod drift;
mod last_proposal;
mod off_hours;
mod propose;
mod report;
mod run_state;
mod start;
mod wait;
mod watch_only;

use domain::pod::Pod;
use domain::{SignedDuration, Timestamp};

use crate::lease::{HeldLeases, acquire, with_lease};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, FunctionName, Lease, LeaseAnswer, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::requeue::reconcile_until_idle;
use crate::run::{
    Problems, Run, RunOutcome, after, is_over, note_pod_events, observe, record_events,
};
use crate::safeguards::Scope;
use crate::steps::command::{Proposal, proposal};
use crate::steps::pod_events::since_last_pod_event;
use crate::steps::snapshot::{ClusterState, snapshot};

pub(crate) use cancel_all::cancel_all;
pub use report::{CommandChange, CommandEvent, DisruptionReport};

use last_proposal::{Digest, LastProposal};
use run_state::{DisruptionRun, RUN_INTERVAL};

/// Attempts to acquire provisioning's lease before a command starts.
const LEASE_ATTEMPTS: usize = 4;
/// How long nothing has to have moved in a cluster for the schedule's runs to be enough.
const IDLE_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// Claims that one run reads, where functions wake themselves every [`RUN_INTERVAL`]. Where there
/// are more, runs come less often, so that they cost the same.
const CLAIMS_PER_RUN_INTERVAL: usize = 100;
/// Pause between two attempts: a provisioning run holds the lease for a few seconds.
const LEASE_ATTEMPT_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Runs disruption once. An error means that nothing was decided; commands in flight are left to
/// the next run.
pub async fn disrupt<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<DisruptionReport>, PortError> {
    disrupt_after(ports, run, &LastProposal::default()).await
}

/// Runs disruption until no work is in flight, as [`reconcile_until_idle`] does. The cluster is not
/// looked through again where nothing has changed since that came to nothing.
pub async fn disrupt_until_idle<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    report: impl FnMut(Result<RunOutcome<DisruptionReport>, PortError>),
) {
    let last = LastProposal::default();
    let disrupt = async |ports: &P, run: &Run<'_>| disrupt_after(ports, run, &last).await;
    reconcile_until_idle(ports, run, disrupt, report).await;
}

async fn disrupt_after<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    last: &LastProposal,
) -> Result<RunOutcome<DisruptionReport>, PortError> {
    with_lease(ports, run, FunctionName::Disruption, async |leases| {
        match leases.admission().scope {
            Scope::All => {}
            Scope::Interruptions => return Ok(DisruptionReport::default()),
            Scope::Nothing => {
                return watch_only::observe_candidates(ports, run, leases.own()).await;
            }
        }
        leases.hold_for_launch(launch_lease(ports, run).await?);
        disrupt_under(ports, run, leases, last).await
    })
    .await
}

/// Acquires provisioning's lease if a command is about to start. It is acquired before the cluster
/// is listed, so that no other run launches for the same pods, or under the same limits, between
/// that list and the launch of replacements.
///
/// Schedules invoke provisioning in the same second of every minute, so a run that did not wait for
/// it would find the lease held each time.
async fn launch_lease<P: Ports>(ports: &P, run: &Run<'_>) -> Result<Option<Lease>, PortError> {
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
    leases: &HeldLeases,
    last: &LastProposal,
) -> Result<DisruptionReport, PortError> {
    let mut observed = observe(ports, leases.own()).await?;
    let mut problems = Problems::default();
    note_pod_events(ports.store(), &mut observed, &mut problems).await;
    watch_only::leave_out(ports, run, &mut observed, &mut problems).await;
    let snapshot = snapshot(&observed, run.settings);
    let mut disruption = DisruptionRun::new(ports, run, &observed, &snapshot, leases.admission());
    disruption.launch_lease = leases.launch();
    disruption.report.problems = problems;
    disruption.clean_up().await;
    disruption.update_drift().await;
    for command in &observed.commands {
        if is_over(ports, run) {
            disruption.requeue_after(SignedDuration::ZERO);
            break;
        }
        disruption.step(command.clone()).await;
    }
    // A run that has started or ended a command leaves proposing to the next one, with a fresh
    // snapshot.
    if disruption.has_started {
        disruption.requeue_after(SignedDuration::ZERO);
    }
    if !disruption.is_proposal_open && !disruption.has_started && !is_over(ports, run) {
        let state = disruption.has_news().then(|| Digest::of(&observed));
        if let Some(state) = state.filter(|state| !last.found_nothing_in(*state)) {
            let found = disruption.propose(leases.own()).await;
            last.note(state, found);
        }
        disruption.requeue_when_consolidatable();
    }
    if run.wakes && !is_idle(&observed) {
        disruption.requeue_after(run_interval(observed.claims.len()));
    }
    let DisruptionRun { mut report, events, .. } = disruption;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    Ok(report)
}

/// How long until the next run, where nothing is in flight.
fn run_interval(claims: usize) -> SignedDuration {
    let times = i32::try_from(claims.div_ceil(CLAIMS_PER_RUN_INTERVAL)).unwrap_or(i32::MAX);
    RUN_INTERVAL.saturating_mul(times.max(1))
}

/// Whether nothing has moved for a while: no node of ours is starting or ending, no command is in
/// flight, no pod has come to a node of ours or gone, and no new pod waits.
fn is_idle(observed: &ClusterState) -> bool {
    let is_past = |moment: Option<Timestamp>| {
        moment.is_some_and(|moment| observed.now.duration_since(moment) >= IDLE_AFTER)
    };
    let rests = |record: &ClaimRecord| {
        let since = since_last_pod_event(&record.claim, observed.now);
        record.ending.is_none()
            && record.claim.deleted.is_none()
            && since.is_some_and(|since| since >= IDLE_AFTER)
    };
    let waits = |pod: &Pod| pod.node_name.is_none() && !pod.is_terminal();
    observed.commands.is_empty()
        && observed.claims.iter().all(|claim| rests(&claim.record))
        && observed.listing.objects.pods.iter().all(|pod| !waits(pod) || is_past(pod.created))
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
                    self.record_change(&command.record, CommandEvent::Forgotten);
                    self.delete_command(&command).await;
                }
                Proposal::Due => self.validate(command).await,
            },
            CommandPhase::Starting { since } => self.start(command, since).await,
            CommandPhase::Waiting { since } => self.wait(command, since).await,
            CommandPhase::Ending { .. } => self.end(command).await,
        }
    }
}

#[cfg(test)]
mod tests;
