//! Several new nodes for the pods that need one.

use std::sync::Arc;

use domain::money::UsdPerHour;

use super::offerings::{LaunchScope, cheapest, keep_cheaper};
use super::{Removal, Replacements, is_spot};
use crate::disruption::trial::Trials;
use crate::feasibility::fit::{Fit, PoolFit};
use crate::feasibility::scope::Scope;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::memo::Memo;
use crate::model::pool::Compatible;
use crate::packing::{Search, pack, pack_for_less};
use crate::work::{Item, NewNode};

/// A search is worth it if a first, quick packing costs less than this percentage of what new nodes
/// may cost.
const SKETCH_PERCENT_MAX: i128 = 102;

/// New nodes at most for each that is removed. Pods that are spread over zones need a node in each
/// zone, which for few removed nodes are more than those; what launching each costs, the move has
/// to save as well.
const NEW_FOR_EACH_MAX: usize = 3;

/// Several new nodes, no more than [`NEW_FOR_EACH_MAX`] for each that is removed. Some may be of
/// types that are removed, with other pods: what counts is that they cost less together. Spot nodes
/// take part only where spot may replace spot.
pub(super) fn several(trials: &Trials, removal: &Removal) -> Option<Replacements> {
    let Scope { model, memo, .. } = trials.scope;
    let nodes = removal.nodes;
    if !may_be_several(model, nodes) {
        return None;
    }
    if trials.dual_floor(removal.items) > removal.ceiling {
        return None;
    }
    let items = removal
        .items
        .iter()
        .map(|item| narrowed(model, memo, item))
        .collect::<Option<Vec<Item>>>()?;
    let mut limits = trials.limits(nodes);
    let sketch =
        pack_for_less(trials.scope, removal.state, &mut limits.clone(), &items, || Search::Quick);
    if sketch.left.is_empty() && !is_near(model, memo, &sketch.nodes, removal.ceiling) {
        return None;
    }
    let packing = pack(trials.scope, removal.state, &mut limits, &items);
    let count = packing.nodes.len();
    if !packing.left.is_empty() || count < 2 || count > nodes.len() * NEW_FOR_EACH_MAX {
        return None;
    }
    within(model, memo, packing.nodes, removal.before)
}

/// Whether several new nodes may be launched in place of the nodes.
pub(crate) fn may_be_several(model: &Model, nodes: &[NodeIx]) -> bool {
    let allows_spot = model.snapshot.settings.feature_gates.spot_to_spot_consolidation;
    nodes.len() >= 2 && (allows_spot || !nodes.iter().any(|node| is_spot(model, *node)))
}

/// Whether nodes that were packed quickly cost so little more than what the move is worth that a
/// search may find some that cost less.
fn is_near(model: &Model, memo: &Memo, nodes: &[NewNode], ceiling: UsdPerHour) -> bool {
    let price: UsdPerHour = nodes.iter().filter_map(|own| own.price(model, memo)).sum();
    i128::from(price.nanos()) * 100 < i128::from(ceiling.nanos()) * SKETCH_PERCENT_MAX
}

/// The item, launched from its heaviest pools only and bought in one way.
fn narrowed(model: &Model, memo: &Memo, item: &Item) -> Option<Item> {
    let weight = |fit: &PoolFit| model.pools[fit.pool].node_pool.weight;
    let heaviest = item.fit.pools.iter().map(weight).max();
    let fits: Vec<PoolFit> = item
        .fit
        .pools
        .iter()
        .filter(|fit| Some(weight(fit)) == heaviest)
        .filter_map(|fit| {
            let compatible = memo.bought_in_one_way(&model.pools[fit.pool], &fit.compatible)?;
            Some(PoolFit { compatible, ..fit.clone() })
        })
        .collect();
    let fit = Arc::new(Fit { pools: fits, ..Fit::default() });
    (!fit.pools.is_empty()).then(|| Item { fit, ..item.clone() })
}

/// The nodes with types whose highest prices together stay below `before`, what the removed nodes
/// cost: the margin is distributed by price. Zones in which the cheapest type would cost more than
/// its share are left out.
fn within(
    model: &Model,
    memo: &Memo,
    nodes: Vec<NewNode>,
    before: UsdPerHour,
) -> Option<Replacements> {
    let prices: Vec<UsdPerHour> = nodes
        .iter()
        .map(|node| {
            let pool = &model.pools[node.pool];
            let types = pool.with_room(&node.compatible.types, &node.requests);
            cheapest(memo, pool, &Compatible { types, ..node.compatible.clone() })
                .map(|(_, price)| price)
        })
        .collect::<Option<_>>()?;
    let price: UsdPerHour = prices.iter().copied().sum();
    if price >= before {
        return None;
    }
    let total = i128::from(price.nanos().max(1));
    let mut packed = nodes;
    for (node, own) in packed.iter_mut().zip(&prices) {
        let pool = &model.pools[node.pool];
        let share = i128::from(before.nanos()) * i128::from(own.nanos()) / total;
        let ceiling = UsdPerHour::from_nanos(i64::try_from(share).ok()?);
        let compatible = &mut node.compatible;
        compatible.types = pool.with_room(&compatible.types, &node.requests);
        let (cheapest_type, _) = cheapest(memo, pool, compatible)?;
        compatible.zones = pool.types[cheapest_type]
            .offerings_in(compatible.zones, compatible.purchases)
            .filter(|offering| offering.price < ceiling)
            .map(|offering| offering.zone)
            .collect();
        let scope = LaunchScope { zones: compatible.zones, purchases: compatible.purchases };
        keep_cheaper(pool, scope, ceiling, &mut compatible.types);
        node.type_index = cheapest(memo, pool, compatible)?.0;
        if pool.min_values_unmet(&compatible.types, scope.zones, scope.purchases).is_some() {
            return None;
        }
    }
    Some(Replacements { packed, price })
}
