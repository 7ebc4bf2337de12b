//! Durations as Karpenter's API writes them: whole numbers of hours, minutes and seconds.

use domain::SignedDuration;
use domain::node_pool::NeverOr;

/// Why a text is not a duration of Karpenter's API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationError {
    /// It is not made of numbers with units.
    #[error(
        "{0:?} is not a duration: it takes whole numbers with h, m or s, such as 720h or 1h30m"
    )]
    Malformed(String),
    /// Neither that nor the word.
    #[error("{0:?} is neither a duration such as 720h or 1h30m nor Never")]
    MalformedOrNever(String),
    /// A budget's window has hours and minutes only.
    #[error(
        "{0:?} is not a window: it takes hours, minutes, or hours and minutes, such as 8h or 1h30m (no seconds)"
    )]
    MalformedWindow(String),
    /// It does not fit the range of times.
    #[error("{0:?} is longer than any clock can tell")]
    TooLong(String),
}

/// Longest duration that is distinguished from `Never`: Go's, some 292 years.
const HOURS_MAX: i64 = i64::MAX / 1_000_000_000 / 3600;

/// Reads a duration: one or more numbers, each with its unit.
pub(crate) fn parse(text: &str) -> Result<SignedDuration, DurationError> {
    let seconds = parts(text).ok_or_else(|| DurationError::Malformed(text.to_owned()))?;
    total(text, &seconds)
}

/// Reads a duration or the word `Never`.
pub(crate) fn parse_or_never(text: &str) -> Result<NeverOr, DurationError> {
    if text == "Never" {
        return Ok(NeverOr::Never);
    }
    let parts = parts(text).ok_or_else(|| DurationError::MalformedOrNever(text.to_owned()))?;
    total(text, &parts).map(NeverOr::After)
}

/// Reads the `duration` of a disruption budget: hours, minutes, or both in this order; `0s` may
/// follow, as Go prints it.
pub(crate) fn parse_window(text: &str) -> Result<SignedDuration, DurationError> {
    let malformed = || DurationError::MalformedWindow(text.to_owned());
    let parts =
        parts(text.strip_suffix("0s").filter(|rest| rest.ends_with(['h', 'm'])).unwrap_or(text))
            .ok_or_else(malformed)?;
    let units: String = parts.iter().map(|(_, unit)| *unit).collect();
    if !["h", "m", "hm"].contains(&units.as_str()) {
        return Err(malformed());
    }
    total(text, &parts)
}

/// Numbers and their units; `None` if anything else is in the text. A number too large for its type
/// reads as the largest, and is refused as too long.
fn parts(text: &str) -> Option<Vec<(i64, char)>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit())?;
        let unit = rest[unit_at..].chars().next().filter(|unit| "hms".contains(*unit))?;
        if unit_at == 0 {
            return None;
        }
        parts.push((rest[..unit_at].parse().unwrap_or(i64::MAX), unit));
        rest = &rest[unit_at + 1..];
    }
    (!parts.is_empty()).then_some(parts)
}

fn total(text: &str, parts: &[(i64, char)]) -> Result<SignedDuration, DurationError> {
    let seconds = parts.iter().try_fold(0_i64, |sum, (number, unit)| {
        let per_unit = match unit {
            'h' => 3600,
            'm' => 60,
            _ => 1,
        };
        sum.checked_add(number.checked_mul(per_unit)?)
    });
    seconds
        .filter(|seconds| *seconds <= HOURS_MAX * 3600)
        .map(SignedDuration::from_secs)
        .ok_or_else(|| DurationError::TooLong(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_whole_hours_minutes_and_seconds() {
        for (text, seconds) in
            [("0s", 0), ("30s", 30), ("720h", 2_592_000), ("1h30m", 5400), ("1m1m", 120)]
        {
            assert_eq!(parse(text), Ok(SignedDuration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "30", "h", "-5m", "1.5h", "1d", "1h 30m", "Never", "99999999999999999999h"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn never_is_a_word_where_the_api_has_it() {
        assert_eq!(parse_or_never("Never"), Ok(NeverOr::Never));
        assert_eq!(
            parse_or_never("never").unwrap_err().to_string(),
            r#""never" is neither a duration such as 720h or 1h30m nor Never"#
        );
    }

    #[test]
    fn windows_have_no_seconds() {
        for (text, minutes) in [("8h", 480), ("90m", 90), ("1h30m", 90), ("8h0s", 480)] {
            assert_eq!(parse_window(text), Ok(SignedDuration::from_mins(minutes)), "{text}");
        }
        for text in ["", "0s", "30s", "1m1h", "1h1h", "8h5s", "8h10s", "10s"] {
            assert!(parse_window(text).is_err(), "{text:?}");
        }
    }
}
