//! Where and how a type can be had, and for how much.

use domain::Text;
use domain::instance_type::{CapacityType, Offering, Reservation};
use domain::money::UsdPerHour;

use crate::document::sort_offerings;
use crate::facts::{Feature, InstanceTypeFacts};
use crate::options::{CatalogOptions, OfferingKey};
use crate::price;
use crate::view::NodeClassView;

/// The offerings of a type in the zones where it is sold, sorted.
///
/// Available are those whose price is known, in a zone with a subnet, that the node class can run
/// on and that EC2 did not refuse a short while ago. An offering without a known price costs
/// nothing and is never available: what it stands for is that such a node may exist.
pub(crate) fn offerings(
    facts: &InstanceTypeFacts,
    zones: &Zones<'_>,
    view: &NodeClassView,
    options: &CatalogOptions,
    is_compatible: bool,
) -> Vec<Offering> {
    let source = Source { facts, view, options, is_compatible };
    let in_zone = |zone: &Text| {
        [CapacityType::Spot, CapacityType::OnDemand].map(|kind| source.offering(zone, kind))
    };
    let listed = zones.listed.iter().flat_map(|zone| in_zone(zone)).flatten();
    let unlisted = zones.unlisted.iter().flat_map(|zone| in_zone(zone)).flatten();
    let unlisted = unlisted.map(|offering| Offering { available: false, ..offering });
    let mut offerings: Vec<_> = listed.chain(unlisted).chain(source.reserved()).collect();
    sort_offerings(&mut offerings);
    offerings
}

/// The zones of a type.
pub(crate) struct Zones<'z> {
    /// In which it is sold.
    pub(crate) listed: Vec<&'z Text>,
    /// In which it runs, and is not known to be sold.
    pub(crate) unlisted: Vec<&'z Text>,
}

struct Source<'a> {
    facts: &'a InstanceTypeFacts,
    view: &'a NodeClassView,
    options: &'a CatalogOptions,
    is_compatible: bool,
}

impl Source<'_> {
    fn offering(&self, zone: &Text, capacity_type: CapacityType) -> Option<Offering> {
        let usage_class = match capacity_type {
            CapacityType::Spot => Feature::Spot,
            CapacityType::OnDemand | CapacityType::Reserved => Feature::OnDemand,
        };
        if !self.facts.features.has(usage_class) {
            return None;
        }
        let on_demand = self.facts.on_demand;
        let price = match capacity_type {
            CapacityType::Spot => self.spot_price(zone),
            CapacityType::OnDemand => on_demand,
            CapacityType::Reserved => on_demand.map(price::reserved),
        };
        Some(Offering {
            zone: zone.clone(),
            capacity_type,
            price: price.unwrap_or(UsdPerHour::ZERO),
            available: price.is_some() && self.is_available(zone, capacity_type),
            reservation: None,
        })
    }

    fn spot_price(&self, zone: &Text) -> Option<UsdPerHour> {
        match &self.options.spot_prices {
            Some(prices) => prices.get(&self.facts.name)?.get(zone).copied(),
            None => Some(price::spot_estimate(self.facts, self.facts.on_demand?, zone)),
        }
    }

    /// One offering for each reservation of the node class for this type. A reservation is there
    /// even where the list price is not known.
    fn reserved(&self) -> Vec<Offering> {
        let own = |name: &Text| *name == self.facts.name;
        self.view
            .reservations
            .iter()
            .filter(|reservation| own(&reservation.instance_type))
            .map(|reservation| Offering {
                zone: reservation.zone.clone(),
                capacity_type: CapacityType::Reserved,
                price: price::reserved(self.facts.on_demand.unwrap_or(UsdPerHour::ZERO)),
                available: !reservation.is_expiring
                    && self.is_available(&reservation.zone, CapacityType::Reserved),
                reservation: Some(Box::new(Reservation {
                    id: reservation.id.clone(),
                    reservation_type: reservation.reservation_type.clone(),
                    is_interruptible: reservation.is_interruptible,
                    remaining: self.options.reservations_remaining.get(&reservation.id).copied(),
                })),
            })
            .collect()
    }

    fn is_available(&self, zone: &Text, capacity_type: CapacityType) -> bool {
        let has_subnet = self.view.zones.as_ref().is_none_or(|zones| zones.contains(zone));
        let key = OfferingKey {
            instance_type: self.facts.name.clone(),
            zone: zone.clone(),
            capacity_type,
        };
        self.is_compatible && has_subnet && !self.options.unavailable.contains(&key)
    }
}
