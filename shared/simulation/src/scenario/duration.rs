//! Lengths of time in scenario files.

use domain::SignedDuration;

/// Why a text is not a length of time.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a length of time such as 90s, 5m or 1h30m")]
pub(super) struct DurationError(String);

/// Reads a length of time, zero or more.
pub(super) fn duration(text: &str) -> Result<SignedDuration, DurationError> {
    let error = || DurationError(text.to_owned());
    let duration: SignedDuration = text.parse().map_err(|_| error())?;
    if duration.is_negative() { Err(error()) } else { Ok(duration) }
}
