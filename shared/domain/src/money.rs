//! Prices, exact.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A price in US dollars an hour, held in billionths of a dollar so that sums and comparisons are
/// exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdPerHour(i64);

/// Hours in a month as AWS bills and quotes them.
pub const HOURS_PER_MONTH: i64 = 730;

impl UsdPerHour {
    /// No price at all.
    pub const ZERO: Self = Self(0);
    /// Dearer than anything; what an unknown price sorts as.
    pub const MAX: Self = Self(i64::MAX);

    /// From billionths of a dollar.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In billionths of a dollar.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The nearest exact price of a decimal figure such as a JSON number; `None` for NaN,
    /// infinities and figures beyond nine billion dollars.
    pub fn from_f64(dollars: f64) -> Option<Self> {
        let nanos = (dollars * 1e9).round();
        #[expect(clippy::cast_possible_truncation, reason = "range is checked first")]
        (nanos.abs() < 9.0e18).then_some(Self(nanos as i64))
    }

    /// As a decimal figure, for output only.
    #[expect(
        clippy::cast_precision_loss,
        reason = "output only; prices have under 53 bits of nanos"
    )]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In ten-thousandths of a dollar, as it is shown: rounded half away from zero.
    fn shown(self) -> i128 {
        (i128::from(self.0) + if self.0 < 0 { -50_000 } else { 50_000 }) / 100_000
    }

    /// Its sign as it is shown: what rounds to nothing is nothing.
    pub fn shown_sign(self) -> Ordering {
        self.shown().cmp(&0)
    }

    /// A saving in words, after `it` and the like: `would save $0.0412/h`, or `would cost $0.0412/h
    /// more` where it is negative.
    pub fn would_save(self) -> String {
        match self.shown_sign() {
            Ordering::Greater => format!("would save {self}"),
            Ordering::Less => format!("would cost {} more", Self::ZERO - self),
            Ordering::Equal => "would save nothing".to_owned(),
        }
    }

    /// Sum that stays at the maximum instead of wrapping.
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for UsdPerHour {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl AddAssign for UsdPerHour {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for UsdPerHour {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<i64> for UsdPerHour {
    type Output = Self;
    fn mul(self, times: i64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Sum for UsdPerHour {
    fn sum<I: Iterator<Item = Self>>(prices: I) -> Self {
        prices.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for UsdPerHour {
    /// `$0.0832/h`: four decimals, as price lists show them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = self.shown();
        let sign = if rounded < 0 { "-" } else { "" };
        let rounded = rounded.unsigned_abs();
        write!(f, "{sign}${}.{:04}/h", rounded / 10_000, rounded % 10_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_prices_are_exact() {
        let price = UsdPerHour::from_f64(0.829_497).unwrap();
        assert_eq!(price.nanos(), 829_497_000);
        assert_eq!(price.to_string(), "$0.8295/h");
        assert_eq!(UsdPerHour::from_f64(f64::NAN), None);
    }

    #[test]
    fn a_saving_below_zero_is_told_as_a_cost() {
        let saving = UsdPerHour::from_nanos(41_200_000);
        assert_eq!(saving.would_save(), "would save $0.0412/h");
        assert_eq!((UsdPerHour::ZERO - saving).would_save(), "would cost $0.0412/h more");
        let next_to_nothing = UsdPerHour::from_nanos(-1);
        assert_eq!(next_to_nothing.would_save(), "would save nothing");
        assert_eq!(next_to_nothing.to_string(), "$0.0000/h");
    }

    #[test]
    fn negative_prices_show_their_sign() {
        assert_eq!(
            (UsdPerHour::ZERO - UsdPerHour::from_nanos(500_000_000)).to_string(),
            "-$0.5000/h"
        );
    }
}
