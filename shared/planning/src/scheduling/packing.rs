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
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use domain::settings::MinValuesPolicy;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::host::{HostCounts, host_affinity};
use super::limits::Limits;
use super::merge::{dissolve, merge};
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

#[derive(Clone)]
struct Bin {
    pool: usize,
    type_index: usize,
    purchase: u32,
    /// Nano-USD an hour.
    price: f64,
    /// Classes of items that it accepts, a bit each.
    accepts: Rc<[u64]>,
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

/// Packs items into new nodes within the pools' limits, as cheaply as the search budget finds.
///
/// The first packing values each pod at its cheapest share. In a packing, pods that end on nodes that
/// are used badly cost more than their share: the next round values them at what they cost, so that bins
/// that serve them well come to the front. The cheapest packing of all rounds counts, so the answer is
/// never dearer than the first. Rounds are bounded by work, not by time: the same input, the same answer.
pub(crate) fn pack(
    model: &Model,
    topology: &Topology,
    state: &State,
    limits: &mut Limits,
    items: &[Item],
) -> Packing {
    if items.is_empty() {
        return Packing { nodes: Vec::new(), left: Vec::new() };
    }
    let setup = Setup::of(model, topology, state, items);
    let mut values = setup.values.clone();
    let mut best = setup.pack(limits.clone(), items.to_vec(), &values);
    let rounds = rounds_within_budget(items.len(), best.packing.nodes.len());
    let mut last_paid: Option<Vec<f64>> = None;
    for _ in 1..rounds {
        let paid = last_paid.take().unwrap_or_else(|| best.paid.clone());
        for (value, paid) in values.iter_mut().zip(&paid) {
            if *paid > 0.0 {
                *value = value.mul_add(1.0 - STEP, paid * STEP);
            }
        }
        let next = setup.pack(limits.clone(), items.to_vec(), &values);
        last_paid = Some(next.paid.clone());
        if next.is_better_than(&best) {
            best = next;
        }
    }
    for bin in setup.first_moves(items, &values, first_moves_within_budget(items.len(), &best)) {
        if bin.price >= best.cost {
            continue;
        }
        let next = setup.pack_after(Some(&bin), limits.clone(), items.to_vec(), &setup.values);
        if next.is_better_than(&best) {
            best = next;
        }
    }
    *limits = best.limits;
    let Packing { nodes, left } = best.packing;
    let nodes = dissolve(model, topology, merge(model, topology, nodes));
    Packing { nodes, left }
}

/// How far values move towards what pods cost, each round.
const STEP: f64 = 0.5;

/// Rounds at most; on the sample workloads later ones find less than half a percent.
const ROUNDS_MAX: usize = 3;

/// Items tried against nodes, over all rounds.
const WORK_MAX: usize = 400_000;

/// First moves tried at most.
const FIRST_MOVES_MAX: usize = 48;

/// Past so many nodes one of them hardly changes what the others come to.
const NODES_FOR_FIRST_MOVES_MAX: usize = 16;

fn first_moves_within_budget(items: usize, best: &Outcome) -> usize {
    let nodes = best.packing.nodes.len();
    if nodes > NODES_FOR_FIRST_MOVES_MAX {
        return 0;
    }
    (WORK_MAX / (items * nodes).max(1)).min(FIRST_MOVES_MAX)
}

fn rounds_within_budget(items: usize, nodes: usize) -> usize {
    (WORK_MAX / (items * nodes).max(1)).clamp(1, ROUNDS_MAX)
}

/// A packing with what it comes to.
struct Outcome {
    packing: Packing,
    limits: Limits,
    /// Nano-USD an hour.
    cost: f64,
    /// By item, what one pod costs: its share of the nodes its pods are on. Zero where it has no node.
    paid: Vec<f64>,
}

impl Outcome {
    fn is_better_than(&self, other: &Self) -> bool {
        (self.packing.left.len(), self.cost) < (other.packing.left.len(), other.cost)
    }
}

/// What all rounds share.
struct Setup<'p, 'm, 'a> {
    model: &'m Model<'a>,
    topology: &'m Topology,
    state: &'p State,
    /// By pool, what may be launched for items: each distinct one is a class.
    classes: Vec<Vec<Rc<Compatible>>>,
    /// By item and pool, its class.
    class_of: Vec<Vec<Option<usize>>>,
    /// How many groups of affinity by host each item must join.
    joins: Vec<usize>,
    /// The least that a pod of each item costs.
    values: Vec<f64>,
    /// Bins by pool.
    bins: Vec<Vec<Bin>>,
}

