//! The time.

use domain::Timestamp;

/// Tells the time. The only source of time there is: records, conditions and deadlines come from it.
pub trait Clock {
    /// Now. Never earlier than an answer before.
    fn now(&self) -> Timestamp;
}
