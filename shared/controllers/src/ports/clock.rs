//! The time.

use domain::Timestamp;

/// Tells the time. The only source of time there is: records, conditions and deadlines come from it.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Clock {
    /// Now. Never earlier than an answer before.
    fn now(&self) -> Timestamp;

    /// Returns once it is that late; at once where it is already.
    async fn sleep_until(&self, until: Timestamp);
}
