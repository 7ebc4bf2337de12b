//! What a NodePool's instance types cost: the cheapest offerings, and rates a unit of each
//! resource.

use domain::instance_type::CapacityType;

use super::launchable::{Compatible, Pool, PoolType, PricedType, TypeOffering, TypeRate};
use crate::ids::{PurchaseSet, ZoneSet};
use crate::model::memo::Memo;

impl Pool<'_> {
    /// Ways of buying of one capacity type.
    pub(crate) fn bought_as(&self, capacity_type: CapacityType) -> PurchaseSet {
        self.purchases
            .iter_enumerated()
            .filter(|(_, purchase)| purchase.capacity_type == capacity_type)
            .map(|(index, _)| index)
            .collect()
    }

    /// Whether on-demand is launched of these types, since all of them are chosen at more on spot:
    /// then a launch asks for no spot.
    pub(crate) fn passes_over_spot(&self, memo: &Memo, compatible: &Compatible) -> bool {
        self.is_weighted && self.min_values.is_empty() && self.is_dearer_on_spot(memo, compatible)
    }

    /// Whether the cheapest spot offering of these types is chosen at more than on-demand.
    pub(crate) fn is_dearer_on_spot(&self, memo: &Memo, compatible: &Compatible) -> bool {
        let least = |capacity_type| {
            let purchases = compatible.purchases & self.bought_as(capacity_type);
            let priced = memo.cheapest(self, compatible.zones, purchases);
            let mut own = priced.iter().filter(|own| compatible.types.contains(own.index));
            own.next().map(|own| own.offering.price)
        };
        let spot = least(CapacityType::Spot);
        spot.zip(least(CapacityType::OnDemand)).is_some_and(|(spot, own)| spot > own)
    }

    /// Types with an offering in some of the zones, bought in some of the ways, each with its
    /// cheapest: by price, then name.
    pub(crate) fn cheapest(&self, zones: ZoneSet, purchases: PurchaseSet) -> Vec<PricedType> {
        let mut priced: Vec<PricedType> = self
            .types
            .iter_enumerated()
            .filter_map(|(index, one)| {
                one.cheapest_in(zones, purchases).map(|offering| PricedType { index, offering })
            })
            .collect();
        // Types come by name, and the sort is stable.
        priced.sort_by_key(|priced| (priced.offering.price, priced.offering.rank));
        priced
    }

    /// What units of resources cost on the types that may be launched and that no other beats in
    /// every rate and in room. `cheapest` lists types by price.
    #[expect(clippy::cast_precision_loss, reason = "estimates that only rank")]
    pub(crate) fn best_rates(
        &self,
        cheapest: &[PricedType],
        compatible: &Compatible,
    ) -> Vec<TypeRate> {
        let mut best: Vec<TypeRate> = Vec::new();
        for priced in cheapest.iter().rev() {
            if !compatible.types.contains(priced.index) {
                continue;
            }
            let room = &self.types[priced.index].room;
            let price = priced.offering.price.nanos() as f64;
            let rate = |room: &i64| if *room > 0 { price / *room as f64 } else { f64::INFINITY };
            let own = TypeRate { index: priced.index, rates: room.iter().map(rate).collect() };
            let beats = |a: &TypeRate, b: &TypeRate| {
                a.rates.iter().zip(&b.rates).all(|(a, b)| a <= b)
                    && self.types[a.index]
                        .room
                        .iter()
                        .zip(&self.types[b.index].room)
                        .all(|(a, b)| a >= b)
            };
            if !best.iter().any(|known| beats(known, &own)) {
                best.retain(|known| !beats(&own, known));
                best.push(own);
            }
        }
        best
    }
}

impl PoolType<'_> {
    /// The cheapest offering in some of the zones, bought in some of the ways, by price, then zone,
    /// then way of buying.
    pub(crate) fn cheapest_in(
        &self,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Option<TypeOffering> {
        self.offerings_in(zones, purchases)
            .min_by_key(|offering| {
                (offering.price, offering.rank, offering.zone, offering.purchase)
            })
            .copied()
    }
}
