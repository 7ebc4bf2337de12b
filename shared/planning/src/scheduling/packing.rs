//! Which new nodes to launch for the pods that need one.
//!
//! A bin is an offering of an instance type in a NodePool. Filling a bin with what is left to place
//! gives a pattern; its score is its price over the sum of what its pods cost at the very least (see
//! [`super::fit::PoolFit::value`]). The best pattern is launched, as often in a row as there are pods
//! for it, until nothing is left. A fill only gets worse as pods run out, so scores are worked out
//! again only when a bin comes to the front (lazy greedy, as for submodular covering).
//!
//! Work is bounded by the number of bins and claims times that of items: pods of one shape are one
//! item however many they are. Ties go to the bin that comes first: heavier pool, then by name.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use domain::settings::MinValuesPolicy;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::host::{HostCounts, host_affinity};
use super::limits::Limits;
use super::placement::Item;
use super::state::{State, room_for};
use super::topology::Topology;
use crate::model::Model;
use crate::model::pool::{Compatible, Pool};

/// A node to launch, before its instance types are listed.
#[derive(Clone)]
pub(crate) struct Packed {
    /// Index of the pool.
    pub(crate) pool: usize,
    /// What may be launched for all its pods together.
    pub(crate) compatible: Compatible,
    /// The type it was packed for.
    pub(crate) type_index: usize,
    /// Index of the reservation among the pool's ways of buying, if it uses one.
    pub(crate) reservation: Option<u32>,
    /// What its pods ask for, by resource index.
    pub(crate) requests: Vec<i64>,
    /// Its pods, with what each must have met.
    pub(crate) members: Vec<Member>,
}

/// Pods of one item on a node.
#[derive(Clone)]
pub(crate) struct Member {
    /// What the node must meet for them.
    pub(crate) conjunction: crate::model::intern::ConjunctionId,
    /// The pods.
    pub(crate) pods: Vec<usize>,
}

/// What packing came to.
pub(crate) struct Packing {
    /// Nodes to launch, in the order in which they were chosen.
    pub(crate) nodes: Vec<Packed>,
    /// Pods that no node could be launched for.
    pub(crate) left: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Bin {
    pool: usize,
    type_index: usize,
    zone: u32,
    purchase: u32,
    /// Nano-USD an hour.
    price: f64,
}

struct Pattern {
    counts: Vec<(usize, u32)>,
    score: f64,
}

struct Ranked {
    score: f64,
    bin: usize,
    round: u64,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    /// The lowest score is the greatest, for a heap that gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| other.bin.cmp(&self.bin))
    }
}

/// What each node costs beyond its price, in nano-USD an hour: between offers that cost the same, fewer
/// nodes are better.
const NODE_COST_NANOS: f64 = 100_000.0;

/// Packs items into new nodes within the pools' limits.
pub(crate) fn pack(
    model: &Model,
    topology: &Topology,
    state: &State,
    limits: &mut Limits,
    items: Vec<Item>,
) -> Packing {
    let mut weights: Vec<u32> = model.pools.iter().map(|pool| pool.node_pool.weight).collect();
    weights.dedup();
    let mut packer = Packer::new(model, topology, state, limits, items);
    packer.bundle();
    for weight in weights {
        packer.cover(weight);
    }
    packer.finish()
}

struct Packer<'p, 'm, 'a> {
    model: &'m Model<'a>,
    topology: &'m Topology,
    state: &'p State,
    limits: &'p mut Limits,
    items: Vec<Item>,
    /// Items in the order in which bins are filled.
    order: Vec<usize>,
    values: Vec<f64>,
    /// By item and pool, what may be launched for it.
    compatible: Vec<FxHashMap<usize, Rc<Compatible>>>,
    /// Affinity by host that new nodes of this packing serve.
    served: FxHashSet<usize>,
    /// Instances used of each reservation, by pool and way of buying.
    used: FxHashMap<domain::Text, u32>,
    nodes: Vec<Packed>,
    round: u64,
}

