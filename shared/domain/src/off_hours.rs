//! Hours in which a NodePool has no nodes: `outrigger.dev/off-schedule` and the annotations beside
//! it.

use crate::budget::BudgetWindow;
use crate::{SignedDuration, Timestamp};

/// When a NodePool is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffHours {
    /// When it goes off, and for how long. It never does where nobody knows when the window opens.
    pub window: BudgetWindow,
    /// For how long PodDisruptionBudgets and do-not-disrupt hold pods once it is off; for as long
    /// as it is, where unset.
    pub grace: Option<SignedDuration>,
    /// Until then it is not off, whatever the schedule says.
    pub awake_until: Option<Timestamp>,
}

/// A time in which a NodePool is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffPeriod {
    /// When it went off.
    pub since: Timestamp,
    /// When it is on again.
    pub until: Timestamp,
    /// From when on nothing holds its pods; never, where unset.
    pub forced: Option<Timestamp>,
}

/// Windows in a row that are taken for one; a longer row ends where it was cut, and begins again.
const ROW_MAX: usize = 64;

impl OffHours {
    /// The time in which it is off, if the moment is in one.
    pub fn period(&self, now: Timestamp) -> Option<OffPeriod> {
        let (schedule, zone) = self.window.times().ok()?;
        if self.awake_until.is_some_and(|until| now < until) {
            return None;
        }
        let opens_after = |moment: Timestamp| schedule.next_after(moment, zone);
        let ends = |opens: Timestamp| end(opens, self.window.duration);
        let from = now.checked_sub(self.window.duration).unwrap_or(Timestamp::MIN);
        let opened = opens_after(from).filter(|opens| *opens <= now)?;
        let mut until = ends(opened);
        let mut last = opened;
        for _ in 0..ROW_MAX {
            let Some(next) = opens_after(last).filter(|next| *next <= until) else { break };
            (last, until) = (next, ends(next));
        }
        let since = self.awake_until.map_or(opened, |awake| awake.max(opened));
        let forced = self.grace.map(|grace| end(since, grace));
        Some(OffPeriod { since, until, forced })
    }

    /// The next moment after one at which time alone makes a difference.
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let (schedule, zone) = self.window.times().ok()?;
        let period = self.period(now);
        let opens = schedule.next_after(now, zone);
        let moments = [
            period.map(|own| own.until),
            period.and_then(|own| own.forced),
            self.awake_until,
            opens,
        ];
        moments.into_iter().flatten().filter(|moment| *moment > now).min()
    }
}

fn end(since: Timestamp, lasts: SignedDuration) -> Timestamp {
    since.checked_add(lasts).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::WindowZone;
    use crate::schedule::time_zone;

    fn nights() -> OffHours {
        OffHours {
            window: BudgetWindow {
                schedule: "0 20 * * mon-fri".parse().unwrap(),
                duration: SignedDuration::from_hours(12),
                zone: WindowZone::Known(time_zone("Asia/Seoul").unwrap()),
            },
            grace: Some(SignedDuration::from_mins(30)),
            awake_until: None,
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_pool_is_off_from_its_schedule_on_by_the_clocks_of_its_zone() {
        // Eight in the evening in Seoul is eleven in the morning, UTC.
        let period = nights().period(at("2026-11-23T11:00:00Z")).unwrap();
        assert_eq!(period.since, at("2026-11-23T11:00:00Z"));
        assert_eq!(period.until, at("2026-11-23T23:00:00Z"));
        assert_eq!(period.forced, Some(at("2026-11-23T11:30:00Z")));
        assert_eq!(nights().period(at("2026-11-23T10:59:59Z")), None);
        assert_eq!(nights().period(at("2026-11-23T23:00:00Z")), None);
        // Saturday has no night of its own.
        assert_eq!(nights().period(at("2026-11-28T12:00:00Z")), None);
    }

    #[test]
    fn whoever_works_late_keeps_it_awake_and_grace_counts_from_then() {
        let late = OffHours { awake_until: Some(at("2026-11-23T15:00:00Z")), ..nights() };
        assert_eq!(late.period(at("2026-11-23T14:59:59Z")), None);
        let period = late.period(at("2026-11-23T15:00:00Z")).unwrap();
        assert_eq!(period.forced, Some(at("2026-11-23T15:30:00Z")));
        assert_eq!(period.until, at("2026-11-23T23:00:00Z"));
        assert_eq!(late.next_change(at("2026-11-23T12:00:00Z")), Some(at("2026-11-23T15:00:00Z")));
    }

    #[test]
    fn windows_that_meet_are_one() {
        let mut always = nights();
        always.window.schedule = "0 */6 * * *".parse().unwrap();
        let period = always.period(at("2026-11-23T10:00:00Z")).unwrap();
        assert!(period.until > at("2026-11-30T00:00:00Z"), "{period:?}");
    }

    #[test]
    fn a_pool_in_an_unknown_zone_is_never_off() {
        let mut nowhere = nights();
        nowhere.window.zone = WindowZone::Unknown("Mars/Base".into());
        assert_eq!(nowhere.period(at("2026-11-23T11:00:00Z")), None);
    }
}
