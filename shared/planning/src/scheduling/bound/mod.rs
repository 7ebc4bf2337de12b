//! A price that no set of new nodes for the pods can be below, and what a pod of each kind costs at it.
//!
//! The relaxation is the linear program over patterns (a pattern: pods that fit on one node together).
//! It keeps what a node must have for its pods (room beside the DaemonSets, labels, taints, one pod a host
//! where pods repel their like) and drops everything else: limits, wishes, spreads, affinity, `minValues`,
//! whole numbers of nodes. Its values, one a kind of pod, are dual: where no pattern is worth more than
//! its price, pods are worth no more than any nodes for them cost.
//!
//! The proof does not lean on how the values were found ([`search`]). Any values of at least nothing bound
//! the price from below once they are scaled down until no pattern is worth more than its price (Farley
//! 1990). How much a pattern can be worth is itself bounded from above ([`knapsack`]), with fits tested in
//! integers. What rounding may add is taken off with [`ROUNDING`].
//!
//! Room on nodes that are there is free: what it can hold at most is taken off the sum, and the same for
//! capacity reservations, of which there are so many and no more.

mod ascent;
mod demand;
mod exact;
mod knapsack;
mod master;
mod offer;
mod search;

use domain::money::UsdPerHour;
use rustc_hash::FxHashMap;

use super::topology::Topology;
use crate::ids::{IndexVec, PoolIx, ShapeIx, TypeIx};
use crate::model::Model;
use demand::{Demand, demands};
use knapsack::Effort;
use offer::{Offer, free_rooms, offers};
pub(crate) use search::Budget;

/// Floating-point sums of some thousand terms without cancellation are off by less than a part in 10¹²;
/// the surrogate's one subtraction adds at most as much for each of its terms. A millionth is far more.
const ROUNDING: f64 = 1e-6;

/// The linear relaxation of placing pods on new nodes.
pub(crate) struct Relaxation {
    /// Pods that look the same to it.
    demands: Vec<Demand>,
    /// Nodes that may be launched, any number of each.
    offers: Vec<Offer>,
    /// Nodes of which there are only so many: those there are, and reservations.
    scarce: Vec<Offer>,
    /// By shape, its demand.
    demand_of: IndexVec<ShapeIx, Option<usize>>,
    /// By demand, what one more of its pods costs, in nano-USD an hour.
    values: Vec<f64>,
    /// Whether values are better than a guess.
    is_solved: bool,
    /// Patterns that would do best if parts of nodes could be launched.
    mix: Vec<Blend>,
    /// Sources whose nodes can be well used at the values, with the most that pods on one are worth, in nano-USD
    /// an hour.
    worthwhile: FxHashMap<Source, f64>,
}

/// Where pods on no node can be worth its price, values rise; by no more than this allows, since each node is looked
/// at the longer, the less its pods have to be worth to count.
const DEAREST_MIN: f64 = 0.99;

/// Pool and type. (Ways of buying are numbered in the order in which the catalogue happens to name them.)
pub(crate) type Source = (PoolIx, TypeIx);

/// A node is well used if its pods can be worth this part of its price.
const WELL_USED: f64 = 0.93;

/// A pattern that the relaxation uses.
#[derive(Clone)]
pub(crate) struct Blend {
    /// What is launched.
    pub(crate) source: Source,
    /// Demands, with how many pods of each.
    pub(crate) pods: Vec<(usize, u32)>,
    /// How many such nodes; not a whole number.
    pub(crate) level: f64,
}

impl Relaxation {
    /// Solves the relaxation for pods of shapes, each with how many need a place, as far as the budget goes.
    /// `None` where none of them can have a new node.
    pub(crate) fn of(
        model: &Model,
        topology: &Topology,
        pods: &[(ShapeIx, u32)],
        budget: &Budget,
    ) -> Option<Self> {
        let (demands, demand_of, classes) = demands(model, topology, pods);
        let (offers, scarce) = offers(model, &demands, &classes);
        if demands.is_empty() || offers.is_empty() {
            return None;
        }
        let mut relaxation = Self {
            demands,
            offers,
            scarce,
            demand_of,
            values: Vec::new(),
            is_solved: false,
            mix: Vec::new(),
            worthwhile: FxHashMap::default(),
        };
        let Self { demands, offers, .. } = &mut relaxation;
        let Some(mut start) = ascent::values(demands, offers) else {
            relaxation.values = relaxation.shares();
            return Some(relaxation);
        };
        // The search moves weights; these are what proves the values it starts from.
        let weights: Vec<Vec<f64>> = offers.iter().map(|own| own.room.weights.clone()).collect();
        search::prove(demands, offers, &mut start, budget);
        let mut found = search::solve(demands, offers, start.clone(), budget);
        for (offer, weights) in offers.iter_mut().zip(weights) {
            offer.room.weights = weights;
        }
        search::prove(demands, offers, &mut found.values, budget);
        if search::worth(&start, demands) > search::worth(&found.values, demands) {
            found.values = start;
        }
        relaxation.values = found.values;
        relaxation.is_solved = true;
        for (offer, pattern, level) in found.mix {
            let Some(source) = relaxation.offers[offer].source else { continue };
            let pods = pattern.iter().map(|(row, count)| (*row as usize, *count)).collect();
            relaxation.mix.push(Blend { source, pods, level });
        }
        relaxation.mix.sort_by(|a, b| {
            b.level.total_cmp(&a.level).then_with(|| (a.source, &a.pods).cmp(&(b.source, &b.pods)))
        });
        for offer in &mut relaxation.offers {
            let at_most = offer.room.settle_weights(&relaxation.values, 0.0, 1);
            if at_most >= offer.room.price * WELL_USED
                && let Some(source) = offer.source
            {
                let own = relaxation.worthwhile.entry(source).or_insert(at_most);
                *own = own.max(at_most);
            }
        }
        Some(relaxation)
    }