impl<'p, 'm, 'a> Setup<'p, 'm, 'a> {
    fn of(model: &'m Model<'a>, topology: &'m Topology, state: &'p State, items: &[Item]) -> Self {
        let mut classes: Vec<Vec<Rc<Compatible>>> = vec![Vec::new(); model.pools.len()];
        let mut known: FxHashMap<(usize, *const Compatible), usize> = FxHashMap::default();
        let class_of = items
            .iter()
            .map(|item| {
                let mut own = vec![None; model.pools.len()];
                for fit in &item.fit.pools {
                    let address = (fit.pool, Rc::as_ptr(&fit.compatible));
                    own[fit.pool] = Some(*known.entry(address).or_insert_with(|| {
                        classes[fit.pool].push(fit.compatible.clone());
                        classes[fit.pool].len() - 1
                    }));
                }
                own
            })
            .collect();
        let bins = model
            .pools
            .iter()
            .zip(&classes)
            .enumerate()
            .map(|(index, (pool, classes))| bins(index, pool, classes));
        Self {
            bins: bins.collect(),
            joins: items.iter().map(|item| host_affinity(topology, item.shape).count()).collect(),
            values: items.iter().map(|item| item.fit.value(model)).collect(),
            model,
            topology,
            state,
            classes,
            class_of,
        }
    }

    /// Bins that take most of what there is to place, the cheapest first among those that take as much:
    /// what is best for each step may leave a rest that is dear, and one larger node saves the rest.
    fn first_moves(&self, items: &[Item], values: &[f64], most: usize) -> Vec<Bin> {
        if most == 0 {
            return Vec::new();
        }
        let packer = Packer::new(self, Limits::none(), items.to_vec(), values);
        let queue = packer.queue(&packer.order);
        let weight = |bin: &Bin| self.model.pools[bin.pool].node_pool.weight;
        // A lighter pool must not take what a heavier one could.
        let heaviest = self.bins.iter().flatten().map(weight).max();
        let mut moves: Vec<(f64, &Bin)> = self
            .bins
            .iter()
            .flatten()
            .filter(|bin| Some(weight(bin)) == heaviest)
            .filter_map(|bin| {
                let pattern = packer.fill(bin, &queue, None)?;
                Some((bin.price / pattern.score.max(f64::MIN_POSITIVE), bin))
            })
            .collect();
        moves.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.price.total_cmp(&b.1.price)));
        moves.into_iter().take(most).map(|(_, bin)| bin.clone()).collect()
    }

    /// Packs items at the given values.
    fn pack(&self, limits: Limits, items: Vec<Item>, values: &[f64]) -> Outcome {
        self.pack_after(None, limits, items, values)
    }

    /// Packs items at the given values, after filling one bin.
    fn pack_after(
        &self,
        first: Option<&Bin>,
        limits: Limits,
        items: Vec<Item>,
        values: &[f64],
    ) -> Outcome {
        let mut weights: Vec<u32> =
            self.model.pools.iter().map(|pool| pool.node_pool.weight).collect();
        weights.dedup();
        let mut packer = Packer::new(self, limits, items, values);
        packer.bundle();
        if let Some(first) = first {
            packer.launch_once(first);
        }
        for weight in weights {
            packer.cover(weight);
        }
        packer.finish()
    }
}

