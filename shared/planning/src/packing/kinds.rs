//! Packing by kinds: pods that request the same and may go to the same bins are one, whatever sets
//! them apart otherwise. There are far fewer kinds than items, and a pattern of kinds is launched
//! many times in a row, so that many packings can be tried where one by items takes as long.
//!
//! What only some pods of a kind are subject to is left to whoever launches the nodes: spread and
//! anti-affinity by host beyond the caps that the relaxation knows, `minValues`, labels that
//! neither type nor offering settles.

mod columns;
mod cover;
mod fill;
mod hosts;
mod improve;
mod repack;

use rustc_hash::FxHashMap;

pub(super) use hosts::PodsOfNode;

use super::relaxed::PackingRelaxation;
use super::setup::Setup;
use crate::ids::{IndexVec, ItemIx};
use crate::model::pool::Bin;
use crate::relaxation::RowIx;
use crate::work::Item;

/// Bins that a kind may go to, at least, where there are so many.
const BINS_OF_KIND_MIN: usize = 4;

/// A node of a packing by kinds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KindNode {
    /// Index of the bin among [`Kinds::bins`].
    bin: usize,
    /// How many pods of which kinds it holds.
    counts: Vec<(usize, u32)>,
    /// How many such nodes there are.
    times: u32,
}

/// Kinds of pods and the bins that they may go to.
pub(super) struct Kinds<'s> {
    /// By kind, how many pods there are.
    counts: Vec<u32>,
    /// By kind, its items.
    items: Vec<Vec<ItemIx>>,
    /// By kind, what a pod is worth.
    values: Vec<f64>,
    /// By kind, how many pods a node holds at most.
    per_node: Vec<u32>,
    /// By kind, its row in the relaxation.
    rows: Vec<RowIx>,
    /// Bins that the relaxation finds well used, the cheapest first.
    bins: Vec<KindBin<'s>>,
}

/// A bin with the kinds that it takes.
struct KindBin<'s> {
    bin: &'s Bin,
    amounts: Vec<f64>,
    /// Kinds that it accepts and has room for, in order.
    kinds: Vec<usize>,
    /// By kind, and in it by resource, what a pod takes.
    requests: Vec<f64>,
}

impl<'s> Kinds<'s> {
    /// Kinds of items, worth what the relaxation says, and at most so many bins beside those that
    /// some kind needs. Items that the relaxation knows nothing of are left out.
    pub(super) fn of(
        setup: &'s Setup,
        relaxation: &PackingRelaxation,
        items: &IndexVec<ItemIx, Item>,
        bins_max: usize,
    ) -> Self {
        let mut numbers: FxHashMap<(RowIx, &[Option<usize>]), usize> = FxHashMap::default();
        let mut kinds = Self {
            counts: Vec::new(),
            items: Vec::new(),
            values: Vec::new(),
            per_node: Vec::new(),
            rows: Vec::new(),
            bins: Vec::new(),
        };
        for (index, item) in items.iter_enumerated().filter(|(_, item)| !item.pods.is_empty()) {
            let Some(row) = relaxation.row(item).filter(|_| setup.joins[index] == 0) else {
                continue;
            };
            let kind =
                *numbers.entry((row, setup.class_of[index].as_slice())).or_insert_with(|| {
                    kinds.counts.push(0);
                    kinds.items.push(Vec::new());
                    let dual = relaxation.dual_price(item).unwrap_or(0.0);
                    kinds.values.push(dual.max(setup.values[index] * 0.1));
                    kinds.per_node.push(relaxation.per_node(row));
                    kinds.rows.push(row);
                    kinds.rows.len() - 1
                });
            kinds.counts[kind] += u32::try_from(item.pods.len()).unwrap_or(u32::MAX);
            kinds.items[kind].push(index);
        }
        let mut promises: Vec<f64> = Vec::new();
        for (pool, bins) in setup.bins.iter_enumerated() {
            for bin in bins.iter() {
                let Some(worth) = relaxation.dual_value_bound(bin.kind()) else { continue };
                let room = &setup.model.pools[pool].types[bin.type_index].room;
                let amounts = relaxation.amounts(room);
                let fits = |kind: &usize| {
                    let is_accepted = setup.class_of[kinds.items[*kind][0]][pool]
                        .is_some_and(|class| bin.accepts_class(class));
                    let requests = relaxation.requests(kinds.rows[*kind]);
                    is_accepted && requests.iter().zip(&amounts).all(|(own, room)| own <= room)
                };
                let own: Vec<usize> = (0..kinds.rows.len()).filter(fits).collect();
                if own.is_empty() {
                    continue;
                }
                let requests = own.iter().flat_map(|kind| relaxation.requests(kinds.rows[*kind]));
                let requests = requests.map(|amount| float(*amount)).collect();
                let amounts = amounts.into_iter().map(float).collect();
                promises.push(worth / bin.price.max(1.0));
                kinds.bins.push(KindBin { bin, amounts, kinds: own, requests });
            }
        }
        kinds.keep_promising(&promises, bins_max);
        kinds.bins.sort_by(|a, b| a.bin.price.total_cmp(&b.bin.price));
        // Pods that keep others off their hosts come first, while most nodes still do for them.
        let is_free = |item: &ItemIx| {
            let owned = &setup.topology.constraints[items[*item].shape].owned;
            !owned
                .iter()
                .any(|own| own.weight == 0 && setup.topology.groups[own.group].is_by_host())
        };
        for own in &mut kinds.items {
            own.sort_by_key(is_free);
        }
        kinds
    }

    /// Keeps the bins on which pods may be worth the most for the price, and of every kind those
    /// that are best for it.
    fn keep_promising(&mut self, promises: &[f64], most: usize) {
        let mut order: Vec<usize> = (0..self.bins.len()).collect();
        order.sort_by(|a, b| promises[*b].total_cmp(&promises[*a]).then_with(|| a.cmp(b)));
        let mut bins_of = vec![0_usize; self.counts.len()];
        let mut is_kept = vec![false; self.bins.len()];
        for (rank, bin) in order.into_iter().enumerate() {
            let own = &self.bins[bin].kinds;
            is_kept[bin] = rank < most || own.iter().any(|kind| bins_of[*kind] < BINS_OF_KIND_MIN);
            if is_kept[bin] {
                for kind in own {
                    bins_of[*kind] += 1;
                }
            }
        }
        let mut kept = is_kept.into_iter();
        self.bins.retain(|_| kept.next().unwrap_or(false));
    }

    /// The bin of a node, how many pods of which items it holds, and how many there are.
    pub(super) fn launch(&self, node: &KindNode) -> (&'s Bin, Vec<(&[ItemIx], u32)>, u32) {
        let pods = node.counts.iter().map(|(kind, count)| (&*self.items[*kind], *count)).collect();
        (self.bins[node.bin].bin, pods, node.times)
    }

    /// Nano-USD an hour.
    fn cost(&self, nodes: &[KindNode]) -> f64 {
        nodes.iter().map(|node| self.bins[node.bin].bin.price * f64::from(node.times)).sum()
    }
}

/// Amounts as they are weighed.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
fn float(amount: i64) -> f64 {
    amount as f64
}
