//! Notices about instances, from EC2 and AWS Health.

use domain::instance_type::CapacityType;
use domain::reason::DisruptionReason;
use domain::{SignedDuration, Text, Timestamp};

use crate::event::EventReason;
use crate::ports::cloud::Instance;
use crate::record::claim::EndReason;
use crate::record::unavailable::{UNAVAILABLE_TTL, UnavailableOffering};
use crate::run::after;

/// Time from a spot interruption warning, or one of an interruptible capacity reservation, to the
/// end of the instance.
///
/// Source:
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>.
pub const SPOT_NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// A notice about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `i-…`.
    pub instance_id: Text,
    /// When it was issued.
    pub at: Timestamp,
    /// Its kind.
    pub kind: NoticeKind,
}

/// Kinds of notice: those that Karpenter's interruption controller handles, scheduled changes, and
/// failed status checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// EC2 Spot Instance Interruption Warning: the instance ends in two minutes.
    SpotInterruption,
    /// EC2 Capacity Reservation Instance Interruption Warning: the owner of an interruptible
    /// reservation reclaims it.
    ReservationInterruption {
        /// When the instance ends.
        ends: Option<Timestamp>,
    },
    /// EC2 Instance Rebalance Recommendation: the risk of an interruption has grown.
    RebalanceRecommendation,
    /// AWS Health, or EC2's list of scheduled events: a reboot, a stop, a retirement, maintenance.
    ScheduledChange {
        /// When it begins.
        starts: Option<Timestamp>,
    },
    /// State change to stopping or stopped.
    Stopped,
    /// State change to shutting-down or terminated.
    Terminated,
    /// EC2's instance or system status check has failed for two minutes.
    Impaired,
}

impl NoticeKind {
    /// The reason of its event.
    pub(super) const fn reason(self) -> EventReason {
        match self {
            Self::SpotInterruption => EventReason::SpotInterrupted,
            Self::ReservationInterruption { .. } => {
                EventReason::CapacityReservationInstanceInterrupted
            }
            Self::RebalanceRecommendation => EventReason::SpotRebalanceRecommendation,
            Self::ScheduledChange { .. } | Self::Impaired => EventReason::InstanceUnhealthy,
            Self::Stopped => EventReason::InstanceStopping,
            Self::Terminated => EventReason::InstanceTerminating,
        }
    }

    /// Why a claim ends that it is about; `None` where it stays. A status check is an opinion of
    /// EC2's on a node that it leaves alone; all else EC2 carries out, whatever is done about it.
    pub(super) const fn end_reason(self) -> Option<EndReason> {
        match self {
            Self::RebalanceRecommendation => None,
            Self::Impaired => Some(EndReason::Disrupted(DisruptionReason::Unhealthy)),
            Self::SpotInterruption
            | Self::ReservationInterruption { .. }
            | Self::ScheduledChange { .. }
            | Self::Stopped
            | Self::Terminated => Some(EndReason::INTERRUPTED),
        }
    }

    /// The message of its event.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::SpotInterruption => "EC2 will interrupt its spot instance in two minutes",
            Self::ReservationInterruption { .. } => "its capacity reservation is being interrupted",
            Self::RebalanceRecommendation => {
                "its spot instance is at an elevated risk of interruption"
            }
            Self::ScheduledChange { .. } => "its instance has a scheduled maintenance event",
            Self::Stopped => "its instance is stopping",
            Self::Terminated => "its instance is terminating",
            Self::Impaired => "its instance has failed EC2 status checks for two minutes",
        }
    }
}

impl Notice {
    /// When pods must be gone from the node; `None` for no deadline.
    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        match self.kind {
            NoticeKind::RebalanceRecommendation => None,
            NoticeKind::SpotInterruption => Some(after(self.at, SPOT_NOTICE)),
            NoticeKind::ReservationInterruption { ends } => {
                Some(ends.unwrap_or_else(|| after(self.at, SPOT_NOTICE)))
            }
            // An event that has begun ends at an unknown time: no reason to force pods.
            NoticeKind::ScheduledChange { starts } => starts.filter(|starts| *starts > now),
            NoticeKind::Stopped | NoticeKind::Terminated | NoticeKind::Impaired => Some(now),
        }
    }

    /// The offering to mark unavailable: a launch from a pool that EC2 reclaims would be
    /// interrupted again.
    pub(super) fn unavailable_offering(
        &self,
        instance: &Instance,
        now: Timestamp,
    ) -> Option<UnavailableOffering> {
        let (capacity_type, code) = match self.kind {
            NoticeKind::SpotInterruption => (CapacityType::Spot, "SpotInterruption"),
            NoticeKind::ReservationInterruption { .. } => {
                (CapacityType::Reserved, "CapacityReservationInterruption")
            }
            _ => return None,
        };
        (instance.capacity_type == capacity_type).then(|| UnavailableOffering {
            instance_type: instance.instance_type.clone(),
            zone: instance.zone.clone(),
            capacity_type,
            code: code.into(),
            until: after(now, UNAVAILABLE_TTL),
        })
    }
}
