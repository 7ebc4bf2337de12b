//! What was worked out about requirements, kept so that it is worked out once.
//!
//! The model does not change while pods find their places; this does, and grows. It is made once
//! for a model and passed to whoever narrows or prices what NodePools may launch, on whichever
//! thread. Two that ask the same at the same time may both work it out: the answers are alike.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use domain::instance_type::CapacityType;
use domain::reason::NodePoolUnfit;
use rustc_hash::FxHashMap;

use super::Model;
use super::intern::{ConjunctionId, KeyRule, Sets};
use super::pool::{Bin, Compatible, OfferingMask, Pool, PricedType, TypeRate, bins};
use crate::ids::{IndexVec, PoolIx, PurchaseSet, TypeSet, ZoneSet};

/// Interned conjunctions, and what each NodePool has for them.
pub(crate) struct Memo {
    sets: RwLock<Sets>,
    pools: IndexVec<PoolIx, PoolMemo>,
}

/// What a NodePool has, by requirements.
#[derive(Default)]
struct PoolMemo {
    compatible: RwLock<FxHashMap<ConjunctionId, Result<Arc<Compatible>, NodePoolUnfit>>>,
    meeting: RwLock<FxHashMap<KeyRule, Arc<TypeSet>>>,
    viable: RwLock<FxHashMap<OfferingMask, Arc<TypeSet>>>,
    cheapest: RwLock<FxHashMap<OfferingMask, Arc<[PricedType]>>>,
    rates: RwLock<FxHashMap<ConjunctionId, Arc<[TypeRate]>>>,
    bins: RwLock<FxHashMap<Vec<Address>, BinsOf>>,
    one_way: RwLock<FxHashMap<Address, OneWay>>,
}

/// Classes of items, and the offerings that packing chooses from for them.
type BinsOf = (Vec<Arc<Compatible>>, Arc<[Bin]>);

/// What a pool may launch, and what of that in one way of buying.
type OneWay = (Arc<Compatible>, Option<Arc<Compatible>>);

/// Where what a pool may launch is in memory. That is kept beside what is remembered of it, so that
/// nothing else comes to be there.
#[derive(PartialEq, Eq, Hash)]
struct Address(usize);

fn address(compatible: &Arc<Compatible>) -> Address {
    Address(Arc::as_ptr(compatible).addr())
}

/// What is remembered first stays: all threads have the same.
fn remembered<K: Eq + std::hash::Hash, V: Clone>(
    table: &RwLock<FxHashMap<K, V>>,
    key: K,
    work_out: impl FnOnce() -> V,
) -> V {
    if let Some(known) = read(table).get(&key) {
        return known.clone();
    }
    let found = work_out();
    write(table).entry(key).or_insert(found).clone()
}

/// To read a table. Where a thread that was about to write has panicked, the table is as it was.
fn read<T>(table: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    table.read().unwrap_or_else(PoisonError::into_inner)
}

/// To write to a table.
fn write<T>(table: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    table.write().unwrap_or_else(PoisonError::into_inner)
}

impl Memo {
    /// Nothing but what the model itself has interned.
    pub(crate) fn of(model: &Model) -> Self {
        let pools = model.pools.iter().map(|_| PoolMemo::default()).collect();
        Self { sets: RwLock::new(model.sets.clone()), pools }
    }

    /// Interned sets and conjunctions. Whoever keeps them asks for them no second time.
    pub(crate) fn sets(&self) -> RwLockReadGuard<'_, Sets> {
        read(&self.sets)
    }

    /// Interned sets and conjunctions, to add to.
    pub(crate) fn sets_mut(&self) -> RwLockWriteGuard<'_, Sets> {
        write(&self.sets)
    }

    /// What the pool may launch under requirements, or the first of them that rules everything out.
    pub(crate) fn compatible(
        &self,
        model: &Model,
        pool: &Pool,
        conjunction: ConjunctionId,
    ) -> Result<Arc<Compatible>, NodePoolUnfit> {
        remembered(&self.pools[pool.index].compatible, conjunction, || {
            pool.narrowed(conjunction, &model.key_kinds, self).map(Arc::new)
        })
    }

    /// Types of which some value of the label is in the set, or that may lack it.
    pub(crate) fn types_meeting(&self, pool: &Pool, rule: &KeyRule, sets: &Sets) -> Arc<TypeSet> {
        remembered(&self.pools[pool.index].meeting, rule.clone(), || {
            Arc::new(pool.types_meeting(rule, sets))
        })
    }

    /// Types with an offering in some of the zones, bought in some of the ways.
    pub(crate) fn viable(
        &self,
        pool: &Pool,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Arc<TypeSet> {
        remembered(&self.pools[pool.index].viable, (zones, purchases), || {
            Arc::new(pool.viable(zones, purchases))
        })
    }

    /// Types with an offering in some of the zones, bought in some of the ways, each with its
    /// cheapest: by price, then name.
    pub(crate) fn cheapest(
        &self,
        pool: &Pool,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Arc<[PricedType]> {
        remembered(&self.pools[pool.index].cheapest, (zones, purchases), || {
            pool.cheapest(zones, purchases).into()
        })
    }

    /// What units of resources cost under some requirements: types that no other beats in every
    /// rate and in room.
    pub(crate) fn rates(
        &self,
        pool: &Pool,
        conjunction: ConjunctionId,
        compatible: &Compatible,
    ) -> Arc<[TypeRate]> {
        remembered(&self.pools[pool.index].rates, conjunction, || {
            let cheapest = self.cheapest(pool, compatible.zones, compatible.purchases);
            pool.best_rates(&cheapest, compatible).into()
        })
    }

    /// The pool's offerings that packing chooses from for items of these classes.
    pub(crate) fn bins(&self, pool: &Pool, classes: &[Arc<Compatible>]) -> Arc<[Bin]> {
        let key = classes.iter().map(address).collect();
        let (_, found) = remembered(&self.pools[pool.index].bins, key, || {
            (classes.to_vec(), bins(pool, classes).into())
        });
        found
    }

    /// What the pool may launch of this in the first way of buying that it is sold in, in the order
    /// of capacity types; `None` where it is sold in none.
    pub(crate) fn bought_in_one_way(
        &self,
        pool: &Pool,
        compatible: &Arc<Compatible>,
    ) -> Option<Arc<Compatible>> {
        let key = address(compatible);
        let (_, found) = remembered(&self.pools[pool.index].one_way, key, || {
            let passes_over_spot = pool.passes_over_spot(self, compatible);
            let purchases = CapacityType::ALL
                .into_iter()
                .filter(|own| *own != CapacityType::Spot || !passes_over_spot)
                .map(|capacity_type| compatible.purchases & pool.bought_as(capacity_type))
                .find(|purchases| {
                    let viable = self.viable(pool, compatible.zones, *purchases);
                    !compatible.types.is_disjoint(&viable)
                });
            let own = |purchases| Arc::new(Compatible { purchases, ..(**compatible).clone() });
            (Arc::clone(compatible), purchases.map(own))
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_work_out_the_same_the_first_is_remembered_by_both() {
        let table = RwLock::default();
        let mut first = None;
        let second = remembered(&table, "key", || {
            first = Some(remembered(&table, "key", || Arc::new(1)));
            Arc::new(1)
        });
        assert!(Arc::ptr_eq(&first.unwrap(), &second));
        assert!(Arc::ptr_eq(&remembered(&table, "key", || Arc::new(1)), &second));
    }
}
