//! Prices as people read bills.

use std::cmp::Ordering;
use std::fmt;

use domain::money::{HOURS_PER_MONTH, UsdPerHour};

/// What an hourly price comes to in a month: `$1,234.56`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monthly(pub(crate) UsdPerHour);

impl fmt::Display for Monthly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Dollars(i128::from(self.0.nanos()) * i128::from(HOURS_PER_MONTH)).fmt(f)
    }
}

/// An amount of money in billionths of a dollar, to the cent: `$1,234.56`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dollars(pub(crate) i128);

impl Dollars {
    const NANOS_PER_CENT: i128 = 10_000_000;

    /// Whole cents, rounded half away from zero.
    fn cents(self) -> i128 {
        let half = Self::NANOS_PER_CENT / 2;
        (self.0 + if self.0 < 0 { -half } else { half }) / Self::NANOS_PER_CENT
    }

    /// The amount that is shown.
    pub(crate) fn to_the_cent(self) -> Self {
        Self(self.cents() * Self::NANOS_PER_CENT)
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.cents();
        let sign = if cents < 0 { "-" } else { "" };
        let cents = cents.unsigned_abs();
        write!(f, "{sign}${}.{:02}", grouped(cents / 100), cents % 100)
    }
}

/// What a change saves, in words: `saves $0.0412/h ($30.08 a month)`, or `costs $0.0412/h more …`
/// where it saves less than nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savings(pub(crate) UsdPerHour);

impl Savings {
    /// Whether it costs something.
    pub(crate) fn is_cost(self) -> bool {
        self.0.shown_sign() == Ordering::Less
    }
}

impl fmt::Display for Savings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let saved = self.0;
        match saved.shown_sign() {
            Ordering::Greater => write!(f, "saves {saved} ({} a month)", Monthly(saved)),
            Ordering::Equal => f.write_str("saves nothing"),
            Ordering::Less => {
                let more = UsdPerHour::ZERO - saved;
                write!(f, "costs {more} more ({} a month)", Monthly(more))
            }
        }
    }
}

/// Digits in groups of three.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dollars_per_hour: f64, expected: &str) {
        let price = UsdPerHour::from_f64(dollars_per_hour).unwrap();
        assert_eq!(Monthly(price).to_string(), expected);
    }

    #[test]
    fn a_month_has_730_hours() {
        check(0.0832, "$60.74");
        check(0.0, "$0.00");
        check(-0.0412, "-$30.08");
    }

    #[test]
    fn a_saving_below_zero_is_told_as_a_cost() {
        let savings = |nanos| Savings(UsdPerHour::from_nanos(nanos)).to_string();
        assert_eq!(savings(41_200_000), "saves $0.0412/h ($30.08 a month)");
        assert_eq!(savings(-41_200_000), "costs $0.0412/h more ($30.08 a month)");
        assert_eq!(savings(0), "saves nothing");
        assert_eq!(savings(-1), "saves nothing");
        assert_eq!(Dollars(-1).to_string(), "$0.00");
    }

    #[test]
    fn thousands_are_grouped() {
        check(1.0, "$730.00");
        check(2.0, "$1,460.00");
        check(2000.0, "$1,460,000.00");
    }
}
