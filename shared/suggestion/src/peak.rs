//! Peaks: rises of a workload's replicas that come again at one time of the day, every day or on
//! certain days of the week.

use std::collections::{BTreeMap, BTreeSet};

use domain::SignedDuration;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use recording::Recording;

use recording::WorkloadKey;

use crate::load::levels;

/// Replicas that come without a pause so long belong to one rise, in minutes.
const PAUSE_MAX: usize = 10;
/// The longest rise, in minutes: what grows more slowly needs no capacity beforehand.
const RISE_MAX: usize = 60;
/// The smallest rise, in replicas.
const REPLICAS_MIN: u32 = 2;
/// The smallest rise, in percent of the replicas before: more than a rolling update adds by
/// default.
const PERCENT_MIN: u32 = 30;
/// Rises of several days that begin within so many minutes come at the same time of the day.
const JITTER_MAX: u16 = 30;
/// Of the days on which a peak was to come, it came on so many percent at least.
const CAME_PERCENT_MIN: usize = 75;
/// What is added to the end of a window, in minutes, for pods that come a little later.
const MARGIN: u16 = 5;
const MINUTES_PER_DAY: u16 = 1440;

/// What counts as a peak.
#[derive(Clone, Debug)]
pub struct PeakTerms {
    /// The time zone whose days and times of the day count.
    pub zone: TimeZone,
    /// How many days must have had it, at least.
    pub days_min: usize,
}

/// A rise that comes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The workload.
    pub workload: WorkloadKey,
    /// On which days of the week, Sunday first.
    pub days: [bool; 7],
    /// When its first replica comes at the earliest, in minutes after midnight.
    pub start: u16,
    /// When its last replica has come at the latest, and a margin, in minutes after midnight; after
    /// `start` and before midnight.
    pub end: u16,
    /// The replicas before it; the median of its days.
    pub from: u32,
    /// The replicas that it comes to; the median of its days.
    pub to: u32,
    /// On how many recorded days it came.
    pub came: usize,
    /// Of how many recorded days on which it was to come.
    pub of: usize,
}

/// A rise, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rise {
    /// Minutes from the recording's start.
    begins: usize,
    /// The minute in which the top is reached.
    ends: usize,
    from: u32,
    to: u32,
}

/// A rise on a day.
#[derive(Clone, Copy, Debug)]
struct OnDay {
    date: Date,
    /// Minutes after midnight.
    start: u16,
    minutes: u16,
    from: u32,
    to: u32,
}

/// The peaks of a recording, by workload and time.
pub fn peaks(recording: &Recording, terms: &PeakTerms) -> Vec<Peak> {
    let mut found = Vec::new();
    for (workload, levels) in levels(recording) {
        let mut rises: Vec<OnDay> =
            rises(&levels).into_iter().map(|rise| on_day(recording, terms, rise)).collect();
        rises.sort_by_key(|own| (own.start, own.date));
        for together in at_one_time(&rises) {
            found.extend(peak(recording, terms, &workload, together));
        }
    }
    found
}

/// All rises of a series, one after the other.
fn rises(levels: &[u32]) -> Vec<Rise> {
    let mut found = Vec::new();
    let mut minute = 1;
    while minute < levels.len() {
        let from = levels[minute - 1];
        if levels[minute] <= from {
            minute += 1;
            continue;
        }
        let (mut top, mut ends) = (levels[minute], minute);
        let mut ahead = minute + 1;
        while ahead < levels.len() && ahead - ends <= PAUSE_MAX && ahead - minute < RISE_MAX {
            if levels[ahead] <= from {
                break;
            }
            if levels[ahead] > top {
                (top, ends) = (levels[ahead], ahead);
            }
            ahead += 1;
        }
        let least = REPLICAS_MIN.max((from * PERCENT_MIN).div_ceil(100));
        if top - from >= least {
            found.push(Rise { begins: minute, ends, from, to: top });
        }
        minute = ends + 1;
    }
    found
}

fn on_day(recording: &Recording, terms: &PeakTerms, rise: Rise) -> OnDay {
    let at = recording.start + minutes(rise.begins);
    let local = at.to_zoned(terms.zone.clone());
    let start = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute()));
    OnDay {
        date: local.date(),
        start: start.unwrap_or(0),
        minutes: u16::try_from(rise.ends - rise.begins).unwrap_or(0),
        from: rise.from,
        to: rise.to,
    }
}

