//! Fuses: how much functions may do in a cluster within a minute and an hour, whatever plans say.
//!
//! What a fuse holds back is done later, as the count of the last hour or minute falls; the rest
//! goes on. They are no budget for disruption: NodePools have those, and these bound what a fault
//! of ours, or a mistake in a manifest, can cost.

use std::collections::BTreeMap;
use std::fmt;

use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

/// Seconds of a tick: functions are invoked every minute.
const TICK_SECONDS: i64 = 60;
/// Minutes that are counted.
const MINUTES_KEPT: i64 = 60;
/// Terminations that a tick may begin whatever the share: otherwise small clusters could lose none.
const TERMINATIONS_MIN: u32 = 5;
/// The part of launches an hour that only replacements of interrupted nodes may use, percent.
const INTERRUPTION_RESERVE_PERCENT: u32 = 20;

/// How much functions may do in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fuses {
    /// Launches in a calendar minute.
    pub launches_per_tick: u32,
    /// Launches in sixty calendar minutes. A fifth of them is kept for replacements of nodes that
    /// EC2 interrupts.
    pub launches_per_hour: u32,
    /// Of a cluster's instances, how many may begin to end in a calendar minute, percent; at least
    /// five may.
    pub terminations_per_tick_percent: u32,
    /// What all instances of a cluster may cost together; `None` where nothing bounds it.
    pub hourly_usd: Option<UsdPerHour>,
}

impl Default for Fuses {
    /// Those of an installation that says nothing else.
    fn default() -> Self {
        Self {
            launches_per_tick: 100,
            launches_per_hour: 500,
            terminations_per_tick_percent: 20,
            hourly_usd: Some(UsdPerHour::from_nanos(1_000_000_000_000)),
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Claims that were created, each of which launches an instance.
    Launches,
    /// Nodes whose drain, and instances whose end, was begun.
    Terminations,
}

impl Counted {
    /// The word in keys and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Launches => "launches",
            Self::Terminations => "terminations",
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What was done in the last hour, by minute since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentActions(pub BTreeMap<i64, u32>);

impl RecentActions {
    /// Adds actions at a moment, and forgets what is older than an hour.
    pub fn add(&mut self, now: Timestamp, count: u32) {
        let minute = minute(now);
        self.0.retain(|own, _| *own > minute - MINUTES_KEPT);
        let own = self.0.entry(minute).or_default();
        *own = own.saturating_add(count);
    }

    fn in_tick(&self, now: Timestamp) -> u32 {
        self.0.get(&minute(now)).copied().unwrap_or_default()
    }

    fn in_hour(&self, now: Timestamp) -> u32 {
        let since = minute(now) - MINUTES_KEPT;
        self.0.iter().filter(|(own, _)| **own > since).map(|(_, count)| *count).sum()
    }
}

fn minute(now: Timestamp) -> i64 {
    now.as_second().div_euclid(TICK_SECONDS)
}

/// What a fuse holds back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// What.
    pub what: Counted,
    /// How many.
    pub count: usize,
    /// Which fuse.
    pub fuse: Fuse,
    /// NodePools that it concerns, sorted.
    pub node_pools: Vec<Text>,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} are held back: {}", self.count, self.what, self.fuse)
    }
}

/// A fuse that was reached, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fuse {
    /// [`Fuses::launches_per_tick`].
    #[error("MaxLaunchesPerTick is {0}")]
    LaunchesPerTick(u32),
    /// [`Fuses::launches_per_hour`].
    #[error("MaxLaunchesPerHour is {0}, of which a fifth is kept for interruptions")]
    LaunchesPerHour(u32),
    /// [`Fuses::terminations_per_tick_percent`].
    #[error("MaxTerminationsPerTickPercent is {0}")]
    TerminationsPerTick(u32),
    /// [`Fuses::hourly_usd`].
    #[error("MaxHourlyUsd is {}", .0.to_f64())]
    HourlyUsd(UsdPerHour),
}

/// Why launches are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// For pending pods, or to replace what is given up on purpose.
    #[default]
    Routine,
    /// To replace nodes that EC2 interrupts.
    Interruption,
}

