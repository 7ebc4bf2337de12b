//! The new nodes that take the pods of removed nodes for less than those cost: one, or several but no more than
//! go.

use std::rc::Rc;

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::evaluation::count;
use super::trial::Trials;
use crate::feasibility::fit::{Fit, PoolFit};
use crate::feasibility::host::HostCounts;
use crate::feasibility::state::State;
use crate::ids::{NodeIx, PoolIx, PurchaseSet, TypeIx, TypeSet, ZoneSet};
use crate::model::Model;
use crate::model::pool::{Compatible, Pool};
use crate::packing::{Search, pack, pack_for_less};
use crate::work::Item;
use crate::work::{Member, NewNode};

/// A spot node is replaced by spot only where so many cheaper types are left to choose from.
///
/// Source: Karpenter's minimum for single-node spot-to-spot consolidation; with fewer, the replacement
/// would soon be interrupted or consolidated again.
const SPOT_TO_SPOT_TYPES_MIN: usize = 15;

/// A search goes on from a first attempt at new nodes that costs less than this share of what goes.
const SKETCH_PERCENT_MAX: i128 = 104;

/// Nodes that would go, and what is left to host.
pub(super) struct Removal<'t> {
    /// The nodes.
    pub(super) nodes: &'t [NodeIx],
    /// Pods that no node that stays takes.
    pub(super) items: &'t [Item],
    /// Where the others are.
    pub(super) state: &'t State,
    /// What the nodes cost together.
    pub(super) before: UsdPerHour,
}

impl Removal<'_> {
    fn pods(&self) -> u32 {
        count(self.items.iter().map(|item| item.pods.len()).sum())
    }

    fn all_spot(&self, model: &Model) -> bool {
        self.nodes.iter().all(|node| is_spot(model, *node))
    }
}

fn is_spot(model: &Model, node: NodeIx) -> bool {
    model.nodes[node].capacity_type() == Some(CapacityType::Spot)
}

/// New nodes for all of a removal's items.
pub(super) struct Replacements {
    /// The nodes.
    pub(super) packed: Vec<NewNode>,
    /// What their cheapest offerings cost together.
    pub(super) price: UsdPerHour,
}

/// The cheapest new nodes that host all items for less than the nodes cost: one, or several but no more
/// than go. Of equal ones, one node.
pub(super) fn replacements(
    trials: &Trials,
    removal: &Removal,
) -> Result<Replacements, Unconsolidatable> {
    let one = single(trials, removal);
    match (one, several(trials, removal)) {
        (Ok(one), Some(several)) if several.price < one.price => Ok(several),
        (Err(_), Some(several)) => Ok(several),
        (one, _) => one,
    }
}

/// The cheapest single node.
fn single(trials: &Trials, removal: &Removal) -> Result<Replacements, Unconsolidatable> {
    let mut reason = Unconsolidatable::NoReplacement { pods: removal.pods() };
    let mut best: Option<(UsdPerHour, NewNode)> = None;
    for pool in heaviest_pools(trials.model, removal.items) {
        match in_pool(trials, removal, pool) {
            Ok(found) if best.as_ref().is_none_or(|(least, _)| found.0 < *least) => {
                best = Some(found);
            }
            // What one pool says of prices tells more than that another hosts none of the pods.
            Ok(_) | Err(Unconsolidatable::NoReplacement { .. }) => {}
            Err(why) => reason = why,
        }
    }
    best.map(|(price, packed)| Replacements { packed: vec![packed], price }).ok_or(reason)
}

/// Pools of the weight of the heaviest pool that some item may be launched from: a weight is a wish of the
/// user's to pay more, which a replacement does not undo. Items whose heaviest pools differ share no new node.
fn heaviest_pools(model: &Model, items: &[Item]) -> Vec<PoolIx> {
    let weight = items
        .iter()
        .filter_map(|item| item.fit.pools.first())
        .map(|fit| model.pools[fit.pool].node_pool.weight)
        .max();
    model
        .pools
        .indices()
        .filter(|pool| Some(model.pools[*pool].node_pool.weight) == weight)
        .collect()
}

fn in_pool(
    trials: &Trials,
    removal: &Removal,
    pool_index: PoolIx,
) -> Result<(UsdPerHour, NewNode), Unconsolidatable> {
    let model = trials.model;
    let pool = &model.pools[pool_index];
    let none = || Unconsolidatable::NoReplacement { pods: removal.pods() };
    let Together { mut compatible, requests } =
        together(trials, removal.items, pool_index).ok_or_else(none)?;
    compatible.types = pool.with_room(&compatible.types, &requests);
    trials.limits(removal.nodes).keep_allowed(pool_index, pool, &mut compatible.types);
    let hosting = compatible.clone();
    cheaper_only(model, pool, removal, &mut compatible)
        .map_err(|why| why.reason(pool, removal, &hosting))?;
    let (type_index, price) = cheapest(pool, &compatible).ok_or_else(none)?;
    let members = members(removal.items);
    let packed = NewNode { pool: pool_index, compatible, type_index, requests, members };
    Ok((price, packed))
}

