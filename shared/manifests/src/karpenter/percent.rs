//! Percentages in annotations.

use crate::field::Field;

/// Reads a whole percentage such as `10%`, from `least` to 100; anything else is a warning that
/// ends with what holds instead.
pub(super) fn read_percent(field: Field<'_>, least: u8, instead: &str) -> Option<u8> {
    let text = field.str()?;
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let percent = digits
        .and_then(|digits| digits.parse().ok())
        .filter(|percent: &u8| (least..=100).contains(percent));
    if percent.is_none() {
        field.warn(format!("{text:?} is not a whole percentage from {least}% to 100%: {instead}"));
    }
    percent
}
