//! The one new node that takes the pods of removed nodes for less than those cost.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use fixedbitset::FixedBitSet;

use super::trial::Trials;
use crate::model::Model;
use crate::model::pool::{Compatible, Pool};
use crate::scheduling::host::HostCounts;
use crate::scheduling::packing::{Member, Packed, with_room};
use crate::scheduling::placement::Item;

/// A spot node is replaced by spot only where so many cheaper types are left to choose from.
///
/// Source: Karpenter's minimum for single-node spot-to-spot consolidation; with fewer, the replacement
/// would soon be interrupted or consolidated again.
const SPOT_TO_SPOT_TYPES_MIN: usize = 15;

/// Nodes that would go, and what is left to host.
pub(super) struct Removal<'t> {
    /// The nodes.
    pub(super) nodes: &'t [usize],
    /// Pods that no node that stays takes.
    pub(super) items: &'t [Item],
    /// What the nodes cost together.
    pub(super) before: UsdPerHour,
}

/// A new node for all of a removal's items.
pub(super) struct Replacement {
    /// The node.
    pub(super) packed: Packed,
    /// What its cheapest offering costs.
    pub(super) price: UsdPerHour,
}

/// The cheapest single node that hosts all items for less than the nodes cost.
pub(super) fn replacement(trials: &Trials, removal: &Removal) -> Option<Replacement> {
    let pools = &trials.model.pools;
    let weight = removal
        .items
        .iter()
        .filter_map(|item| item.fit.pools.first())
        .map(|fit| pools[fit.pool].node_pool.weight)
        .min()?;
    (0..pools.len())
        .filter(|pool| pools[*pool].node_pool.weight == weight)
        .filter_map(|pool| in_pool(trials, removal, pool))
        .min_by_key(|found| (found.price, found.packed.pool))
}

fn in_pool(trials: &Trials, removal: &Removal, pool_index: usize) -> Option<Replacement> {
    let model = trials.model;
    let pool = &model.pools[pool_index];
    let Together { mut compatible, requests } = together(trials, removal.items, pool_index)?;
    compatible.types = with_room(pool, &compatible.types, &requests);
    let limits = trials.limits(removal.nodes);
    for index in compatible.types.clone().ones() {
        if limits.allow(pool_index, &pool.types[index].capacity) == 0 {
            compatible.types.set(index, false);
        }
    }
    cheaper_only(model, pool, removal, &mut compatible)?;
    let (type_index, price) = compatible
        .types
        .ones()
        .filter_map(|index| {
            let offering = pool.types[index].cheapest_in(compatible.zones, compatible.purchases)?;
            Some((index, offering.price))
        })
        .min_by_key(|(index, price)| (*price, *index))?;
    let members = removal
        .items
        .iter()
        .map(|item| Member { conjunction: item.conjunction, pods: item.pods.clone() })
        .collect();
    let packed = Packed { pool: pool_index, compatible, type_index, requests, members };
    (price < removal.before).then_some(Replacement { packed, price })
}

/// What one node must be to host several items.
struct Together {
    compatible: Compatible,
    requests: Vec<i64>,
}

/// `None` where the items contradict each other or keep each other off one node.
fn together(trials: &Trials, items: &[Item], pool_index: usize) -> Option<Together> {
    let model = trials.model;
    let mut joint: Option<Compatible> = None;
    let mut requests = vec![0; model.resources.len()];
    let mut hosts = HostCounts::default();
    for item in items {
        let own = item.fit.pools.iter().find(|fit| fit.pool == pool_index)?;
        joint = Some(match joint {
            None => (*own.compatible).clone(),
            Some(known) => model.pools[pool_index].both(
                &known,
                &own.compatible,
                &mut model.sets.borrow_mut(),
            )?,
        });
        let count = u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
        if hosts.room_for(model, trials.topology, item.shape, &|_| true) < count {
            return None;
        }
        hosts.add(model, trials.topology, item.shape, count);
        for (sum, amount) in requests.iter_mut().zip(&model.shape(item.shape).requests) {
            *sum += amount * i64::from(count);
        }
    }
    Some(Together { compatible: joint?, requests })
}

/// Leaves types whose worst price is below what the nodes cost, bought in one way; `None` where nothing
/// is left.
fn cheaper_only(
    model: &Model,
    pool: &Pool,
    removal: &Removal,
    compatible: &mut Compatible,
) -> Option<()> {
    let nodes = removal.nodes;
    let is_spot = |node: &usize| model.nodes[*node].capacity_type() == Some(CapacityType::Spot);
    let all_spot = nodes.iter().all(is_spot);
    for capacity_type in CapacityType::ALL {
        let purchases = compatible.purchases & bought_as(pool, capacity_type);
        let mut types = compatible.types.clone();
        types.intersect_with(&pool.viable(compatible.zones, purchases));
        if types.is_clear() {
            continue;
        }
        let is_spot_to_spot = all_spot && capacity_type == CapacityType::Spot;
        if is_spot_to_spot && !model.snapshot.settings.feature_gates.spot_to_spot_consolidation {
            return None;
        }
        keep_cheaper(pool, compatible.zones, purchases, removal.before, &mut types);
        without_same_types(model, pool, nodes, &mut types);
        if is_spot_to_spot && nodes.len() == 1 && types.count_ones(..) < SPOT_TO_SPOT_TYPES_MIN {
            return None;
        }
        if types.is_clear() {
            // Dearer ways of buying are tried next only where this one is free of charge or sold out.
            if capacity_type == CapacityType::Reserved {
                continue;
            }
            return None;
        }
        if pool.min_values_unmet(&types, compatible.zones, purchases).is_some() {
            return None;
        }
        compatible.types = types;
        compatible.purchases = purchases;
        return Some(());
    }
    None
}

/// Ways of buying of one capacity type, a bit each.
fn bought_as(pool: &Pool, capacity_type: CapacityType) -> u64 {
    pool.purchases
        .iter()
        .enumerate()
        .filter(|(_, purchase)| purchase.capacity_type == capacity_type)
        .fold(0, |mask, (index, _)| mask | 1 << index)
}

/// Types of which the dearest offering that a launch may get costs less.
fn keep_cheaper(
    pool: &Pool,
    zones: u64,
    purchases: u64,
    before: UsdPerHour,
    types: &mut FixedBitSet,
) {
    for index in types.clone().ones() {
        let worst =
            pool.types[index].offerings_in(zones, purchases).map(|offering| offering.price).max();
        if worst.is_none_or(|worst| worst >= before) {
            types.set(index, false);
        }
    }
}

/// Merging nodes must not relaunch a kind that it removes: where it could, only types cheaper than the
/// cheapest removed node of such a kind are left.
fn without_same_types(model: &Model, pool: &Pool, nodes: &[usize], types: &mut FixedBitSet) {
    if nodes.len() < 2 {
        return;
    }
    let cheapest_same = nodes
        .iter()
        .filter_map(|node| {
            let own = model.nodes[*node].instance_type?;
            let is_option =
                types.ones().any(|index| pool.types[index].instance_type.name == own.name);
            is_option.then(|| model.nodes[*node].price())?
        })
        .min();
    let Some(ceiling) = cheapest_same else { return };
    keep_cheaper(pool, u64::MAX, u64::MAX, ceiling, types);
}
