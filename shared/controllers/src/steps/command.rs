//! The steps of a disruption command: validated 15 s after its proposal, started, and ended once
//! its replacements are initialized.

use domain::plan::{Plan, PlannedDisruption, VALIDATION_WAIT};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, Timestamp};

use super::snapshot::ClusterState;
use crate::core::Core;
use crate::record::claim::ClaimPhase;
use crate::record::command::CommandRecord;

/// Age at which a proposal that was not validated is dropped.
pub const PROPOSAL_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Time from the start of a command within which its replacements must be initialized.
pub const COMMAND_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// How long a proposal waits for its validation. Pods that arrive meanwhile can invalidate a
/// consolidation only; drift and forceful disruption hold regardless.
pub const fn validation_wait(reason: DisruptionReason) -> SignedDuration {
    match reason {
        DisruptionReason::Empty | DisruptionReason::Underutilized => VALIDATION_WAIT,
        DisruptionReason::Drifted
        | DisruptionReason::Expired
        | DisruptionReason::Unhealthy
        | DisruptionReason::Interrupted
        | DisruptionReason::OffHours
        | DisruptionReason::ScaledDown => SignedDuration::ZERO,
    }
}

/// The state of a proposal before its validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// It is validated after this long.
    Waits(SignedDuration),
    /// It is to be validated now.
    Due,
    /// It is too old.
    Expired,
}

/// The state of a proposal.
pub fn proposal(command: &CommandRecord, now: Timestamp) -> Proposal {
    let age = now.duration_since(command.proposed);
    let wait = validation_wait(command.disruption.reason);
    if age >= PROPOSAL_TIMEOUT {
        Proposal::Expired
    } else if age >= wait {
        Proposal::Due
    } else {
        Proposal::Waits(wait - age)
    }
}

/// Validates a proposal against a fresh snapshot, with the pods' places computed anew. Of nodes
/// proposed as empty, those that still are may be disrupted although others no longer are; any
/// other disruption holds as a whole or not at all.
pub fn validated(
    core: &Core,
    snapshot: &ClusterSnapshot,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    let refusal = match (core.validate)(snapshot, disruption) {
        Ok(renewed) => return Ok(renewed),
        Err(refusal) => refusal,
    };
    if disruption.reason != DisruptionReason::Empty {
        return Err(refusal);
    }
    // Proposes again with every other node nominated: the result is a part of the command.
    let mut narrowed = snapshot.clone();
    let others =
        snapshot.objects.nodes.iter().filter(|node| !disruption.nodes.contains(&node.name));
    for node in others {
        narrowed.nominations.entry(node.name.clone()).or_default();
    }
    let fresh = (core.propose)(&narrowed).disruptions;
    fresh.into_iter().find(|now| now.reason == DisruptionReason::Empty).ok_or(refusal)
}

/// Violations of disruptions, checked together with the scheduling of pending pods: a plan is
/// checked as a whole.
pub fn checked(
    core: &Core,
    snapshot: &ClusterSnapshot,
    disruptions: Vec<PlannedDisruption>,
) -> Vec<Text> {
    let plan = Plan { disruptions, ..(core.schedule)(snapshot) };
    (core.check)(snapshot, &plan)
}

/// The state of the replacements of a command that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacements {
    /// All are initialized.
    Ready,
    /// This many are not initialized yet.
    Awaited(usize),
    /// One is gone or ending: the command cannot be carried out.
    Lost,
    /// They were not initialized in time.
    Late,
}

/// The state of a command's replacements.
pub fn replacements(
    command: &CommandRecord,
    since: Timestamp,
    observed: &ClusterState,
) -> Replacements {
    let phases: Vec<Option<ClaimPhase>> = command
        .disruption
        .replacements
        .iter()
        .map(|planned| observed.claim(&planned.name).map(|claim| claim.record.phase()))
        .collect();
    let is_lost = |phase: &Option<ClaimPhase>| matches!(phase, None | Some(ClaimPhase::Ending));
    if phases.iter().any(is_lost) {
        return Replacements::Lost;
    }
    let awaited = phases.iter().filter(|phase| **phase != Some(ClaimPhase::Initialized)).count();
    if awaited == 0 {
        Replacements::Ready
    } else if observed.now.duration_since(since) >= COMMAND_TIMEOUT {
        Replacements::Late
    } else {
        Replacements::Awaited(awaited)
    }
}
