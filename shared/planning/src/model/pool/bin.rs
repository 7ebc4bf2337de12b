//! Bins: the offerings that packing and the relaxation choose from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Compatible, Pool};
use crate::ids::{PoolIx, PurchaseIx, TypeIx, ZoneIx};

/// An offering of an instance type in a NodePool that could be launched.
#[derive(Clone)]
pub(crate) struct Bin {
    /// Index of the pool.
    pub(crate) pool: PoolIx,
    /// Index of the type.
    pub(crate) type_index: TypeIx,
    /// Index of the way of buying.
    pub(crate) purchase: PurchaseIx,
    /// Nano-USD an hour.
    pub(crate) price: f64,
    /// Classes of items that it accepts, a bit each.
    accepts: Arc<[u64]>,
}

/// A kind of node: an instance type of a NodePool, however it is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeKind {
    /// The NodePool.
    pub(crate) pool: PoolIx,
    /// One of its types.
    pub(crate) type_index: TypeIx,
}

impl Bin {
    /// What is launched.
    pub(crate) const fn kind(&self) -> NodeKind {
        NodeKind { pool: self.pool, type_index: self.type_index }
    }

    /// The same at another price, in nano-USD an hour.
    pub(crate) fn priced(&self, price: f64) -> Self {
        Self { price, ..self.clone() }
    }

    /// Whether pods of a class may go there.
    pub(crate) fn accepts_class(&self, class: usize) -> bool {
        self.accepts.get(class / 64).is_some_and(|word| word >> (class % 64) & 1 == 1)
    }
}

/// Offerings of a pool that none dominates: of those that the same classes accept, none that
/// another beats in room and price.
pub(crate) fn bins(pool: &Pool, classes: &[Arc<Compatible>]) -> Vec<Bin> {
    let mut alike: BTreeMap<(Vec<u64>, Option<PurchaseIx>), Vec<Bin>> = BTreeMap::new();
    if classes.is_empty() {
        return Vec::new();
    }
    // Offerings are many, zones and ways of buying are few: classes are asked once about each pair.
    let mut of_markets: BTreeMap<(ZoneIx, PurchaseIx), Vec<u64>> = BTreeMap::new();
    for (type_index, one) in pool.types.iter_enumerated() {
        let of_type = accepting(classes, |class| class.types.contains(type_index));
        if is_empty(&of_type) {
            continue;
        }
        let mut cheapest: BTreeMap<(Vec<u64>, Option<PurchaseIx>), Bin> = BTreeMap::new();
        for offering in &one.offerings {
            let (zone, purchase) = (offering.zone, offering.purchase);
            let of_market = of_markets.entry((zone, purchase)).or_insert_with(|| {
                accepting(classes, |class| {
                    class.zones.contains(zone) && class.purchases.contains(purchase)
                })
            });
            let accepts: Vec<u64> =
                of_type.iter().zip(of_market).map(|(one, other)| one & *other).collect();
            if is_empty(&accepts) {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "only ranks")]
            let bin = Bin {
                pool: pool.index,
                type_index,
                purchase: offering.purchase,
                price: offering.price.nanos() as f64,
                accepts: accepts.as_slice().into(),
            };
            // Reservations run out, so they never stand in for others.
            let is_reserved = pool.purchases[offering.purchase].reservation.is_some();
            let apart = is_reserved.then_some(offering.purchase);
            let known = cheapest.entry((accepts, apart)).or_insert_with(|| bin.clone());
            if bin.price < known.price {
                *known = bin;
            }
        }
        for (key, bin) in cheapest {
            alike.entry(key).or_default().push(bin);
        }
    }
    alike.into_values().flat_map(|own| undominated(pool, own)).collect()
}

/// Classes that something holds for, a bit each.
fn accepting(classes: &[Arc<Compatible>], holds: impl Fn(&Compatible) -> bool) -> Vec<u64> {
    let mut words = vec![0; classes.len().div_ceil(64)];
    for (index, _) in classes.iter().enumerate().filter(|(_, class)| holds(class)) {
        words[index / 64] |= 1 << (index % 64);
    }
    words
}

fn is_empty(words: &[u64]) -> bool {
    words.iter().all(|word| *word == 0)
}

/// Leaves out bins that another beats or equals in everything that counts.
fn undominated(pool: &Pool, mut bins: Vec<Bin>) -> Vec<Bin> {
    bins.sort_by(|a, b| {
        a.price.total_cmp(&b.price).then_with(|| {
            let names = (
                &pool.types[a.type_index].instance_type.name,
                &pool.types[b.type_index].instance_type.name,
            );
            names.0.cmp(names.1)
        })
    });
    let mut kept: Vec<Bin> = Vec::new();
    for bin in bins {
        let own = &pool.types[bin.type_index];
        let is_beaten = kept.iter().any(|other| {
            let other = &pool.types[other.type_index];
            own.room.iter().zip(&other.room).all(|(own, other)| own <= other)
                && pool
                    .limited
                    .iter()
                    .all(|name| other.capacity.get(name) <= own.capacity.get(name))
        });
        if !is_beaten {
            kept.push(bin);
        }
    }
    kept
}
