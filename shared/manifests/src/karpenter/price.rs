//! `price` and `priceAdjustment` of NodeOverlays, prices and discounts of Commitments, exactly.

use domain::money::UsdPerHour;
use domain::overlay::PriceChange;

/// Why a text is no price or adjustment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PriceError {
    /// Not a price.
    #[error("{0:?} is not a price: it takes a decimal figure in US dollars an hour, such as 0.25")]
    Price(String),
    /// Not an adjustment.
    #[error(
        "{0:?} is not a price adjustment: it takes a sign and an amount or a percentage, such as -0.05, +10% or -100%"
    )]
    Adjustment(String),
    /// Not a discount.
    #[error(
        "{0:?} is not a discount: it takes a percentage above 0 and below 100 with at most two decimals, such as 37.5"
    )]
    Discount(String),
    /// Below -100%.
    #[error("{0:?} would make the price negative: at most -100% is possible")]
    BelowZero(String),
    /// Beyond what prices are counted in.
    #[error("{0:?} is too large for a price")]
    TooLarge(String),
}

/// Reads `price`: digits, with a fraction or without; no sign, no exponent.
pub(crate) fn parse_price(text: &str) -> Result<PriceChange, PriceError> {
    let starts_and_ends_in_digit = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit());
    if !starts_and_ends_in_digit || !is_decimal(text) {
        return Err(PriceError::Price(text.to_owned()));
    }
    scaled(text, 9)
        .map(|nanos| PriceChange::Absolute(UsdPerHour::from_nanos(nanos)))
        .ok_or_else(|| PriceError::TooLarge(text.to_owned()))
}

/// Reads dollars an hour: digits, with a fraction or without; no sign, no exponent.
pub(crate) fn parse_usd(text: &str) -> Result<UsdPerHour, PriceError> {
    match parse_price(text)? {
        PriceChange::Absolute(price) => Ok(price),
        PriceChange::Add(_) | PriceChange::Scale(_) => Err(PriceError::Price(text.to_owned())),
    }
}

/// Reads a discount in percent, with at most two decimals, as hundredths of a percent.
pub(crate) fn parse_discount(text: &str) -> Result<u32, PriceError> {
    let malformed = || PriceError::Discount(text.to_owned());
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if !is_decimal(text) || !text.ends_with(|c: char| c.is_ascii_digit()) || decimals > 2 {
        return Err(malformed());
    }
    let parts = scaled(text, 2).and_then(|parts| u32::try_from(parts).ok());
    parts.filter(|parts| (1..10_000).contains(parts)).ok_or_else(malformed)
}

/// Reads `priceAdjustment`: a signed amount in US dollars an hour, or a signed percentage.
pub(crate) fn parse_adjustment(text: &str) -> Result<PriceChange, PriceError> {
    let malformed = || PriceError::Adjustment(text.to_owned());
    let too_large = || PriceError::TooLarge(text.to_owned());
    let unsigned = text.strip_prefix(['+', '-']).ok_or_else(malformed)?;
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let figure = unsigned.strip_suffix('%').unwrap_or(unsigned);
    if !is_decimal(figure) || !figure.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(malformed());
    }
    if figure == unsigned {
        let nanos = scaled(figure, 9).ok_or_else(too_large)?;
        return Ok(PriceChange::Add(UsdPerHour::from_nanos(sign * nanos)));
    }
    // A percent is ten thousand millionths.
    let millionths = scaled(figure, 4).ok_or_else(too_large)?;
    if sign < 0 && millionths > 1_000_000 {
        return Err(PriceError::BelowZero(text.to_owned()));
    }
    Ok(PriceChange::Scale(sign * millionths))
}

fn is_decimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.matches('.').count() <= 1
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// A decimal figure times a power of ten, further digits cut off; `None` if that is too large.
fn scaled(text: &str, places: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.get(..places).unwrap_or(fraction);
    format!("{whole}{digits}{}", "0".repeat(places - digits.len())).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_exactly() {
        for (text, nanos) in [
            ("0.01", 10_000_000),
            ("3", 3_000_000_000),
            ("0.000000001", 1),
            ("0.0000000019", 1),
            ("0", 0),
        ] {
            let price = PriceChange::Absolute(UsdPerHour::from_nanos(nanos));
            assert_eq!(parse_price(text), Ok(price), "{text}");
        }
        for text in ["", "-1", "+1", ".5", "5.", "1e3", "1.2.3", "$1"] {
            assert_eq!(parse_price(text), Err(PriceError::Price(text.into())));
        }
        assert!(matches!(parse_price("99999999999"), Err(PriceError::TooLarge(_))));
    }

    #[test]
    fn discounts_are_between_nothing_and_all() {
        assert_eq!(parse_discount("37"), Ok(3_700));
        assert_eq!(parse_discount("37.5"), Ok(3_750));
        assert_eq!(parse_discount("0.01"), Ok(1));
        for text in ["", "0", "100", "-5", "37.555", "50%", "1e1", "5."] {
            assert_eq!(parse_discount(text), Err(PriceError::Discount(text.into())));
        }
    }

    #[test]
    fn adjustments_are_amounts_or_percentages_with_a_sign() {
        let add = |nanos| Ok(PriceChange::Add(UsdPerHour::from_nanos(nanos)));
        assert_eq!(parse_adjustment("+5"), add(5_000_000_000));
        assert_eq!(parse_adjustment("-.25"), add(-250_000_000));
        assert_eq!(parse_adjustment("-60%"), Ok(PriceChange::Scale(-600_000)));
        assert_eq!(parse_adjustment("+12.5%"), Ok(PriceChange::Scale(125_000)));
        assert_eq!(parse_adjustment("+250%"), Ok(PriceChange::Scale(2_500_000)));
        assert_eq!(parse_adjustment("-100%"), Ok(PriceChange::Scale(-1_000_000)));
        for text in ["", "5", "10%", "+", "-%", "+-1", "1.", "+1.", "+ 5"] {
            assert_eq!(parse_adjustment(text), Err(PriceError::Adjustment(text.into())));
        }
        assert_eq!(parse_adjustment("-101%"), Err(PriceError::BelowZero("-101%".into())));
    }
}
