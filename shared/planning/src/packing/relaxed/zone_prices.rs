//! What pods cost in each zone, by the dual prices.
//!
//! Where pods may go to any zone, their dual price is that of the cheapest nodes wherever those
//! are. A node of a zone in which its type costs more is worth no more to them: its pods cost as
//! much more as its price is above what they are worth. In each zone, the type on which that is
//! the least counts.

use super::PackingRelaxation;
use super::offers::resource_order;
use crate::ids::{Idx, IndexVec, PoolIx, ShapeIx, TypeIx};
use crate::model::Model;
use crate::model::pool::TypeOffering;
use crate::relaxation::{Capacity, Offer, RowIx};
use crate::work::ZonePrices;

impl PackingRelaxation {
    /// What one more pod of each of some shapes costs by zone. Shapes that no new node hosts are
    /// left out.
    pub(crate) fn zone_prices(&self, model: &Model, shapes: &[ShapeIx]) -> ZonePrices {
        let rows: Vec<(ShapeIx, RowIx)> = shapes
            .iter()
            .filter_map(|shape| Some((*shape, self.rows_of_shape[*shape].parts.last()?.row)))
            .collect();
        let mut is_wanted = IndexVec::filled(false, self.rows.len());
        for (_, row) in &rows {
            is_wanted[*row] = true;
        }
        let by_row = self.prices_by_row(model, &is_wanted);
        let mut prices = ZonePrices::default();
        for (shape, row) in rows {
            prices.insert(shape, by_row[row].clone());
        }
        prices
    }

    /// By row and zone, the least that a pod costs: its share of a node's price, and no less than
    /// its dual price times that price over what pods on the node are worth. Infinite where no node
    /// hosts it.
    fn prices_by_row(
        &self,
        model: &Model,
        is_wanted: &IndexVec<RowIx, bool>,
    ) -> IndexVec<RowIx, Vec<f64>> {
        let none = vec![f64::INFINITY; model.zones.len()];
        let mut prices = IndexVec::filled(none, self.rows.len());
        for (pool_index, pool) in model.pools.iter_enumerated() {
            for (type_index, one) in pool.types.iter_enumerated() {
                let Some(mut offer) = self.offer_of(model, pool_index, type_index) else {
                    continue;
                };
                let worth = self.relaxation.worth(&mut offer).max(1.0);
                for offering in &one.offerings {
                    if pool.purchases[offering.purchase].reservation.is_some() {
                        continue;
                    }
                    #[expect(clippy::cast_precision_loss, reason = "only ranks")]
                    let price = offering.price.nanos() as f64;
                    for (row, share) in offer.weighed_shares().filter(|own| is_wanted[own.0]) {
                        let dual = self.relaxation.dual_price(row).max(1.0);
                        let own = f64::max(dual * price / worth, share * price);
                        let least = &mut prices[row][offering.zone.index()];
                        if own < *least && self.is_bought(row, pool_index, offering) {
                            *least = own;
                        }
                    }
                }
            }
        }
        prices
    }

    /// A type as an offer to all rows that may go to one of its offerings.
    fn offer_of(&self, model: &Model, pool: PoolIx, type_index: TypeIx) -> Option<Offer> {
        let order = resource_order(model, &self.host_groups);
        let amounts = self.host_groups.amounts(&model.pools[pool].types[type_index].room);
        let capacity =
            Capacity { price: 1.0, amounts: &amounts, available: 1, resource_order: &order };
        Offer::new(&self.rows, &capacity, |row| {
            let mut own = self.pods_of_row[row].classes[pool].iter();
            own.any(|class| self.classes[pool][*class].types.contains(type_index))
        })
    }

    /// Whether pods of a row may go to an offering of a type that they may go to.
    fn is_bought(&self, row: RowIx, pool: PoolIx, offering: &TypeOffering) -> bool {
        self.pods_of_row[row].classes[pool].iter().any(|class| {
            let own = &self.classes[pool][*class];
            own.zones.contains(offering.zone) && own.purchases.contains(offering.purchase)
        })
    }
}
