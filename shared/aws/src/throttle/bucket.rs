//! The arithmetic of a token bucket that is one number: the time at which it will be full again.
//!
//! Taking tokens moves that time on. The bucket refills without a write, and taking is one
//! conditional addition: the generic cell rate algorithm (ITU-T I.371).

use std::time::Duration;

use crate::budget::Bucket;

const MICROSECONDS: i64 = 1_000_000;

/// The size of a bucket, and how fast it refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// Tokens of a full bucket.
    pub(super) burst: u32,
    /// Tokens that come back each second, at least 1.
    pub(super) per_second: u32,
}

impl Limit {
    /// Three quarters of the limit of an account and region.
    ///
    /// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>: 100
    /// tokens and 20 a second for calls that read, 50 and 5 for calls that change something, 100
    /// and 5 for TerminateInstances; <https://docs.aws.amazon.com/general/latest/gr/ssm.html>: 40
    /// parameter calls a second;
    /// <https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html>
    /// and IAM publish no figure, and get a cautious one.
    pub(super) const fn of(bucket: Bucket) -> Self {
        let (burst, per_second) = match bucket {
            Bucket::Describe => (75, 15),
            Bucket::Mutate | Bucket::Launch => (37, 4),
            Bucket::Terminate => (75, 4),
            Bucket::Ssm => (30, 30),
            Bucket::Iam => (15, 4),
            Bucket::Pricing => (8, 8),
        };
        Self { burst, per_second }
    }

    /// How many are taken at once: those of a second, so that a cluster with one call takes few
    /// from others.
    pub(super) const fn batch(self) -> u32 {
        self.per_second
    }

    /// How long that many tokens take to refill, microseconds.
    pub(super) const fn cost(self, tokens: u32) -> i64 {
        MICROSECONDS * tokens as i64 / self.per_second as i64
    }

    /// The latest full time at which the bucket has that many tokens, microseconds since 1970.
    pub(super) const fn latest_full_at(self, now: i64, tokens: u32) -> i64 {
        now.saturating_add(self.cost(self.burst) - self.cost(tokens))
    }
}

/// What a bucket grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// All of it.
    Full,
    /// Some of the tokens wanted.
    Part(u32),
    /// No token.
    Empty {
        /// When it will be full, microseconds since 1970.
        full_at: i64,
    },
}

/// What a bucket grants at `now`. Times are in microseconds since 1970; without a full time it is
/// full.
pub(super) fn grant(full_at: Option<i64>, now: i64, limit: Limit, wanted: u32) -> Grant {
    let Some(full_at) = full_at.filter(|full_at| *full_at >= now) else { return Grant::Full };
    let there = (1..=wanted.min(limit.burst))
        .rev()
        .find(|tokens| full_at <= limit.latest_full_at(now, *tokens));
    there.map_or(Grant::Empty { full_at }, Grant::Part)
}

/// How long until the bucket has a token.
pub(super) fn wait_for(full_at: i64, now: i64, limit: Limit) -> Duration {
    let wait = full_at.saturating_sub(limit.latest_full_at(now, 1)).max(0);
    // One millisecond more, so that the token is there after the wait.
    Duration::from_micros(wait.unsigned_abs()) + Duration::from_millis(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: Limit = Limit { burst: 20, per_second: 5 };

    /// A bucket as the table keeps it, asked by anybody.
    #[derive(Default)]
    struct Shared(Option<i64>);

    impl Shared {
        fn take(&mut self, now: i64, wanted: u32) -> u32 {
            let (taken, from) = match grant(self.0, now, LIMIT, wanted) {
                Grant::Full => (wanted.min(LIMIT.burst), now),
                Grant::Part(tokens) => (tokens, self.0.unwrap_or(now)),
                Grant::Empty { .. } => return 0,
            };
            self.0 = Some(from + LIMIT.cost(taken));
            taken
        }
    }

    #[test]
    fn a_full_bucket_has_its_burst_and_then_nothing() {
        let mut bucket = Shared::default();
        assert_eq!(bucket.take(0, 100), 20);
        assert_eq!(bucket.take(0, 1), 0);
    }

    #[test]
    fn tokens_come_back_with_time_and_never_beyond_the_burst() {
        let mut bucket = Shared::default();
        bucket.take(0, 20);
        assert_eq!(bucket.take(MICROSECONDS, 20), 5);
        assert_eq!(bucket.take(1_000 * MICROSECONDS, 100), 20);
    }

    #[test]
    fn whoever_waits_as_told_finds_a_token() {
        let mut bucket = Shared::default();
        bucket.take(0, 20);
        let Grant::Empty { full_at } = grant(bucket.0, 0, LIMIT, 3) else { panic!("it is empty") };
        let later = i64::try_from(wait_for(full_at, 0, LIMIT).as_micros()).unwrap();
        assert_eq!(bucket.take(later, 3), 1);
    }

    proptest! {
        /// However many ask, and whenever: in no span of time do they get more than the burst and
        /// what came back meanwhile.
        #[test]
        fn nobody_gets_more_than_there_is(
            calls in prop::collection::vec((0_i64..400_000, 1_u32..8), 1..200),
        ) {
            let mut bucket = Shared::default();
            let mut now = 0;
            let mut taken: Vec<(i64, u32)> = Vec::new();
            for (pause, wanted) in calls {
                now += pause;
                taken.push((now, bucket.take(now, wanted)));
            }
            for (first, (start, _)) in taken.iter().enumerate() {
                let mut sum = 0_i64;
                for (end, tokens) in &taken[first..] {
                    sum += i64::from(*tokens);
                    let refilled = (end - start) * i64::from(LIMIT.per_second) / MICROSECONDS;
                    prop_assert!(sum <= i64::from(LIMIT.burst) + refilled + 1);
                }
            }
        }
    }
}
