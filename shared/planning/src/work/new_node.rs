//! Nodes to launch, as packing hands them to whoever turns them into NodeClaims.

use domain::commitment::Usage;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;

use crate::ids::{PodIx, PoolIx, TypeIx};
use crate::model::Model;
use crate::model::commitments::{ModelCommitments, OnDemand};
use crate::model::intern::ConjunctionId;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, PricedType};

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
        self.cheapest(model, memo).map(|own| own.offering.price)
    }

    /// What that type costs.
    pub(crate) fn cost(&self, model: &Model, memo: &Memo) -> Option<UsdPerHour> {
        self.cheapest(model, memo).map(|own| own.offering.cost)
    }

    /// That type, with its cheapest offering.
    pub(crate) fn cheapest(&self, model: &Model, memo: &Memo) -> Option<PricedType> {
        let pool = &model.pools[self.pool];
        let types = pool.with_room(&self.compatible.types, &self.requests);
        memo.cheapest(pool, self.compatible.zones, self.compatible.purchases)
            .iter()
            .find(|priced| types.contains(priced.index))
            .copied()
    }
}

impl NewNode {
    /// What it is to commitments; `None` where its cheapest offering is not bought on demand.
    pub(crate) fn on_demand(&self, model: &Model, memo: &Memo) -> Option<OnDemand> {
        let pool = &model.pools[self.pool];
        let PricedType { index, offering } = self.cheapest(model, memo)?;
        if pool.purchases[offering.purchase].capacity_type != CapacityType::OnDemand {
            return None;
        }
        Some(OnDemand { instance: pool.instance(index, &offering), price: offering.cost })
    }
}

/// What new nodes add to a usage beyond what is committed. Those that are not bought on demand add
/// what `price` says.
pub(crate) fn price_beyond_commitments(
    (model, memo): (&Model, &Memo),
    (commitments, usage): (&ModelCommitments, &Usage),
    nodes: &[NewNode],
    price: impl Fn(&NewNode) -> Option<UsdPerHour>,
) -> UsdPerHour {
    let mut added: Vec<OnDemand> = Vec::new();
    let mut others = UsdPerHour::ZERO;
    for node in nodes {
        match node.on_demand(model, memo) {
            Some(own) => added.push(own),
            None => others += price(node).unwrap_or_default(),
        }
    }
    others + commitments.added_by(usage, &added)
}

/// Pods of one item on a node.
#[derive(Clone)]
pub(crate) struct Member {
    /// What the node must meet for them.
    pub(crate) conjunction: ConjunctionId,
    /// The pods.
    pub(crate) pods: Vec<PodIx>,
}
