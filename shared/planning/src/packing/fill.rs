//! Filling one node with what is left to place.

use domain::settings::MinValuesPolicy;

use super::packer::{Packer, bought};
use super::pattern::{NODE_COST_NANOS, Pattern};
use super::queue::Queue;
use crate::feasibility::host::{HostCounts, host_affinity};
use crate::feasibility::state::room_for;
use crate::ids::{IndexSet, ItemIx};
use crate::model::pool::{Bin, Compatible};
use crate::relaxation::Open;

/// Pods of one item are put in by this part of those that fit, where they compete.
const CHUNKS: u32 = 3;

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
    counts: Vec<(ItemIx, u32)>,
    /// Items that `counts` names.
    counted: IndexSet<ItemIx>,
    value: f64,
}

impl Filling {
    /// How many pods of an item are in.
    fn count(&self, item: ItemIx) -> u32 {
        if !self.counted.contains(item) {
            return 0;
        }
        let is_own = |(other, _): &&(ItemIx, u32)| *other == item;
        self.counts.iter().find(is_own).map_or(0, |(_, count)| *count)
    }

    fn count_in(&mut self, item: ItemIx, count: u32) {
        if self.counted.insert(item)
            && let Some((_, known)) = self.counts.iter_mut().find(|(other, _)| *other == item)
        {
            *known += count;
        } else {
            self.counts.push((item, count));
        }
    }
}

/// Amounts as they are weighed.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
fn float(amount: i64) -> f64 {
    amount as f64
}

impl Packer<'_, '_, '_, '_> {
    /// Fills a bin with what is left. `None` if it takes nothing. With `first`, these items go in
    /// before all that the first of them does not depend on.
    pub(super) fn fill(
        &self,
        bin: &Bin,
        queue: &Queue,
        first: Option<&[ItemIx]>,
    ) -> Option<Pattern> {
        let in_order = self.fill_in_order(bin, queue, first);
        let is_close = self
            .relaxation
            .is_some_and(|relaxation| relaxation.dual_value_bound(bin.kind()).is_some());
        if !is_close || first.is_some() {
            return in_order;
        }
        let balanced = self.fill_balanced(bin, queue, self.empty(bin));
        match (in_order, balanced) {
            (Some(a), Some(b)) if b.score < a.score => Some(b),
            (a, b) => a.or(b),
        }
    }

    /// A node with nothing in it.
    fn empty(&self, bin: &Bin) -> Filling {
        Filling {
            room: self.setup.model.pools[bin.pool].types[bin.type_index].room.clone(),
            hosts: HostCounts::in_any_order(),
            joint: None,
            counts: Vec::new(),
            counted: IndexSet::empty(self.items.len()),
            value: 0.0,
        }
    }

    /// Puts the pods of a pattern of the relaxation in, as far as there are any left, and fills up.
    pub(super) fn fill_as(
        &self,
        bin: &Bin,
        pods: &[(Vec<ItemIx>, u32)],
        queue: &Queue,
    ) -> Option<Pattern> {
        let mut filling = self.empty(bin);
        for (items, count) in pods {
            self.add_some_of(bin, items, *count, &mut filling);
        }
        self.fill_balanced(bin, queue, filling)
    }

    /// Puts in as many pods of items as there are left of them, and no others. `None` if there are
    /// none.
    pub(super) fn fill_exactly(&self, bin: &Bin, pods: &[(&[ItemIx], u32)]) -> Option<Pattern> {
        let mut filling = self.empty(bin);
        for (items, count) in pods {
            self.add_some_of(bin, items, *count, &mut filling);
        }
        if filling.counts.is_empty() {
            return None;
        }
        let score = (bin.price + NODE_COST_NANOS) / filling.value.max(1.0);
        Some(Pattern { counts: filling.counts, score })
    }

    /// Puts in as many pods of items as there are left of them, and fills up with what is worth
    /// most.
    pub(super) fn fill_up(&self, bin: &Bin, pods: &[(&[ItemIx], u32)]) -> Option<Pattern> {
        let mut filling = self.empty(bin);
        for (items, count) in pods {
            self.add_some_of(bin, items, *count, &mut filling);
        }
        self.fill_balanced(bin, &self.queue(&self.order), filling)
    }