/// The cheapest node of a pool that hosts all items, whatever it costs; `None` where no node does.
pub(super) fn one_node(trials: &Trials, items: &[Item], pool_index: PoolIx) -> Option<NewNode> {
    let pool = &trials.model.pools[pool_index];
    let Together { mut compatible, requests } = together(trials, items, pool_index)?;
    compatible.types = pool.with_room(&compatible.types, &requests);
    let (type_index, _) = cheapest(pool, &compatible)?;
    Some(NewNode { pool: pool_index, compatible, type_index, requests, members: members(items) })
}

fn members(items: &[Item]) -> Vec<Member> {
    let member = |item: &Item| Member { conjunction: item.conjunction, pods: item.pods.clone() };
    items.iter().map(member).collect()
}

/// The cheapest type that may be launched, and its price.
fn cheapest(pool: &Pool, compatible: &Compatible) -> Option<(TypeIx, UsdPerHour)> {
    pool.cheapest(compatible.zones, compatible.purchases)
        .iter()
        .find(|priced| compatible.types.contains(priced.index))
        .map(|priced| (priced.index, priced.offering.price))
}

/// What one node must be to host several items.
struct Together {
    compatible: Compatible,
    requests: Vec<i64>,
}

/// `None` where the items contradict each other or keep each other off one node.
fn together(trials: &Trials, items: &[Item], pool_index: PoolIx) -> Option<Together> {
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

/// Why nothing cheaper is left.
enum NotCheaper {
    /// Nothing of what hosts the pods costs less.
    Dearer,
    SpotGate,
    SpotTypes(usize),
    MinValues(domain::Text),
}

impl NotCheaper {
    fn reason(self, pool: &Pool, removal: &Removal, hosting: &Compatible) -> Unconsolidatable {
        let pods = removal.pods();
        match self {
            Self::SpotGate => Unconsolidatable::SpotToSpot { pods },
            Self::SpotTypes(found) => Unconsolidatable::TooFewSpotTypes {
                found: count(found),
                needed: count(SPOT_TO_SPOT_TYPES_MIN),
            },
            Self::MinValues(key) => Unconsolidatable::MinValues(key),
            Self::Dearer => match cheapest(pool, hosting) {
                Some((index, price)) => Unconsolidatable::NothingCheaper {
                    pods,
                    instance_type: pool.types[index].instance_type.name.clone(),
                    price,
                    before: removal.before,
                },
                None => Unconsolidatable::NoReplacement { pods },
            },
        }
    }
}

/// Leaves types whose worst price is below what the nodes cost, bought in one way.
fn cheaper_only(
    model: &Model,
    pool: &Pool,
    removal: &Removal,
    compatible: &mut Compatible,
) -> Result<(), NotCheaper> {
    let all_spot = removal.all_spot(model);
    for capacity_type in CapacityType::ALL {
        let purchases = compatible.purchases & bought_as(pool, capacity_type);
        let mut types = compatible.types.clone();
        types.intersect_with(&pool.viable(compatible.zones, purchases));
        if types.is_empty() {
            continue;
        }
        let is_spot_to_spot = all_spot && capacity_type == CapacityType::Spot;
        if is_spot_to_spot && !model.snapshot.settings.feature_gates.spot_to_spot_consolidation {
            return Err(NotCheaper::SpotGate);
        }
        keep_cheaper(pool, (compatible.zones, purchases), removal.before, &mut types);
        without_same_types(model, pool, removal.nodes, &mut types);
        let found = types.count();
        if is_spot_to_spot && removal.nodes.len() == 1 && found < SPOT_TO_SPOT_TYPES_MIN {
            return Err(NotCheaper::SpotTypes(found));
        }
        if types.is_empty() {
            // Dearer ways of buying are tried next only where this one is free of charge or sold out.
            if capacity_type == CapacityType::Reserved {
                continue;
            }
            return Err(NotCheaper::Dearer);
        }
        if let Some(unmet) = pool.min_values_unmet(&types, compatible.zones, purchases) {
            return Err(NotCheaper::MinValues(unmet.key));
        }
        compatible.types = types;
        compatible.purchases = purchases;
        return Ok(());
    }
    Err(NotCheaper::Dearer)
}

/// Ways of buying of one capacity type, a bit each.
fn bought_as(pool: &Pool, capacity_type: CapacityType) -> PurchaseSet {
    pool.purchases
        .iter_enumerated()
        .filter(|(_, purchase)| purchase.capacity_type == capacity_type)
        .map(|(index, _)| index)
        .collect()
}

/// Leaves types of which the dearest offering that a launch may get costs less.
fn keep_cheaper(
    pool: &Pool,
    (zones, purchases): (ZoneSet, PurchaseSet),
    before: UsdPerHour,
    types: &mut TypeSet,
) {
    types.retain(|index| {
        let offerings = pool.types[index].offerings_in(zones, purchases);
        offerings.map(|offering| offering.price).max().is_some_and(|worst| worst < before)
    });
}

/// Merging nodes must not relaunch a kind that it removes: where it could, only types cheaper than the
/// cheapest removed node of such a kind are left.
fn without_same_types(model: &Model, pool: &Pool, nodes: &[NodeIx], types: &mut TypeSet) {
    if nodes.len() < 2 {
        return;
    }
    let cheapest_same = nodes
        .iter()
        .filter_map(|node| {
            let own = model.nodes[*node].instance_type?;
            let is_option =
                types.iter().any(|index| pool.types[index].instance_type.name == own.name);
            is_option.then(|| model.nodes[*node].price())?
        })
        .min();
    let Some(ceiling) = cheapest_same else { return };
    keep_cheaper(pool, (ZoneSet::ALL, PurchaseSet::ALL), ceiling, types);
}

/// Several new nodes, no more than go. Some may be of kinds that go, with other pods: what counts is that they cost
/// less together. Spot nodes take part only where spot may replace spot.
fn several(trials: &Trials, removal: &Removal) -> Option<Replacements> {
    let model = trials.model;
    let nodes = removal.nodes;
    let spot_may_go = model.snapshot.settings.feature_gates.spot_to_spot_consolidation;
    let has_spot = nodes.iter().any(|node| is_spot(model, *node));
    if nodes.len() < 2 || (has_spot && !spot_may_go) {
        return None;
    }
    if worth(model, removal.items) >= removal.before {
        return None;
    }
    let items =
        removal.items.iter().map(|item| narrowed(model, item)).collect::<Option<Vec<Item>>>()?;
    let mut limits = trials.limits(nodes);
    let sketch = pack_for_less(
        model,
        trials.topology,
        removal.state,
        &mut limits.clone(),
        (&items, Search::Quick),
    );
    if sketch.left.is_empty() && !is_near(model, &sketch.nodes, removal.before) {
        return None;
    }
    let packing = pack(model, trials.topology, removal.state, &mut limits, &items);
    let count = packing.nodes.len();
    if !packing.left.is_empty() || count < 2 || count > nodes.len() {
        return None;
    }
    within(model, packing.nodes, removal.before)
}

/// Whether nodes that were packed at the first attempt cost so little more than those that go that a search may find
/// some that cost less.
fn is_near(model: &Model, nodes: &[NewNode], before: UsdPerHour) -> bool {
    let price: UsdPerHour = nodes.iter().filter_map(|own| own.price(model)).sum();
    i128::from(price.nanos()) * 100 < i128::from(before.nanos()) * SKETCH_PERCENT_MAX
}

/// What the items cost at the very least: no new nodes can host them for less.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "an estimate")]
fn worth(model: &Model, items: &[Item]) -> UsdPerHour {
    let nanos: f64 = items.iter().map(|item| item.fit.value(model) * item.pods.len() as f64).sum();
    UsdPerHour::from_nanos(nanos as i64)
}

/// An item that may be launched from its heaviest pools only, and bought in one way.
fn narrowed(model: &Model, item: &Item) -> Option<Item> {
    let weight = |fit: &PoolFit| model.pools[fit.pool].node_pool.weight;
    let heaviest = item.fit.pools.iter().map(weight).max();
    let fits: Vec<PoolFit> = item
        .fit
        .pools
        .iter()
        .filter(|fit| Some(weight(fit)) == heaviest)
        .filter_map(|fit| {
            let pool = &model.pools[fit.pool];
            let mut compatible = (*fit.compatible).clone();
            let is_sold = |purchases: PurchaseSet| {
                !compatible.types.is_disjoint(&pool.viable(compatible.zones, purchases))
            };
            compatible.purchases = CapacityType::ALL
                .into_iter()
                .map(|capacity_type| compatible.purchases & bought_as(pool, capacity_type))
                .find(|purchases| is_sold(*purchases))?;
            Some(PoolFit { pool: fit.pool, compatible: Rc::new(compatible), value: fit.value })
        })
        .collect();
    let fit = Rc::new(Fit { pools: fits });
    (!fit.pools.is_empty()).then(|| Item { fit, ..item.clone() })
}

/// The nodes with types whose worst prices together stay below what the old ones cost: what is left below
/// that is shared out by price. Zones in which the cheapest type would cost more than its share are left out.
fn within(model: &Model, nodes: Vec<NewNode>, before: UsdPerHour) -> Option<Replacements> {
    let prices: Vec<UsdPerHour> = nodes
        .iter()
        .map(|node| {
            let pool = &model.pools[node.pool];
            let types = pool.with_room(&node.compatible.types, &node.requests);
            cheapest(pool, &Compatible { types, ..node.compatible.clone() }).map(|(_, price)| price)
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
        let (cheapest_type, _) = cheapest(pool, compatible)?;
        compatible.zones = pool.types[cheapest_type]
            .offerings_in(compatible.zones, compatible.purchases)
            .filter(|offering| offering.price < ceiling)
            .map(|offering| offering.zone)
            .collect();
        let masks = (compatible.zones, compatible.purchases);
        keep_cheaper(pool, masks, ceiling, &mut compatible.types);
        node.type_index = cheapest(pool, compatible)?.0;
        if pool.min_values_unmet(&compatible.types, masks.0, masks.1).is_some() {
            return None;
        }
    }
    Some(Replacements { packed, price })
}
