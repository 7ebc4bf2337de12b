//! Disruption budgets of NodePools: how many nodes may go at once, for which reason, when.

use jiff::tz::TimeZone;

use crate::pdb::CountOrPercent;
use crate::reason::DisruptionReason;
use crate::schedule::Schedule;
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
            .and_then(|from| self.schedule.next_after(from, &TimeZone::UTC))
            .is_some_and(|opens| opens <= now)
    }
}

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