struct Packer<'s, 'p, 'm, 'a> {
    setup: &'s Setup<'p, 'm, 'a>,
    limits: Limits,
    items: Vec<Item>,
    /// Items in the order in which bins are filled.
    order: Vec<usize>,
    values: &'s [f64],
    /// Affinity by host that new nodes of this packing serve.
    served: FxHashSet<usize>,
    /// Instances used of each reservation.
    used: FxHashMap<domain::Text, u32>,
    nodes: Vec<Packed>,
    cost: f64,
    /// By item, what its pods cost together, and how many there are.
    paid: Vec<(f64, u32)>,
    round: u64,
}

/// What shares a node so far: classes, and what may be launched for all of them.
struct Joint {
    compatible: Compatible,
    classes: Vec<usize>,
}

/// A node while it is filled.
struct Filling {
    room: Vec<i64>,
    hosts: HostCounts,
    joint: Option<Joint>,
    counts: Vec<(usize, u32)>,
    value: f64,
}

impl<'s, 'p, 'm, 'a> Packer<'s, 'p, 'm, 'a> {
    fn new(
        setup: &'s Setup<'p, 'm, 'a>,
        limits: Limits,
        items: Vec<Item>,
        values: &'s [f64],
    ) -> Self {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|a, b| {
            setup.joins[*a]
                .cmp(&setup.joins[*b])
                .then_with(|| values[*b].total_cmp(&values[*a]))
                .then_with(|| a.cmp(b))
        });
        Self {
            setup,
            limits,
            order,
            values,
            served: FxHashSet::default(),
            used: FxHashMap::default(),
            nodes: Vec::new(),
            cost: 0.0,
            paid: vec![(0.0, 0); items.len()],
            items,
            round: 0,
        }
    }

    fn finish(self) -> Outcome {
        let left = self.items.into_iter().flat_map(|item| item.pods).collect();
        let each = |(sum, count): (f64, u32)| if count == 0 { 0.0 } else { sum / f64::from(count) };
        Outcome {
            packing: Packing { nodes: self.nodes, left },
            limits: self.limits,
            cost: self.cost,
            paid: self.paid.into_iter().map(each).collect(),
        }
    }

    /// Whether the first pod of a group of affinity by host may still be placed.
    fn is_open(&self, group: usize) -> bool {
        self.setup.state.matched[group].is_empty() && !self.served.contains(&group)
    }

    /// Nodes for pods that must share a host with others: each time the bin that takes most of them (what
    /// it leaves may have no other place), then of the heaviest pool, then the cheapest.
    fn bundle(&mut self) {
        let joining: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|item| {
                host_affinity(self.setup.topology, self.items[*item].shape).next().is_some()
            })
            .collect();
        for item in joining {
            let pools: Vec<usize> = self.items[item].fit.pools.iter().map(|fit| fit.pool).collect();
            while !self.items[item].pods.is_empty() {
                let queue = self.queue(&self.order);
                let mut best: Option<(u32, Bin, Pattern)> = None;
                for bin in pools.iter().flat_map(|pool| &self.setup.bins[*pool]) {
                    if !self.accepts(item, bin) || !self.is_allowed(bin) {
                        continue;
                    }
                    let Some(pattern) = self.fill(bin, &queue, Some(item)) else { continue };
                    let is_own = |(own, _): &&(usize, u32)| *own == item;
                    let taken = pattern.counts.iter().find(is_own).map_or(0, |(_, count)| *count);
                    let is_better = taken > 0
                        && best.as_ref().is_none_or(|(most, other, _)| {
                            (taken, self.weight(bin)).cmp(&(*most, self.weight(other))).is_gt()
                                || ((taken, self.weight(bin)) == (*most, self.weight(other))
                                    && bin.price < other.price)
                        });
                    if is_better {
                        best = Some((taken, bin.clone(), pattern));
                    }
                }
                let Some((_, bin, pattern)) = best else { break };
                self.launch(&bin, &pattern, 1);
            }
        }
    }

    fn weight(&self, bin: &Bin) -> u32 {
        self.setup.model.pools[bin.pool].node_pool.weight
    }

    /// Launches nodes of the pools of one weight until no bin of theirs takes any pod.
    fn cover(&mut self, weight: u32) {
        let pools: Vec<usize> = (0..self.setup.model.pools.len())
            .filter(|pool| self.setup.model.pools[*pool].node_pool.weight == weight)
            .collect();
        let waiting: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|item| !self.items[*item].pods.is_empty())
            .filter(|item| pools.iter().any(|pool| self.setup.class_of[*item][*pool].is_some()))
            .collect();
        if waiting.is_empty() {
            return;
        }
        let mut queue = self.queue(&waiting);
        let bins: Vec<&Bin> = pools.iter().flat_map(|pool| &self.setup.bins[*pool]).collect();
        let mut heap = BinaryHeap::with_capacity(bins.len());
        let mut patterns: Vec<Option<Pattern>> = Vec::with_capacity(bins.len());
        for (index, bin) in bins.iter().enumerate() {
            let pattern = if self.is_allowed(bin) { self.fill(bin, &queue, None) } else { None };
            if let Some(pattern) = &pattern {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
            }
            patterns.push(pattern);
        }
        while let Some(Ranked { bin: index, round, .. }) = heap.pop() {
            let bin = bins[index];
            if !self.is_allowed(bin) {
                continue;
            }
            if round == self.round
                && let Some(pattern) = patterns[index].take()
            {
                let times = self.repeats(bin, &pattern);
                self.launch(bin, &pattern, times);
                self.shorten(&mut queue);
            }
            if let Some(pattern) = self.fill(bin, &queue, None) {
                heap.push(Ranked { score: pattern.score, bin: index, round: self.round });
                patterns[index] = Some(pattern);
            }
        }
    }

    /// Launches one node of a bin, if it may be and takes anything.
    fn launch_once(&mut self, bin: &Bin) {
        let queue = self.queue(&self.order);
        if self.is_allowed(bin)
            && let Some(pattern) = self.fill(bin, &queue, None)
        {
            self.launch(bin, &pattern, 1);
        }
    }

    fn queue(&self, items: &[usize]) -> Queue {
        let rows =
            items.iter().copied().filter(|item| !self.items[*item].pods.is_empty()).map(|item| {
                (item, self.setup.model.shape(self.items[item].shape).requests.as_slice())
            });
        Queue::of(rows, self.setup.model.resources.len())
    }

    /// Leaves items without pods out once they are the larger part.
    fn shorten(&self, queue: &mut Queue) {
        let spent = queue.items.iter().filter(|item| self.items[**item].pods.is_empty()).count();
        if spent * 2 > queue.items.len() {
            *queue = self.queue(&queue.items);
        }
    }

    fn accepts(&self, item: usize, bin: &Bin) -> bool {
        self.setup.class_of[item][bin.pool].is_some_and(|class| has_bit(&bin.accepts, class))
    }

    /// Whether the pool's limits and the reservation leave one more such node.
    fn is_allowed(&self, bin: &Bin) -> bool {
        let pool = &self.setup.model.pools[bin.pool];
        self.limits.allow(bin.pool, &pool.types[bin.type_index].capacity) > 0
            && self.reservation_left(bin) > 0
    }

    fn reservation_left(&self, bin: &Bin) -> u32 {
        let purchase = &self.setup.model.pools[bin.pool].purchases[bin.purchase as usize];
        match (&purchase.reservation, purchase.remaining) {
            (Some(reservation), Some(remaining)) => {
                remaining.saturating_sub(self.used.get(reservation).copied().unwrap_or(0))
            }
            _ => u32::MAX,
        }
    }

    /// Fills a bin with what is left. `None` if it takes nothing. With `first`, that item goes in before
    /// all it does not depend on.
    fn fill(&self, bin: &Bin, queue: &Queue, first: Option<usize>) -> Option<Pattern> {
        let pool = &self.setup.model.pools[bin.pool];
        let mut filling = Filling {
            room: pool.types[bin.type_index].room.clone(),
            hosts: HostCounts::default(),
            joint: None,
            counts: Vec::new(),
            value: 0.0,
        };
        if let Some(first) = first {
            self.fill_targets(bin, first, &mut filling);
        }
        for (position, item) in queue.items.iter().copied().enumerate() {
            if queue.nothing_fits_from(position, &filling.room) {
                break;
            }
            if queue.fits(position, &filling.room) && self.accepts(item, bin) {
                self.add(bin, item, u32::MAX, &mut filling);
            }
        }
        if filling.counts.is_empty() {
            return None;
        }
        let score = (bin.price + NODE_COST_NANOS) / filling.value.max(1.0);
        Some(Pattern { counts: filling.counts, score })
    }

    /// Puts as many pods of an item as fit, at most so many, into a node; returns how many.
    fn add(&self, bin: &Bin, item: usize, most: u32, filling: &mut Filling) -> u32 {
        let own = &self.items[item];
        let shape = self.setup.model.shape(own.shape);
        let mut count = u32::try_from(own.pods.len()).unwrap_or(u32::MAX);
        let is_own = |(other, _): &&(usize, u32)| *other == item;
        // Only what was put in first can come up a second time.
        count -= filling.counts.iter().take(8).find(is_own).map_or(0, |(_, taken)| *taken);
        count = count.min(most).min(room_for(&filling.room, &shape.requests));
        if count == 0 || !self.accepts(item, bin) {
            return 0;
        }
        if !self.setup.topology.ties[own.shape].is_free() || !shape.shares_hosts_freely() {
            let is_open = |group: usize| self.is_open(group);
            let room =
                filling.hosts.room_for(self.setup.model, self.setup.topology, own.shape, &is_open);
            count = count.min(room);
        }
        if count == 0 || !self.join(bin, item, count, filling) {
            return 0;
        }
        for (room, amount) in filling.room.iter_mut().zip(&shape.requests) {
            *room -= amount * i64::from(count);
        }
        filling.hosts.add(self.setup.model, self.setup.topology, own.shape, count);
        match filling.counts.iter_mut().take(8).find(|(other, _)| *other == item) {
            Some((_, known)) => *known += count,
            None => filling.counts.push((item, count)),
        }
        filling.value += self.values[item] * f64::from(count);
        count
    }

    /// Puts in an item that must join others: one pod of something that each of its groups selects, then
    /// the item itself.
    fn fill_targets(&self, bin: &Bin, item: usize, filling: &mut Filling) {
        for (group, selects_itself) in host_affinity(self.setup.topology, self.items[item].shape) {
            if selects_itself && self.is_open(group) {
                continue;
            }
            for target in self.order.iter().copied() {
                let ties = &self.setup.topology.ties[self.items[target].shape];
                if target != item
                    && ties.selected_by.contains(&group)
                    && self.add(bin, target, 1, filling) > 0
                {
                    break;
                }
            }
        }
        self.add(bin, item, u32::MAX, filling);
    }

    /// Whether the item can share the node with those in it: labels that neither type nor offering
    /// settles must agree, and `minValues` must still be met.
    fn join(&self, bin: &Bin, item: usize, count: u32, filling: &mut Filling) -> bool {
        let pool = &self.setup.model.pools[bin.pool];
        let Some(class) = self.setup.class_of[item][bin.pool] else { return false };
        let own = &self.setup.classes[bin.pool][class];
        let is_known = filling.joint.as_ref().is_some_and(|joint| joint.classes.contains(&class));
        if is_known && pool.min_values.is_empty() {
            return true;
        }
        let next = match &filling.joint {
            None => (**own).clone(),
            Some(joint) if is_known => joint.compatible.clone(),
            Some(joint) => {
                let both =
                    pool.both(&joint.compatible, own, &mut self.setup.model.sets.borrow_mut());
                match both {
                    Some(both) if both.types.contains(bin.type_index) => both,
                    _ => return false,
                }
            }
        };
        if !pool.min_values.is_empty() && self.is_strict() {
            let requests = &self.setup.model.shape(self.items[item].shape).requests;
            let total: Vec<i64> = pool.types[bin.type_index]
                .room
                .iter()
                .zip(&filling.room)
                .zip(requests)
                .map(|((all, left), amount)| all - left + amount * i64::from(count))
                .collect();
            let types = with_room(pool, &next.types, &total);
            if pool.min_values_unmet(&types, next.zones, next.purchases).is_some() {
                return false;
            }
        }
        let mut classes = filling.joint.take().map(|joint| joint.classes).unwrap_or_default();
        if !is_known {
            classes.push(class);
        }
        filling.joint = Some(Joint { compatible: next, classes });
        true
    }

    fn is_strict(&self) -> bool {
        self.setup.model.snapshot.settings.min_values_policy == MinValuesPolicy::Strict
    }

    /// How often in a row the pattern can be launched.
    fn repeats(&self, bin: &Bin, pattern: &Pattern) -> u32 {
        let pool = &self.setup.model.pools[bin.pool];
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
        let pool = &self.setup.model.pools[bin.pool];
        let purchase = &pool.purchases[bin.purchase as usize];
        let Some(mut compatible) = self.joint_of(bin, pattern) else { return };
        let reservation = purchase.reservation.as_ref().map(|reservation| {
            *self.used.entry(reservation.clone()).or_default() += times;
            bin.purchase
        });
        compatible.purchases = bought(pool, compatible.purchases, reservation);
        compatible.types.intersect_with(&pool.viable(compatible.zones, compatible.purchases));
        let mut requests = vec![0; self.setup.model.resources.len()];
        for (item, count) in &pattern.counts {
            let shape = self.items[*item].shape;
            self.served.extend(self.setup.topology.ties[shape].selected_by.iter().copied());
            for (sum, amount) in requests.iter_mut().zip(&self.setup.model.shape(shape).requests) {
                *sum += amount * i64::from(*count);
            }
        }
        let price = cheapest_price(pool, &compatible, &requests);
        let value: f64 =
            pattern.counts.iter().map(|(item, count)| self.values[*item] * f64::from(*count)).sum();
        self.cost += price * f64::from(times);
        for (item, count) in &pattern.counts {
            let pods = f64::from(*count) * f64::from(times);
            let paid = &mut self.paid[*item];
            paid.0 += price * self.values[*item] / value.max(1.0) * pods;
            paid.1 += count * times;
        }
        for _ in 0..times {
            let members = pattern
                .counts
                .iter()
                .map(|(item, count)| {
                    let own = &mut self.items[*item];
                    // Pods are taken from the end: the rest need not move up.
                    let rest = own.pods.len() - *count as usize;
                    Member { conjunction: own.conjunction, pods: own.pods.split_off(rest) }
                })
                .collect();
            self.limits.take(bin.pool, &pool.types[bin.type_index].capacity);
            self.nodes.push(Packed {
                pool: bin.pool,
                compatible: compatible.clone(),
                type_index: bin.type_index,
                requests: requests.clone(),
                members,
            });
        }
        self.round += 1;
    }

    /// What may be launched for all items of a pattern.
    fn joint_of(&self, bin: &Bin, pattern: &Pattern) -> Option<Compatible> {
        let pool = &self.setup.model.pools[bin.pool];
        let mut classes: Vec<usize> = pattern
            .counts
            .iter()
            .filter_map(|(item, _)| self.setup.class_of[*item][bin.pool])
            .collect();
        classes.sort_unstable();
        classes.dedup();
        let mut sets = self.setup.model.sets.borrow_mut();
        let mut own = classes.iter().map(|class| &self.setup.classes[bin.pool][*class]);
        let first = (**own.next()?).clone();
        own.try_fold(first, |joint, class| pool.both(&joint, class, &mut sets))
    }
}