impl<'p, 'm, 'a> Packer<'p, 'm, 'a> {
    fn new(
        model: &'m Model<'a>,
        topology: &'m Topology,
        state: &'p State,
        limits: &'p mut Limits,
        items: Vec<Item>,
    ) -> Self {
        let values: Vec<f64> = items.iter().map(|item| item.fit.value(model)).collect();
        let compatible = items
            .iter()
            .map(|item| {
                item.fit.pools.iter().map(|fit| (fit.pool, fit.compatible.clone())).collect()
            })
            .collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        let joins = |item: &usize| host_affinity(topology, items[*item].shape).count();
        order.sort_by(|a, b| {
            joins(a)
                .cmp(&joins(b))
                .then_with(|| values[*b].total_cmp(&values[*a]))
                .then_with(|| a.cmp(b))
        });
        Self {
            model,
            topology,
            state,
            limits,
            items,
            order,
            values,
            compatible,
            served: FxHashSet::default(),
            used: FxHashMap::default(),
            nodes: Vec::new(),
            round: 0,
        }
    }

    fn finish(self) -> Packing {
        let left = self.items.into_iter().flat_map(|item| item.pods).collect();
        Packing { nodes: self.nodes, left }
    }

    /// Whether the first pod of a group of affinity by host may still be placed.
    fn is_open(&self, group: usize) -> bool {
        self.state.matched[group].is_empty() && !self.served.contains(&group)
    }

