//! How much more may be launched: `spec.limits` of NodePools, ClusterLimits, capacity reservations,
//! which several NodePools may draw on, and free addresses of subnets.

use std::collections::BTreeMap;

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::label;
use domain::resource::{NODES, Resources, USD_PER_HOUR};

use super::{cluster_limit, usd_limit};
use crate::ids::{IndexVec, NodeIx, PoolIx, PurchaseSet, ShapeIx, TypeSet};
use crate::model::Model;
use crate::model::pool::{Pool, Purchase};

/// What each pool may still launch, resource by resource that it limits.
#[derive(Clone)]
pub(crate) struct Limits {
    left: IndexVec<PoolIx, Vec<(Text, i64)>>,
    /// What all pools together may still launch, by the resources that ClusterLimits name.
    of_cluster: Vec<(Text, i64)>,
    /// Instances that new nodes use of each reservation.
    reserved: BTreeMap<Text, u32>,
    /// Free addresses of zones; `None` where no EC2NodeClass asks about them.
    pub(crate) addresses: Option<AddressLedger>,
    /// Of pods that have to share a node, and found no zone with addresses for all of them: how
    /// many the node was to have.
    pub(crate) too_many_for_addresses: BTreeMap<ShapeIx, usize>,
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
        let of_cluster = cluster_limit::left(model, leaves_out);
        let addresses = model.addresses.clone();
        Self {
            left,
            of_cluster,
            reserved: BTreeMap::new(),
            addresses,
            too_many_for_addresses: BTreeMap::new(),
        }
    }

    /// No limits at all.
    pub(crate) const fn none() -> Self {
        Self {
            left: IndexVec::new(),
            of_cluster: Vec::new(),
            reserved: BTreeMap::new(),
            addresses: None,
            too_many_for_addresses: BTreeMap::new(),
        }
    }

    /// What the pool may still launch by its own limits, by the resources that they name.
    pub(crate) fn left(&self, pool: PoolIx) -> &[(Text, i64)] {
        &self.left[pool]
    }

    /// These limits, and an amount that new nodes of all pools may have together of one more
    /// resource.
    pub(crate) fn with_amount(mut self, name: &Text, amount: i64) -> Self {
        self.of_cluster.push((name.clone(), amount));
        self
    }

    /// These limits without what was added for a resource.
    pub(crate) fn without_amount(mut self, name: &Text) -> Self {
        self.of_cluster.retain(|(own, _)| own != name);
        self
    }

    /// What limits what the pool may still launch: its own limits, then the cluster's.
    fn all(&self, pool: PoolIx) -> impl Iterator<Item = &(Text, i64)> {
        self.left.get(pool).into_iter().flatten().chain(&self.of_cluster)
    }

    fn all_mut(&mut self, pool: PoolIx) -> impl Iterator<Item = &mut (Text, i64)> {
        self.left[pool].iter_mut().chain(&mut self.of_cluster)
    }

    /// How many more nodes can be bought in this way: as many as its reservation has instances.
    pub(crate) fn reservation_left(&self, purchase: &Purchase) -> u32 {
        match (&purchase.reservation, purchase.remaining()) {
            (Some(reservation), Some(remaining)) => {
                let used = self.reserved.get(&reservation.id).copied().unwrap_or(0);
                remaining.saturating_sub(used)
            }
            _ => u32::MAX,
        }
    }

    /// These ways of buying without those whose reservation is used up.
    pub(crate) fn purchases_left(&self, pool: &Pool, purchases: PurchaseSet) -> PurchaseSet {
        let all = pool.purchases.iter_enumerated().take(PurchaseSet::MAX_LEN);
        let used_up = all.filter(|(_, purchase)| self.reservation_left(purchase) == 0);
        used_up.fold(purchases, |left, (index, _)| left.without(index))
    }

    /// Counts instances of a reservation in.
    pub(crate) fn reserve(&mut self, reservation: &Text, instances: u32) {
        *self.reserved.entry(reservation.clone()).or_default() += instances;
    }

    /// How many nodes of this capacity the pool may still launch.
    pub(crate) fn allow(&self, pool: PoolIx, capacity: &Resources) -> u32 {
        let mut most = i64::from(u32::MAX);
        for (name, left) in self.all(pool) {
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
        self.all(pool)
            .map(|(name, left)| {
                let amount = if &**name == NODES { 1 } else { capacity.get(name) };
                amount as f64 / (*left).max(1) as f64
            })
            .fold(0.0, f64::max)
    }

    /// Leaves types of which the pool may still launch one.
    pub(crate) fn keep_allowed(&self, index: PoolIx, pool: &Pool, types: &mut TypeSet) {
        if self.all(index).next().is_none() {
            return;
        }
        types.retain(|own| self.allow(index, &pool.types[own].capacity) > 0);
    }

    /// Counts one node of this capacity out again: it is not launched after all.
    pub(crate) fn give_back(&mut self, pool: PoolIx, capacity: &Resources) {
        for (name, left) in self.all_mut(pool) {
            *left += if &**name == NODES { 1 } else { capacity.get(name) };
        }
    }

    /// Counts one node of this capacity in.
    pub(crate) fn take(&mut self, pool: PoolIx, capacity: &Resources) {
        for (name, left) in self.all_mut(pool) {
            *left -= if &**name == NODES { 1 } else { capacity.get(name) };
        }
    }

    /// Whether the pool could launch this capacity in place of that.
    pub(crate) fn allow_instead(&self, pool: PoolIx, capacity: &Resources, of: &Resources) -> bool {
        self.all(pool)
            .filter(|(name, _)| &**name != NODES)
            .all(|(name, left)| capacity.get(name) - of.get(name) <= (*left).max(0))
    }

    /// Counts this capacity in place of that.
    pub(crate) fn take_instead(&mut self, pool: PoolIx, capacity: &Resources, of: &Resources) {
        for (name, left) in self.all_mut(pool) {
            if &**name != NODES {
                *left -= (capacity.get(name) - of.get(name)).max(0);
            }
        }
    }

    /// The first resource of which the pool has too little left for this capacity, and how much is
    /// left.
    pub(crate) fn exceeded(&self, pool: PoolIx, capacity: &Resources) -> Option<(Text, i64)> {
        self.left[pool].iter().find(|own| is_too_little(own, capacity)).cloned()
    }

    /// The same of what the cluster has left.
    pub(crate) fn exceeded_of_cluster(&self, capacity: &Resources) -> Option<(Text, i64)> {
        self.of_cluster.iter().find(|own| is_too_little(own, capacity)).cloned()
    }
}

fn is_too_little((name, left): &(Text, i64), capacity: &Resources) -> bool {
    let amount = if &**name == NODES { 1 } else { capacity.get(name) };
    amount > 0 && amount > *left
}
