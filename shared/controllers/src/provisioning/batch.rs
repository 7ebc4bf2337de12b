//! The batching window: pods that arrive together are planned together.
//!
//! Karpenter waits for a second without a new pod (`BATCH_IDLE_DURATION`), which is most of what a
//! pod waits for its launch. Controllers make the pods of one change within tens of milliseconds of
//! each other, so here a window waits for as long as its own pauses make likely, and for a second
//! at most.
//!
//! Source: `BATCH_IDLE_DURATION` and `BATCH_MAX_DURATION`,
//! <https://karpenter.sh/docs/reference/settings/>; `slowStartBatch` in
//! `pkg/controller/replicaset/replica_set.go` of Kubernetes.

use domain::{SignedDuration, Timestamp};

use crate::run::after;

/// A window stays open for at least this long after its latest change.
pub const BATCH_IDLE_MIN: SignedDuration = SignedDuration::from_millis(300);
/// A window closes when no change has arrived for this long.
pub const BATCH_IDLE_MAX: SignedDuration = SignedDuration::from_secs(1);
/// A window closes when no change has arrived for so many times the longest pause between two of
/// its changes, within the bounds above.
const PAUSES: i32 = 4;
/// A window closes this long after it opened, whatever arrives.
pub const BATCH_MAX: SignedDuration = SignedDuration::from_secs(10);

/// An open batching window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchWindow {
    opened: Timestamp,
    latest: Timestamp,
    /// The longest pause between two changes.
    longest_pause: SignedDuration,
}

impl BatchWindow {
    /// A window that the first change opens.
    pub const fn opened(now: Timestamp) -> Self {
        Self { opened: now, latest: now, longest_pause: SignedDuration::ZERO }
    }

    /// A window that a change opens after the latest one of an earlier window. Where that was less
    /// than a second ago, both belong to a stream, of which the earlier window saw too little.
    pub fn opened_after(earlier: Timestamp, now: Timestamp) -> Self {
        let pause = now.duration_since(earlier);
        let longest_pause = if pause <= BATCH_IDLE_MAX { pause } else { SignedDuration::ZERO };
        Self { longest_pause, ..Self::opened(now) }
    }

    /// The latest change.
    pub const fn latest(self) -> Timestamp {
        self.latest
    }

    /// The window extended by one more change.
    pub fn extended(self, now: Timestamp) -> Self {
        let pause = now.duration_since(self.latest);
        Self { latest: self.latest.max(now), longest_pause: self.longest_pause.max(pause), ..self }
    }

    /// When it closes if no more changes arrive.
    pub fn closes(self) -> Timestamp {
        let idle = self.longest_pause.saturating_mul(PAUSES).clamp(BATCH_IDLE_MIN, BATCH_IDLE_MAX);
        after(self.latest, idle).min(after(self.opened, BATCH_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn a_window_closes_soon_after_changes_that_came_together() {
        let millis = |window: BatchWindow| window.closes().duration_since(at(0)).as_millis();
        let after = |millis| at(0) + SignedDuration::from_millis(millis);
        let window = BatchWindow::opened(at(0));
        assert_eq!(millis(window), 300, "a pod by itself");
        let window = window.extended(after(20)).extended(after(40));
        assert_eq!(millis(window), 340, "pods of one Deployment");
        assert_eq!(millis(window.extended(after(190))), 190 + 600, "one Deployment after another");
    }

    #[test]
    fn a_window_closes_a_second_after_the_last_of_changes_that_trickle_in() {
        let window = BatchWindow::opened(at(0)).extended(at(1));
        assert_eq!(window.closes(), at(2));
        assert_eq!(window.extended(at(2)).closes(), at(3));
    }

    #[test]
    fn what_comes_shortly_after_a_window_waits_for_the_rest_of_its_stream() {
        let after = |millis| at(0) + SignedDuration::from_millis(millis);
        let millis = |window: BatchWindow| window.closes().duration_since(at(0)).as_millis();
        assert_eq!(millis(BatchWindow::opened_after(at(0), after(500))), 1_500);
        assert_eq!(millis(BatchWindow::opened_after(at(0), after(1_100))), 1_400, "by itself");
    }

    #[test]
    fn a_window_never_stays_open_for_longer_than_ten_seconds() {
        let window = (1..=30).fold(BatchWindow::opened(at(0)), |window, second| {
            if window.closes() > at(second) { window.extended(at(second)) } else { window }
        });
        assert!(window.closes() <= at(10));
        let busy = BatchWindow::opened(at(0)).extended(at(9)).extended(at(9));
        assert_eq!(busy.closes(), at(10));
    }

    #[test]
    fn a_late_change_does_not_shorten_a_window() {
        let window = BatchWindow::opened(at(5));
        assert_eq!(window.extended(at(3)), window);
    }
}