impl Fuses {
    /// Of launches that cost so much each, in order, how many may be made now; and the fuse that
    /// holds the others back. `running` is what the cluster's instances cost.
    pub fn launches(
        &self,
        recent: &RecentActions,
        (now, urgency): (Timestamp, Urgency),
        running: UsdPerHour,
        prices: &[UsdPerHour],
    ) -> (usize, Option<Fuse>) {
        let reserve = match urgency {
            Urgency::Routine => {
                let product =
                    u64::from(self.launches_per_hour) * u64::from(INTERRUPTION_RESERVE_PERCENT);
                u32::try_from(product / 100).unwrap_or(u32::MAX)
            }
            Urgency::Interruption => 0,
        };
        let per_hour = self.launches_per_hour - reserve;
        let mut fuse = (prices.len(), None);
        let mut lower = |left: u32, own: Fuse| {
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            if left < fuse.0 {
                fuse = (left, Some(own));
            }
        };
        let in_tick = self.launches_per_tick.saturating_sub(recent.in_tick(now));
        lower(in_tick, Fuse::LaunchesPerTick(self.launches_per_tick));
        let in_hour = per_hour.saturating_sub(recent.in_hour(now));
        lower(in_hour, Fuse::LaunchesPerHour(self.launches_per_hour));
        if let Some(most) = self.hourly_usd {
            let mut total = running;
            let affordable = prices.iter().take_while(|price| {
                total = total.saturating_add(**price);
                total <= most
            });
            let affordable = u32::try_from(affordable.count()).unwrap_or(u32::MAX);
            lower(affordable, Fuse::HourlyUsd(most));
        }
        fuse
    }

    /// How many of a cluster's instances may begin to end now.
    pub fn terminations(&self, recent: &RecentActions, now: Timestamp, instances: usize) -> u32 {
        let percent = usize::try_from(self.terminations_per_tick_percent).unwrap_or(usize::MAX);
        let share = instances.saturating_mul(percent) / 100;
        let most = u32::try_from(share).unwrap_or(u32::MAX).max(TERMINATIONS_MIN);
        most.saturating_sub(recent.in_tick(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use domain::SignedDuration;

    fn usd(dollars: i64) -> UsdPerHour {
        UsdPerHour::from_nanos(dollars * 1_000_000_000)
    }

    fn fuses() -> Fuses {
        Fuses {
            launches_per_tick: 10,
            launches_per_hour: 20,
            terminations_per_tick_percent: 20,
            hourly_usd: Some(usd(100)),
        }
    }

    fn launched(count: u32, ago: i64) -> RecentActions {
        let mut recent = RecentActions::default();
        recent.add(at(7200) - SignedDuration::from_secs(ago), count);
        recent
    }

    fn left(
        recent: &RecentActions,
        urgency: Urgency,
        prices: &[UsdPerHour],
    ) -> (usize, Option<Fuse>) {
        fuses().launches(recent, (at(7200), urgency), usd(90), prices)
    }

    #[test]
    fn launches_of_this_minute_count_for_the_tick_and_those_of_an_hour_for_the_hour() {
        let cheap = vec![usd(0); 30];
        let routine = |recent: &RecentActions| left(recent, Urgency::Routine, &cheap);
        assert_eq!(routine(&launched(7, 0)), (3, Some(Fuse::LaunchesPerTick(10))));
        assert_eq!(routine(&launched(7, 600)), (9, Some(Fuse::LaunchesPerHour(20))));
        assert_eq!(routine(&launched(99, 3600)), (10, Some(Fuse::LaunchesPerTick(10))));
        assert_eq!(left(&launched(7, 0), Urgency::Routine, &cheap[..3]), (3, None));
    }

    #[test]
    fn a_fifth_of_the_hour_is_kept_for_interruptions() {
        let (recent, one) = (launched(16, 600), [usd(0)]);
        assert_eq!(left(&recent, Urgency::Routine, &one).0, 0);
        assert_eq!(left(&recent, Urgency::Interruption, &one).0, 1);
        assert_eq!(left(&launched(20, 600), Urgency::Interruption, &one).0, 0);
    }

    #[test]
    fn what_would_cost_too_much_waits_and_what_comes_before_it_is_launched() {
        let recent = RecentActions::default();
        let (count, fuse) = left(&recent, Urgency::Routine, &[usd(4), usd(6), usd(1)]);
        assert_eq!((count, fuse), (2, Some(Fuse::HourlyUsd(usd(100)))));
    }

    #[test]
    fn at_least_five_nodes_may_end_in_a_minute_and_a_share_of_a_large_cluster() {
        let ended = |count| launched(count, 0);
        assert_eq!(fuses().terminations(&ended(0), at(7200), 3), 5);
        assert_eq!(fuses().terminations(&ended(0), at(7200), 100), 20);
        assert_eq!(fuses().terminations(&ended(15), at(7200), 100), 5);
        assert_eq!(fuses().terminations(&launched(15, 60), at(7200), 100), 20);
    }

    #[test]
    fn what_is_older_than_an_hour_is_forgotten() {
        let mut recent = launched(3, 3600);
        recent.add(at(7200), 1);
        assert_eq!(recent.0.len(), 1);
    }
}
