//! One new node for several items: what it must be, and of which pools it may come.

use super::offerings::cheapest;
use crate::disruption::figures::count;
use crate::disruption::trial::Trials;
use crate::feasibility::host::HostCounts;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::ids::PoolIx;
use crate::model::Model;
use crate::model::pool::Compatible;
use crate::work::{Item, Member, NewNode};

/// Pools of the weight of the heaviest pool that some item may be launched from: with a weight, a
/// user prefers to pay more, which a replacement does not undo. Items whose heaviest pools differ
/// share no new node.
pub(super) fn heaviest_pools(model: &Model, items: &[Item]) -> Vec<PoolIx> {
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

/// The cheapest node of a pool that hosts all items, whatever it costs; `None` where no node does.
/// Of limits, reservations count.
pub(crate) fn single_node(
    trials: &Trials,
    limits: &Limits,
    items: &[Item],
    pool_index: PoolIx,
) -> Option<NewNode> {
    let Scope { model, memo, .. } = trials.scope;
    let pool = &model.pools[pool_index];
    let JointFit { mut compatible, requests } = joint_fit(trials, items, pool_index)?;
    compatible.types = pool.with_room(&compatible.types, &requests);
    compatible.purchases = limits.purchases_left(pool, compatible.purchases);
    let (type_index, _) = cheapest(memo, pool, &compatible)?;
    Some(NewNode {
        pool: pool_index,
        compatible,
        type_index,
        requests,
        members: members(items),
        types_wanted: None,
    })
}

pub(super) fn members(items: &[Item]) -> Vec<Member> {
    let member = |item: &Item| Member { conjunction: item.conjunction, pods: item.pods.clone() };
    items.iter().map(member).collect()
}

/// What may host all items on one node, as they are found: less with every item.
#[derive(Default)]
pub(crate) struct JointOffers {
    /// What all of them leave of the pools that host each; `None` before the first.
    left: Option<Vec<(PoolIx, Compatible)>>,
    /// How many items were looked at.
    seen: usize,
}

impl JointOffers {
    /// Whether one node could host all items, as far as its type, zone and way of buying go. They
    /// begin with those of the last time, which may have more pods by now.
    pub(crate) fn are_left(&mut self, items: &[Item]) -> bool {
        for item in items.get(self.seen..).unwrap_or_default() {
            let fits = &item.fit.pools;
            let left = match self.left.take() {
                None => fits.iter().map(|fit| (fit.pool, (*fit.compatible).clone())).collect(),
                Some(known) => {
                    let both = |(pool, left): (PoolIx, Compatible)| {
                        let own = fits.iter().find(|fit| fit.pool == pool)?;
                        Some((pool, common(left, &own.compatible)?))
                    };
                    known.into_iter().filter_map(both).collect()
                }
            };
            self.left = Some(left);
        }
        self.seen = items.len();
        self.left.as_ref().is_none_or(|left| !left.is_empty())
    }
}

/// The types, zones and ways of buying that both have; `None` where that leaves no offering.
fn common(mut left: Compatible, other: &Compatible) -> Option<Compatible> {
    left.types.intersect_with(&other.types);
    left.zones &= other.zones;
    left.purchases &= other.purchases;
    let has_none = left.types.is_empty() || left.zones.is_empty() || left.purchases.is_empty();
    (!has_none).then_some(left)
}

/// What one node must be to host several items.
pub(super) struct JointFit {
    pub(super) compatible: Compatible,
    pub(super) requests: Vec<i64>,
}

/// What one node of the pool must be to host all items. `None` where the items contradict each
/// other or keep each other off one node.
pub(super) fn joint_fit(trials: &Trials, items: &[Item], pool_index: PoolIx) -> Option<JointFit> {
    let model = trials.model;
    let mut joint: Option<Compatible> = None;
    let mut requests = vec![0; model.resources.len()];
    let mut hosts = HostCounts::default();
    for item in items {
        let own = item.fit.pools.iter().find(|fit| fit.pool == pool_index)?;
        joint = Some(match joint {
            None => (*own.compatible).clone(),
            Some(known) => {
                model.pools[pool_index].both(&known, &own.compatible, trials.scope.memo)?
            }
        });
        let count = count(item.pods.len());
        if hosts.room_for(model, trials.topology, item.shape, &|_| true) < count {
            return None;
        }
        hosts.add(model, trials.topology, item.shape, count);
        for (sum, amount) in requests.iter_mut().zip(&model.shape(item.shape).requests) {
            *sum += amount * i64::from(count);
        }
    }
    Some(JointFit { compatible: joint?, requests })
}