    /// Nodes for pods that must share a host with others: each time the bin that takes most of them,
    /// then the cheapest.
    fn bundle(&mut self) {
        let joining: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|item| host_affinity(self.topology, self.items[*item].shape).next().is_some())
            .collect();
        for item in joining {
            while !self.items[item].pods.is_empty() {
                let pools: Vec<usize> =
                    self.items[item].fit.pools.iter().map(|fit| fit.pool).collect();
                let everything: Vec<usize> = (0..self.items.len()).collect();
                let mut best: Option<(u32, f64, Bin, Pattern)> = None;
                for bin in self.bins(&pools, &everything) {
                    if !self.accepts(item, &bin) || !self.is_allowed(&bin) {
                        continue;
                    }
                    let Some(pattern) = self.fill(&bin, Some(item)) else { continue };
                    let taken = pattern
                        .counts
                        .iter()
                        .find(|(own, _)| *own == item)
                        .map_or(0, |(_, count)| *count);
                    let is_better = taken > 0
                        && best.as_ref().is_none_or(|(most, price, ..)| {
                            taken > *most || (taken == *most && bin.price < *price)
                        });
                    if is_better {
                        best = Some((taken, bin.price, bin, pattern));
                    }
                }
                let Some((_, _, bin, pattern)) = best else { break };
                self.launch(&bin, &pattern, 1);
            }
        }
    }

    /// Launches nodes of the pools of one weight until no bin of theirs takes any pod.
    fn cover(&mut self, weight: u32) {
        let pools: Vec<usize> = (0..self.model.pools.len())
            .filter(|pool| self.model.pools[*pool].node_pool.weight == weight)
            .collect();
        let waiting: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|item| !self.items[*item].pods.is_empty())
            .filter(|item| pools.iter().any(|pool| self.compatible[*item].contains_key(pool)))
            .collect();
        if waiting.is_empty() {
            return;
        }
        let bins = self.bins(&pools, &waiting);
        let mut heap = BinaryHeap::with_capacity(bins.len());
        let mut patterns: Vec<Option<Pattern>> = Vec::with_capacity(bins.len());
        for (index, bin) in bins.iter().enumerate() {
            let pattern = if self.is_allowed(bin) { self.fill(bin, None) } else { None };
            if let Some(pattern) = &pattern {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
            }
            patterns.push(pattern);
        }
        while let Some(Ranked { bin: index, round, .. }) = heap.pop() {
            let bin = bins[index];
            if !self.is_allowed(&bin) {
                continue;
            }
            if round == self.round {
                if let Some(pattern) = patterns[index].take() {
                    let times = self.repeats(&bin, &pattern);
                    self.launch(&bin, &pattern, times);
                }
            }
            if let Some(pattern) = self.fill(&bin, None) {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
                patterns[index] = Some(pattern);
            }
        }
    }

    /// Offerings worth a look: of those that the same items accept, none that another beats in room and
    /// price.
    fn bins(&self, pools: &[usize], waiting: &[usize]) -> Vec<Bin> {
        let mut bins = Vec::new();
        for pool_index in pools.iter().copied() {
            let pool = &self.model.pools[pool_index];
            let mut classes: Vec<Rc<Compatible>> = Vec::new();
            for item in waiting {
                if let Some(compatible) = self.compatible[*item].get(&pool_index)
                    && !classes.iter().any(|known| Rc::ptr_eq(known, compatible))
                {
                    classes.push(compatible.clone());
                }
            }
            if classes.is_empty() {
                continue;
            }
            let mut by_signature: std::collections::BTreeMap<Vec<u64>, Vec<Bin>> =
                std::collections::BTreeMap::new();
            for (type_index, one) in pool.types.iter().enumerate() {
                let mut cheapest: std::collections::BTreeMap<Vec<u64>, Bin> =
                    std::collections::BTreeMap::new();
                for offering in &one.offerings {
                    let signature =
                        signature(&classes, type_index, offering.zone, offering.purchase);
                    if signature.iter().all(|word| *word == 0) {
                        continue;
                    }
                    #[expect(clippy::cast_precision_loss, reason = "only ranks")]
                    let bin = Bin {
                        pool: pool_index,
                        type_index,
                        zone: offering.zone,
                        purchase: offering.purchase,
                        price: offering.price.nanos() as f64,
                    };
                    let is_reserved =
                        pool.purchases[offering.purchase as usize].reservation.is_some();
                    if is_reserved {
                        // Reservations run out, so they never stand in for others.
                        by_signature
                            .entry(vec![u64::MAX, u64::from(offering.purchase)])
                            .or_default()
                            .push(bin);
                        continue;
                    }
                    let known = cheapest.entry(signature).or_insert(bin);
                    if bin.price < known.price {
                        *known = bin;
                    }
                }
                for (signature, bin) in cheapest {
                    by_signature.entry(signature).or_default().push(bin);
                }
            }
            for own in by_signature.into_values() {
                bins.extend(undominated(pool, own));
            }
        }
        bins
    }

    fn accepts(&self, item: usize, bin: &Bin) -> bool {
        self.compatible[item].get(&bin.pool).is_some_and(|compatible| {
            compatible.types.contains(bin.type_index)
                && compatible.zones >> bin.zone & 1 == 1
                && compatible.purchases >> bin.purchase & 1 == 1
        })
    }

    /// Whether the pool's limits and the reservation leave one more such node.
    fn is_allowed(&self, bin: &Bin) -> bool {
        let pool = &self.model.pools[bin.pool];
        self.limits.allow(bin.pool, &pool.types[bin.type_index].capacity) > 0
            && self.reservation_left(bin) > 0
    }

    fn reservation_left(&self, bin: &Bin) -> u32 {
        let purchase = &self.model.pools[bin.pool].purchases[bin.purchase as usize];
        match (&purchase.reservation, purchase.remaining) {
            (Some(reservation), Some(remaining)) => {
                remaining.saturating_sub(self.used.get(reservation).copied().unwrap_or(0))
            }
            _ => u32::MAX,
        }
    }

    /// Fills a bin with what is left. `None` if it takes nothing. With `first`, that item goes in before
    /// all it does not depend on.
    fn fill(&self, bin: &Bin, first: Option<usize>) -> Option<Pattern> {
        let pool = &self.model.pools[bin.pool];
        let mut room = pool.types[bin.type_index].room.clone();
        let mut hosts = HostCounts::default();
        let mut joint: Option<(Compatible, FxHashSet<*const Compatible>)> = None;
        let mut counts: Vec<(usize, u32)> = Vec::new();
        let mut value = 0.0;
        let is_open = |group: usize| self.is_open(group);
        let mut add = |item: usize, room: &mut Vec<i64>, hosts: &mut HostCounts, most: u32| {
            let own = &self.items[item];
            let waiting = u32::try_from(own.pods.len()).unwrap_or(u32::MAX);
            let taken: u32 =
                counts.iter().filter(|(other, _)| *other == item).map(|(_, count)| *count).sum();
            if waiting == taken || !self.accepts(item, bin) {
                return 0;
            }
            let shape = self.model.shape(own.shape);
            let mut count = room_for(room, &shape.requests).min(waiting - taken).min(most);
            if count == 0 {
                return 0;
            }
            count = count.min(hosts.room_for(self.model, self.topology, own.shape, &is_open));
            if count == 0 || !self.join(bin, item, room, count, &mut joint) {
                return 0;
            }
            for (room, amount) in room.iter_mut().zip(&shape.requests) {
                *room -= amount * i64::from(count);
            }
            hosts.add(self.model, self.topology, own.shape, count);
            counts.push((item, count));
            value += self.values[item] * f64::from(count);
            count
        };
        if let Some(first) = first {
            self.fill_targets(first, &mut |item, most| add(item, &mut room, &mut hosts, most));
        }
        for item in self.order.iter().copied() {
            // A bin without cpu, memory or slots left takes nothing more.
            if room[..3].iter().any(|left| *left <= 0) {
                break;
            }
            add(item, &mut room, &mut hosts, u32::MAX);
        }
        if counts.is_empty() {
            return None;
        }
        let score = (bin.price + NODE_COST_NANOS) / value.max(1.0);
        Some(Pattern { counts, score })
    }

    /// Puts in an item that must join others: one pod of something that each of its groups selects, then
    /// the item itself.
    fn fill_targets(&self, item: usize, add: &mut dyn FnMut(usize, u32) -> u32) {
        for (group, selects_itself) in host_affinity(self.topology, self.items[item].shape) {
            if selects_itself && self.is_open(group) {
                continue;
            }
            for target in self.order.iter().copied() {
                let ties = &self.topology.ties[self.items[target].shape];
                if target != item && ties.selected_by.contains(&group) && add(target, 1) > 0 {
                    break;
                }
            }
        }
        add(item, u32::MAX);
    }

    /// Whether the item can share the node with those in it: labels that neither type nor offering
    /// settles must agree, and `minValues` must still be met.
    fn join(
        &self,
        bin: &Bin,
        item: usize,
        room: &[i64],
        count: u32,
        joint: &mut Option<(Compatible, FxHashSet<*const Compatible>)>,
    ) -> bool {
        let pool = &self.model.pools[bin.pool];
        let Some(compatible) = self.compatible[item].get(&bin.pool) else { return false };
        let address = Rc::as_ptr(compatible);
        let next = match joint.as_ref() {
            None => (**compatible).clone(),
            Some((_, seen)) if seen.contains(&address) && pool.min_values.is_empty() => {
                return true;
            }
            Some((known, seen)) => {
                if seen.contains(&address) {
                    known.clone()
                } else {
                    let mut sets = self.model.sets.borrow_mut();
                    match pool.both(known, compatible, &mut sets) {
                        Some(both) if both.types.contains(bin.type_index) => both,
                        _ => return false,
                    }
                }
            }
        };
        if !pool.min_values.is_empty() && self.is_strict() {
            let requests = &self.model.shape(self.items[item].shape).requests;
            let all = &pool.types[bin.type_index].room;
            let total: Vec<i64> = all
                .iter()
                .zip(room)
                .zip(requests)
                .map(|((all, left), amount)| all - left + amount * i64::from(count))
                .collect();
            let types = with_room(pool, &next.types, &total);
            if pool.min_values_unmet(&types, next.zones, next.purchases).is_some() {
                return false;
            }
        }
        let mut seen = joint.take().map(|(_, seen)| seen).unwrap_or_default();
        seen.insert(address);
        *joint = Some((next, seen));
        true
    }

    fn is_strict(&self) -> bool {
        self.model.snapshot.settings.min_values_policy == MinValuesPolicy::Strict
    }

    /// How often in a row the pattern can be launched.
    fn repeats(&self, bin: &Bin, pattern: &Pattern) -> u32 {
        let pool = &self.model.pools[bin.pool];
        let by_limits = self.limits.allow(bin.pool, &pool.types[bin.type_index].capacity);
        let by_pods = pattern
            .counts
            .iter()
            .map(|(item, count)| {
                u32::try_from(self.items[*item].pods.len()).unwrap_or(u32::MAX) / count
            })
            .min()
            .unwrap_or(1);
        by_pods.min(by_limits).min(self.reservation_left(bin)).max(1)
    }

    fn launch(&mut self, bin: &Bin, pattern: &Pattern, times: u32) {
        let pool = &self.model.pools[bin.pool];
        let purchase = &pool.purchases[bin.purchase as usize];
        for _ in 0..times {
            let mut requests = vec![0; self.model.resources.len()];
            let mut members = Vec::with_capacity(pattern.counts.len());
            let mut joint: Option<Compatible> = None;
            for (item, count) in &pattern.counts {
                let compatible = self.compatible[*item][&bin.pool].clone();
                joint = match joint {
                    None => Some((*compatible).clone()),
                    Some(known) => {
                        pool.both(&known, &compatible, &mut self.model.sets.borrow_mut())
                    }
                };
                let own = &mut self.items[*item];
                let shape = self.model.shape(own.shape);
                for (sum, amount) in requests.iter_mut().zip(&shape.requests) {
                    *sum += amount * i64::from(*count);
                }
                let pods: Vec<usize> = own.pods.drain(..*count as usize).collect();
                members.push(Member { conjunction: own.conjunction, pods });
                let ties = &self.topology.ties[own.shape];
                self.served.extend(ties.selected_by.iter().copied());
            }
            let Some(mut compatible) = joint else { continue };
            let reservation = purchase.reservation.as_ref().map(|reservation| {
                *self.used.entry(reservation.clone()).or_default() += 1;
                bin.purchase
            });
            compatible.purchases = bought(pool, compatible.purchases, reservation);
            compatible.types.intersect_with(&pool.viable(compatible.zones, compatible.purchases));
            self.limits.take(bin.pool, &pool.types[bin.type_index].capacity);
            self.nodes.push(Packed {
                pool: bin.pool,
                compatible,
                type_index: bin.type_index,
                reservation,
                requests,
                members,
            });
        }
        self.round += 1;
    }
}