fn minutes(count: usize) -> SignedDuration {
    SignedDuration::from_mins(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Rises that begin at one time of the day, of those sorted by it.
fn at_one_time(rises: &[OnDay]) -> Vec<&[OnDay]> {
    let mut groups = Vec::new();
    let mut rest = rises;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|own| own.start - first.start <= JITTER_MAX).count();
        let (group, others) = rest.split_at(count);
        groups.push(group);
        rest = others;
    }
    groups
}

fn peak(
    recording: &Recording,
    terms: &PeakTerms,
    workload: &WorkloadKey,
    rises: &[OnDay],
) -> Option<Peak> {
    let start = rises.iter().map(|own| own.start).min()?;
    let end = rises.iter().map(|own| own.start + own.minutes).max()? + 1 + MARGIN;
    let end = end.min(MINUTES_PER_DAY - 1);
    if end <= start {
        return None;
    }
    let came: BTreeSet<Date> = rises.iter().map(|own| own.date).collect();
    let mut covered: BTreeMap<i8, Vec<bool>> = BTreeMap::new();
    for date in covered_dates(recording, terms, start, end) {
        covered.entry(of_week(date)).or_default().push(came.contains(&date));
    }
    let comes = |own: &Vec<bool>| {
        let times = own.iter().filter(|came| **came).count();
        times > 0 && times * 100 >= own.len() * CAME_PERCENT_MIN
    };
    let is_day = |day: i8| covered.get(&day).map(comes);
    let mut days = [false; 7];
    for (day, is_in) in (0_i8..).zip(&mut days) {
        // A day of the week that was not recorded is taken to be as the others of its kind.
        let is_weekend = |day: i8| day == 0 || day == 6;
        let mut alike = (0..7).filter(|own| is_weekend(*own) == is_weekend(day)).filter_map(is_day);
        *is_in = is_day(day).unwrap_or_else(|| {
            let first = alike.next();
            first == Some(true) && alike.all(|own| own)
        });
    }
    let on_its_days = covered.iter().filter(|(_, own)| comes(own)).flat_map(|(_, own)| own);
    let (mut times, mut of) = (0, 0);
    for came in on_its_days {
        of += 1;
        times += usize::from(*came);
    }
    if times < terms.days_min {
        return None;
    }
    let median = |figure: fn(&OnDay) -> u32| {
        let mut figures: Vec<u32> = rises.iter().map(figure).collect();
        figures.sort_unstable();
        figures.get(figures.len() / 2).copied().unwrap_or(0)
    };
    let (from, to) = (median(|own| own.from), median(|own| own.to));
    Some(Peak { workload: workload.clone(), days, start, end, from, to, came: times, of })
}

/// The days of which a time of the day was recorded.
fn covered_dates(recording: &Recording, terms: &PeakTerms, start: u16, end: u16) -> Vec<Date> {
    let zoned = |at: SignedDuration| {
        recording.start.checked_add(at).ok().map(|at| at.to_zoned(terms.zone.clone()))
    };
    let (Some(first), Some(last)) = (zoned(SignedDuration::ZERO), zoned(recording.length)) else {
        return Vec::new();
    };
    let minute = |own: &jiff::Zoned| i32::from(own.hour()) * 60 + i32::from(own.minute());
    let mut dates = Vec::new();
    let mut date = first.date();
    while date <= last.date() {
        // The first minute has no minute before it: what rises in it is not known to rise.
        let begins_before = date > first.date() || minute(&first) < i32::from(start);
        let ends_after = date < last.date() || minute(&last) >= i32::from(end);
        if begins_before && ends_after {
            dates.push(date);
        }
        let Ok(next) = date.tomorrow() else { break };
        date = next;
    }
    dates
}

/// 0 for Sunday.
fn of_week(date: Date) -> i8 {
    match date.weekday() {
        Weekday::Sunday => 0,
        other => other.to_monday_one_offset(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_come_minute_by_minute_are_one_rise() {
        let levels = [2, 2, 4, 6, 6, 6, 8, 8, 2, 2];
        assert_eq!(rises(&levels), [Rise { begins: 2, ends: 6, from: 2, to: 8 }]);
    }

    #[test]
    fn a_rolling_update_is_no_rise() {
        assert_eq!(rises(&[10, 12, 10, 12, 10]), []);
        assert_eq!(rises(&[1, 2, 1]), [], "one replica more is no peak");
    }

    #[test]
    fn a_rise_ends_where_nothing_comes_for_a_while() {
        let mut levels = vec![2, 4];
        levels.extend([4; PAUSE_MAX]);
        levels.extend([8, 8]);
        let found: Vec<_> = rises(&levels).iter().map(|own| (own.from, own.to)).collect();
        assert_eq!(found, [(2, 4), (4, 8)]);
    }
}
