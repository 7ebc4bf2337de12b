//! CapacityBuffers and schedules: capacity that is wanted before pods are there.

use jiff::tz::TimeZone;

use crate::pod::ObjectKey;
use crate::resource::Resources;
use crate::schedule::Schedule;
use crate::workload::{PodTemplate, WorkloadKind};
use crate::{SignedDuration, Text, Timestamp};

/// A CapacityBuffer (`autoscaling.x-k8s.io/v1beta1`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityBuffer {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// `spec.provisioningStrategy`; only `buffer.x-k8s.io/active-capacity` is acted on.
    pub provisioning_strategy: Text,
    /// Where the shape of its pods comes from.
    pub source: BufferSource,
    /// The fewest replicas.
    pub replicas: Option<u32>,
    /// A share of the referenced workload's replicas, in percent.
    pub percentage: Option<u32>,
    /// The most of each resource that all its pods may request together.
    pub limits: Resources,
}

/// Where the pods of a CapacityBuffer come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferSource {
    /// A PodTemplate by name.
    PodTemplate(Text),
    /// A workload by kind and name.
    Workload(WorkloadKind, Text),
    /// An object that no pod template is read from, as `GROUP/KIND NAME`: the API takes whatever
    /// can be scaled.
    Unsupported(Text),
}

/// A ScaledObject (`keda.sh/v1alpha1`), as far as its cron triggers go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledObject {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// Kind and name of its target, in its own namespace.
    pub target: (WorkloadKind, Text),
    /// `minReplicaCount`.
    pub min_replicas: u32,
    /// `maxReplicaCount`.
    pub max_replicas: u32,
    /// `cooldownPeriod`: how long after the last window KEDA waits before it scales to zero.
    pub cooldown_period: SignedDuration,
    /// Its cron triggers.
    pub triggers: Vec<CronTrigger>,
    /// Annotation `outrigger.dev/lead-time`: how long before a window opens its capacity is wanted.
    /// `None` leaves it to how long nodes take to start.
    pub lead_time: Option<SignedDuration>,
}

/// A PrewarmSchedule (`outrigger.dev/v1alpha1`): capacity at known times, without KEDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrewarmSchedule {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// Whose pods the capacity is for.
    pub target: PrewarmTarget,
    /// `spec.minReplicas`.
    pub min_replicas: u32,
    /// `spec.maxReplicas`.
    pub max_replicas: u32,
    /// `spec.triggers`.
    pub triggers: Vec<CronTrigger>,
    /// `spec.leadTime`: how long before a window opens its capacity is wanted. `None` leaves it to
    /// how long nodes take to start.
    pub lead_time: Option<SignedDuration>,
}

/// Whose pods a PrewarmSchedule wants capacity for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrewarmTarget {
    /// `spec.scaleTargetRef`: a workload in its own namespace.
    Workload {
        /// Its kind.
        kind: WorkloadKind,
        /// Its name.
        name: Text,
        /// `spec.scaleTarget`: the workload's replicas are set as well.
        scale: bool,
    },
    /// `spec.template`: pods of this shape.
    Template(PodTemplate),
}

/// A trigger of type `cron`: a number of replicas between two times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronTrigger {
    /// The time zone of `start` and `end`.
    pub timezone: TimeZone,
    /// When the window opens.
    pub start: Schedule,
    /// When it closes.
    pub end: Schedule,
    /// How many replicas while it is open.
    pub desired_replicas: u32,
}