/// Ways of buying that a node keeps: its reservation alone, or everything but reservations.
fn bought(pool: &Pool, purchases: u64, reservation: Option<u32>) -> u64 {
    if let Some(reservation) = reservation {
        return 1 << reservation;
    }
    pool.purchases
        .iter()
        .enumerate()
        .filter(|(_, purchase)| purchase.reservation.is_some())
        .fold(purchases, |left, (index, _)| left & !(1 << index))
}

/// Types that have room for the requests.
pub(crate) fn with_room(pool: &Pool, types: &FixedBitSet, requests: &[i64]) -> FixedBitSet {
    let mut left = types.clone();
    for index in types.ones() {
        if !pool.types[index].has_room_for(requests) {
            left.set(index, false);
        }
    }
    left
}

/// Which classes of items accept an offering, a bit each.
fn signature(classes: &[Rc<Compatible>], type_index: usize, zone: u32, purchase: u32) -> Vec<u64> {
    let mut words = vec![0; classes.len().div_ceil(64)];
    for (index, class) in classes.iter().enumerate() {
        let accepts = class.types.contains(type_index)
            && class.zones >> zone & 1 == 1
            && class.purchases >> purchase & 1 == 1;
        if accepts {
            words[index / 64] |= 1 << (index % 64);
        }
    }
    words
}

/// Leaves out bins that another beats or equals in everything that counts.
fn undominated(pool: &Pool, mut bins: Vec<Bin>) -> Vec<Bin> {
    bins.sort_by(|a, b| {
        a.price.total_cmp(&b.price).then_with(|| {
            let names = (
                &pool.types[a.type_index].instance_type.name,
                &pool.types[b.type_index].instance_type.name,
            );
            names.0.cmp(names.1)
        })
    });
    let mut kept: Vec<Bin> = Vec::new();
    for bin in bins {
        let own = &pool.types[bin.type_index];
        let is_beaten = kept.iter().any(|other| {
            let other = &pool.types[other.type_index];
            own.room.iter().zip(&other.room).all(|(own, other)| own <= other)
                && pool
                    .node_pool
                    .limits
                    .iter()
                    .all(|(name, _)| other.capacity.get(name) <= own.capacity.get(name))
        });
        if !is_beaten {
            kept.push(bin);
        }
    }
    kept
}
