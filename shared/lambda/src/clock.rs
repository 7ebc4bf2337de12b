//! The system clock as a port.

use std::cell::Cell;
use std::time::Duration;

use controllers::ports::Clock;
use domain::Timestamp;

/// The machine's clock, made monotonic: it never goes back when the time is adjusted.
#[derive(Debug)]
pub struct SystemClock {
    latest: Cell<Timestamp>,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { latest: Cell::new(Timestamp::UNIX_EPOCH) }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now().max(self.latest.get());
        self.latest.set(now);
        now
    }

    async fn sleep_until(&self, until: Timestamp) {
        let rest = until.duration_since(self.now());
        tokio::time::sleep(Duration::try_from(rest).unwrap_or_default()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SignedDuration;

    #[tokio::test]
    async fn a_moment_that_is_over_is_not_waited_for() {
        let clock = SystemClock::default();
        let before = clock.now();
        clock.sleep_until(before - SignedDuration::from_secs(60)).await;
        assert!(clock.now().duration_since(before) < SignedDuration::from_secs(5));
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = SystemClock::default();
        let future = Timestamp::now() + SignedDuration::from_secs(60);
        clock.latest.set(future);
        assert_eq!(clock.now(), future);
    }
}
