//! What a process keeps of the claims that it read, and how it knows that they are still the same.
//!
//! A run that changes nothing would read all claims only to find what the run before it found. So
//! whoever writes a claim announces it first, in one small item that every run reads:
//!
//! 1. Before the first of several writes, a name that was never used before is put down as the
//!    latest announcement, and added to those that are open.
//! 2. The claims are written.
//! 3. Once each of these writes was answered, the announcement is taken from those that are open.
//!
//! A reader reads that item, and then the claims. What it read may be kept if no announcement was
//! open: then all writes that were announced had been answered, and it has seen them. It is what
//! is there for as long as the latest announcement is the same: any later write was announced
//! first, under another name. So nothing depends on how fast anybody is, on the order in which
//! functions write, or on clocks, except for writers that died:
//!
//! - Killed after 1 or 2, or left without the answer to a write, a writer leaves its announcement
//!   open, and nobody keeps anything. It counts for [`ANNOUNCEMENT_TTL`], longer than any process
//!   outlives its start: whatever it had on its way has arrived by then, or never will.
//! - An announcement that arrives twice or late is open until then as well.
//!
//! Versions that announce nothing may run beside, while an installation is upgraded or rolled back.
//! Each of their runs acquires a lease, and a lease tells how many of its holders announce and who
//! did last: see [`Announced::silent_runs`]. What they write without a lease, interruption's marks,
//! they follow with a lease at once. Whatever all of this misses ends with [`CLAIMS_TTL`], and with
//! the first write that is refused: every write is conditional.

use std::cell::RefCell;
use std::collections::BTreeMap;

use domain::{SignedDuration, Text, Timestamp};

use crate::ports::Versioned;
use crate::record::claim::ClaimRecord;

/// How long an announcement counts that is not withdrawn. Lambda ends a process within 15 minutes.
pub const ANNOUNCEMENT_TTL: SignedDuration = SignedDuration::from_mins(20);
/// How long writes may begin under an announcement. Each is over long before the rest has passed.
const ANNOUNCEMENT_USE: SignedDuration = SignedDuration::from_mins(5);
/// How long what was read is kept, whatever is announced.
const CLAIMS_TTL: SignedDuration = SignedDuration::from_mins(20);

/// The announcement of writes by one process: until when it counts, and a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Announcement {
    /// When its writes are over, withdrawn or not.
    pub until: Timestamp,
    /// Never used by another.
    pub name: Text,
}

impl Announcement {
    /// One that is made at a moment.
    pub fn new(name: Text, now: Timestamp) -> Self {
        Self { until: now.checked_add(ANNOUNCEMENT_TTL).unwrap_or(Timestamp::MAX), name }
    }
}

/// What is announced of writes of claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// The name of the latest announcement, withdrawn or not; `None` before the first.
    pub latest: Option<Text>,
    /// Announcements that were not withdrawn.
    pub open: Vec<Announcement>,
    /// How many holders each lease had that do not announce what they write, by the lease's name.
    pub silent_runs: BTreeMap<Text, u64>,
    /// Until when such a holder may be writing; `None` where none is there.
    pub silent_until: Option<Timestamp>,
}

impl Announced {
    /// Whether all writes that were announced are over.
    fn is_settled(&self, now: Timestamp) -> bool {
        self.open.iter().all(|own| own.until <= now)
            && self.silent_until.is_none_or(|until| until <= now)
    }

    fn stamp(&self) -> Stamp {
        Stamp { latest: self.latest.clone(), silent_runs: self.silent_runs.clone() }
    }
}

/// What changes before any claim does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    latest: Option<Text>,
    silent_runs: BTreeMap<Text, u64>,
}

/// The claims of one cluster, as a process read them last. It is right when empty.
#[derive(Debug, Default)]
pub struct ClaimCache(RefCell<Option<Known>>);

#[derive(Debug)]
struct Known {
    claims: Vec<Versioned<ClaimRecord>>,
    stamp: Stamp,
    read_at: Timestamp,
}

impl ClaimCache {
    /// The claims, if they are what was read. Forgets them where they are not.
    pub fn get(
        &self,
        announced: &Announced,
        now: Timestamp,
    ) -> Option<Vec<Versioned<ClaimRecord>>> {
        let mut known = self.0.borrow_mut();
        let is_current = |known: &Known| {
            let age = now.duration_since(known.read_at);
            known.stamp == announced.stamp() && !age.is_negative() && age < CLAIMS_TTL
        };
        if !known.as_ref().is_some_and(is_current) {
            *known = None;
        }
        known.as_ref().map(|known| known.claims.clone())
    }

    /// Keeps claims that were read after `announced` was, which was read at `read_at`; unless they
    /// may be changing.
    pub fn put(
        &self,
        announced: &Announced,
        read_at: Timestamp,
        claims: &[Versioned<ClaimRecord>],
    ) {
        let is_settled = announced.is_settled(read_at);
        *self.0.borrow_mut() = is_settled.then(|| Known {
            claims: claims.to_vec(),
            stamp: announced.stamp(),
            read_at,
        });
    }

    /// Forgets the claims: a write was refused, so they are not what was read.
    pub fn forget(&self) {
        *self.0.borrow_mut() = None;
    }
}

/// The writes of claims that a process has under way for one cluster.
#[derive(Debug, Default)]
pub struct ClaimWrites(Option<OpenWrites>);

#[derive(Debug)]
struct OpenWrites {
    announcement: Announcement,
    /// Writes that have begun and not ended.
    count: usize,
    /// Whether one ended without an answer, so that it may still be on its way.
    is_doubtful: bool,
}

impl ClaimWrites {
    /// Begins a write under the announcement that is open, if there is one that covers it; the
    /// caller ends it with what is returned.
    pub fn join(&mut self, now: Timestamp) -> Option<Announcement> {
        let open = self.0.as_mut()?;
        let made = open.announcement.until.checked_sub(ANNOUNCEMENT_TTL).ok()?;
        let age = now.duration_since(made);
        if open.is_doubtful || age.is_negative() || age >= ANNOUNCEMENT_USE {
            return None;
        }
        open.count += 1;
        Some(open.announcement.clone())
    }

    /// Begins a write under an announcement that the caller has just made. One that is still open
    /// stays so until it no longer counts.
    pub fn begin(&mut self, announcement: Announcement) {
        self.0 = Some(OpenWrites { announcement, count: 1, is_doubtful: false });
    }

    /// Ends a write, and says whether its announcement is to be withdrawn: this was the last write
    /// under it, and all were answered.
    pub fn end(&mut self, announcement: &Announcement, is_answered: bool) -> bool {
        let Some(open) = self.0.as_mut().filter(|open| open.announcement == *announcement) else {
            return false;
        };
        open.count = open.count.saturating_sub(1);
        open.is_doubtful |= !is_answered;
        if open.count > 0 {
            return false;
        }
        let is_doubtful = open.is_doubtful;
        self.0 = None;
        !is_doubtful
    }
}

#[cfg(test)]
mod tests;
