//! Windows of cron triggers against an evaluation that shares nothing with ours: it asks every
//! minute of some days, through changes of the clocks, what clocks show.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::BTreeSet;

use domain::buffer::CronTrigger;
use domain::schedule::{Schedule, time_zone};
use domain::{SignedDuration, Timestamp};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};
use proptest::prelude::*;

/// A time zone, and the days around a change of its clocks in 2026.
const CHANGES: [(&str, &str); 6] = [
    ("Europe/Berlin", "2026-03-28T00:00:00Z"),
    ("Europe/Berlin", "2026-10-24T00:00:00Z"),
    ("America/New_York", "2026-03-07T00:00:00Z"),
    ("America/New_York", "2026-10-31T00:00:00Z"),
    // Half an hour, the other way round.
    ("Australia/Lord_Howe", "2026-04-04T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T00:00:00Z"),
];

/// Three days around the change.
const MINUTES: i64 = 3 * 24 * 60;

/// A schedule as sets of what clocks show; an empty set of weekdays stands for all of them.
#[derive(Clone, Debug)]
struct Times {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    weekdays: BTreeSet<i8>,
}

impl Times {
    fn cron(&self) -> Schedule {
        let list = |set: &BTreeSet<i8>| {
            let parts: Vec<String> = set.iter().map(ToString::to_string).collect();
            if parts.is_empty() { "*".to_owned() } else { parts.join(",") }
        };
        let text =
            format!("{} {} * * {}", list(&self.minutes), list(&self.hours), list(&self.weekdays));
        text.parse().unwrap()
    }

    fn contain(&self, shown: &Zoned) -> bool {
        let weekday = shown.weekday().to_sunday_zero_offset();
        self.minutes.contains(&shown.minute())
            && self.hours.contains(&shown.hour())
            && (self.weekdays.is_empty() || self.weekdays.contains(&weekday))
    }
}

fn times() -> impl Strategy<Value = Times> {
    let set = |range: std::ops::Range<i8>, sizes: std::ops::Range<usize>| {
        prop::collection::btree_set(range, sizes)
    };
    // The hours in which clocks change are drawn often.
    let hours = prop_oneof![set(0..5, 1..4), set(0..24, 1..4)];
    (set(0..60, 1..4), hours, set(0..7, 0..4)).prop_map(|(minutes, hours, weekdays)| Times {
        minutes,
        hours,
        weekdays,
    })
}

fn changes() -> impl Strategy<Value = (TimeZone, Timestamp)> {
    prop::sample::select(&CHANGES[..])
        .prop_map(|(zone, from)| (time_zone(zone).unwrap(), from.parse().unwrap()))
}

/// Minutes at which a clock of the zone shows a time of the schedule, in order.
fn shown_at(times: &Times, zone: &TimeZone, from: Timestamp) -> Vec<Timestamp> {
    (0..MINUTES)
        .map(|minute| from + minute.minutes())
        .filter(|moment| times.contain(&moment.to_zoned(zone.clone())))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_schedule_comes_whenever_clocks_show_it((zone, from) in changes(), times in times()) {
        let schedule = times.cron();
        let last = from + SignedDuration::from_mins(MINUTES);
        let first = schedule.next_after(from - SignedDuration::from_secs(1), &zone);
        let found: Vec<Timestamp> =
            std::iter::successors(first, |moment| schedule.next_after(*moment, &zone))
                .take_while(|moment| *moment < last)
                .collect();
        prop_assert_eq!(found, shown_at(&times, &zone, from), "{}", schedule);
    }

    #[test]
    fn a_window_is_open_while_its_end_comes_before_its_next_start(
        (zone, from) in changes(),
        start in times(),
        end in times(),
    ) {
        let (starts, ends) = (shown_at(&start, &zone, from), shown_at(&end, &zone, from));
        let trigger =
            CronTrigger { timezone: zone, start: start.cron(), end: end.cron(), desired_replicas: 1 };
        for minute in (0..MINUTES).step_by(7).map(|minute| from + minute.minutes()) {
            let next = |turns: &[Timestamp]| turns.iter().find(|turn| **turn > minute).copied();
            let (Some(opens), Some(closes)) = (next(&starts), next(&ends)) else { break };
            prop_assert_eq!(trigger.is_open(minute), closes <= opens, "{:?} at {}", trigger, minute);
        }
    }
}
