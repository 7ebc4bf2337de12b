//! By how much a change may make things worse, and what became worse by more.

use std::fmt;
use std::str::FromStr;

use domain::money::{HOURS_PER_MONTH, UsdPerHour};

use super::money::Dollars;

/// Parts that a figure of an option is held in.
const NANOS: i128 = 1_000_000_000;

/// Why an amount of an option cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ThresholdError {
    /// Not a figure from 0 on.
    #[error("{0:?} is not a figure such as 100 or 2.5")]
    Figure(String),
}

/// A decimal figure from 0 on, in billionths.
fn nanos(text: &str) -> Result<i128, ThresholdError> {
    let wrong = || ThresholdError::Figure(text.to_owned());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || fraction.len() > 9 {
        return Err(wrong());
    }
    if !is_number(whole) || !is_number(fraction) || text.ends_with('.') {
        return Err(wrong());
    }
    format!("{whole}{fraction:0<9}").parse().map_err(|_| wrong())
}

/// By how much a month may cost more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostIncrease {
    /// In billionths of a dollar.
    Dollars(i128),
    /// In billionths of a percent of what it cost.
    Percent(i128),
}

impl CostIncrease {
    /// Whether it allows a change from one hourly price to another.
    fn allows(self, old: UsdPerHour, new: UsdPerHour) -> bool {
        let monthly = |price: UsdPerHour| i128::from(price.nanos()) * i128::from(HOURS_PER_MONTH);
        let increase = monthly(new) - monthly(old);
        match self {
            _ if increase <= 0 => true,
            Self::Dollars(allowed) => increase <= allowed,
            Self::Percent(allowed) => {
                increase.saturating_mul(100 * NANOS) <= monthly(old).saturating_mul(allowed)
            }
        }
    }
}

impl FromStr for CostIncrease {
    type Err = ThresholdError;

    /// `100`, `$100` or `5%`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_suffix('%') {
            Some(percent) => nanos(percent).map(Self::Percent),
            None => nanos(text.strip_prefix('$').unwrap_or(text)).map(Self::Dollars),
        }
    }
}

impl fmt::Display for CostIncrease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dollars(nanos) => Dollars(*nanos).fmt(f),
            Self::Percent(nanos) => write!(f, "{}%", decimal(*nanos)),
        }
    }
}

/// By how many percentage points a share may rise, in billionths of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PercentagePoints(i128);

impl FromStr for PercentagePoints {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        nanos(text).map(Self)
    }
}

impl fmt::Display for PercentagePoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.0))
    }
}

/// Billionths as a decimal figure without zeros at its end.
fn decimal(nanos: i128) -> String {
    let text = format!("{}.{:09}", nanos / NANOS, nanos % NANOS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Options that say how much worse things may become.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thresholds {
    /// `--max-cost-increase`.
    pub(crate) cost: Option<CostIncrease>,
    /// `--max-newly-unschedulable`.
    pub(crate) unschedulable: Option<usize>,
    /// `--max-spot-increase`.
    pub(crate) spot: Option<PercentagePoints>,
    /// `--max-newly-drifted`.
    pub(crate) drifted: Option<usize>,
}

/// What thresholds are held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// What all nodes cost once replaced, before and after the change.
    pub(crate) price: (UsdPerHour, UsdPerHour),
    /// Pods that lose their place, or are new and have none.
    pub(crate) unschedulable: usize,
    /// Pods on spot nodes once all are replaced, in thousandths, before and after the change.
    pub(crate) spot_permille: (i64, i64),
    /// Nodes that the change makes drift.
    pub(crate) drifted: usize,
}

/// What became worse by more than a threshold allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    /// Which threshold.
    pub(crate) threshold: Threshold,
    /// The sentence for people.
    pub(crate) what: String,
}

/// A threshold by its option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// `--max-cost-increase`.
    CostIncrease,
    /// `--max-newly-unschedulable`.
    NewlyUnschedulable,
    /// `--max-spot-increase`.
    SpotIncrease,
    /// `--max-newly-drifted`.
    NewlyDrifted,
}

