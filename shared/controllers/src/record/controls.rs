//! What an operator has said about one cluster without deploying anything: whether functions act,
//! and how much they may do.
//!
//! The same keys are read from the table and from ConfigMap `kube-system/outrigger`, as text. Where
//! both say something, the stricter counts.

use std::fmt;
use std::str::FromStr;

use domain::money::UsdPerHour;
use domain::{Text, Timestamp};

use crate::record::fuses::Fuses;

/// Key of [`Controls::mode`].
pub const MODE: &str = "mode";
/// Key of [`Controls::end_orphans_until`].
pub const END_ORPHANS_UNTIL: &str = "endOrphansUntil";
/// Key of [`Controls::installation`].
pub const INSTALLATION: &str = "installation";
/// Key of [`FuseOverrides::launches_per_tick`].
pub const MAX_LAUNCHES_PER_TICK: &str = "maxLaunchesPerTick";
/// Key of [`FuseOverrides::launches_per_hour`].
pub const MAX_LAUNCHES_PER_HOUR: &str = "maxLaunchesPerHour";
/// Key of [`FuseOverrides::terminations_per_tick_percent`].
pub const MAX_TERMINATIONS_PER_TICK_PERCENT: &str = "maxTerminationsPerTickPercent";
/// Key of [`FuseOverrides::hourly_usd`].
pub const MAX_HOURLY_USD: &str = "maxHourlyUsd";

/// All keys.
pub const KEYS: [&str; 7] = [
    MODE,
    END_ORPHANS_UNTIL,
    INSTALLATION,
    MAX_LAUNCHES_PER_TICK,
    MAX_LAUNCHES_PER_HOUR,
    MAX_TERMINATIONS_PER_TICK_PERCENT,
    MAX_HOURLY_USD,
];

/// Whether functions act in a cluster; later ones are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// They do.
    #[default]
    Active,
    /// They plan, and write events, metrics and the plan; nothing else changes.
    Observe,
    /// Nodes that EC2 interrupts are replaced and drained; nothing else happens.
    PausedExceptInterruptions,
    /// Nothing happens.
    Paused,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] =
        [Self::Active, Self::Observe, Self::PausedExceptInterruptions, Self::Paused];

    /// The word in the table, in the ConfigMap and in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Observe => "observe",
            Self::PausedExceptInterruptions => "paused-except-interruptions",
            Self::Paused => "paused",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let own = Self::ALL.into_iter().find(|own| own.as_str().eq_ignore_ascii_case(text));
        own.ok_or_else(|| {
            format!("{text:?} is none of active, observe, paused-except-interruptions and paused")
        })
    }
}

/// What an operator has said about one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controls {
    /// Whether functions act; `None` leaves it to the installation's setting.
    pub mode: Option<Mode>,
    /// Other fuses than the installation's.
    pub fuses: FuseOverrides,
    /// Until then instances without a claim are terminated however many there are.
    pub end_orphans_until: Option<Timestamp>,
    /// The installation that the cluster belongs to. Only the ConfigMap says so.
    pub installation: Option<Text>,
}

/// Fuses that differ from the installation's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FuseOverrides {
    /// See [`Fuses::launches_per_tick`].
    pub launches_per_tick: Option<u32>,
    /// See [`Fuses::launches_per_hour`].
    pub launches_per_hour: Option<u32>,
    /// See [`Fuses::terminations_per_tick_percent`].
    pub terminations_per_tick_percent: Option<u32>,
    /// See [`Fuses::hourly_usd`].
    pub hourly_usd: Option<UsdPerHour>,
}

/// A value that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct UnreadableControl {
    /// Its key.
    pub key: &'static str,
    /// What is wrong.
    pub problem: String,
}

