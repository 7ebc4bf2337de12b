//! One new node on demand that commitments cover, in place of nodes that cost something.

use domain::commitment::Usage;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;

use super::joint::{heaviest_pools, single_node};
use super::{Removal, Replacements};
use crate::disruption::trial::Trials;
use crate::feasibility::scope::Scope;
use crate::ids::{PoolIx, TypeIx, TypeSet};
use crate::model::commitments::{ModelCommitments, OnDemand};
use crate::model::pool::Compatible;
use crate::work::NewNode;

/// The on-demand node for all items that adds the least beyond commitments; of equals, the one of
/// the lowest price. `None` where it adds as much as the removed nodes cost. `usage` is what runs
/// on demand without these.
pub(super) fn covered(
    trials: &Trials,
    removal: &Removal,
    committed: (&ModelCommitments, &Usage),
) -> Option<Replacements> {
    let pools = heaviest_pools(trials.model, removal.items).into_iter();
    let found = pools.filter_map(|pool| in_pool(trials, removal, pool, committed));
    let (price, node) = found.min_by_key(|(price, _)| *price)?;
    Some(Replacements { packed: vec![node], price })
}

fn in_pool(
    trials: &Trials,
    removal: &Removal,
    pool_index: PoolIx,
    (own, usage): (&ModelCommitments, &Usage),
) -> Option<(UsdPerHour, NewNode)> {
    let Scope { model, memo, .. } = trials.scope;
    let pool = &model.pools[pool_index];
    let limits = trials.limits(removal.nodes);
    let mut node = single_node(trials, &limits, removal.items, pool_index)?;
    let purchases = node.compatible.purchases & pool.bought_as(CapacityType::OnDemand);
    let mut types = node.compatible.types.clone();
    limits.keep_allowed(pool_index, pool, &mut types);
    // Cheapest first: of those that add nothing, the one that leaves most to others.
    let priced = memo.cheapest(pool, node.compatible.zones, purchases);
    let mut best: Option<(UsdPerHour, TypeIx)> = None;
    let mut kept = TypeSet::empty(pool.types.len());
    for priced in priced.iter().filter(|priced| types.contains(priced.index)) {
        let instance = pool.instance(priced.index, &priced.offering);
        let price = priced.offering.cost;
        if !own.commitments.hold_for(&instance, price) {
            continue;
        }
        let added = own.added_by(usage, [&OnDemand { instance, price }]);
        if added >= removal.before || best.is_some_and(|(least, _)| added > least) {
            continue;
        }
        if best.is_none_or(|(least, _)| added < least) {
            best = Some((added, priced.index));
            kept = TypeSet::empty(pool.types.len());
        }
        kept.insert(priced.index);
    }
    let (price, type_index) = best?;
    node.compatible = Compatible { types: kept, purchases, ..node.compatible };
    let compatible = &node.compatible;
    if pool.min_values_unmet(&compatible.types, compatible.zones, purchases).is_some() {
        return None;
    }
    Some((price, NewNode { type_index, ..node }))
}
