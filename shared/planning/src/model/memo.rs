//! What was worked out about requirements, kept so that it is worked out once.
//!
//! The model does not change while pods find their places; this does, and grows. It is made once
//! for a model and passed to whoever narrows or prices what NodePools may launch.

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use domain::instance_type::CapacityType;
use domain::reason::NodePoolUnfit;
use rustc_hash::FxHashMap;

use super::Model;
use super::intern::{ConjunctionId, KeyRule, Sets};
use super::pool::{Bin, Compatible, OfferingMask, Pool, PricedType, TypeRate, bins};
use crate::ids::{IndexVec, PoolIx, PurchaseSet, TypeSet, ZoneSet};

/// Interned conjunctions, and what each NodePool has for them.
pub(crate) struct Memo {
    sets: RefCell<Sets>,
    pools: IndexVec<PoolIx, PoolMemo>,
}

/// What a NodePool has, by requirements.
#[derive(Default)]
struct PoolMemo {
    compatible: RefCell<FxHashMap<ConjunctionId, Result<Rc<Compatible>, NodePoolUnfit>>>,
    meeting: RefCell<FxHashMap<KeyRule, Rc<TypeSet>>>,
    viable: RefCell<FxHashMap<OfferingMask, Rc<TypeSet>>>,
    cheapest: RefCell<FxHashMap<OfferingMask, Rc<[PricedType]>>>,
    rates: RefCell<FxHashMap<ConjunctionId, Rc<[TypeRate]>>>,
    bins: RefCell<FxHashMap<Vec<Address>, BinsOf>>,
    one_way: RefCell<FxHashMap<Address, OneWay>>,
}

/// Classes of items, and the offerings that packing chooses from for them.
type BinsOf = (Vec<Rc<Compatible>>, Rc<[Bin]>);

/// What a pool may launch, and what of that in one way of buying.
type OneWay = (Rc<Compatible>, Option<Rc<Compatible>>);

/// Stands for what a pool may launch, which is kept beside what is remembered of it, so that
/// nothing else gets its address.
type Address = *const Compatible;

fn remembered<K: Eq + std::hash::Hash, V: Clone>(
    table: &RefCell<FxHashMap<K, V>>,
    key: K,
    work_out: impl FnOnce() -> V,
) -> V {
    if let Some(known) = table.borrow().get(&key) {
        return known.clone();
    }
    let found = work_out();
    table.borrow_mut().insert(key, found.clone());
    found
}

impl Memo {
    /// Nothing but what the model itself has interned.
    pub(crate) fn of(model: &Model) -> Self {
        let pools = model.pools.iter().map(|_| PoolMemo::default()).collect();
        Self { sets: RefCell::new(model.sets.clone()), pools }
    }

    /// Interned sets and conjunctions.
    pub(crate) fn sets(&self) -> Ref<'_, Sets> {
        self.sets.borrow()
    }

    /// Interned sets and conjunctions, to add to.
    pub(crate) fn sets_mut(&self) -> RefMut<'_, Sets> {
        self.sets.borrow_mut()
    }

    /// What the pool may launch under requirements, or the first of them that rules everything out.
    pub(crate) fn compatible(
        &self,
        model: &Model,
        pool: &Pool,
        conjunction: ConjunctionId,
    ) -> Result<Rc<Compatible>, NodePoolUnfit> {
        remembered(&self.pools[pool.index].compatible, conjunction, || {
            pool.narrowed(conjunction, &model.key_kinds, self).map(Rc::new)
        })
    }

    /// Types of which some value of the label is in the set, or that may lack it.
    pub(crate) fn types_meeting(&self, pool: &Pool, rule: &KeyRule, sets: &Sets) -> Rc<TypeSet> {
        remembered(&self.pools[pool.index].meeting, rule.clone(), || {
            Rc::new(pool.types_meeting(rule, sets))
        })
    }

    /// Types with an offering in some of the zones, bought in some of the ways.
    pub(crate) fn viable(
        &self,
        pool: &Pool,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Rc<TypeSet> {
        remembered(&self.pools[pool.index].viable, (zones, purchases), || {
            Rc::new(pool.viable(zones, purchases))
        })
    }

    /// Types with an offering in some of the zones, bought in some of the ways, each with its
    /// cheapest: by price, then name.
    pub(crate) fn cheapest(
        &self,
        pool: &Pool,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Rc<[PricedType]> {
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
    ) -> Rc<[TypeRate]> {
        remembered(&self.pools[pool.index].rates, conjunction, || {
            let cheapest = self.cheapest(pool, compatible.zones, compatible.purchases);
            pool.best_rates(&cheapest, compatible).into()
        })
    }

    /// The pool's offerings that packing chooses from for items of these classes.
    pub(crate) fn bins(&self, pool: &Pool, classes: &[Rc<Compatible>]) -> Rc<[Bin]> {
        let key = classes.iter().map(Rc::as_ptr).collect();
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
        compatible: &Rc<Compatible>,
    ) -> Option<Rc<Compatible>> {
        let key = Rc::as_ptr(compatible);
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
            let own = |purchases| Rc::new(Compatible { purchases, ..(**compatible).clone() });
            (Rc::clone(compatible), purchases.map(own))
        });
        found
    }
}
