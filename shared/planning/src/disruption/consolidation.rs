//! Consolidation: nodes whose pods fit elsewhere, or together on something cheaper.

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::reason::{DisruptionReason, NotDisruptable};
use fixedbitset::FixedBitSet;

use super::Disruptor;
use super::balanced;
use super::trial::{Trial, Trials};
use crate::model::pool::{Compatible, Pool};
use crate::scheduling::host::HostCounts;
use crate::scheduling::packing::{Member, Packed, with_room};
use crate::scheduling::placement::Item;

/// Candidates that are merged at once; more would make one command too large to follow.
const MERGED_MAX: usize = 100;

/// A spot node is replaced by spot only where so many cheaper types are left to choose from.
const SPOT_TO_SPOT_TYPES_MIN: usize = 15;

/// A move that holds.
struct Move {
    nodes: Vec<usize>,
    trial: Trial,
    savings: UsdPerHour,
}

impl Disruptor<'_, '_> {
    /// Several nodes together where that works, else the first single node in order.
    pub(super) fn underutilized(&mut self, trials: &mut Trials, order: &[usize]) {
        let Some(found) = self.merge(trials, order).or_else(|| self.single(trials, order)) else {
            return;
        };
        for node in &found.nodes {
            let _ = self.allowance.take(self.model, *node, DisruptionReason::Underutilized);
        }
        let replacements = trials.launch(&found.trial, &mut self.names);
        let disruption = trials.disruption(
            DisruptionReason::Underutilized,
            &found.nodes,
            &found.trial,
            replacements,
        );
        self.disruptions.push(disruption);
        trials.commit(&found.nodes, found.trial);
    }

    /// Nodes that may be consolidated, the best saving for the least disruption first.
    pub(super) fn consolidation_order(&mut self) -> Vec<usize> {
        let mut order: Vec<(f64, usize)> = Vec::new();
        let mut held = Vec::new();
        for candidate in &self.candidates {
            if !candidate.is_graceful()
                || candidate.is_empty
                || candidate.consolidatable.is_err()
                || !candidate.consolidates_underutilized
            {
                continue;
            }
            let node = candidate.node;
            let Some(price) = self.model.nodes[node].price() else {
                let name = self.model.nodes[node].name.clone();
                held.push((node, NotDisruptable::UnknownPrice(name)));
                continue;
            };
            if let Err(reason) =
                self.allowance.check(self.model, node, DisruptionReason::Underutilized)
            {
                held.push((node, reason));
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "a ratio that only ranks")]
            order.push((price.nanos() as f64 / candidate.reschedule_cost, node));
        }
        for (node, reason) in held {
            self.block(node, reason);
        }
        order.sort_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| self.model.nodes[a.1].name.cmp(self.model.nodes[b.1].name))
        });
        order.into_iter().map(|(_, node)| node).collect()
    }

    /// Adds candidates one by one as long as all of them together can go for more savings.
    fn merge(&self, trials: &mut Trials, order: &[usize]) -> Option<Move> {
        let mut best: Option<Move> = None;
        let mut nodes: Vec<usize> = Vec::new();
        for node in order.iter().copied().take(MERGED_MAX) {
            let mut more = nodes.clone();
            more.push(node);
            let allowed =
                self.allowance.check_many(self.model, &more, DisruptionReason::Underutilized);
            if allowed.is_err() {
                continue;
            }
            if more.len() == 1 {
                // The first may go alone or only with others: keep it to build on.
                if let Some(found) = evaluate(trials, &more) {
                    best = Some(found);
                }
                nodes = more;
                continue;
            }
            match evaluate(trials, &more) {
                Some(found) if best.as_ref().is_none_or(|best| found.savings > best.savings) => {
                    best = Some(found);
                    nodes = more;
                }
                _ if best.is_none() && nodes.len() == 1 => {
                    // The first goes neither alone nor with this one: build on this one instead, unless
                    // a later one goes with it.
                    if let Some(found) = evaluate(trials, &[node]) {
                        best = Some(found);
                        nodes = vec![node];
                    }
                }
                _ => {}
            }
        }
        best.filter(|best| best.nodes.len() > 1)
    }

    fn single(&self, trials: &mut Trials, order: &[usize]) -> Option<Move> {
        order.iter().find_map(|node| evaluate(trials, &[*node]))
    }
}

