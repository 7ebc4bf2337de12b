//! What is remembered of a spot offering, in words.

use std::fmt;

use domain::money::UsdPerHour;
use domain::spot::InterruptionRate;
use planning::explain::{SpotPassedOver, SpotWeight};

/// `3.2`: interruptions in 100 node-hours.
pub(crate) struct In100(pub(crate) InterruptionRate);

impl fmt::Display for In100 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0.in_100_node_hours();
        f.pad(&if rate < 9.95 { format!("{rate:.1}") } else { format!("{rate:.0}") })
    }
}

/// `3.2 interruptions in 100 node-hours, which weigh $0.0012/h`.
pub(crate) struct Remembered(pub(crate) SpotWeight);

impl fmt::Display for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpotWeight { rate, weight, is_over } = self.0;
        write!(f, "{} interruptions in 100 node-hours", In100(rate))?;
        if weight != UsdPerHour::ZERO {
            write!(f, ", which weigh {weight} beside its price")?;
        }
        if is_over {
            f.write_str(", more than its NodePool wants")?;
        }
        Ok(())
    }
}

/// `on demand, since m5.large spot in us-east-1a for $0.0346/h has 0.9 interruptions in 100
/// node-hours, which weigh $0.09/h beside its price`.
pub(crate) struct PassedOver<'p>(pub(crate) &'p SpotPassedOver);

impl fmt::Display for PassedOver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpotPassedOver { instance_type, zone, price, spot } = self.0;
        write!(
            f,
            "on demand, since {instance_type} spot in {zone} for {price} has {}",
            Remembered(*spot)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offering_is_said_to_weigh_something_where_it_does() {
        let said = |weight: f64, is_over: bool| {
            let weight = UsdPerHour::from_f64(weight).unwrap();
            let rate = InterruptionRate::per_100_node_hours(3.21);
            Remembered(SpotWeight { rate, weight, is_over }).to_string()
        };
        assert_eq!(said(0.0, false), "3.2 interruptions in 100 node-hours");
        assert_eq!(
            said(0.0012, true),
            "3.2 interruptions in 100 node-hours, which weigh $0.0012/h beside its price, more than \
             its NodePool wants"
        );
    }
}