/// Items in the order in which they are tried, their requests side by side.
struct Queue {
    items: Vec<usize>,
    width: usize,
    requests: Vec<i64>,
    /// At each position, the least that it or any later item asks of each resource.
    least_from: Vec<i64>,
}

impl Queue {
    fn of<'r>(rows: impl Iterator<Item = (usize, &'r [i64])>, width: usize) -> Self {
        let mut queue =
            Self { items: Vec::new(), width, requests: Vec::new(), least_from: Vec::new() };
        for (item, requests) in rows {
            queue.items.push(item);
            queue.requests.extend_from_slice(requests);
        }
        queue.least_from = queue.requests.clone();
        for index in (0..queue.least_from.len().saturating_sub(width)).rev() {
            let next = queue.least_from[index + width];
            queue.least_from[index] = queue.least_from[index].min(next);
        }
        queue
    }

    fn nothing_fits_from(&self, position: usize, room: &[i64]) -> bool {
        let least = &self.least_from[position * self.width..(position + 1) * self.width];
        room.iter().zip(least).any(|(room, least)| *least > 0 && least > room)
    }

    fn fits(&self, position: usize, room: &[i64]) -> bool {
        let requests = &self.requests[position * self.width..(position + 1) * self.width];
        room.iter().zip(requests).all(|(room, amount)| amount <= room || *amount == 0)
    }
}

