//! What all packings of the same items share.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Outcome;
use super::bin::{Bin, bins};
use super::cover::Reach;
use super::packer::Packer;
use super::relaxed::PackingRelaxation;
use crate::feasibility::host::host_affinity;
use crate::feasibility::limits::Limits;
use crate::feasibility::state::State;
use crate::feasibility::topology::Topology;
use crate::ids::{Idx, IndexVec, ItemIx, PoolIx};
use crate::model::Model;
use crate::model::pool::Compatible;
use crate::relaxation::RowIx;
use crate::work::Item;

/// What all rounds share.
pub(super) struct Setup<'p, 'm, 'a> {
    pub(super) model: &'m Model<'a>,
    pub(super) topology: &'m Topology,
    pub(super) state: &'p State,
    /// By pool, what may be launched for items: each distinct one is a class.
    pub(super) classes: IndexVec<PoolIx, Vec<Rc<Compatible>>>,
    /// By item and pool, its class.
    pub(super) class_of: IndexVec<ItemIx, IndexVec<PoolIx, Option<usize>>>,
    /// How many groups of affinity by host each item must join.
    pub(super) joins: IndexVec<ItemIx, usize>,
    /// The least that a pod of each item costs.
    pub(super) values: IndexVec<ItemIx, f64>,
    /// Bins by pool.
    pub(super) bins: IndexVec<PoolIx, Vec<Bin>>,
}

impl<'p, 'm, 'a> Setup<'p, 'm, 'a> {
    pub(super) fn of(
        model: &'m Model<'a>,
        topology: &'m Topology,
        state: &'p State,
        items: &[Item],
    ) -> Self {
        let mut classes: IndexVec<PoolIx, Vec<Rc<Compatible>>> =
            IndexVec::filled(Vec::new(), model.pools.len());
        let mut known: FxHashMap<(PoolIx, *const Compatible), usize> = FxHashMap::default();
        let class_of = items
            .iter()
            .map(|item| {
                let mut own = IndexVec::filled(None, model.pools.len());
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
            .iter_enumerated()
            .zip(&classes)
            .map(|((index, pool), classes)| bins(index, pool, classes));
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
    pub(super) fn first_moves(
        &self,
        items: &[Item],
        values: &IndexVec<ItemIx, f64>,
        most: usize,
    ) -> Vec<Bin> {
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
    pub(super) fn pack(
        &self,
        limits: Limits,
        items: Vec<Item>,
        values: &IndexVec<ItemIx, f64>,
    ) -> Outcome {
        self.pack_after(None, limits, items, values)
    }

    /// Packs items at the given values, after filling one bin.
    pub(super) fn pack_after(
        &self,
        first: Option<&Bin>,
        limits: Limits,
        items: Vec<Item>,
        values: &IndexVec<ItemIx, f64>,
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
            packer.cover(weight, Reach::All);
        }
        packer.finish()
    }

    /// Packs items at the values of the relaxation, after launching the nodes of its patterns as far as
    /// whole ones go.
    pub(super) fn pack_fractional(
        &self,
        relaxation: &PackingRelaxation,
        limits: Limits,
        items: Vec<Item>,
        values: &IndexVec<ItemIx, f64>,
    ) -> Outcome {
        let mut items_of_row: BTreeMap<RowIx, Vec<ItemIx>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            if let Some(row) = relaxation.row(item.shape) {
                items_of_row.entry(row).or_default().push(ItemIx::new(index));
            }
        }
        let mut weights: Vec<u32> =
            self.model.pools.iter().map(|pool| pool.node_pool.weight).collect();
        weights.dedup();
        let mut packer = Packer::new(self, limits, items, values);
        packer.relaxation = Some(relaxation);
        packer.bundle();
        if weights.len() == 1 {
            packer.launch_fractional(relaxation.fractional_solution(), &items_of_row);
        }
        for weight in weights {
            packer.cover(weight, Reach::WellUsed);
            packer.cover(weight, Reach::All);
        }
        packer.finish()
    }
}
