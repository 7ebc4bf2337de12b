//! What a cluster remembers of spot offerings, and which events are counted in it already.
//!
//! Every change is one conditional write of the whole record: of two functions that change it at
//! once one is refused, reads it again and changes that. Events are distinguished by instance or
//! the attempt that they are of, node-hours by the moment up to which they are counted, so that
//! nothing counts twice, however often and in whatever order it is heard of.

use domain::spot::{SpotEvent, SpotEventKind, SpotHistory};
use domain::{SignedDuration, Text, Timestamp};

/// How long an event that was counted is remembered as such: as long as SQS keeps a message.
const SEEN_FOR: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The same for launches and their failures, which only a run that is repeated could count again.
const LAUNCH_SEEN_FOR: SignedDuration = SignedDuration::from_hours(1);
/// The most events that are remembered; the soonest to be forgotten go first. A notice that comes
/// after its instance's claim is gone is nobody's, so this need not hold all of two weeks.
const SEEN_MAX: usize = 1_024;
/// How often node-hours are counted while nothing ends.
pub const COUNTED_EVERY: SignedDuration = SignedDuration::from_mins(15);

/// What a cluster remembers of spot offerings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpotRecord {
    /// The counts.
    pub history: SpotHistory,
    /// Up to when node-hours are counted; `None` before the first time.
    pub counted_until: Option<Timestamp>,
    /// Events that were counted, by a hash of what they are, and until when that is remembered.
    pub seen: Vec<(u64, Timestamp)>,
}

/// Something that happened to a spot instance, or to an attempt to launch one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// What tells it from others of its kind: the instance's id, or the attempt.
    pub id: Text,
    /// What happened, where and when.
    pub event: SpotEvent,
}

/// A spot instance that runs, or did until now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uptime {
    /// Its type.
    pub instance_type: Text,
    /// Its zone.
    pub zone: Text,
    /// When it was launched.
    pub launched: Timestamp,
}

impl SpotRecord {
    /// The record with those of the sightings that were not counted before, and which these are.
    #[must_use]
    pub fn with_sightings(
        mut self,
        sightings: &[Sighting],
        now: Timestamp,
    ) -> (Self, Vec<Sighting>) {
        let mut news = Vec::new();
        for sighting in sightings {
            let key = key_of(sighting);
            if self.seen.iter().any(|(known, _)| *known == key) {
                continue;
            }
            self.history.record(&sighting.event);
            let kept = match sighting.event.kind {
                SpotEventKind::Launch | SpotEventKind::CapacityError => LAUNCH_SEEN_FOR,
                _ => SEEN_FOR,
            };
            self.seen.push((key, now.checked_add(kept).unwrap_or(Timestamp::MAX)));
            news.push(sighting.clone());
        }
        if !news.is_empty() {
            self.forget(now);
        }
        (self, news)
    }

    /// The record with the node-hours of instances up to now, and for how long each has run since
    /// they were counted last.
    #[must_use]
    pub fn with_uptime(
        mut self,
        running: &[Uptime],
        now: Timestamp,
    ) -> (Self, Vec<SignedDuration>) {
        let since = self.counted_until.unwrap_or(Timestamp::MIN);
        if now <= since {
            return (self, vec![SignedDuration::ZERO; running.len()]);
        }
        let mut times = Vec::with_capacity(running.len());
        for own in running {
            let lasted = now.duration_since(own.launched.max(since)).max(SignedDuration::ZERO);
            self.history.record(&SpotEvent {
                instance_type: own.instance_type.clone(),
                zone: own.zone.clone(),
                at: now,
                kind: SpotEventKind::NodeHours(lasted.as_secs_f64() / 3600.0),
            });
            times.push(lasted);
        }
        self.counted_until = Some(now);
        self.forget(now);
        (self, times)
    }

    fn forget(&mut self, now: Timestamp) {
        self.seen.retain(|(_, until)| now < *until);
        if self.seen.len() > SEEN_MAX {
            self.seen.sort_by_key(|(_, until)| std::cmp::Reverse(*until));
            self.seen.truncate(SEEN_MAX);
        }
        self.history = std::mem::take(&mut self.history).pruned();
    }
}

/// FNV-1a of what tells a sighting from all others.
fn key_of(Sighting { id, event }: &Sighting) -> u64 {
    let word = match event.kind {
        SpotEventKind::Launch => "launch",
        SpotEventKind::NodeHours(_) => "hours",
        SpotEventKind::Interruption => "interruption",
        SpotEventKind::Rebalance => "rebalance",
        SpotEventKind::CapacityError => "capacity",
    };
    let parts = [word, id, &*event.instance_type, &*event.zone];
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    fn sighting(id: &str, kind: SpotEventKind, second: i64) -> Sighting {
        let event =
            SpotEvent { instance_type: "m5.large".into(), zone: "a".into(), at: at(second), kind };
        Sighting { id: id.into(), event }
    }

    fn uptime(launched: i64) -> Uptime {
        Uptime { instance_type: "m5.large".into(), zone: "a".into(), launched: at(launched) }
    }

    fn interruptions(record: &SpotRecord) -> f64 {
        record.history.get("m5.large", "a").map_or(0.0, |own| own.interruptions)
    }

    #[test]
    fn a_notice_counts_once_whether_it_comes_twice_late_or_in_another_order() {
        let first = sighting("i-1", SpotEventKind::Interruption, 0);
        let second = sighting("i-2", SpotEventKind::Interruption, 60);
        let after = |order: &[&Sighting]| {
            order.iter().fold(SpotRecord::default(), |record, own| {
                record.with_sightings(&[(*own).clone()], at(100)).0
            })
        };
        let once = after(&[&first, &second]);
        let again = after(&[&second, &first, &second, &first]);
        assert!((interruptions(&once) - interruptions(&again)).abs() < 1e-9);
        assert!((interruptions(&once) - 2.0).abs() < 1e-3);
        let (_, news) = once.with_sightings(&[first.clone(), first], at(3600 * 24));
        assert!(news.is_empty());
        let rebalance = sighting("i-1", SpotEventKind::Rebalance, 0);
        assert_eq!(again.with_sightings(&[rebalance], at(100)).1.len(), 1);
    }

    #[test]
    fn node_hours_are_counted_from_where_they_were_counted_last() {
        let running = [uptime(0), uptime(1800)];
        let minutes = SignedDuration::from_mins;
        let (record, times) = SpotRecord::default().with_uptime(&running, at(3600));
        assert_eq!(times, [minutes(60), minutes(30)]);
        let (record, times) = record.with_uptime(&running, at(3600));
        assert_eq!(times, [minutes(0), minutes(0)]);
        let (record, _) = record.with_uptime(&running, at(1800));
        let (record, times) = record.with_uptime(&running, at(5400));
        assert_eq!(times, [minutes(30), minutes(30)]);
        let own = record.history.get("m5.large", "a").unwrap();
        assert!((own.node_hours - 2.5).abs() < 0.02, "{}", own.node_hours);
    }

    #[test]
    fn what_is_remembered_of_events_is_bounded() {
        let all: Vec<Sighting> = (0..3_000)
            .map(|n| sighting(&format!("i-{n}"), SpotEventKind::Interruption, 0))
            .collect();
        let (record, news) = SpotRecord::default().with_sightings(&all, at(0));
        assert_eq!((news.len(), record.seen.len()), (3_000, SEEN_MAX));
        let (later, _) = record.with_uptime(&[], at(15 * 24 * 3600));
        assert!(later.seen.is_empty());
    }
}
