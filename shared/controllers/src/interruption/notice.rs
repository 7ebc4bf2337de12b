//! What EC2 and AWS Health say about instances.

use domain::instance_type::CapacityType;
use domain::{SignedDuration, Text, Timestamp};

use crate::event::EventReason;
use crate::ports::cloud::Instance;
use crate::record::unavailable::{UNAVAILABLE_TTL, UnavailableOffering};
use crate::run::after;

/// From a spot interruption warning to the end of the instance; as long for one in an interruptible capacity
/// reservation.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>.
pub const SPOT_NOTICE: SignedDuration = SignedDuration::from_mins(2);

/// Something that is said about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `i-…`.
    pub instance_id: Text,
    /// When it was said.
    pub at: Timestamp,
    /// What.
    pub kind: NoticeKind,
}

/// Kinds of notice (reference E10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    /// EC2 Spot Instance Interruption Warning: the instance ends in two minutes.
    SpotInterruption,
    /// EC2 Capacity Reservation Instance Interruption Warning: the owner of an interruptible reservation
    /// takes it back.
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
    /// EC2's checks of the instance, or of the system it runs on, have failed for two minutes.
    Impaired,
}

impl NoticeKind {
    /// The reason of the event about it.
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

    /// A sentence for the event about it.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::SpotInterruption => "EC2 takes its spot instance back in two minutes",
            Self::ReservationInterruption { .. } => {
                "the capacity reservation it runs in is taken back"
            }
            Self::RebalanceRecommendation => "EC2 is more likely to take its spot instance back",
            Self::ScheduledChange { .. } => "AWS announced a change of its instance",
            Self::Stopped => "its instance stops",
            Self::Terminated => "its instance ends",
            Self::Impaired => "EC2's checks of its instance have failed for two minutes",
        }
    }
}

impl Notice {
    /// By when pods have to be gone from the node; `None` leaves them all the time they need.
    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        match self.kind {
            NoticeKind::RebalanceRecommendation => None,
            NoticeKind::SpotInterruption => Some(after(self.at, SPOT_NOTICE)),
            NoticeKind::ReservationInterruption { ends } => {
                Some(ends.unwrap_or_else(|| after(self.at, SPOT_NOTICE)))
            }
            // What began already ends nobody knows when: no reason to force anything.
            NoticeKind::ScheduledChange { starts } => starts.filter(|starts| *starts > now),
            NoticeKind::Stopped | NoticeKind::Terminated | NoticeKind::Impaired => Some(now),
        }
    }

    /// What is not to be launched for a while: whoever is taken back now would be taken back again.
    pub(super) fn gone(&self, instance: &Instance, now: Timestamp) -> Option<UnavailableOffering> {
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
