//! The steps of a disruption command.
//!
//! Source: reference C10 (validation), C15 (orchestration).

use domain::plan::{Plan, PlannedDisruption};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, Timestamp};

use super::snapshot::Observation;
use crate::core::Core;
use crate::record::claim::ClaimPhase;
use crate::record::command::CommandRecord;

/// From a proposal to its validation.
pub const VALIDATION_WAIT: SignedDuration = SignedDuration::from_secs(15);
/// A proposal that nobody came to validate for so long is forgotten.
pub const PROPOSAL_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// From the start of a command to the readiness of its replacements.
pub const COMMAND_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// How long a proposal waits for its validation. Only consolidation may be upset by what happens in the
/// meantime; drift and whatever is not voluntary hold regardless.
pub const fn validation_wait(reason: DisruptionReason) -> SignedDuration {
    match reason {
        DisruptionReason::Empty | DisruptionReason::Underutilized => VALIDATION_WAIT,
        DisruptionReason::Drifted
        | DisruptionReason::Expired
        | DisruptionReason::Unhealthy
        | DisruptionReason::Interrupted
        | DisruptionReason::ScaledDown => SignedDuration::ZERO,
    }
}

/// How a proposal stands before its validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// It is validated after so long.
    Waits(SignedDuration),
    /// It is to be validated now.
    Due,
    /// It is too old.
    Expired,
}

/// How a proposal stands.
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

/// Validates a proposal against the present: where its pods go is decided anew. Of nodes proposed as empty, those
/// that still are may go although others no longer are; anything else holds as a whole or not at all.
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
    // Asked anew with every other node spoken for: what is proposed then is a part of the command.
    let mut narrowed = snapshot.clone();
    let others = snapshot.nodes.iter().filter(|node| !disruption.nodes.contains(&node.name));
    for node in others {
        narrowed.nominations.entry(node.name.clone()).or_default();
    }
    let fresh = (core.propose)(&narrowed).disruptions;
    fresh.into_iter().find(|now| now.reason == DisruptionReason::Empty).ok_or(refusal)
}

/// What is wrong with disruptions, taken together with what pending pods get: a plan is checked whole.
pub fn checked(
    core: &Core,
    snapshot: &ClusterSnapshot,
    disruptions: Vec<PlannedDisruption>,
) -> Vec<Text> {
    let plan = Plan { disruptions, ..(core.schedule)(snapshot) };
    (core.check)(snapshot, &plan)
}

/// How the replacements of a command that was started stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacements {
    /// All take pods.
    Ready,
    /// So many do not yet.
    Awaited(usize),
    /// One is gone or ending: the command cannot be carried out.
    Lost,
    /// They took too long.
    Late,
}

/// How the replacements stand.
pub fn replacements(
    command: &CommandRecord,
    since: Timestamp,
    observed: &Observation,
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
