//! Disruption budgets of NodePools: how many nodes may go at once, for which reason, when.

use jiff::tz::TimeZone;

use crate::pdb::CountOrPercent;
use crate::reason::DisruptionReason;
use crate::schedule::Schedule;
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
        if self.unknown_zone().is_some() { 0 } else { self.nodes.of(total) }
    }

    /// The name of its window's time zone, where that is none.
    pub const fn unknown_zone(&self) -> Option<&Text> {
        match &self.window {
            Some(BudgetWindow { zone: WindowZone::Unknown(name), .. }) => Some(name),
            _ => None,
        }
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
    pub schedule: Schedule,
    /// For how long.
    pub duration: SignedDuration,
    /// Whose clocks `schedule` speaks of (`timeZone`).
    pub zone: WindowZone,
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

impl BudgetWindow {
    /// Whether the window has opened within its duration before the moment, the moment included. A
    /// window whose time zone is not known is always open.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let WindowZone::Known(zone) = &self.zone else { return true };
        now.checked_sub(self.duration)
            .ok()
            .and_then(|from| self.schedule.next_after(from, zone))
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
    fn a_budget_in_an_unknown_zone_lets_no_node_go() {
        let mut budget = Budget {
            window: Some(BudgetWindow {
                schedule: "@daily".parse().unwrap(),
                duration: SignedDuration::from_hours(1),
                zone: WindowZone::Unknown("Mars/Base".into()),
            }),
            ..Budget::default_budget()
        };
        assert_eq!(budget.allowed_of(50), 0);
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
