//! Lengths of time in scenario files.

use domain::SignedDuration;

/// Longest time that a scenario may last, and longest of any time in it: a leap year.
pub(super) const DURATION_MAX: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Why a text is not a length of time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DurationError {
    /// It is not made of numbers with units.
    #[error("{0:?} is not a length of time such as 90s, 5m or 1h30m")]
    Malformed(String),
    /// Nobody waits for the end.
    #[error("{0:?} is longer than the {hours}h (366 days) that are simulated at most", hours = DURATION_MAX.as_hours())]
    TooLong(String),
}

/// Reads a length of time, zero or more.
pub(super) fn duration(text: &str) -> Result<SignedDuration, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    let duration: SignedDuration = text.parse().map_err(|_| malformed())?;
    if duration.is_negative() {
        Err(malformed())
    } else if duration > DURATION_MAX {
        Err(DurationError::TooLong(text.to_owned()))
    } else {
        Ok(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_at_most_a_year() {
        assert_eq!(duration("1h30m"), Ok(SignedDuration::from_mins(90)));
        assert_eq!(duration("8784h"), Ok(DURATION_MAX));
        assert_eq!(
            duration("100000000h").map_err(|error| error.to_string()),
            Err("\"100000000h\" is longer than the 8784h (366 days) that are simulated at most"
                .into())
        );
        for text in ["-1s", "", "soon", "99999999999999999999999h"] {
            assert_eq!(duration(text), Err(DurationError::Malformed(text.to_owned())));
        }
    }
}
