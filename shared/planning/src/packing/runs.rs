//! Whole packings of the same items: at given values, after a first move, or after the patterns of
//! the relaxation.

use std::collections::BTreeMap;

use domain::settings::SearchEffort;

use super::cover::Reach;
use super::kinds::Kinds;
use super::outcome::Outcome;
use super::packer::Packer;
use super::relaxed::PackingRelaxation;
use super::setup::Setup;
use crate::feasibility::limits::Limits;
use crate::ids::{IndexVec, ItemIx};
use crate::model::pool::Bin;
use crate::relaxation::{Budget, RowIx};
use crate::work::Item;

/// How many times a kind may be weighed in a packing by kinds.
const WORK_MAX: usize = 4_000_000;

/// How many times one may be weighed to make that packing cheaper.
const IMPROVEMENT_MAX: usize = 2_000_000;

/// How many bins it tries.
const BINS_MAX: usize = 512;

/// How many times a kind may be weighed in a quick answer, which takes a tenth of a second for a
/// thousand pods. It tries as many bins as a full one: with a quarter of them, plans for ten
/// thousand pods of small services are a tenth dearer.
const QUICK_WORK_MAX: usize = 500_000;

/// How many times one may be weighed to make a quick answer cheaper.
const QUICK_IMPROVEMENT_MAX: usize = 100_000;

impl Setup<'_, '_, '_> {
    /// Bins that take most of what there is to place, the cheapest first among those that take as
    /// much: what is best for each step may leave a rest that is dear, and one larger node saves
    /// the rest.
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
        let heaviest = self.bins.iter().flat_map(|own| own.iter()).map(weight).max();
        let mut moves: Vec<(f64, &Bin)> = self
            .bins
            .iter()
            .flat_map(|own| own.iter())
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

    /// Packs items with those that must share a node last, so that these do not take what limits
    /// leave to all the others. `None` where there are none.
    pub(super) fn pack_bundles_last(&self, limits: &Limits, items: &[Item]) -> Option<Outcome> {
        if self.joins.iter().all(|joins| *joins == 0) {
            return None;
        }
        let mut packer = Packer::new(self, limits.clone(), items.to_vec(), &self.values);
        for (item, joins) in packer.items.iter_mut().zip(&self.joins) {
            if *joins > 0 {
                item.pods.clear();
            }
        }
        for weight in self.weights() {
            packer.cover(weight, Reach::All);
        }
        for ((own, item), joins) in packer.items.iter_mut().zip(items).zip(&self.joins) {
            if *joins > 0 {
                own.pods.clone_from(&item.pods);
            }
        }
        packer.bundle();
        for weight in self.weights() {
            packer.cover(weight, Reach::All);
        }
        Some(packer.finish())
    }

    /// Packs items at the given values, after filling one bin.
    pub(super) fn pack_after(
        &self,
        first: Option<&Bin>,
        limits: Limits,
        items: Vec<Item>,
        values: &IndexVec<ItemIx, f64>,
    ) -> Outcome {
        let weights = self.weights();
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

    /// Whether packing by kinds makes sense: it takes no account of what limits how often a bin may
    /// be launched or which pools come first.
    pub(super) fn packs_by_kinds(&self) -> bool {
        let mut purchases = self.model.pools.iter().flat_map(|pool| &pool.purchases);
        self.weights().len() == 1 && purchases.all(|purchase| purchase.remaining().is_none())
    }

    /// Packs items by kinds at the values of the relaxation, and what that leaves one by one.
    pub(super) fn pack_kinds(
        &self,
        relaxation: &PackingRelaxation,
        limits: Limits,
        items: Vec<Item>,
        values: &IndexVec<ItemIx, f64>,
    ) -> Outcome {
        let mut packer = Packer::new(self, limits, items, values);
        packer.relaxation = Some(relaxation);
        packer.bundle();
        let kinds = Kinds::of(self, relaxation, &packer.items, BINS_MAX);
        let best = |work: usize| kinds.best(relaxation.fractional_solution(), work);
        let nodes = match self.model.snapshot.settings.search_effort {
            SearchEffort::Quick => kinds.improved(best(QUICK_WORK_MAX), QUICK_IMPROVEMENT_MAX),
            SearchEffort::Full => {
                let pods: usize = packer.items.iter().map(|item| item.pods.len()).sum();
                let pods = u32::try_from(pods).unwrap_or(u32::MAX);
                let dive = relaxation.dive(Budget::of(pods, SearchEffort::Full));
                let best = kinds.better_of_dive(best(WORK_MAX), &dive);
                kinds.improved(best, IMPROVEMENT_MAX)
            }
        };
        if kinds.are_kept_apart(&packer) {
            let pods = kinds.share_pods_out(&packer, &nodes);
            packer.launch_shared_out(&kinds, &nodes, &pods);
        } else {
            for node in &nodes {
                packer.launch_kinds(&kinds, node);
            }
        }
        for weight in self.weights() {
            packer.cover(weight, Reach::All);
        }
        packer.finish()
    }

    /// Weights of pools, the heaviest first.
    fn weights(&self) -> Vec<u32> {
        let mut weights: Vec<u32> =
            self.model.pools.iter().map(|pool| pool.node_pool.weight).collect();
        weights.dedup();
        weights
    }
}

impl Packer<'_, '_, '_, '_> {
    /// Packs all items after launching the nodes of the relaxation's patterns as far as whole ones
    /// go.
    pub(super) fn after_patterns(mut self) -> Outcome {
        let weights = self.setup.weights();
        self.bundle();
        if weights.len() == 1
            && let Some(relaxation) = self.relaxation
        {
            let mut items_of_row: BTreeMap<RowIx, Vec<ItemIx>> = BTreeMap::new();
            for (index, item) in self.items.iter_enumerated() {
                if let Some(row) = relaxation.row(item) {
                    items_of_row.entry(row).or_default().push(index);
                }
            }
            self.launch_fractional(relaxation.fractional_solution(), &items_of_row);
        }
        for weight in weights {
            self.cover(weight, Reach::WellUsed);
            self.cover(weight, Reach::All);
        }
        self.finish()
    }
}
