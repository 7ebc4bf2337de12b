//! Disruption budgets of NodePools: how many nodes may go at once, for which reason, when.

use std::fmt;
use std::str::FromStr;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;

use crate::pdb::CountOrPercent;
use crate::reason::DisruptionReason;
use crate::{SignedDuration, Timestamp};

/// One budget of `spec.disruption.budgets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many nodes; percentages of the pool's nodes, rounded up.
    pub nodes: CountOrPercent,
    /// For which reasons; `None` means all voluntary ones.
    pub reasons: Option<Vec<DisruptionReason>>,
    /// When it is in force; `None` means always.
    pub window: Option<BudgetWindow>,
}

impl Budget {
    /// The budget of a NodePool that names none: a tenth of the nodes, for any reason, at any time.
    pub const fn default_budget() -> Self {
        Self { nodes: CountOrPercent::Percent(10), reasons: None, window: None }
    }

    /// Whether it limits disruptions for the reason at the moment.
    pub fn applies(&self, reason: DisruptionReason, now: Timestamp) -> bool {
        self.reasons.as_ref().is_none_or(|reasons| reasons.contains(&reason))
            && self.window.as_ref().is_none_or(|window| window.is_open(now))
    }
}

/// A recurring window of time, in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetWindow {
    /// When it opens.
    pub schedule: Schedule,
    /// For how long.
    pub duration: SignedDuration,
}

impl BudgetWindow {
    /// Whether the window has opened within its duration before the moment, the moment included.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.checked_sub(self.duration)
            .ok()
            .and_then(|from| self.schedule.next_after(from))
            .is_some_and(|opens| opens <= now)
    }
}

/// A cron schedule of five fields or a macro such as `@daily`, in UTC.
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
    rule: String,
}

impl Schedule {
    /// The first time after the given one, not including it; `None` when it never comes again.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let zoned = time.to_zoned(TimeZone::UTC);
        self.cron.find_next_occurrence(&zoned, false).ok().map(|next| next.timestamp())
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let error = |rule: String| ScheduleError { text: text.to_owned(), rule };
        let fields = text.split_whitespace().count();
        if !text.starts_with('@') && fields != 5 {
            return Err(error(format!("it has {fields} fields instead of 5")));
        }
        let cron = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build()
            .parse(text)
            .map_err(|cause| error(cause.to_string()))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, hours: i64, now: &str, open: bool) {
        let window = BudgetWindow {
            schedule: schedule.parse().unwrap(),
            duration: SignedDuration::from_hours(hours),
        };
        assert_eq!(window.is_open(now.parse().unwrap()), open, "{schedule} {hours}h at {now}");
    }

    #[test]
    fn a_window_is_open_from_its_start_for_its_duration() {
        check("0 9 * * mon-fri", 8, "2026-01-02T09:00:00Z", true);
        check("0 9 * * mon-fri", 8, "2026-01-02T16:59:59Z", true);
        check("0 9 * * mon-fri", 8, "2026-01-02T17:00:00Z", false);
        check("0 9 * * mon-fri", 8, "2026-01-03T10:00:00Z", false);
        check("0 22 * * *", 8, "2026-01-03T03:00:00Z", true);
        check("@daily", 1, "2026-01-03T00:30:00Z", true);
        check("@hourly", 3, "2026-01-03T00:30:00Z", true);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in ["", "* * * *", "* * * * * *", "61 * * * *", "@sometimes"] {
            assert!(text.parse::<Schedule>().is_err(), "{text:?}");
        }
    }
}
