//! Schedules of EventBridge Scheduler, as far as the templates allow them: `rate(1 minute)`, up to
//! `rate(24 hours)`
//! (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#rate-based>).

use std::str::FromStr;

use domain::SignedDuration;

/// From here on a schedule counts in hours.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// How often a function is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    interval: SignedDuration,
}

impl Schedule {
    /// A schedule of an interval.
    pub const fn every(interval: SignedDuration) -> Self {
        Self { interval }
    }

    /// How long a function may take to succeed before that is trouble: five intervals of minutes,
    /// two of hours. One or two failures mend themselves.
    pub fn patience(self) -> SignedDuration {
        self.interval * if self.interval < HOUR { 5 } else { 2 }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || format!("{text:?} is no rate of minutes or hours, such as rate(1 minute)");
        let inner = text.strip_prefix("rate(").and_then(|rest| rest.strip_suffix(')'));
        let interval: SignedDuration = inner.ok_or_else(invalid)?.parse().map_err(|_| invalid())?;
        if interval.is_positive() { Ok(Self { interval }) } else { Err(invalid()) }
    }
}

/// When the functions are woken that lifecycle counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedules {
    /// Provisioning.
    pub provisioning: Schedule,
    /// Disruption.
    pub disruption: Schedule,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_the_templates_write_them() {
        let read = |text: &str| text.parse::<Schedule>().map(|own| own.interval);
        assert_eq!(read("rate(1 minute)"), Ok(SignedDuration::from_mins(1)));
        assert_eq!(read("rate(59 minutes)"), Ok(SignedDuration::from_mins(59)));
        assert_eq!(read("rate(24 hours)"), Ok(SignedDuration::from_hours(24)));
        for wrong in ["1 minute", "rate()", "rate(0 minutes)", "rate(-1 hour)", "cron(0 * * * ? *)"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
