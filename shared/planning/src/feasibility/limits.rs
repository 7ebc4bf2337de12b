//! How much more may be launched: `spec.limits` of NodePools, and capacity reservations, which
//! several NodePools may draw on.

use std::collections::BTreeMap;

use domain::Text;
use domain::label;
use domain::resource::{NODES, Resources, USD_PER_HOUR};

use super::usd_limit;
use crate::ids::{IndexVec, NodeIx, PoolIx, TypeSet};
use crate::model::Model;
use crate::model::pool::Pool;

/// What each pool may still launch, resource by resource that it limits.
#[derive(Clone)]
pub(crate) struct Limits {
    left: IndexVec<PoolIx, Vec<(Text, i64)>>,
    /// Instances that new nodes use of each reservation.
    reserved: BTreeMap<Text, u32>,
}

impl Limits {
    /// Limits less what nodes and claims in flight have; nodes being deleted, and those left out,
    /// do not count.
    pub(crate) fn of(model: &Model, leaves_out: impl Fn(NodeIx) -> bool) -> Self {
        let left = model
            .pools
            .iter()
            .map(|pool| {
                let limits = &pool.node_pool.limits;
                if limits.is_empty() {
                    return Vec::new();
                }
                let mut used = Resources::new();
                let has_usd_limit = limits.find(USD_PER_HOUR).is_some();
                let mut usd = 0_i64;
                for (index, node) in model.nodes.iter_enumerated() {
                    let is_own = node.labels.get(label::NODE_POOL) == Some(&pool.node_pool.name);
                    if is_own && node.is_managed && !node.is_deleting && !leaves_out(index) {
                        used.add(&node.capacity);
                        used.add(&Resources::new().with(NODES, 1));
                        if has_usd_limit {
                            usd = usd.saturating_add(usd_limit::counted(pool, node));
                        }
                    }
                }
                if has_usd_limit {
                    used = used.with(USD_PER_HOUR, usd);
                }
                limits.iter().map(|(name, limit)| (name.clone(), limit - used.get(name))).collect()
            })
            .collect();
        Self { left, reserved: BTreeMap::new() }
    }

    /// No limits at all.
    pub(crate) const fn none() -> Self {
        Self { left: IndexVec::new(), reserved: BTreeMap::new() }
    }

    /// What the pool may still launch, by the resources that it limits.
    pub(crate) fn left(&self, pool: PoolIx) -> &[(Text, i64)] {
        &self.left[pool]
    }

    /// Instances that new nodes use of a reservation.
    pub(crate) fn reserved(&self, reservation: &str) -> u32 {
        self.reserved.get(reservation).copied().unwrap_or(0)
    }

    /// Counts instances of a reservation in.
    pub(crate) fn reserve(&mut self, reservation: &Text, instances: u32) {
        *self.reserved.entry(reservation.clone()).or_default() += instances;
    }

    /// How many nodes of this capacity the pool may still launch.
    pub(crate) fn allow(&self, pool: PoolIx, capacity: &Resources) -> u32 {
        let mut most = i64::from(u32::MAX);
        for (name, left) in &self.left[pool] {
            let amount = if &**name == NODES { 1 } else { capacity.get(name) };
            if amount > 0 {
                most = most.min(left.max(&0) / amount);
            }
        }
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// The largest share that a node of this capacity takes of anything that the pool's limits
    /// leave; 0 where nothing is limited.
    #[expect(clippy::cast_precision_loss, reason = "only ranks")]
    pub(crate) fn share(&self, pool: PoolIx, capacity: &Resources) -> f64 {
        let left = self.left.get(pool).map(Vec::as_slice).unwrap_or_default();
        left.iter()
            .map(|(name, left)| {
                let amount = if &**name == NODES { 1 } else { capacity.get(name) };
                amount as f64 / (*left).max(1) as f64
            })
            .fold(0.0, f64::max)
    }

    /// Leaves types of which the pool may still launch one.
    pub(crate) fn keep_allowed(&self, index: PoolIx, pool: &Pool, types: &mut TypeSet) {
        if self.left.get(index).is_none_or(Vec::is_empty) {
            return;
        }
        types.retain(|own| self.allow(index, &pool.types[own].capacity) > 0);
    }

    /// Counts one node of this capacity out again: it is not launched after all.
    pub(crate) fn give_back(&mut self, pool: PoolIx, capacity: &Resources) {
        for (name, left) in &mut self.left[pool] {
            *left += if &**name == NODES { 1 } else { capacity.get(name) };
        }
    }

    /// Counts one node of this capacity in.
    pub(crate) fn take(&mut self, pool: PoolIx, capacity: &Resources) {
        for (name, left) in &mut self.left[pool] {
            *left -= if &**name == NODES { 1 } else { capacity.get(name) };
        }
    }

    /// Whether the pool could launch this capacity in place of that.
    pub(crate) fn allow_instead(&self, pool: PoolIx, capacity: &Resources, of: &Resources) -> bool {
        self.left[pool]
            .iter()
            .filter(|(name, _)| &**name != NODES)
            .all(|(name, left)| capacity.get(name) - of.get(name) <= (*left).max(0))
    }

    /// Counts this capacity in place of that.
    pub(crate) fn take_instead(&mut self, pool: PoolIx, capacity: &Resources, of: &Resources) {
        for (name, left) in &mut self.left[pool] {
            if &**name != NODES {
                *left -= (capacity.get(name) - of.get(name)).max(0);
            }
        }
    }

    /// The first resource of which the pool has too little left for this capacity, and how much is
    /// left.
    pub(crate) fn exceeded(&self, pool: PoolIx, capacity: &Resources) -> Option<(Text, i64)> {
        self.left[pool]
            .iter()
            .find(|(name, left)| {
                let amount = if &**name == NODES { 1 } else { capacity.get(name) };
                amount > 0 && amount > *left
            })
            .cloned()
    }
}
