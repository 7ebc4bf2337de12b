//! Interruption: EC2 takes an instance back, or says that it will.
//!
//! A notice names an instance. Its claim is found by the index, its offering is not tried for a while, and
//! the claim is marked for its end; lifecycle drains the node within the notice, and provisioning plans
//! for its pods as soon as it is marked. Notices may come twice, late and out of order: an end that is
//! decided keeps its first reason and its earliest deadline.

use domain::instance_type::CapacityType;
use domain::reason::DisruptionReason;
use domain::{SignedDuration, Text, Timestamp};

use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::Instance;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Clock, Outside};
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::unavailable::{UNAVAILABLE_LASTS, UnavailableOffering};
use crate::run::{Problems, after, change_claim, record_events};

/// From a spot interruption warning to the end of the instance.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>.
pub const SPOT_NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// Something EC2 says about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `i-…`.
    pub instance_id: Text,
    /// When EC2 said so.
    pub at: Timestamp,
    /// What.
    pub kind: NoticeKind,
}

/// Kinds of notice (reference E10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// EC2 Spot Instance Interruption Warning: the instance ends in two minutes.
    SpotInterruption,
    /// EC2 Instance Rebalance Recommendation: the risk of an interruption has grown.
    RebalanceRecommendation,
    /// AWS Health: a change is scheduled.
    ScheduledChange,
    /// State change to stopping or stopped.
    Stopped,
    /// State change to shutting-down or terminated.
    Terminated,
}

impl NoticeKind {
    const fn reason(self) -> EventReason {
        match self {
            Self::SpotInterruption => EventReason::SpotInterrupted,
            Self::RebalanceRecommendation => EventReason::SpotRebalanceRecommendation,
            Self::ScheduledChange => EventReason::InstanceUnhealthy,
            Self::Stopped => EventReason::InstanceStopping,
            Self::Terminated => EventReason::InstanceTerminating,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::SpotInterruption => "EC2 takes its spot instance back in two minutes",
            Self::RebalanceRecommendation => "EC2 is more likely to take its spot instance back",
            Self::ScheduledChange => "AWS Health announced a change of its instance",
            Self::Stopped => "its instance stops",
            Self::Terminated => "its instance ends",
        }
    }
}

/// What came of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct InterruptionReport {
    /// What was done.
    pub outcome: NoticeOutcome,
    /// What did not work and does not make the notice come again.
    pub problems: Problems,
}

/// What was done about a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// No claim has the instance.
    NotOurs,
    /// The claim was told and stays.
    Noted {
        /// The claim.
        claim: Text,
    },
    /// The claim ends.
    Ending {
        /// The claim.
        claim: Text,
        /// By when its pods are gone.
        deadline: Option<Timestamp>,
    },
    /// The claim had gone meanwhile.
    AlreadyGone {
        /// The claim.
        claim: Text,
    },
}

/// Handles one notice. After an error it must come again: nothing is lost by handling it twice.
pub async fn handle<O: Outside>(
    ports: &O,
    notice: &Notice,
) -> Result<InterruptionReport, PortError> {
    let mut problems = Problems::default();
    let Some(claim) = ports.store().claim_of_instance(&notice.instance_id).await? else {
        return Ok(InterruptionReport { outcome: NoticeOutcome::NotOurs, problems });
    };
    let now = ports.clock().now();
    let name = claim.record.claim.name.clone();
    let mut events = vec![event(&claim.record, notice.kind.reason(), notice.kind.message())];
    if notice.kind == NoticeKind::RebalanceRecommendation {
        record_events(ports.cluster(), &events, &mut problems).await;
        return Ok(InterruptionReport { outcome: NoticeOutcome::Noted { claim: name }, problems });
    }
    if notice.kind == NoticeKind::SpotInterruption
        && let Some(offering) = claim.record.instance.as_ref().and_then(|own| gone(own, now))
    {
        let marked = ports.store().mark_unavailable(&[offering]).await;
        problems.note(|| "mark an offering unavailable".to_owned(), marked);
    }
    let deadline = match notice.kind {
        NoticeKind::SpotInterruption => Some(after(notice.at, SPOT_NOTICE)),
        _ => None,
    };
    let reason = EndReason::Disrupted(DisruptionReason::Interrupted);
    let changed =
        change_claim(ports.store(), claim, |record| record.ended(now, reason, deadline)).await?;
    let outcome = match changed {
        None => NoticeOutcome::AlreadyGone { claim: name },
        Some(changed) => {
            let message = "it is drained, for EC2 takes its instance";
            events.push(event(&changed.record, EventReason::TerminatingOnInterruption, message));
            let deadline = changed.record.ending.and_then(|ending| ending.deadline);
            NoticeOutcome::Ending { claim: name, deadline }
        }
    };
    record_events(ports.cluster(), &events, &mut problems).await;
    Ok(InterruptionReport { outcome, problems })
}

fn event(record: &ClaimRecord, reason: EventReason, message: &str) -> Event {
    Event::new(Subject::NodeClaim(record.claim.name.clone()), reason, message)
}

/// The offering that is interrupted: whoever is taken back now would be taken back again.
fn gone(instance: &Instance, now: Timestamp) -> Option<UnavailableOffering> {
    (instance.capacity_type == CapacityType::Spot).then(|| UnavailableOffering {
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: CapacityType::Spot,
        code: "SpotInterruption".into(),
        until: after(now, UNAVAILABLE_LASTS),
    })
}

#[cfg(test)]
mod tests;
