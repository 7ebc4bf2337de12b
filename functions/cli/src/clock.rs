//! The wall clock, where nobody names a moment.

use domain::Timestamp;

/// Now, in whole seconds: nobody reads the rest, and Kubernetes' timestamps have none.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Now, to the millisecond: when something was seen to happen.
#[cfg(feature = "live")]
pub(crate) fn to_the_millisecond() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_no_fraction_of_a_second() {
        assert_eq!(now().subsec_nanosecond(), 0);
        assert_eq!(now().to_string().len(), "2026-01-01T00:00:00Z".len());
    }
}