impl Controls {
    /// Reads values by key. Keys of others are ignored, and an empty value counts as none.
    ///
    /// # Errors
    ///
    /// For the first value that cannot be read. Whoever reads them does nothing then: it may have
    /// been meant to stop something.
    pub fn read<'v>(value: impl Fn(&str) -> Option<&'v str>) -> Result<Self, UnreadableControl> {
        let reader = Reader(value);
        let percent = |text: &str| match text.parse() {
            Ok(percent) if percent <= 100 => Ok(percent),
            _ => Err(format!("{text:?} is no number from 0 to 100")),
        };
        Ok(Self {
            mode: reader.parsed(MODE, str::parse)?,
            fuses: FuseOverrides {
                launches_per_tick: reader.parsed(MAX_LAUNCHES_PER_TICK, whole)?,
                launches_per_hour: reader.parsed(MAX_LAUNCHES_PER_HOUR, whole)?,
                terminations_per_tick_percent: reader
                    .parsed(MAX_TERMINATIONS_PER_TICK_PERCENT, percent)?,
                hourly_usd: reader.parsed(MAX_HOURLY_USD, usd)?,
            },
            end_orphans_until: reader.parsed(END_ORPHANS_UNTIL, |text| {
                text.parse().map_err(|_| format!("{text:?} is no time as in RFC 3339"))
            })?,
            installation: reader.parsed(INSTALLATION, |text| Ok(text.into()))?,
        })
    }

    /// What holds where both say something: the stricter.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let stricter = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
        let (own, others) = (self.fuses, other.fuses);
        Self {
            mode: self.mode.max(other.mode),
            fuses: FuseOverrides {
                launches_per_tick: stricter(own.launches_per_tick, others.launches_per_tick),
                launches_per_hour: stricter(own.launches_per_hour, others.launches_per_hour),
                terminations_per_tick_percent: stricter(
                    own.terminations_per_tick_percent,
                    others.terminations_per_tick_percent,
                ),
                hourly_usd: own.hourly_usd.into_iter().chain(others.hourly_usd).min(),
            },
            end_orphans_until: self.end_orphans_until.max(other.end_orphans_until),
            installation: self.installation.or(other.installation),
        }
    }
}

impl FuseOverrides {
    /// The fuses that hold, from those of the installation.
    pub fn over(self, fuses: &Fuses) -> Fuses {
        Fuses {
            launches_per_tick: self.launches_per_tick.unwrap_or(fuses.launches_per_tick),
            launches_per_hour: self.launches_per_hour.unwrap_or(fuses.launches_per_hour),
            terminations_per_tick_percent: self
                .terminations_per_tick_percent
                .unwrap_or(fuses.terminations_per_tick_percent),
            hourly_usd: match self.hourly_usd {
                Some(own) if own == UsdPerHour::default() => None,
                Some(own) => Some(own),
                None => fuses.hourly_usd,
            },
        }
    }
}

struct Reader<F>(F);

impl<'v, F: Fn(&str) -> Option<&'v str>> Reader<F> {
    fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, UnreadableControl> {
        let value = (self.0)(key).map(str::trim).filter(|value| !value.is_empty());
        value.map(parse).transpose().map_err(|problem| UnreadableControl { key, problem })
    }
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text:?} is no whole number"))
}

/// Reads dollars an hour, a decimal number from 0 up.
pub fn usd(text: &str) -> Result<UsdPerHour, String> {
    let dollars = text.parse().ok().filter(|own: &f64| *own >= 0.0);
    dollars
        .and_then(UsdPerHour::from_f64)
        .ok_or_else(|| format!("{text:?} is no amount of dollars an hour"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn read(values: &[(&str, &'static str)]) -> Result<Controls, UnreadableControl> {
        let values: BTreeMap<&str, &str> = values.iter().copied().collect();
        Controls::read(|key| values.get(key).copied())
    }

    #[test]
    fn where_two_places_say_something_the_stricter_counts() {
        let one = read(&[(MODE, "observe"), (MAX_LAUNCHES_PER_TICK, "7")]).unwrap();
        let other = read(&[(MODE, "paused"), (MAX_LAUNCHES_PER_TICK, "9")]).unwrap();
        let both = one.clone().and(other);
        assert_eq!(both.mode, Some(Mode::Paused));
        assert_eq!(both.fuses.launches_per_tick, Some(7));
        assert_eq!(one.clone().and(Controls::default()), one);
    }

    #[test]
    fn a_value_that_cannot_be_read_names_its_key() {
        for (key, value) in [
            (MODE, "off"),
            (MAX_LAUNCHES_PER_HOUR, "-1"),
            (MAX_TERMINATIONS_PER_TICK_PERCENT, "101"),
            (MAX_HOURLY_USD, "cheap"),
            (END_ORPHANS_UNTIL, "soon"),
        ] {
            assert_eq!(read(&[(key, value)]).unwrap_err().key, key);
        }
    }

    #[test]
    fn what_is_not_said_is_left_to_the_installation() {
        let fuses = Fuses::default();
        assert_eq!(read(&[("other", "x"), (MODE, "")]).unwrap().fuses.over(&fuses), fuses);
        let controls = read(&[(MAX_HOURLY_USD, "0"), (MAX_LAUNCHES_PER_TICK, "3")]).unwrap();
        let fuses = controls.fuses.over(&fuses);
        assert_eq!((fuses.hourly_usd, fuses.launches_per_tick), (None, 3));
    }
}