impl CronTrigger {
    /// Whether the window is open: its end comes before its next start, or with it.
    ///
    /// Source: KEDA's cron scaler.
    pub fn is_open(&self, now: Timestamp) -> bool {
        match (self.start.next_after(now, &self.timezone), self.end.next_after(now, &self.timezone))
        {
            (Some(start), Some(end)) => end <= start,
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    /// Whether the window is open or opens within the lead time.
    pub fn is_due(&self, now: Timestamp, lead_time: SignedDuration) -> bool {
        let opens = self.start.next_after(now, &self.timezone);
        self.is_open(now) || opens.is_some_and(|opens| opens.duration_since(now) <= lead_time)
    }
}

impl CronTrigger {
    /// Whether the window was open at any moment of the last while, both its ends included.
    fn was_open_within(&self, now: Timestamp, span: SignedDuration) -> bool {
        let from = now.checked_sub(span).unwrap_or(now);
        let next = |time: &Timestamp| self.start.next_after(*time, &self.timezone);
        let mut starts = std::iter::successors(next(&from), next).take_while(|start| *start <= now);
        self.is_open(from) || starts.any(|start| self.is_open(start))
    }

    /// When what [`held_replicas`] says may next change: the window opens, or has been closed for
    /// `hold`.
    pub fn next_turn(&self, now: Timestamp, hold: SignedDuration) -> Option<Timestamp> {
        let opens = self.start.next_after(now, &self.timezone);
        let before = now.checked_sub(hold).unwrap_or(now);
        let closed = self.end.next_after(before, &self.timezone);
        let given_up = closed.and_then(|end| end.checked_add(hold).ok());
        [opens, given_up].into_iter().flatten().min()
    }
}

/// How many replicas triggers want, those ahead of their windows by the lead time included; `None`
/// while none is due.
///
/// Several triggers: the largest number counts, as KEDA's HPA takes it, between the two limits.
pub fn due_replicas(
    triggers: &[CronTrigger],
    (min_replicas, max_replicas): (u32, u32),
    now: Timestamp,
    lead_time: SignedDuration,
) -> Option<u32> {
    let due = triggers.iter().filter(|trigger| trigger.is_due(now, lead_time));
    let wanted = due.map(|trigger| trigger.desired_replicas).max()?;
    Some(wanted.max(min_replicas).min(max_replicas))
}

/// How many replicas triggers want of a workload that they scale: the largest number of those whose
/// windows were open within the last while, between the two limits; the fewest where none was.
///
/// What was wanted a moment ago still counts because an HPA lets `hold` pass before it scales down
/// (`stabilizationWindowSeconds`). It follows from the time alone, so that a missed run
/// changes nothing.
pub fn held_replicas(
    triggers: &[CronTrigger],
    (min_replicas, max_replicas): (u32, u32),
    now: Timestamp,
    hold: SignedDuration,
) -> u32 {
    let held = triggers.iter().filter(|trigger| trigger.was_open_within(now, hold));
    let wanted = held.map(|trigger| trigger.desired_replicas).max().unwrap_or(min_replicas);
    wanted.max(min_replicas).min(max_replicas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::time_zone;

    fn trigger(zone: &str, start: &str, end: &str, desired_replicas: u32) -> CronTrigger {
        CronTrigger {
            timezone: time_zone(zone).unwrap(),
            start: start.parse().unwrap(),
            end: end.parse().unwrap(),
            desired_replicas,
        }
    }

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn a_window_is_open_from_its_start_until_its_end() {
        let quarter = trigger("Asia/Seoul", "00,15,30,45 * * * *", "05,20,35,50 * * * *", 5);
        for (time, open) in [
            ("2026-01-05T11:59:59Z", false),
            ("2026-01-05T12:00:00Z", true),
            ("2026-01-05T12:04:59Z", true),
            ("2026-01-05T12:05:00Z", false),
            ("2026-01-05T12:15:00Z", true),
        ] {
            assert_eq!(quarter.is_open(at(time)), open, "{time}");
        }
    }

    #[test]
    fn a_window_may_last_over_midnight() {
        let night = trigger("Asia/Seoul", "0 22 * * *", "0 6 * * *", 3);
        assert!(night.is_open(at("2026-01-05T20:59:00Z")), "05:59 in Seoul");
        assert!(!night.is_open(at("2026-01-05T21:00:00Z")), "06:00 in Seoul");
        assert!(night.is_open(at("2026-01-05T13:00:00Z")), "22:00 in Seoul");
    }

    #[test]
    fn capacity_is_due_ahead_of_the_window() {
        let evening = trigger("UTC", "0 21 * * *", "0 23 * * *", 30);
        let lead = SignedDuration::from_mins(3);
        assert!(!evening.is_due(at("2026-01-05T20:56:59Z"), lead));
        assert!(evening.is_due(at("2026-01-05T20:57:00Z"), lead));
        assert!(evening.is_due(at("2026-01-05T22:59:59Z"), lead));
        assert!(!evening.is_due(at("2026-01-05T23:00:00Z"), lead));
    }

    #[test]
    fn replicas_are_held_for_a_while_after_the_window() {
        let evening = [trigger("UTC", "0 21 * * *", "0 23 * * *", 30)];
        let hold = SignedDuration::from_mins(5);
        let held = |time| held_replicas(&evening, (2, 20), at(time), hold);
        for (time, replicas) in [
            ("2026-01-05T20:59:59Z", 2),
            ("2026-01-05T21:00:00Z", 20),
            ("2026-01-05T23:04:59Z", 20),
            ("2026-01-05T23:05:00Z", 2),
        ] {
            assert_eq!(held(time), replicas, "{time}");
        }
    }

    #[test]
    fn a_window_shorter_than_the_hold_is_held_as_well() {
        let minute = [trigger("UTC", "0 21 * * *", "1 21 * * *", 3)];
        let held = |time| held_replicas(&minute, (0, 9), at(time), SignedDuration::from_mins(5));
        assert_eq!(held("2026-01-05T21:03:00Z"), 3);
        assert_eq!(held("2026-01-05T21:06:00Z"), 0);
    }

    #[test]
    fn the_next_turn_is_when_a_window_opens_or_its_hold_is_over() {
        let evening = trigger("UTC", "0 21 * * *", "0 23 * * *", 30);
        let next = |time| evening.next_turn(at(time), SignedDuration::from_mins(5));
        assert_eq!(next("2026-01-05T20:00:00Z"), Some(at("2026-01-05T21:00:00Z")));
        assert_eq!(next("2026-01-05T21:00:00Z"), Some(at("2026-01-05T23:05:00Z")));
        assert_eq!(next("2026-01-05T23:04:00Z"), Some(at("2026-01-05T23:05:00Z")));
        assert_eq!(next("2026-01-05T23:05:00Z"), Some(at("2026-01-06T21:00:00Z")));
    }

    #[test]
    fn the_largest_trigger_counts_within_the_limits() {
        let triggers = [
            trigger("UTC", "0 21 * * *", "0 23 * * *", 30),
            trigger("UTC", "0 22 * * *", "0 23 * * *", 50),
        ];
        let wanted = |time, limits| due_replicas(&triggers, limits, at(time), SignedDuration::ZERO);
        assert_eq!(wanted("2026-01-05T20:00:00Z", (2, 100)), None);
        assert_eq!(wanted("2026-01-05T21:30:00Z", (2, 100)), Some(30));
        assert_eq!(wanted("2026-01-05T22:30:00Z", (2, 100)), Some(50));
        assert_eq!(wanted("2026-01-05T22:30:00Z", (2, 40)), Some(40));
        assert_eq!(wanted("2026-01-05T22:30:00Z", (60, 100)), Some(60));
    }
}
