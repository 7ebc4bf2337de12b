//! What the pods of a run need at least, stretch by stretch between the steps of its timeline.
//!
//! A stretch counts as its end finds it, when what the steps before it changed has settled: pods
//! that come and go by themselves, such as those of Jobs, count for the whole stretch at whose end
//! they are there.

use domain::Timestamp;

use super::bound;
use super::clockwork::Clockwork;
use crate::report::Needed;
use crate::world::World;

const MILLIS_PER_HOUR: i128 = 3_600_000;

/// The sum of the stretches that are over.
pub(super) struct Stretches {
    /// When the current one began.
    since: Timestamp,
    sum: Needed,
}

impl Stretches {
    pub(super) fn since(start: Timestamp) -> Self {
        Self { since: start, sum: Needed::default() }
    }

    /// Ends the current stretch; the next one begins.
    pub(super) fn end(&mut self, world: &World, clockwork: &Clockwork) {
        let length = world.now().duration_since(self.since);
        if length.is_zero() {
            return;
        }
        self.since = world.now();
        let bound::Least { hourly, pods } =
            bound::least(world, &clockwork.core(), clockwork.settings());
        let millis = length.as_millis();
        self.sum.nano_usd += i128::from(hourly.nanos()) * millis / MILLIS_PER_HOUR;
        let pods = i32::try_from(pods).unwrap_or(i32::MAX);
        self.sum.pod_time += length.saturating_mul(pods);
    }

    /// The sum so far.
    pub(super) const fn sum(&self) -> Needed {
        self.sum
    }
}
