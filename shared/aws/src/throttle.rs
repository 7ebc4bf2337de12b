//! A token bucket for each kind of call in an account and region, shared by all clusters through
//! DynamoDB.
//!
//! EC2 throttles an account and region (`RequestLimitExceeded`), not a cluster: without the
//! buckets, the clusters of an installation would starve each other. They hold three quarters of
//! EC2's own limits, so that people and other programs find some left. Tokens are taken in batches
//! that are valid for a moment, so that most calls cost no write. A bucket that is unavailable lets
//! calls through: AWS throttles excess calls itself, and those are retried.

mod bucket;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use controllers::ports::PortError;
use domain::{SignedDuration, Timestamp};

use crate::budget::{Acquired, Bucket, CallBudget};
use crate::store::schema::{THROTTLES, region_partition};
use crate::store::{Attributes, Condition, Place, Table, Written, integer, number};
use bucket::{Grant, Limit, grant, wait_for};

/// How long a batch of tokens is valid: a process that was frozen must not spend old ones.
const BATCH_TTL: SignedDuration = SignedDuration::from_secs(2);
/// The longest that a call waits for tokens.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// The longest that DynamoDB may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// How long calls bypass a bucket that was unavailable.
const BYPASS_TTL: SignedDuration = SignedDuration::from_secs(10);

/// Takes tokens from a bucket that is not full: the time at which it will be full moves.
const SPEND: &str = "SET #full_at = #full_at + :cost";
const HAS_ROOM: &str = "#full_at BETWEEN :now AND :limit";
/// Takes tokens from a full bucket.
const OPEN: &str = "SET #full_at = :next";
const IS_FULL: &str = "attribute_not_exists(#full_at) OR #full_at < :now";
/// When the bucket will be full, microseconds since 1970.
const FULL_AT: &str = "full_at";

type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The call budget of one region, in a table.
pub struct SharedBudget {
    table: Table,
    partition: String,
    now: Now,
    local: Mutex<HashMap<Bucket, Local>>,
}

/// What this process holds of a bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    /// Tokens taken and not spent yet.
    tokens: u32,
    /// When they were taken.
    taken: Option<Timestamp>,
    /// Until then, calls bypass the bucket.
    open_until: Option<Timestamp>,
    /// When the bucket will be full, as far as this process has seen, microseconds since 1970.
    full_at: Option<i64>,
}

/// The answer of a bucket.
enum Answer {
    /// Tokens, at least one.
    Taken(u32),
    /// None before this time has passed.
    Wait(Duration),
    /// Another process changed it meanwhile.
    Again,
}

/// A write that did not take effect.
#[derive(Clone, Copy, Debug)]
struct Refused {
    /// When the bucket will be full, microseconds since 1970.
    full_at: Option<i64>,
}

impl SharedBudget {
    /// The call budget of a region in the table's account.
    pub fn new(table: Table, region: &str) -> Self {
        Self::with_clock(table, region, Arc::new(Timestamp::now))
    }

    fn with_clock(table: Table, region: &str, now: Now) -> Self {
        Self { table, partition: region_partition(region), now, local: Mutex::default() }
    }

    fn local(&self) -> MutexGuard<'_, HashMap<Bucket, Local>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spends tokens of the current batch. Returns how many are still wanted.
    fn spend(&self, bucket: Bucket, wanted: u32) -> u32 {
        let now = (self.now)();
        let mut all = self.local();
        let own = all.entry(bucket).or_default();
        if own.open_until.is_some_and(|until| now < until) {
            return 0;
        }
        if own.taken.is_none_or(|taken| now.duration_since(taken) > BATCH_TTL) {
            own.tokens = 0;
        }
        let spent = wanted.min(own.tokens);
        own.tokens -= spent;
        wanted - spent
    }

    fn keep(&self, bucket: Bucket, tokens: u32) {
        let now = (self.now)();
        let mut all = self.local();
        let own = all.entry(bucket).or_default();
        own.tokens = own.tokens.saturating_add(tokens);
        own.taken = Some(now);
    }

    /// Whether the bucket is full for all that this process knows: others may have taken of it.
    fn seems_full(&self, bucket: Bucket, now: i64) -> bool {
        let full_at = self.local().get(&bucket).and_then(|own| own.full_at);
        full_at.is_none_or(|full_at| full_at < now)
    }

    fn bypass(&self, bucket: Bucket, why: &dyn fmt::Display) {
        tracing::warn!(bucket = bucket.as_str(), %why, "call budget unavailable, bypassing it");
        let until = (self.now)().checked_add(BYPASS_TTL).ok();
        self.local().entry(bucket).or_default().open_until = until;
    }

