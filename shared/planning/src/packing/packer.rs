//! One packing while it is made: what is left to place, and the nodes chosen so far.

use rustc_hash::FxHashSet;

use super::outcome::{Outcome, Packing};
use super::pattern::Pattern;
use super::queue::Queue;
use super::relaxed::PackingRelaxation;
use super::setup::Setup;
use crate::feasibility::limits::Limits;
use crate::ids::{GroupIx, IndexVec, ItemIx, PurchaseIx, PurchaseSet, TypeIx};
use crate::model::memo::Memo;
use crate::model::pool::Bin;
use crate::model::pool::{Compatible, Pool};
use crate::work::Item;
use crate::work::{Member, NewNode};

/// One packing while it is made.
pub(super) struct Packer<'s, 'p, 'm, 'a> {
    pub(super) setup: &'s Setup<'p, 'm, 'a>,
    pub(super) limits: Limits,
    pub(super) items: IndexVec<ItemIx, Item>,
    /// Items in the order in which bins are filled.
    pub(super) order: Vec<ItemIx>,
    pub(super) values: &'s IndexVec<ItemIx, f64>,
    /// Affinity by host that new nodes of this packing serve.
    pub(super) served: FxHashSet<GroupIx>,
    pub(super) nodes: Vec<NewNode>,
    pub(super) cost: f64,
    /// By item, what its pods cost together, and how many there are.
    pub(super) paid: IndexVec<ItemIx, (f64, u32)>,
    pub(super) round: u64,
    /// Where the values come from, if from there.
    pub(super) relaxation: Option<&'s PackingRelaxation>,
    /// Whether nobody will ask for the packing any more: the rest of it need not be made.
    pub(super) is_given_up: &'s dyn Fn() -> bool,
}

