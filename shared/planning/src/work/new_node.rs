//! Nodes to launch, as packing hands them to whoever turns them into NodeClaims.

use domain::money::UsdPerHour;

use crate::ids::{PodIx, PoolIx, TypeIx};
use crate::model::Model;
use crate::model::intern::ConjunctionId;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, TypeOffering};

/// A node to launch, before its instance types are listed.
#[derive(Clone)]
pub(crate) struct NewNode {
    /// Index of the pool.
    pub(crate) pool: PoolIx,
    /// What may be launched for all its pods together.
    pub(crate) compatible: Compatible,
    /// The type it was packed for.
    pub(crate) type_index: TypeIx,
    /// Requests of its pods, by resource index.
    pub(crate) requests: Vec<i64>,
    /// Its pods, with what each must have met.
    pub(crate) members: Vec<Member>,
    /// Exactly this many of the cheapest types are listed, whatever they cost. Otherwise those
    /// whose price is near the cheapest.
    pub(crate) types_wanted: Option<usize>,
}

impl NewNode {
    /// What the cheapest type that its pods fit on is chosen at.
    pub(crate) fn price(&self, model: &Model, memo: &Memo) -> Option<UsdPerHour> {
        self.cheapest(model, memo).map(|offering| offering.price)
    }

    /// What that type costs.
    pub(crate) fn cost(&self, model: &Model, memo: &Memo) -> Option<UsdPerHour> {
        self.cheapest(model, memo).map(|offering| offering.cost)
    }

    fn cheapest(&self, model: &Model, memo: &Memo) -> Option<TypeOffering> {
        let pool = &model.pools[self.pool];
        let types = pool.with_room(&self.compatible.types, &self.requests);
        memo.cheapest(pool, self.compatible.zones, self.compatible.purchases)
            .iter()
            .find(|priced| types.contains(priced.index))
            .map(|priced| priced.offering)
    }
}

/// Pods of one item on a node.
#[derive(Clone)]
pub(crate) struct Member {
    /// What the node must meet for them.
    pub(crate) conjunction: ConjunctionId,
    /// The pods.
    pub(crate) pods: Vec<PodIx>,
}
