//! Nodes for pods that must share a host with others.

use super::packer::Packer;
use super::pattern::Pattern;
use super::queue::Queue;
use crate::feasibility::host::host_affinity;
use crate::ids::{IndexSet, ItemIx};
use crate::model::pool::Bin;

/// Items that may go to different nodes are tried as the first of a host, at most.
const OPENERS_MAX: usize = 8;

/// A bin filled with pods that must share a host, and how many of them it takes.
struct Bundle {
    taken: u32,
    bin: Bin,
    pattern: Pattern,
}

impl Packer<'_, '_, '_, '_> {
    /// Nodes for pods that must share a host with others: each time the bin that takes most of them
    /// (what it leaves may have no other place), then of the heaviest pool, then the cheapest.
    pub(super) fn bundle(&mut self) {
        let mut joining = self.order.clone();
        joining.retain(|item| self.setup.joins[*item] > 0);
        for item in joining.iter().copied() {
            while !self.items[item].pods.is_empty() {
                let mates = self.mates(item, &joining);
                let queue = self.queue(&self.order);
                let mut best: Option<Bundle> = None;
                for first in self.openers(item, &mates) {
                    self.try_bins(first, &mates, &queue, &mut best);
                }
                let Some(Bundle { bin, pattern, .. }) = best else { break };
                self.launch(&bin, &pattern, 1);
            }
        }
    }

    /// Items that seek the same pods on their host as one of them does, itself included.
    fn mates(&self, item: ItemIx, joining: &[ItemIx]) -> Vec<ItemIx> {
        let groups = |item: ItemIx| host_affinity(self.setup.topology, self.items[item].shape);
        let seeks_the_same = |other: &ItemIx| {
            let mut own = groups(*other);
            own.any(|(group, _)| groups(item).any(|(sought, _)| sought == group))
        };
        let is_left = |other: &ItemIx| !self.items[*other].pods.is_empty();
        joining.iter().copied().filter(is_left).filter(seeks_the_same).collect()
    }

    /// Items that may be the first on a host. While their group has none, it is open which of them
    /// that is: those that may go to the same nodes as few others do leave most without a place.
    fn openers(&self, item: ItemIx, mates: &[ItemIx]) -> Vec<ItemIx> {
        let mut openers = vec![item];
        let mut groups = host_affinity(self.setup.topology, self.items[item].shape);
        if !groups.any(|(group, may_be_first)| may_be_first && self.is_open(group)) {
            return openers;
        }
        let classes = &self.setup.class_of;
        for mate in mates {
            let is_alike = |other: &ItemIx| classes[*other] == classes[*mate];
            if openers.len() < OPENERS_MAX && !openers.iter().any(is_alike) {
                openers.push(*mate);
            }
        }
        openers
    }

    /// Fills each bin with an item and then its mates; of that and the best so far, the better is
    /// kept.
    fn try_bins(&self, first: ItemIx, mates: &[ItemIx], queue: &Queue, best: &mut Option<Bundle>) {
        let order: Vec<ItemIx> = [first]
            .into_iter()
            .chain(mates.iter().copied().filter(|mate| *mate != first))
            .collect();
        let mut is_mate = IndexSet::empty(self.items.len());
        for mate in mates {
            is_mate.insert(*mate);
        }
        let pools = self.items[first].fit.pools.iter().map(|fit| fit.pool);
        for bin in pools.flat_map(|pool| self.setup.bins[pool].iter()) {
            if !self.accepts(first, bin) || !self.is_allowed(bin) {
                continue;
            }
            let Some(pattern) = self.fill(bin, queue, Some(&order)) else { continue };
            let of_mates = pattern.counts.iter().filter(|(item, _)| is_mate.contains(*item));
            let taken = of_mates.map(|(_, count)| count).sum();
            let is_better = |than: &Bundle| {
                let (own, other) = (self.weight(bin), self.weight(&than.bin));
                (taken, own) > (than.taken, other)
                    || (taken, own) == (than.taken, other) && bin.price < than.bin.price
            };
            if taken > 0 && best.as_ref().is_none_or(is_better) {
                *best = Some(Bundle { taken, bin: bin.clone(), pattern });
            }
        }
    }
}