fn has_bit(words: &[u64], bit: usize) -> bool {
    words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// What the cheapest node costs that the requests fit on, in nano-USD an hour.
#[expect(clippy::cast_precision_loss, reason = "only ranks")]
fn cheapest_price(pool: &Pool, compatible: &Compatible, requests: &[i64]) -> f64 {
    pool.cheapest(compatible.zones, compatible.purchases)
        .iter()
        .filter(|priced| compatible.types.contains(priced.index))
        .find(|priced| pool.types[priced.index].has_room_for(requests))
        .map_or(0.0, |priced| priced.offering.price.nanos() as f64)
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

/// Offerings of a pool worth a look: of those that the same classes accept, none that another beats in
/// room and price.
fn bins(pool_index: usize, pool: &Pool, classes: &[Rc<Compatible>]) -> Vec<Bin> {
    let mut alike: BTreeMap<(Vec<u64>, Option<u32>), Vec<Bin>> = BTreeMap::new();
    if classes.is_empty() {
        return Vec::new();
    }
    for (type_index, one) in pool.types.iter().enumerate() {
        let mut cheapest: BTreeMap<(Vec<u64>, Option<u32>), Bin> = BTreeMap::new();
        for offering in &one.offerings {
            let accepts = accepting(classes, type_index, (offering.zone, offering.purchase));
            if accepts.iter().all(|word| *word == 0) {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "only ranks")]
            let bin = Bin {
                pool: pool_index,
                type_index,
                purchase: offering.purchase,
                price: offering.price.nanos() as f64,
                accepts: accepts.as_slice().into(),
            };
            // Reservations run out, so they never stand in for others.
            let is_reserved = pool.purchases[offering.purchase as usize].reservation.is_some();
            let apart = is_reserved.then_some(offering.purchase);
            let known = cheapest.entry((accepts, apart)).or_insert_with(|| bin.clone());
            if bin.price < known.price {
                *known = bin;
            }
        }
        for (key, bin) in cheapest {
            alike.entry(key).or_default().push(bin);
        }
    }
    alike.into_values().flat_map(|own| undominated(pool, own)).collect()
}

/// Which classes accept an offering of a type, by zone and purchase; a bit each.
fn accepting(
    classes: &[Rc<Compatible>],
    type_index: usize,
    (zone, purchase): (u32, u32),
) -> Vec<u64> {
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
