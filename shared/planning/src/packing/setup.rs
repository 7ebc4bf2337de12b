//! What all packings of the same items share.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::feasibility::host::host_affinity;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::State;
use crate::feasibility::topology::Topology;
use crate::ids::{IndexVec, ItemIx, PoolIx};
use crate::model::Model;
use crate::model::memo::Memo;
use crate::model::pool::{Bin, Compatible};
use crate::work::Item;

/// What all rounds share.
#[derive(Clone)]
pub(super) struct Setup<'p, 'm, 'a> {
    pub(super) model: &'m Model<'a>,
    pub(super) topology: &'m Topology,
    pub(super) memo: &'m Memo,
    pub(super) state: &'p State,
    /// By pool, what may be launched for items: each distinct one is a class.
    pub(super) classes: IndexVec<PoolIx, Vec<Arc<Compatible>>>,
    /// By item and pool, its class.
    pub(super) class_of: IndexVec<ItemIx, IndexVec<PoolIx, Option<usize>>>,
    /// How many groups of affinity by host each item must join.
    pub(super) joins: IndexVec<ItemIx, usize>,
    /// The least that a pod of each item costs.
    pub(super) values: IndexVec<ItemIx, f64>,
    /// Bins by pool.
    pub(super) bins: IndexVec<PoolIx, Arc<[Bin]>>,
}

impl<'p, 'm, 'a> Setup<'p, 'm, 'a> {
    pub(super) fn of(scope: Scope<'m, 'a>, state: &'p State, items: &[Item]) -> Self {
        let Scope { model, topology, memo } = scope;
        let mut classes: IndexVec<PoolIx, Vec<Arc<Compatible>>> =
            IndexVec::filled(Vec::new(), model.pools.len());
        let mut known: FxHashMap<(PoolIx, *const Compatible), usize> = FxHashMap::default();
        let class_of = items
            .iter()
            .map(|item| {
                let mut own = IndexVec::filled(None, model.pools.len());
                for fit in &item.fit.pools {
                    let address = (fit.pool, Arc::as_ptr(&fit.compatible));
                    own[fit.pool] = Some(*known.entry(address).or_insert_with(|| {
                        classes[fit.pool].push(fit.compatible.clone());
                        classes[fit.pool].len() - 1
                    }));
                }
                own
            })
            .collect();
        let bins = model.pools.iter().zip(&classes).map(|(pool, classes)| memo.bins(pool, classes));
        Self {
            bins: bins.collect(),
            joins: items.iter().map(|item| host_affinity(topology, item.shape).count()).collect(),
            values: items.iter().map(|item| item.fit.value(model)).collect(),
            model,
            topology,
            memo,
            state,
            classes,
            class_of,
        }
    }
    /// What is packed by where limits leave pods out: the price of a node rises with its share of
    /// what is left of its pool's limits. By what pods are worth, a little and above all, and then
    /// with one pod worth hardly more than another, the smaller ones more.
    pub(super) fn under_scarcity(&self, limits: &Limits) -> Vec<Self> {
        let is_limited = |bin: &Bin| {
            limits.share(bin.pool, &self.model.pools[bin.pool].types[bin.type_index].capacity)
        };
        let limited = self.bins.iter().flat_map(|own| own.iter()).any(|bin| is_limited(bin) > 0.0);
        if !limited {
            return Vec::new();
        }
        let least = self.values.iter().copied().filter(|value| *value > 0.0);
        let least = least.fold(f64::INFINITY, f64::min);
        let alike = self.values.iter().map(|value| 1.0 + least / value.max(least)).collect();
        let dearest = self.bins.iter().flat_map(|own| own.iter());
        let dearest = dearest.map(|bin| bin.price).fold(0.0, f64::max);
        [(1.0, &self.values), (SCARCE, &self.values), (SCARCE, &alike)]
            .map(|(scarcity, values)| {
                let dearer = |bin: &Bin| {
                    let price = bin.price + is_limited(bin) * dearest * scarcity;
                    bin.priced(price)
                };
                let bins = self.bins.iter().map(|own| own.iter().map(dearer).collect()).collect();
                Self { bins, values: values.clone(), ..self.clone() }
            })
            .into()
    }
}

/// What all of a limit is worth at the most, in nodes of the dearest kind.
const SCARCE: f64 = 1000.0;