    async fn wait_for_tokens(&self, bucket: Bucket, tokens: u32) {
        let limit = Limit::of(bucket);
        let mut wanted = tokens.min(limit.burst);
        let mut waited = Duration::ZERO;
        loop {
            wanted = self.spend(bucket, wanted);
            if wanted == 0 {
                return;
            }
            let asked = self.take(bucket, limit, wanted.max(limit.batch()));
            match tokio::time::timeout(ANSWER_MAX, asked).await {
                Ok(Ok(Answer::Taken(tokens))) => self.keep(bucket, tokens),
                Ok(Ok(Answer::Again)) => {}
                Ok(Ok(Answer::Wait(pause))) => {
                    if waited + pause > WAIT_MAX {
                        tracing::warn!(
                            bucket = bucket.as_str(),
                            "call budget exhausted, sending the call anyway"
                        );
                        return;
                    }
                    waited += pause;
                    tokio::time::sleep(pause).await;
                }
                Ok(Err(error)) => return self.bypass(bucket, &error),
                Err(elapsed) => return self.bypass(bucket, &elapsed),
            }
        }
    }

    /// Takes up to `wanted` tokens from the bucket.
    ///
    /// A write that is refused costs as much as one that is not, so the first is the one that is
    /// likely to succeed: most of the time nobody has called for a while, and the bucket is full.
    async fn take(&self, bucket: Bucket, limit: Limit, wanted: u32) -> Result<Answer, PortError> {
        let now = (self.now)().as_microsecond();
        let seems_full = self.seems_full(bucket, now);
        let first = if seems_full {
            self.open(bucket, limit, now, wanted).await?
        } else {
            self.draw(bucket, limit, now, wanted).await?
        };
        let Err(Refused { full_at }) = first else { return Ok(Answer::Taken(wanted)) };
        let (second, tokens) = match grant(full_at, now, limit, wanted) {
            // Somebody has changed it since.
            Grant::Full if seems_full => return Ok(Answer::Again),
            Grant::Full => (self.open(bucket, limit, now, wanted).await?, wanted),
            Grant::Part(tokens) => (self.draw(bucket, limit, now, tokens).await?, tokens),
            Grant::Empty { full_at } => return Ok(Answer::Wait(wait_for(full_at, now, limit))),
        };
        Ok(match second {
            Ok(()) => Answer::Taken(tokens),
            Err(Refused { .. }) => Answer::Again,
        })
    }

    /// Takes tokens from a full bucket; refused with the time at which it will be full.
    async fn open(
        &self,
        bucket: Bucket,
        limit: Limit,
        now: i64,
        tokens: u32,
    ) -> Result<Result<(), Refused>, PortError> {
        let next = now.saturating_add(limit.cost(tokens));
        let full = Condition::new(IS_FULL).with(":now", number(now)).with(":next", number(next));
        self.change(bucket, OPEN, full).await
    }

    /// Takes tokens from a bucket that is not full; refused with the time at which it will be full.
    async fn draw(
        &self,
        bucket: Bucket,
        limit: Limit,
        now: i64,
        tokens: u32,
    ) -> Result<Result<(), Refused>, PortError> {
        let room = Condition::new(HAS_ROOM)
            .with(":cost", number(limit.cost(tokens)))
            .with(":now", number(now))
            .with(":limit", number(limit.latest_full_at(now, tokens)));
        self.change(bucket, SPEND, room).await
    }

    async fn change(
        &self,
        bucket: Bucket,
        change: &str,
        condition: Condition,
    ) -> Result<Result<(), Refused>, PortError> {
        let key = format!("{THROTTLES}{}", bucket.as_str());
        let place = Place { partition: &self.partition, key: &key };
        let written = self.table.update(place, change, condition).await?;
        let full_at = |item: &Attributes| integer::<i64>(item, FULL_AT).ok();
        let (written, full_at) = match written {
            Written::Done(item) => (Ok(()), full_at(&item)),
            Written::Refused(item) => {
                let full_at = item.as_ref().and_then(full_at);
                (Err(Refused { full_at }), full_at)
            }
        };
        self.local().entry(bucket).or_default().full_at = full_at;
        Ok(written)
    }
}

impl CallBudget for SharedBudget {
    fn acquire(&self, bucket: Bucket, tokens: u32) -> Acquired<'_> {
        Box::pin(self.wait_for_tokens(bucket, tokens))
    }
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBudget").field("partition", &self.partition).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
