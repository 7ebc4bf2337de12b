//! How often something is interrupted.

/// Interruptions, in millionths a node-hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterruptionRate(u64);

impl InterruptionRate {
    /// From millionths a node-hour.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// In millionths a node-hour.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// The nearest to so many interruptions in 100 node-hours.
    pub fn per_100_node_hours(count: f64) -> Self {
        Self::of(count / 100.0)
    }

    /// Interruptions in 100 node-hours, for output.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub fn in_100_node_hours(self) -> f64 {
        self.0 as f64 / 10_000.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within range, and not negative"
    )]
    pub(super) fn of(an_hour: f64) -> Self {
        Self((an_hour * 1e6).round().clamp(0.0, 1e12) as u64)
    }
}
