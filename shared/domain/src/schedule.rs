//! Cron schedules: of the budgets of a NodePool, and of capacity that is wanted at known times.

mod field;

use std::fmt;
use std::str::FromStr;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use self::field::ScheduleRule;
use crate::{SignedDuration, Timestamp};

/// A cron schedule of five fields or a macro such as `@daily`.
///
/// It has no time zone of its own. Minutes that a change to summer time leaves out do not come on
/// that day; those that the change back repeats come twice, as in the cron library that Karpenter
/// and KEDA use (`robfig/cron`).
#[derive(Clone)]
pub struct Schedule {
    text: String,
    cron: Box<Cron>,
}

/// Why a text is not a cron schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a cron schedule: {rule}")]
pub struct ScheduleError {
    text: String,
    rule: ScheduleRule,
}

impl ScheduleError {
    /// Whether the API server lets the text pass although it is no schedule: it looks for the form
    /// alone, five fields or one of the words.
    pub fn has_form(&self) -> bool {
        self.text.split_whitespace().count() >= 5
            || field::MACROS.iter().any(|(name, _)| self.text.starts_with(name))
    }
}

impl Schedule {
    /// The first time after the given one, not including it, at which clocks of the time zone show
    /// a time of the schedule; `None` when that never happens again.
    pub fn next_after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut earliest: Option<Timestamp> = None;
        // What clocks show is not in the order of time where they are put back: look that far
        // behind and ahead.
        let change = clock_change_max(zone);
        let clock = |moment: Timestamp| zone.to_datetime(moment);
        for shown in self.shown_after(clock(time).checked_sub(change).ok()?) {
            let latest = earliest.and_then(|found| clock(found).checked_add(change).ok());
            if latest.is_some_and(|latest| shown > latest) {
                break;
            }
            let next = moments(shown, zone).into_iter().flatten().find(|moment| *moment > time);
            earliest = [earliest, next].into_iter().flatten().min();
        }
        earliest
    }

    /// Times of the schedule after the given one, as a clock without a time zone shows them.
    fn shown_after(&self, from: DateTime) -> impl Iterator<Item = DateTime> {
        let next = |from: DateTime| {
            let from = from.to_zoned(TimeZone::UTC).ok()?;
            self.cron.find_next_occurrence(&from, false).ok().map(|next| next.datetime())
        };
        std::iter::successors(next(from), move |shown| next(*shown))
    }
}

/// By how much clocks of a zone are put forward or back at most.
fn clock_change_max(zone: &TimeZone) -> SignedDuration {
    if zone.to_fixed_offset().is_ok() {
        SignedDuration::ZERO
    } else {
        SignedDuration::from_hours(3)
    }
}

/// When clocks of a zone show a time: never, once or twice, the earlier first.
fn moments(shown: DateTime, zone: &TimeZone) -> [Option<Timestamp>; 2] {
    let at = |offset: Offset| offset.to_timestamp(shown).ok();
    match zone.to_ambiguous_timestamp(shown).offset() {
        AmbiguousOffset::Unambiguous { offset } => [at(offset), None],
        AmbiguousOffset::Gap { .. } => [None, None],
        AmbiguousOffset::Fold { before, after } => [at(before), at(after)],
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let error = |rule| ScheduleError { text: text.to_owned(), rule };
        let fields = field::normalized(text).map_err(error)?;
        let cron = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build()
            .parse(&fields)
            .map_err(|_| error(ScheduleRule::Unreadable))?;
        Ok(Self { text: text.to_owned(), cron: Box::new(cron) })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({:?})", self.text)
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Schedule {}

/// Why a text names no time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an IANA time zone")]
pub struct TimeZoneError(String);

/// The time zone of a name of the IANA database, such as `Asia/Seoul`; letter case does not matter.
///
/// The database is the one compiled in, so that an answer does not depend on the machine.
pub fn time_zone(name: &str) -> Result<TimeZone, TimeZoneError> {
    TimeZoneDatabase::bundled().get(name).map_err(|_| TimeZoneError(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, zone: &str, after: &str, expected: &[&str]) {
        let schedule: Schedule = schedule.parse().unwrap();
        let zone = time_zone(zone).unwrap();
        let first = schedule.next_after(after.parse().unwrap(), &zone);
        let found: Vec<String> =
            std::iter::successors(first, |time| schedule.next_after(*time, &zone))
                .take(expected.len())
                .map(|time| time.to_string())
                .collect();
        assert_eq!(found, expected, "{schedule} after {after}");
    }

    #[test]
    fn a_schedule_follows_the_clocks_of_its_zone() {
        check(
            "00,15,30,45 * * * *",
            "Asia/Seoul",
            "2026-01-05T12:00:00Z",
            &["2026-01-05T12:15:00Z", "2026-01-05T12:30:00Z", "2026-01-05T12:45:00Z"],
        );
        check(
            "0 21 * * *",
            "Asia/Seoul",
            "2026-01-05T12:00:00Z",
            &["2026-01-06T12:00:00Z", "2026-01-07T12:00:00Z"],
        );
        check("30 9 * * MON", "Asia/Kolkata", "2026-01-05T04:00:00Z", &["2026-01-12T04:00:00Z"]);
    }

    #[test]
    fn what_summer_time_leaves_out_does_not_come_that_day() {
        // Clocks in New York go from 02:00 to 03:00 on 2026-03-08.
        check(
            "30 2 * * *",
            "America/New_York",
            "2026-03-07T00:00:00Z",
            &["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z"],
        );
    }

    #[test]
    fn what_the_change_back_repeats_comes_twice() {
        // Clocks in Berlin go from 03:00 back to 02:00 on 2026-10-25.
        check(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"],
        );
        check(
            "*/30 2,3 * * *",
            "Europe/Berlin",
            "2026-10-25T00:15:00Z",
            &[
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:00:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:00:00Z",
            ],
        );
    }

    #[test]
    fn a_zone_is_known_by_its_name_in_the_iana_database() {
        assert!(time_zone("Asia/Seoul").is_ok() && time_zone("UTC").is_ok());
        assert_eq!(
            time_zone("Asia/Soul").unwrap_err().to_string(),
            "\"Asia/Soul\" is not an IANA time zone"
        );
    }
}