    /// The demand that pods of a shape are part of.
    pub(crate) fn demand(&self, shape: ShapeIx) -> Option<usize> {
        self.demand_of.get(shape).copied().flatten()
    }

    /// Patterns that would do best if parts of nodes could be launched, those used most first.
    pub(crate) fn mix(&self) -> &[Blend] {
        &self.mix
    }

    /// Whether values are better than a guess.
    pub(crate) fn is_solved(&self) -> bool {
        self.is_solved
    }

    /// Whether nodes of a source can be well used.
    pub(crate) fn is_worthwhile(&self, source: Source) -> bool {
        self.worthwhile.contains_key(&source)
    }

    /// The most that pods on a node of a source are worth, in nano-USD an hour, where it can be well used.
    pub(crate) fn worth(&self, source: Source) -> Option<f64> {
        self.worthwhile.get(&source).copied()
    }

    /// By demand, the least that a pod costs by the share that it takes of a node.
    fn shares(&self) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.demands.len()];
        for Offer { room, .. } in &self.offers {
            for ((row, _), shares) in
                room.rows.iter().zip(room.shares.chunks_exact(room.amounts.len()))
            {
                let share = shares.iter().copied().fold(0.0, f64::max) * room.price;
                let own = &mut least[*row as usize];
                *own = own.min(share);
            }
        }
        least.into_iter().map(|least| if least.is_finite() { least } else { 0.0 }).collect()
    }

    /// What one more pod of the shape costs, in nano-USD an hour; `None` for shapes without demand.
    pub(crate) fn value(&self, shape: ShapeIx) -> Option<f64> {
        self.demand_of.get(shape).copied().flatten().map(|demand| self.values[demand])
    }

    /// The bound that the values prove.
    ///
    /// `pods` are those that the bound is for, by shape: no more of a shape than the relaxation was made for.
    pub(crate) fn bound(
        &mut self,
        model: &Model,
        pods: &[(ShapeIx, u32)],
        budget: &Budget,
    ) -> UsdPerHour {
        for demand in &mut self.demands {
            demand.count = 0;
        }
        for (shape, count) in pods {
            if let Some(demand) = self.demand(*shape) {
                self.demands[demand].count += count;
            }
        }
        let mut dearest = DEAREST_MIN;
        for offer in self.offers.iter().filter(|offer| offer.room.price <= 0.0) {
            for (row, _) in &offer.room.rows {
                self.values[*row as usize] = 0.0;
            }
        }
        for offer in self.offers.iter_mut().filter(|offer| offer.room.price > 0.0) {
            let enough = offer.room.price * dearest;
            let at_most = offer.at_most(&self.values, enough, budget);
            dearest = dearest.max(at_most / offer.room.price);
        }
        let scale = (1.0 - ROUNDING) / dearest;
        let values: Vec<f64> = self.values.iter().map(|value| value * scale).collect();
        let mut total: f64 = self
            .demands
            .iter()
            .zip(&values)
            .map(|(demand, value)| value * f64::from(demand.count))
            .sum();
        let mut free = free_rooms(model, &self.demands);
        for offer in self.scarce.iter_mut().chain(&mut free) {
            let worth = offer.at_most(&values, offer.room.price, budget) * (1.0 + ROUNDING);
            total -= (worth - offer.room.price).max(0.0) * f64::from(offer.most);
        }
        let proven = total.max(self.one_node(&free)) * (1.0 - ROUNDING);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounds down; prices are far below 2^63"
        )]
        UsdPerHour::from_nanos(proven.max(0.0) as i64)
    }

    /// The dearest of the cheapest nodes for pods that no node there is, and no reservation, could host.
    fn one_node(&self, free: &[Offer]) -> f64 {
        let mut cheapest = vec![f64::INFINITY; self.demands.len()];
        for Offer { room, .. } in &self.offers {
            for (row, _) in &room.rows {
                let own = &mut cheapest[*row as usize];
                *own = own.min(room.price);
            }
        }
        for (row, _) in self.scarce.iter().chain(free).flat_map(|offer| &offer.room.rows) {
            cheapest[*row as usize] = 0.0;
        }
        self.demands
            .iter()
            .zip(cheapest)
            .filter(|(demand, price)| demand.count > 0 && price.is_finite())
            .map(|(_, price)| price)
            .fold(0.0, f64::max)
    }
}

impl Offer {
    /// No pods that fit are worth more than this.
    fn at_most(&mut self, values: &[f64], enough: f64, budget: &Budget) -> f64 {
        let quick = self.room.settle_weights(values, enough, 1);
        if quick <= enough {
            return quick;
        }
        let better = self.room.settle_weights(values, enough, budget.weight_steps);
        if better <= enough || self.room.rows.len() > budget.proof_demands {
            return better;
        }
        let exact = exact::best(&self.room, values).map_or(f64::INFINITY, |(most, _)| most);
        if exact <= enough {
            return exact;
        }
        let mut effort = Effort { left: budget.proof_nodes };
        let searched = self.room.price_out(values, enough, &mut effort).at_most;
        searched.min(better).min(exact)
    }
}