    fn add_some_of(&self, bin: &Bin, items: &[ItemIx], count: u32, filling: &mut Filling) {
        let mut left = count;
        for item in items {
            if left == 0 {
                break;
            }
            if !self.items[*item].pods.is_empty() {
                left -= self.add(bin, *item, left, filling);
            }
        }
    }

    /// Fills a bin with what is worth most for what it takes of what is left: of a resource that
    /// runs short, the same amount weighs more.
    fn fill_balanced(&self, bin: &Bin, queue: &Queue, mut filling: Filling) -> Option<Pattern> {
        let may_go = |(position, item): &(usize, ItemIx)| {
            queue.fits(*position, &filling.room)
                && !self.items[*item].pods.is_empty()
                && self.accepts(*item, bin)
                && !filling.counted.contains(*item)
        };
        let places = queue.items.iter().copied().enumerate().filter(may_go);
        let mut open = Open::default();
        open.refill(
            places.map(|place| (place, self.values[place.1])),
            queue.width(),
            |(position, _), resource| float(queue.requests_at(position)[resource]),
        );
        while let Some((place, (_, item))) =
            open.densest(filling.room.iter().map(|room| float((*room).max(0))))
        {
            let own = &self.items[item];
            let taken = filling.count(item);
            let fitting = room_for(&filling.room, &self.setup.model.shape(own.shape).requests);
            let left = u32::try_from(own.pods.len()).unwrap_or(u32::MAX).saturating_sub(taken);
            let chunk = (fitting.min(left) / CHUNKS).max(1);
            if left == 0 || self.add(bin, item, chunk, &mut filling) == 0 {
                open.close(place);
            }
        }
        if filling.counts.is_empty() {
            return None;
        }
        let score = (bin.price + NODE_COST_NANOS) / filling.value.max(1.0);
        Some(Pattern { counts: filling.counts, score })
    }

    fn fill_in_order(&self, bin: &Bin, queue: &Queue, first: Option<&[ItemIx]>) -> Option<Pattern> {
        let mut filling = self.empty(bin);
        if let Some([first, others @ ..]) = first {
            self.fill_targets(bin, *first, &mut filling);
            for other in others {
                self.add(bin, *other, u32::MAX, &mut filling);
            }
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

    /// Puts as many pods of an item as fit, up to `most`, into a node; returns how many.
    fn add(&self, bin: &Bin, item: ItemIx, most: u32, filling: &mut Filling) -> u32 {
        let own = &self.items[item];
        let shape = self.setup.model.shape(own.shape);
        let mut count = u32::try_from(own.pods.len()).unwrap_or(u32::MAX);
        count -= filling.count(item);
        count = count.min(most).min(room_for(&filling.room, &shape.requests));
        if count == 0 || !self.accepts(item, bin) {
            return 0;
        }
        if !self.setup.topology.constraints[own.shape].is_empty() || !shape.shares_hosts_freely() {
            let is_open = |group| self.is_open(group);
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
        filling.count_in(item, count);
        filling.value += self.values[item] * f64::from(count);
        count
    }

    /// Puts in an item that must join others: one pod of something that each of its groups selects,
    /// then the item itself.
    fn fill_targets(&self, bin: &Bin, item: ItemIx, filling: &mut Filling) {
        for (group, may_be_first) in host_affinity(self.setup.topology, self.items[item].shape) {
            if may_be_first && self.is_open(group) {
                continue;
            }
            for target in self.order.iter().copied() {
                let constraints = &self.setup.topology.constraints[self.items[target].shape];
                if target != item
                    && constraints.selected_by.contains(&group)
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
    fn join(&self, bin: &Bin, item: ItemIx, count: u32, filling: &mut Filling) -> bool {
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
                let both = pool.both(&joint.compatible, own, self.setup.memo);
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
            let mut types = pool.with_room(&next.types, &total);
            self.limits.keep_allowed(bin.pool, pool, &mut types);
            let purchases = bought(pool, next.purchases, bin.purchase);
            types.intersect_with(&self.setup.memo.viable(pool, next.zones, purchases));
            if pool.min_values_unmet(&types, next.zones, purchases).is_some() {
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
}
