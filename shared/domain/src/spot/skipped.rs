//! Spot offerings that EC2 does not launch although it is asked for them and they are the cheapest.
//!
//! `price-capacity-optimized` looks for pools that are deep first and takes the cheapest of those.
//! How deep a pool is nobody tells; what a launch came to does.
//!
//! Source: "Allocation strategies" of EC2 Fleet in the user guide of Amazon EC2.

use std::collections::BTreeMap;

use super::ByOffering;
use crate::SignedDuration;
use crate::instance_type::{CapacityType, InstanceType};
use crate::money::UsdPerHour;
use crate::plan::LaunchOffering;

/// For how long a launch tells which offerings EC2 skips. Which pools are deep changes within days;
/// a later launch that such an offering is asked for in tells sooner.
pub const SKIPPED_FOR: SignedDuration = SignedDuration::from_hours(12);

/// Spot offerings that EC2 skips, each with the price of the dearest that it launched instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedSpot(ByOffering<UsdPerHour>);

impl SkippedSpot {
    /// None is known.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in that a request for any of `asked` was answered with one of them. Requests are to be
    /// taken in as they were made, oldest first: what EC2 launches it does not skip any more.
    pub fn record<'a>(
        &mut self,
        asked: impl IntoIterator<Item = &'a LaunchOffering>,
        launched: &LaunchOffering,
    ) {
        if let Some(zones) = self.0.get_mut(&launched.instance_type) {
            zones.remove(&launched.zone);
            if zones.is_empty() {
                self.0.remove(&launched.instance_type);
            }
        }
        for own in asked.into_iter().filter(|own| own.price < launched.price) {
            let zones = self.0.entry(own.instance_type.clone()).or_default();
            let instead = zones.entry(own.zone.clone()).or_default();
            *instead = launched.price.max(*instead);
        }
    }

    /// How much more than its price, `price`, a spot offering is to be chosen at: as much as what
    /// EC2 launches instead costs more, and so little again that the latter comes first. With it,
    /// the offering is chosen at no more than its type costs on demand in the zone.
    pub fn surcharge(
        &self,
        instance_type: &InstanceType,
        zone: &str,
        price: UsdPerHour,
    ) -> UsdPerHour {
        let zones = self.0.get(&instance_type.name);
        let Some(instead) = zones.and_then(|zones| zones.get(zone)) else {
            return UsdPerHour::ZERO;
        };
        let on_demand = instance_type
            .offerings
            .iter()
            .filter(|own| own.capacity_type == CapacityType::OnDemand && *own.zone == *zone)
            .map(|own| own.price)
            .min();
        let after = *instead + UsdPerHour::from_nanos(1);
        let chosen_at = on_demand.map_or(after, |most| most.min(after));
        (chosen_at - price).max(UsdPerHour::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::instance_type::Offering;

    fn usd(dollars: f64) -> UsdPerHour {
        UsdPerHour::from_f64(dollars).unwrap()
    }

    fn asked(instance_type: &str, price: f64) -> LaunchOffering {
        LaunchOffering {
            instance_type: instance_type.into(),
            zone: "a".into(),
            capacity_type: CapacityType::Spot,
            price: usd(price),
            reservation_id: None,
        }
    }

    /// Three types, the cheapest first.
    fn three() -> [LaunchOffering; 3] {
        [asked("m5a", 0.06), asked("m6a", 0.065), asked("m7a", 0.08)]
    }

    fn skipped(launched: &[usize]) -> SkippedSpot {
        let mut known = SkippedSpot::default();
        for index in launched {
            known.record(&three(), &three()[*index]);
        }
        known
    }

    fn sold(name: &str, on_demand: Option<f64>) -> InstanceType {
        let offerings = on_demand.map(|price| Offering {
            zone: "a".into(),
            capacity_type: CapacityType::OnDemand,
            price: usd(price),
            available: true,
            reservation: None,
        });
        InstanceType {
            name: name.into(),
            offerings: offerings.into_iter().collect(),
            ..InstanceType::default()
        }
    }

    /// What an offering of m5a is chosen at.
    fn chosen_at(known: &SkippedSpot, on_demand: Option<f64>) -> UsdPerHour {
        usd(0.06) + known.surcharge(&sold("m5a", on_demand), "a", usd(0.06))
    }

    #[test]
    fn what_is_skipped_is_chosen_after_what_was_launched_instead() {
        let known = skipped(&[1]);
        assert_eq!(chosen_at(&known, None), usd(0.065) + UsdPerHour::from_nanos(1));
        let dearer = known.surcharge(&sold("m7a", None), "a", usd(0.08));
        assert_eq!(dearer, UsdPerHour::ZERO, "it costs more than what was launched");
        let elsewhere = known.surcharge(&sold("m5a", None), "b", usd(0.06));
        assert_eq!(elsewhere, UsdPerHour::ZERO);
    }

    #[test]
    fn the_dearest_that_was_launched_instead_counts() {
        assert_eq!(chosen_at(&skipped(&[2, 1]), None), usd(0.08) + UsdPerHour::from_nanos(1));
    }

    #[test]
    fn what_ec2_launches_it_does_not_skip_any_more() {
        let known = skipped(&[1, 0]);
        assert_eq!(chosen_at(&known, None), usd(0.06));
        assert!(known.is_empty());
    }

    #[test]
    fn it_is_chosen_at_no_more_than_it_costs_on_demand() {
        let known = skipped(&[2]);
        assert_eq!(chosen_at(&known, Some(0.07)), usd(0.07));
        assert_eq!(chosen_at(&known, Some(0.05)), usd(0.06), "never at less than it costs");
    }
}