impl<'s, 'p, 'm, 'a> Packer<'s, 'p, 'm, 'a> {
    pub(super) fn new(
        setup: &'s Setup<'p, 'm, 'a>,
        limits: Limits,
        items: Vec<Item>,
        values: &'s IndexVec<ItemIx, f64>,
    ) -> Self {
        let items = IndexVec::from(items);
        let mut order: Vec<ItemIx> = items.indices().collect();
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
            nodes: Vec::new(),
            cost: 0.0,
            paid: IndexVec::filled((0.0, 0), items.len()),
            items,
            round: 0,
            relaxation: None,
            is_given_up: &|| false,
        }
    }

    pub(super) fn finish(self) -> Outcome {
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
    pub(super) fn is_open(&self, group: GroupIx) -> bool {
        self.setup.state.matched[group].is_empty() && !self.served.contains(&group)
    }

    pub(super) fn queue(&self, items: &[ItemIx]) -> Queue {
        let rows =
            items.iter().copied().filter(|item| !self.items[*item].pods.is_empty()).map(|item| {
                (item, self.setup.model.shape(self.items[item].shape).requests.as_slice())
            });
        Queue::of(rows, self.setup.model.resources.len())
    }

    /// Leaves items without pods out once they are the larger part.
    pub(super) fn shorten(&self, queue: &mut Queue) {
        let spent = queue.items.iter().filter(|item| self.items[**item].pods.is_empty()).count();
        if spent * 2 > queue.items.len() {
            *queue = self.queue(&queue.items);
        }
    }

    pub(super) fn accepts(&self, item: ItemIx, bin: &Bin) -> bool {
        self.setup.class_of[item][bin.pool].is_some_and(|class| bin.accepts_class(class))
    }

    /// Whether the pool's limits and the reservation leave one more such node.
    pub(super) fn is_allowed(&self, bin: &Bin) -> bool {
        let pool = &self.setup.model.pools[bin.pool];
        self.limits.allow(bin.pool, &pool.types[bin.type_index].capacity) > 0
            && self.reservation_left(bin) > 0
    }

    pub(super) fn reservation_left(&self, bin: &Bin) -> u32 {
        self.limits.reservation_left(&self.setup.model.pools[bin.pool].purchases[bin.purchase])
    }

    pub(super) fn weight(&self, bin: &Bin) -> u32 {
        self.setup.model.pools[bin.pool].node_pool.weight
    }

    /// How often in a row the pattern can be launched.
    pub(super) fn repeats(&self, bin: &Bin, pattern: &Pattern) -> u32 {
        let pool = &self.setup.model.pools[bin.pool];
        let type_index = if pool.min_values.is_empty() {
            bin.type_index
        } else {
            self.launchable(bin, pattern).map_or(bin.type_index, |(_, _, own)| own)
        };
        let by_limits = self.limits.allow(bin.pool, &pool.types[type_index].capacity);
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

    pub(super) fn launch(&mut self, bin: &Bin, pattern: &Pattern, times: u32) {
        let pool = &self.setup.model.pools[bin.pool];
        let Some((compatible, requests, type_index)) = self.launchable(bin, pattern) else {
            return;
        };
        if let Some(reservation) = &pool.purchases[bin.purchase].reservation {
            self.limits.reserve(&reservation.id, times);
        }
        for (item, _) in &pattern.counts {
            let shape = self.items[*item].shape;
            self.served.extend(self.setup.topology.constraints[shape].selected_by.iter().copied());
        }
        let price = cheapest_price(self.setup.memo, pool, &compatible, &requests);
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
            self.limits.take(bin.pool, &pool.types[type_index].capacity);
            self.nodes.push(NewNode {
                pool: bin.pool,
                compatible: compatible.clone(),
                type_index,
                requests: requests.clone(),
                members,
                types_wanted: None,
            });
        }
        self.round += 1;
    }

    /// What may be launched for a pattern, what its pods request, and the type that limits count.
    fn launchable(&self, bin: &Bin, pattern: &Pattern) -> Option<(Compatible, Vec<i64>, TypeIx)> {
        let Setup { model, memo, .. } = self.setup;
        let pool = &model.pools[bin.pool];
        let mut compatible = self.joint_of(bin, pattern)?;
        compatible.purchases = bought(pool, compatible.purchases, bin.purchase);
        compatible.types.intersect_with(&memo.viable(pool, compatible.zones, compatible.purchases));
        let mut requests = vec![0; model.resources.len()];
        for (item, count) in &pattern.counts {
            let own = model.shape(self.items[*item].shape);
            for (sum, amount) in requests.iter_mut().zip(&own.requests) {
                *sum += amount * i64::from(*count);
            }
        }
        let policy = model.snapshot.settings.min_values_policy;
        let mut types = pool.with_room(&compatible.types, &requests);
        self.limits.keep_allowed(bin.pool, pool, &mut types);
        let fitting = Compatible { types, ..compatible.clone() };
        let type_index = pool.counted_type(policy, &fitting, bin.type_index);
        Some((compatible, requests, type_index))
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
        let mut own = classes.iter().map(|class| &self.setup.classes[bin.pool][*class]);
        let first = (**own.next()?).clone();
        own.try_fold(first, |joint, class| pool.both(&joint, class, self.setup.memo))
    }
}

/// What the cheapest node costs that the requests fit on, in nano-USD an hour.
#[expect(clippy::cast_precision_loss, reason = "only ranks")]
fn cheapest_price(memo: &Memo, pool: &Pool, compatible: &Compatible, requests: &[i64]) -> f64 {
    memo.cheapest(pool, compatible.zones, compatible.purchases)
        .iter()
        .filter(|priced| compatible.types.contains(priced.index))
        .find(|priced| pool.types[priced.index].has_room_for(requests))
        .map_or(0.0, |priced| priced.offering.price.nanos() as f64)
}

/// Ways of buying that a node keeps: its reservation alone, or everything but reservations.
pub(super) fn bought(pool: &Pool, purchases: PurchaseSet, own: PurchaseIx) -> PurchaseSet {
    if pool.purchases[own].reservation.is_some() {
        return PurchaseSet::one(own);
    }
    pool.purchases
        .iter_enumerated()
        .filter(|(_, purchase)| purchase.reservation.is_some())
        .fold(purchases, |left, (index, _)| left.without(index))
}
