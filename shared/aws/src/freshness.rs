//! For how long what a process remembers counts.
//!
//! Between two invocations Lambda freezes a process, and with it the monotonic clock
//! ([`std::time::Instant`]): of an hour between two runs of a second, it counts the second. So ages
//! go by the time of day.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>.

use domain::{SignedDuration, Timestamp};

/// Whether it is less than `ttl` since a moment. One that is yet to come does not count: somebody
/// has set the clock back.
pub fn is_fresh(since: Timestamp, ttl: SignedDuration, now: Timestamp) -> bool {
    let age = now.duration_since(since);
    !age.is_negative() && age < ttl
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_counts_until_its_time_is_over_and_not_if_the_clock_was_set_back() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let is_fresh_at = |second| is_fresh(at(100), SignedDuration::from_secs(60), at(second));
        assert!(is_fresh_at(100) && is_fresh_at(159));
        assert!(!is_fresh_at(160) && !is_fresh_at(3_700));
        assert!(!is_fresh_at(99));
    }
}