/// Whether the nodes can go for a saving: their pods fit on nodes that stay, or those that do not fit on
/// one new node that costs less.
fn evaluate(trials: &mut Trials, nodes: &[usize]) -> Option<Move> {
    let mut trial = trials.try_without(nodes);
    if !trial.failed.is_empty() {
        return None;
    }
    let model = trials.model;
    let before: UsdPerHour = nodes.iter().filter_map(|node| model.nodes[*node].price()).sum();
    let mut after = UsdPerHour::ZERO;
    if !trial.items.is_empty() {
        let (packed, price) = replacement(trials, nodes, &trial.items, before)?;
        after = price;
        trial.packed = vec![packed];
    }
    let savings = before - after;
    // Moving pods for nothing is churn.
    if savings <= UsdPerHour::ZERO || !balanced::approves(model, nodes, savings.nanos()) {
        return None;
    }
    Some(Move { nodes: nodes.to_vec(), trial, savings })
}

/// The cheapest single node that hosts all items for less than the nodes cost.
fn replacement(
    trials: &Trials,
    nodes: &[usize],
    items: &[Item],
    before: UsdPerHour,
) -> Option<(Packed, UsdPerHour)> {
    let model = trials.model;
    let weight = items
        .iter()
        .filter_map(|item| item.fit.pools.first())
        .map(|fit| model.pools[fit.pool].node_pool.weight)
        .min()?;
    (0..model.pools.len())
        .filter(|pool| model.pools[*pool].node_pool.weight == weight)
        .filter_map(|pool| in_pool(trials, nodes, items, before, pool))
        .min_by_key(|(packed, price)| (*price, packed.pool))
}

fn in_pool(
    trials: &Trials,
    nodes: &[usize],
    items: &[Item],
    before: UsdPerHour,
    pool_index: usize,
) -> Option<(Packed, UsdPerHour)> {
    let model = trials.model;
    let pool = &model.pools[pool_index];
    let mut joint: Option<Compatible> = None;
    let mut requests = vec![0; model.resources.len()];
    let mut hosts = HostCounts::default();
    for item in items {
        let own = item.fit.pools.iter().find(|fit| fit.pool == pool_index)?;
        joint = Some(match joint {
            None => (*own.compatible).clone(),
            Some(known) => pool.both(&known, &own.compatible, &mut model.sets.borrow_mut())?,
        });
        let count = u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
        let room = hosts.room_for(model, trials.topology, item.shape, &|_| true);
        if room < count {
            return None;
        }
        hosts.add(model, trials.topology, item.shape, count);
        for (sum, amount) in requests.iter_mut().zip(&model.shape(item.shape).requests) {
            *sum += amount * i64::from(count);
        }
    }
    let mut compatible = joint?;
    compatible.types = with_room(pool, &compatible.types, &requests);
    let limits = trials.limits(nodes);
    for index in compatible.types.clone().ones() {
        if limits.allow(pool_index, &pool.types[index].capacity) == 0 {
            compatible.types.set(index, false);
        }
    }
    cheaper_only(trials, pool, nodes, before, &mut compatible)?;
    let (type_index, price) = compatible
        .types
        .ones()
        .filter_map(|index| {
            let offering = pool.types[index].cheapest_in(compatible.zones, compatible.purchases)?;
            Some((index, offering.price))
        })
        .min_by_key(|(index, price)| (*price, *index))?;
    let members = items
        .iter()
        .map(|item| Member { conjunction: item.conjunction, pods: item.pods.clone() })
        .collect();
    let packed = Packed { pool: pool_index, compatible, type_index, requests, members };
    (price < before).then_some((packed, price))
}

/// Leaves types whose worst price is below what the nodes cost, bought in one way; `None` where nothing
/// is left.
fn cheaper_only(
    trials: &Trials,
    pool: &Pool,
    nodes: &[usize],
    before: UsdPerHour,
    compatible: &mut Compatible,
) -> Option<()> {
    let model = trials.model;
    let purchases_of = |capacity_type: CapacityType| {
        pool.purchases
            .iter()
            .enumerate()
            .filter(|(_, purchase)| purchase.capacity_type == capacity_type)
            .fold(0_u64, |mask, (index, _)| mask | 1 << index)
    };
    let is_spot = |node: &usize| model.nodes[*node].capacity_type() == Some(CapacityType::Spot);
    let all_spot = nodes.iter().all(is_spot);
    for capacity_type in CapacityType::ALL {
        let purchases = compatible.purchases & purchases_of(capacity_type);
        let mut types = compatible.types.clone();
        types.intersect_with(&pool.viable(compatible.zones, purchases));
        if types.is_clear() {
            continue;
        }
        let is_spot_to_spot = all_spot && capacity_type == CapacityType::Spot;
        if is_spot_to_spot && !model.snapshot.settings.feature_gates.spot_to_spot_consolidation {
            return None;
        }
        keep_cheaper(pool, compatible.zones, purchases, before, &mut types);
        without_same_types(trials, pool, nodes, &mut types);
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
fn without_same_types(trials: &Trials, pool: &Pool, nodes: &[usize], types: &mut FixedBitSet) {
    if nodes.len() < 2 {
        return;
    }
    let model = trials.model;
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
