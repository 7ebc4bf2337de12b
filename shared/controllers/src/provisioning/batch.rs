//! The batching window: pods that arrive together are planned together.
//!
//! Source: Karpenter's `BATCH_IDLE_DURATION` and `BATCH_MAX_DURATION`,
//! <https://karpenter.sh/docs/reference/settings/>.

use domain::{SignedDuration, Timestamp};

use crate::run::after;

/// A window closes when no change has arrived for this long.
pub const BATCH_IDLE: SignedDuration = SignedDuration::from_secs(1);
/// A window closes this long after it opened, whatever arrives.
pub const BATCH_MAX: SignedDuration = SignedDuration::from_secs(10);

/// An open batching window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchWindow {
    opened: Timestamp,
    latest: Timestamp,
}

impl BatchWindow {
    /// A window that the first change opens.
    pub const fn opened(now: Timestamp) -> Self {
        Self { opened: now, latest: now }
    }

    /// The window extended by one more change.
    pub fn extended(self, now: Timestamp) -> Self {
        Self { latest: self.latest.max(now), ..self }
    }

    /// When it closes if no more changes arrive.
    pub fn closes(self) -> Timestamp {
        after(self.latest, BATCH_IDLE).min(after(self.opened, BATCH_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn a_window_closes_a_second_after_the_last_change() {
        let window = BatchWindow::opened(at(0));
        assert_eq!(window.closes(), at(1));
        assert_eq!(window.extended(at(1)).closes(), at(2));
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
