//! The clock.

use domain::Timestamp;

/// Tells the time. The only source of time: records, conditions and deadlines come from it.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Clock {
    /// The current time. Never earlier than an earlier result.
    fn now(&self) -> Timestamp;

    /// Returns at a moment; at once when it has passed.
    async fn sleep_until(&self, until: Timestamp);
}
