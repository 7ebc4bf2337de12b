//! Disruption budgets of NodePools: how many nodes may go at once, for which reason, when.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;

use crate::pdb::CountOrPercent;
use crate::reason::DisruptionReason;
use crate::schedule::{Schedule, ScheduleError};
use crate::{SignedDuration, Text, Timestamp};

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

    /// How many nodes of a total it lets go while it is in force: none where nobody knows when that
    /// is.
    pub fn allowed_of(&self, total: u32) -> u32 {
        if self.fault().is_some() { 0 } else { self.nodes.of(total) }
    }

    /// Why nobody knows when it is in force, where that is so.
    pub fn fault(&self) -> Option<WindowFault<'_>> {
        self.window.as_ref().and_then(|window| window.times().err())
    }

    /// Whether it limits disruptions for the reason at the moment.
    pub fn applies(&self, reason: DisruptionReason, now: Timestamp) -> bool {
        self.reasons.as_ref().is_none_or(|reasons| reasons.contains(&reason))
            && self.window.as_ref().is_none_or(|window| window.is_open(now))
    }
}

/// A recurring window of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetWindow {
    /// When it opens.
    pub schedule: WindowSchedule,
    /// For how long.
    pub duration: SignedDuration,
    /// Whose clocks `schedule` speaks of (`timeZone`).
    pub zone: WindowZone,
}

/// When a window opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowSchedule {
    /// By a cron schedule.
    Known(Schedule),
    /// The API server let a text pass that is no schedule. The window counts as open at all times.
    Malformed(ScheduleError),
}

impl FromStr for WindowSchedule {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(Self::Malformed, Self::Known))
    }
}

/// The time zone of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowZone {
    /// A time zone of the IANA database; UTC where none is named.
    Known(TimeZone),
    /// A name that the database does not have. The window counts as open at all times.
    Unknown(Text),
}

impl Default for WindowZone {
    fn default() -> Self {
        Self::Known(TimeZone::UTC)
    }
}

/// Why nobody knows when a window opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFault<'a> {
    /// Its schedule is none.
    Schedule(&'a ScheduleError),
    /// Its time zone is none.
    TimeZone(&'a Text),
}

impl WindowFault<'_> {
    /// The field of the budget.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Schedule(_) => "schedule",
            Self::TimeZone(_) => "timeZone",
        }
    }
}

impl fmt::Display for WindowFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schedule(error) => error.fmt(f),
            Self::TimeZone(name) => write!(f, "{name:?} is not an IANA time zone"),
        }
    }
}

impl BudgetWindow {
    /// When it opens and by whose clocks, unless one of them is not known.
    pub const fn times(&self) -> Result<(&Schedule, &TimeZone), WindowFault<'_>> {
        match (&self.schedule, &self.zone) {
            (WindowSchedule::Malformed(error), _) => Err(WindowFault::Schedule(error)),
            (_, WindowZone::Unknown(name)) => Err(WindowFault::TimeZone(name)),
            (WindowSchedule::Known(schedule), WindowZone::Known(zone)) => Ok((schedule, zone)),
        }
    }

    /// Whether the window has opened within its duration before the moment, the moment included. A
    /// window of which nobody knows when it opens is always open.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let Ok((schedule, zone)) = self.times() else { return true };
        now.checked_sub(self.duration)
            .ok()
            .and_then(|from| schedule.next_after(from, zone))
            .is_some_and(|opens| opens <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::time_zone;

    #[track_caller]
    fn check(schedule: &str, hours: i64, now: &str, open: bool) {
        let window = BudgetWindow {
            schedule: schedule.parse().unwrap(),
            duration: SignedDuration::from_hours(hours),
            zone: WindowZone::default(),
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
    fn a_window_follows_the_clocks_of_its_zone() {
        let window = |zone| BudgetWindow {
            schedule: "0 8 * * *".parse().unwrap(),
            duration: SignedDuration::from_hours(1),
            zone,
        };
        let berlin = window(WindowZone::Known(time_zone("Europe/Berlin").unwrap()));
        // Clocks are put back in the night before the 25th.
        for (now, open) in [
            ("2026-10-24T06:30:00Z", true),
            ("2026-10-25T06:30:00Z", false),
            ("2026-10-25T07:30:00Z", true),
        ] {
            assert_eq!(berlin.is_open(now.parse().unwrap()), open, "{now}");
        }
        let nowhere = window(WindowZone::Unknown("Europe/Berlim".into()));
        assert!(nowhere.is_open("2026-10-25T15:00:00Z".parse().unwrap()));
    }

    #[test]
    fn a_budget_of_unknown_hours_lets_no_node_go() {
        let mut budget = Budget {
            window: Some(BudgetWindow {
                schedule: "@daily".parse().unwrap(),
                duration: SignedDuration::from_hours(1),
                zone: WindowZone::Unknown("Mars/Base".into()),
            }),
            ..Budget::default_budget()
        };
        assert_eq!(budget.allowed_of(50), 0);
        let fault =
            |budget: &Budget| budget.fault().map(|fault| (fault.field(), fault.to_string()));
        let said = "\"Mars/Base\" is not an IANA time zone".to_owned();
        assert_eq!(fault(&budget), Some(("timeZone", said)));
        budget.window = Some(BudgetWindow {
            schedule: "0 0 * * 9".parse().unwrap(),
            duration: SignedDuration::from_hours(1),
            zone: WindowZone::default(),
        });
        assert_eq!(budget.allowed_of(50), 0);
        assert!(budget.applies(DisruptionReason::Empty, "2026-10-25T15:00:00Z".parse().unwrap()));
        let said = "\"0 0 * * 9\" is not a cron schedule: day of the week 9 is out of range: it takes \
                    0 to 6";
        assert_eq!(fault(&budget), Some(("schedule", said.to_owned())));
        budget.window = None;
        assert_eq!(budget.allowed_of(50), 5);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in ["", "* * * *", "* * * * * *", "61 * * * *", "@sometimes"] {
            assert!(text.parse::<Schedule>().is_err(), "{text:?}");
        }
    }
}
