//! What a NodePool's instance types cost: the cheapest offerings, and rates a unit of each
//! resource.

use std::rc::Rc;

use super::launchable::{Compatible, Pool, PoolType, PricedType, TypeOffering, TypeRate};
use crate::ids::{PurchaseSet, ZoneSet};
use crate::model::intern::ConjunctionId;

impl Pool<'_> {
    /// Types with an offering in some of the zones, bought in some of the ways, each with its
    /// cheapest: by price, then name.
    pub(crate) fn cheapest(&self, zones: ZoneSet, purchases: PurchaseSet) -> Rc<[PricedType]> {
        if let Some(known) = self.cheapest.borrow().get(&(zones, purchases)) {
            return known.clone();
        }
        let mut priced: Vec<PricedType> = self
            .types
            .iter_enumerated()
            .filter_map(|(index, one)| {
                one.cheapest_in(zones, purchases).map(|offering| PricedType { index, offering })
            })
            .collect();
        // Types come by name, and the sort is stable.
        priced.sort_by_key(|priced| priced.offering.price);
        let priced: Rc<[PricedType]> = priced.into();
        self.cheapest.borrow_mut().insert((zones, purchases), priced.clone());
        priced
    }

    /// What units of resources cost under some requirements: types that no other beats in every
    /// rate and in room. Worked out once for each conjunction.
    pub(crate) fn rates(
        &self,
        conjunction: ConjunctionId,
        compatible: &Compatible,
    ) -> Rc<[TypeRate]> {
        if let Some(known) = self.rates.borrow().get(&conjunction) {
            return known.clone();
        }
        let rates: Rc<[TypeRate]> = self.best_rates(compatible).into();
        self.rates.borrow_mut().insert(conjunction, rates.clone());
        rates
    }

    #[expect(clippy::cast_precision_loss, reason = "estimates that only rank")]
    fn best_rates(&self, compatible: &Compatible) -> Vec<TypeRate> {
        let mut best: Vec<TypeRate> = Vec::new();
        for priced in self.cheapest(compatible.zones, compatible.purchases).iter().rev() {
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
            .min_by_key(|offering| (offering.price, offering.zone, offering.purchase))
            .copied()
    }
}
