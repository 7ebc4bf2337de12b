//! What clusters remember of spot offerings, as it was read lately.
//!
//! All functions plan from it in every run, and it changes slowly: a process reads it anew every
//! few minutes, and after it has written itself. It is right when empty.

use std::sync::{Arc, Mutex, PoisonError};

use controllers::ports::{SpotRecords, Versioned};
use controllers::record::spot::SpotRecord;
use domain::{SignedDuration, Text, Timestamp};

use crate::freshness::is_fresh;

/// For how long what was read is taken to be what is there: as long as an offering is left alone
/// after a notice, so that nothing is launched there before the notice counts.
const READ_TTL: SignedDuration = SignedDuration::from_mins(3);

/// The records of all clusters, by cluster.
pub(super) type Records = Arc<[(Text, Versioned<SpotRecord>)]>;

/// Records that were read lately, and when.
#[derive(Debug, Default)]
pub(super) struct SpotCache(Mutex<Option<(Records, Timestamp)>>);

impl SpotCache {
    /// What was read less than three minutes before `now`.
    pub(super) fn get(&self, now: Timestamp) -> Option<Records> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (records, at) = known.as_ref()?;
        is_fresh(*at, READ_TTL, now).then(|| Arc::clone(records))
    }

    /// Remembers what was read at a moment.
    pub(super) fn put(&self, records: Records, at: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((records, at));
    }

    /// What was read is no longer what is there.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The records as one cluster sees them.
pub(super) fn seen_by(records: &Records, cluster: &str) -> SpotRecords {
    let mut seen = SpotRecords::default();
    for (of, record) in records.iter() {
        if **of == *cluster {
            seen.own = Some(record.clone());
        } else {
            seen.others.push(record.record.clone());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    use controllers::ports::Version;

    fn records(clusters: &[&str]) -> Records {
        let record = Versioned { record: SpotRecord::default(), version: Version(1) };
        clusters.iter().map(|cluster| (Text::from(*cluster), record.clone())).collect()
    }

    #[test]
    fn runs_of_one_process_read_the_table_once_in_three_minutes() {
        let cache = SpotCache::default();
        let start = Timestamp::UNIX_EPOCH;
        let mut reads = 0;
        // A run a minute for half an hour.
        for minute in 0..30 {
            let now = start + SignedDuration::from_mins(minute);
            if cache.get(now).is_none() {
                reads += 1;
                cache.put(records(&["a"]), now);
            }
        }
        assert_eq!(reads, 10, "three functions read as often as one that reads in every run");
    }

    #[test]
    fn what_this_process_has_written_is_read_anew() {
        let cache = SpotCache::default();
        let now = Timestamp::UNIX_EPOCH;
        cache.put(records(&["a"]), now);
        assert!(cache.get(now).is_some());
        cache.forget();
        assert!(cache.get(now).is_none());
    }

    #[test]
    fn a_cluster_sees_its_own_record_apart_from_others() {
        let seen = seen_by(&records(&["a", "b", "c"]), "b");
        assert!(seen.own.is_some());
        assert_eq!(seen.others.len(), 2);
        assert!(seen_by(&records(&["a"]), "new").own.is_none());
    }
}
