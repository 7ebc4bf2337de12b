//! Kubernetes quantities, exact: `1500m`, `2Gi`, `.9`, `1e3`, `12E`.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>.

use std::fmt;
use std::str::FromStr;

/// A Kubernetes quantity, in billionths (the finest unit the format has), rounded up beyond that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a quantity: {rule}")]
pub struct QuantityError {
    text: String,
    rule: &'static str,
}

const NANOS: i128 = 1_000_000_000;
/// More digits than any quantity needs; keeps the arithmetic inside 128 bits.
const DIGITS_MAX: usize = 30;

impl Quantity {
    /// From whole units (bytes, devices, pods).
    pub const fn from_units(units: i64) -> Self {
        Self { nanos: units as i128 * NANOS }
    }

    /// From thousandths (CPU millicores).
    pub const fn from_millis(millis: i64) -> Self {
        Self { nanos: millis as i128 * (NANOS / 1000) }
    }

    /// In thousandths, rounded up, as the Kubernetes scheduler reads CPU; saturates at the ends of
    /// i64.
    pub fn to_millis_ceil(self) -> i64 {
        saturate(div_ceil(self.nanos, NANOS / 1000))
    }

    /// In whole units, rounded up, as the Kubernetes scheduler reads everything else; saturates.
    pub fn to_units_ceil(self) -> i64 {
        saturate(div_ceil(self.nanos, NANOS))
    }

    /// From billionths.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos: nanos as i128 }
    }

    /// In billionths, the finest unit of a quantity; saturates.
    pub fn to_nanos(self) -> i64 {
        saturate(self.nanos)
    }

    /// Whether it is below zero.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

fn div_ceil(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0)
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Numerator and denominator, in units, of a suffix.
fn suffix_scale(suffix: &str) -> Option<(i128, i128)> {
    Some(match suffix {
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "" => (1, 1),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => return None,
    })
}

fn exponent_scale(suffix: &str) -> Option<(i128, i128)> {
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    if exponent.is_empty() {
        return None;
    }
    let exponent: i32 = exponent.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs().min(18))?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error = |rule| QuantityError { text: text.to_owned(), rule };
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let number_end =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(number_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(error("it has no digits"));
        }
        if fraction.contains('.') {
            return Err(error("it has two decimal points"));
        }
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > DIGITS_MAX {
            return Err(error("it has more than 30 significant digits"));
        }
        let (numerator, denominator) =
            suffix_scale(suffix).or_else(|| exponent_scale(suffix)).ok_or_else(|| {
                error("its suffix is none of n u m k M G T P E Ki Mi Gi Ti Pi Ei or e<number>")
            })?;
        let digits: i128 = if whole.is_empty() && fraction.is_empty() {
            0
        } else {
            format!("{whole}{fraction}").parse().map_err(|_| error("it is too large"))?
        };
        let places = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
        // value = digits / 10^places * numerator / denominator, in billionths, rounded away from
        // zero.
        let divisor = 10_i128
            .checked_pow(places)
            .and_then(|power| power.checked_mul(denominator))
            .ok_or_else(|| error("it is too fine"))?;
        let scaled = digits.checked_mul(numerator).ok_or_else(|| error("it is too large"))?;
        let nanos = match scaled.checked_mul(NANOS) {
            Some(scaled) => div_ceil(scaled, divisor),
            // Too wide to multiply first; such a figure has no nanos to lose.
            None => div_ceil(scaled, divisor)
                .checked_mul(NANOS)
                .ok_or_else(|| error("it is too large"))?,
        };
        Ok(Self { nanos: if text.starts_with('-') { -nanos } else { nanos } })
    }
}

impl fmt::Display for Quantity {
    /// Canonical form for counts and cores: `2`, `1500m`, `100u`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (per_unit, suffix) in [(1, ""), (1000, "m"), (1_000_000, "u")] {
            let step = NANOS / per_unit;
            if self.nanos % step == 0 {
                return write!(f, "{}{suffix}", self.nanos / step);
            }
        }
        write!(f, "{}n", self.nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, millis: i64, units: i64) {
        let quantity: Quantity = text.parse().unwrap();
        assert_eq!(
            (quantity.to_millis_ceil(), quantity.to_units_ceil()),
            (millis, units),
            "{text}"
        );
    }

    #[test]
    fn every_notation_means_what_kubernetes_says() {
        check("2", 2000, 2);
        check("0.9", 900, 1);
        check(".9", 900, 1);
        check("5.", 5000, 5);
        check("1500m", 1500, 2);
        check("100u", 1, 1);
        check("1n", 1, 1);
        check("1.0G", 1_000_000_000_000, 1_000_000_000);
        check("1e3", 1_000_000, 1000);
        check("1E3", 1_000_000, 1000);
        check("2E", i64::MAX, 2_000_000_000_000_000_000);
        check("1Ki", 1_024_000, 1024);
        check("1.5Gi", 1_610_612_736_000, 1_610_612_736);
        check("-1", -1000, -1);
        check("+3", 3000, 3);
        check("000", 0, 0);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "abc", "1.2.3", "1mi", "1 Gi", "Gi", "1e", "--1", "1kk", "0x10", "1_000"] {
            assert!(text.parse::<Quantity>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn canonical_form_is_short() {
        for (text, canonical) in
            [("2000m", "2"), ("1500m", "1500m"), ("0.1", "100m"), ("100u", "100u")]
        {
            assert_eq!(text.parse::<Quantity>().unwrap().to_string(), canonical);
        }
    }

    proptest! {
        #[test]
        fn display_reads_back(nanos in any::<i64>()) {
            let quantity = Quantity { nanos: i128::from(nanos) };
            prop_assert_eq!(quantity.to_string().parse::<Quantity>().unwrap(), quantity);
        }
    }
}