impl Thresholds {
    /// What is worse than they allow, in their order.
    pub(crate) fn exceeded(&self, measured: &Measured) -> Vec<Exceeded> {
        let Measured { price, unschedulable, spot_permille, drifted } = *measured;
        let mut found = Vec::new();
        let mut exceed = |threshold, what| found.push(Exceeded { threshold, what });
        if let Some(allowed) = self.cost.filter(|allowed| !allowed.allows(price.0, price.1)) {
            let more = i128::from((price.1 - price.0).nanos()) * i128::from(HOURS_PER_MONTH);
            let more = Dollars(more);
            exceed(
                Threshold::CostIncrease,
                format!(
                    "once all nodes are replaced it costs {more} more a month, and {allowed} are \
                     allowed"
                ),
            );
        }
        if let Some(allowed) = self.unschedulable.filter(|allowed| unschedulable > *allowed) {
            exceed(
                Threshold::NewlyUnschedulable,
                format!("pods newly without a place: {unschedulable}, and {allowed} are allowed"),
            );
        }
        let rise = spot_permille.1 - spot_permille.0;
        if let Some(allowed) =
            self.spot.filter(|allowed| i128::from(rise) * (NANOS / 10) > allowed.0)
        {
            let points = decimal(i128::from(rise) * (NANOS / 10));
            exceed(
                Threshold::SpotIncrease,
                format!(
                    "the share of pods on spot rises by {points} percentage points, and {allowed} \
                     are allowed"
                ),
            );
        }
        if let Some(allowed) = self.drifted.filter(|allowed| drifted > *allowed) {
            exceed(
                Threshold::NewlyDrifted,
                format!("nodes that newly drift: {drifted}, and {allowed} are allowed"),
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(dollars: f64) -> UsdPerHour {
        UsdPerHour::from_f64(dollars).unwrap()
    }

    #[track_caller]
    fn check(allowed: &str, old: f64, new: f64, is_allowed: bool) {
        let allowed: CostIncrease = allowed.parse().unwrap();
        assert_eq!(allowed.allows(usd(old), usd(new)), is_allowed, "{allowed}");
    }

    #[test]
    fn dollars_are_a_months() {
        check("73", 1.0, 1.1, true);
        check("72.99", 1.0, 1.1, false);
        check("$0", 1.0, 1.0, true);
        check("0", 1.0, 0.5, true);
    }

    #[test]
    fn a_share_is_of_what_it_cost_and_of_nothing_any_increase_is_too_much() {
        check("10%", 1.0, 1.1, true);
        check("9.9%", 1.0, 1.1, false);
        check("500%", 0.0, 0.1, false);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for wrong in ["", "%", "-1", "1e3", "5 %", "1.", "1.0000000001", "ten"] {
            assert!(wrong.parse::<CostIncrease>().is_err(), "{wrong}");
        }
        assert_eq!("2.50".parse::<PercentagePoints>().unwrap().to_string(), "2.5");
    }

    #[test]
    fn what_is_worse_than_allowed_is_said_with_both_figures() {
        let thresholds = Thresholds {
            cost: Some("5%".parse().unwrap()),
            unschedulable: Some(0),
            spot: Some("10".parse().unwrap()),
            drifted: Some(3),
        };
        let measured = Measured {
            price: (usd(1.0), usd(1.1)),
            unschedulable: 2,
            spot_permille: (300, 455),
            drifted: 4,
        };
        let said: Vec<String> =
            thresholds.exceeded(&measured).into_iter().map(|own| own.what).collect();
        assert_eq!(
            said,
            [
                "once all nodes are replaced it costs $73.00 more a month, and 5% are allowed",
                "pods newly without a place: 2, and 0 are allowed",
                "the share of pods on spot rises by 15.5 percentage points, and 10 are allowed",
                "nodes that newly drift: 4, and 3 are allowed",
            ]
        );
        let fine =
            Measured { price: (usd(1.1), usd(1.0)), unschedulable: 0, drifted: 3, ..measured };
        let fine = Measured { spot_permille: (300, 400), ..fine };
        assert_eq!(thresholds.exceeded(&fine), []);
        assert_eq!(Thresholds::default().exceeded(&measured), []);
    }
}
