//! Dual ascent: a quick first set of dual prices, without patterns.
//!
//! Let each node split its price among its resources, and among slots: for each row, as many as it
//! holds of that row's copies at most. A copy that takes a share of a part pays that share of it.
//! If a row's dual price is what a copy pays on the node where it pays the least, then no pattern
//! is worth more than its offer. Which splits give all rows the highest dual value is a linear
//! program with a column for every node and part. It is climbed by exponentiated gradients (Kivinen
//! and Warmuth 1997): a step raises, by a factor, the parts that copies take where they pay the
//! least; all other parts of that node get cheaper.
//!
//! Nothing here has to be exact: [`super::repair`] lowers whatever dual prices come out too high.

use super::budget::Ascent;
use super::knapsack::Knapsack;
use super::offer::{Offer, OfferIx};
use super::row::{Duals, RowIx, Rows};
use crate::ids::{Idx, IndexVec};

/// Rounds of ascent, each with more nodes than the one before.
const ROUNDS: usize = 8;
/// Steps of later rounds are as short as if there had been this many before.
const STEPS_BEHIND: usize = 60;
/// With fewer steps than this, dual prices say less than a guess.
const STEPS_MIN: usize = 30;

/// The fraction of a price that is split among slots at first.
const SLOTS_FRACTION: f32 = 0.05;

/// Length of the first step: the logarithm of the factor for a part that takes all the dual value.
const STEP_LENGTH: f32 = 4.0;
/// Steps get shorter with the root of their number, counted in units of this many.
const STEP_DECAY: f32 = 20.0;

/// A resource counts as scarce if copies take at least this fraction of what they take of the
/// scarcest.
const SCARCE: f64 = 0.75;

/// Updates of an offer's surrogate weights when it is asked whether it joins.
const WEIGHT_STEPS: u32 = 4;

/// Between rounds, resources weigh this fraction of their node at least. With few offers, slots may
/// take all of a price until nothing else is left that factors could raise once others join.
const RESUMED_MIN: f32 = 1e-4;

/// Parts are divided by their sum once it has grown beyond this.
const SUM_MAX: f32 = 1e12;

/// An offer joins if its patterns can be worth more than its price by this fraction.
const EXCESS_MIN: f64 = 3e-3;

/// At most this many offers join at once.
const JOINING_MAX: usize = 16;

/// Dual prices, one per row. `None` where there are too many rows for enough steps. Moves the
/// surrogate weights of offers to the splits of their prices.
///
/// Of offers that are much alike, each would have to be raised by itself. So few take part at
/// first, and those whose patterns turn out to exceed their prices by the most join.
pub(super) fn duals(
    rows: &Rows,
    offers: &mut IndexVec<OfferIx, Offer>,
    budget: &Ascent,
) -> Option<Duals> {
    let counts: IndexVec<RowIx, f32> = rows.iter().map(|row| float(row.count)).collect();
    let mut nodes = efficient(offers, &counts);
    let mut work = budget.work;
    let mut splits: Option<PriceSplits> = None;
    let mut duals = None;
    for round in 0..ROUNDS {
        let evaluations = (counts.len() * nodes.len()).max(1);
        // Half of what is left, so that those that join get their turn.
        let steps = (work / 2 / evaluations).min(budget.steps);
        if steps < STEPS_MIN {
            break;
        }
        work -= steps * evaluations;
        let knapsacks: Vec<&Knapsack> = nodes.iter().map(|node| &offers[*node].knapsack).collect();
        let mut own = PriceSplits::of(&knapsacks, counts.len());
        if let Some(before) = &splits {
            own.resume(before);
        }
        let best = ascend(&counts, splits.insert(own), steps, round);
        for (place, node) in nodes.iter().enumerate() {
            best.set_weights(place, &mut offers[*node].knapsack);
        }
        let joining = exceeding(offers, duals.insert(best.duals));
        if joining.is_empty() {
            break;
        }
        nodes.extend(joining);
    }
    duals
}

/// Offers whose patterns can be worth more than they cost: those that exceed it the most. None of
/// those that have taken part.
fn exceeding(offers: &mut IndexVec<OfferIx, Offer>, duals: &Duals) -> Vec<OfferIx> {
    let mut found: Vec<(f64, OfferIx)> = Vec::new();
    for (index, Offer { knapsack, .. }) in offers.iter_mut_enumerated() {
        let cutoff = knapsack.price * (1.0 + EXCESS_MIN);
        let bound = knapsack.settle_weights(duals, cutoff, WEIGHT_STEPS);
        if bound > cutoff {
            found.push((bound / knapsack.price, index));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(JOINING_MAX).map(|(_, index)| index).collect()
}

/// The step of an ascent at which all rows were worth the most.
struct Best {
    /// The dual value of all rows.
    value: f32,
    duals: Duals,
    /// Resources, each with its fraction of the price by node, up to a factor of the node.
    weights: Vec<(usize, Vec<f32>)>,
}

impl Best {
    /// Makes a node's surrogate weigh resources by their fractions of the price. That bounds what
    /// its patterns are worth by its price: copies are worth no more than they pay.
    fn set_weights(&self, place: usize, knapsack: &mut Knapsack) {
        let weight = |resource: &usize| {
            let own = self.weights.iter().find(|(own, _)| own == resource);
            own.map_or(0.0, |(_, weights)| f64::from(weights[place]))
        };
        let weights: Vec<f64> = knapsack.resources.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            knapsack.weights = weights.into_iter().map(|weight| weight / sum).collect();
        }
    }
}

fn ascend(
    counts: &IndexVec<RowIx, f32>,
    splits: &mut PriceSplits,
    steps: usize,
    round: usize,
) -> Best {
    let duals = IndexVec::filled(0.0, counts.len());
    let mut best = Best { value: 0.0, duals, weights: Vec::new() };
    let behind = if round == 0 { 0 } else { STEPS_BEHIND };
    for step in 0..steps {
        let cheapest = splits.cheapest();
        let value: f32 = cheapest
            .iter()
            .zip(counts)
            .filter_map(|(own, count)| Some(own.as_ref()?.payment * count))
            .sum();
        if value > best.value {
            let dual = |own: &Option<Cheapest>| own.as_ref().map_or(0.0, |own| own.payment.into());
            let weights = splits.resources.iter().map(|own| (own.resource, own.weights.clone()));
            let duals = cheapest.iter().map(dual).collect();
            best = Best { value, duals, weights: weights.collect() };
        } else if value <= 0.0 {
            break;
        }
        let length = STEP_LENGTH / (1.0 + float(step + behind) / STEP_DECAY).sqrt();
        for (row, (own, count)) in cheapest.iter().zip(counts).enumerate() {
            if let Some(own) = own {
                splits.record(row, own.place, length * count / value);
            }
        }
        splits.apply();
    }
    best
}

/// Offers that no larger one beats in scarce resources for the money.
fn efficient(offers: &IndexVec<OfferIx, Offer>, counts: &IndexVec<RowIx, f32>) -> Vec<OfferIx> {
    let scarce: IndexVec<OfferIx, Vec<bool>> =
        offers.iter().map(|offer| scarce(&offer.knapsack, counts)).collect();
    let is_beaten = |small: &Knapsack| {
        offers.iter().zip(&scarce).any(|(Offer { knapsack: large, .. }, scarce)| {
            large.price > small.price
                && large.price <= small.price * large.size_ratio(small, scarce)
                && large.admits_all_of(small)
        })
    };
    offers.indices().filter(|index| !is_beaten(&offers[*index].knapsack)).collect()
}

/// Resources of a node that run out about first when it is filled with copies of all rows.
fn scarce(knapsack: &Knapsack, counts: &IndexVec<RowIx, f32>) -> Vec<bool> {
    let mut taken = vec![0.0; knapsack.amounts.len()];
    for (item, shares) in knapsack.items.iter().zip(knapsack.shares.chunks_exact(taken.len())) {
        for (taken, share) in taken.iter_mut().zip(shares) {
            *taken += f64::from(counts[item.row]) * share;
        }
    }
    let most = taken.iter().copied().fold(0.0, f64::max);
    taken.into_iter().map(|taken| taken >= most * SCARCE).collect()
}

/// How nodes split their prices. Tables have a line for each row, and in it a figure for each node.
///
/// The fraction of a node's price that a part has is its weight over the node's sum.
struct PriceSplits {
    rows: usize,
    prices: Vec<f32>,
    resources: Vec<ResourceSplit>,
    /// The share of its slots that a copy takes; infinite where it does not fit.
    slots: Vec<f32>,
    /// Weights of slots.
    slot_weights: Vec<f32>,
    /// By node, the sum of all its weights.
    sums: Vec<f32>,
}

/// One resource on all nodes.
struct ResourceSplit {
    /// The resource.
    resource: usize,
    /// The share that a copy takes.
    shares: Vec<f32>,
    /// By node, the weight of the resource.
    weights: Vec<f32>,
    /// By node, the logarithm of the factor by which the weight is about to rise.
    rises: Vec<f32>,
}

/// Where a copy pays the least.
struct Cheapest {
    payment: f32,
    /// The node's position among those that take part.
    place: usize,
}

impl PriceSplits {
    fn of(nodes: &[&Knapsack], rows: usize) -> Self {
        let width = nodes.len();
        let mut resources: Vec<usize> =
            nodes.iter().flat_map(|node| node.resources.iter().copied()).collect();
        resources.sort_unstable();
        resources.dedup();
        let mut resources: Vec<ResourceSplit> = resources
            .iter()
            .map(|resource| ResourceSplit {
                resource: *resource,
                shares: vec![0.0; rows * width],
                weights: vec![0.0; width],
                rises: vec![0.0; width],
            })
            .collect();
        let mut slots = vec![f32::INFINITY; rows * width];
        let mut slot_weights = vec![1.0; rows * width];
        for (node, knapsack) in nodes.iter().enumerate() {
            let position = |resources: &[ResourceSplit], resource: &usize| {
                resources.partition_point(|own| own.resource < *resource)
            };
            for (index, item) in knapsack.items.iter().enumerate() {
                let place = item.row.index() * width + node;
                slots[place] = 1.0 / float(item.max);
                slot_weights[place] = SLOTS_FRACTION / float(knapsack.items.len());
                for (resource, share) in knapsack.resources.iter().zip(knapsack.shares_of(index)) {
                    let position = position(&resources, resource);
                    resources[position].shares[place] = rounded(*share);
                }
            }
            for (resource, weight) in knapsack.resources.iter().zip(&knapsack.weights) {
                let position = position(&resources, resource);
                resources[position].weights[node] = (1.0 - SLOTS_FRACTION) * rounded(*weight);
            }
        }
        let prices = nodes.iter().map(|node| rounded(node.price)).collect();
        Self { rows, prices, resources, slots, slot_weights, sums: vec![1.0; width] }
    }

    /// Takes over the splits of an earlier round, whose nodes are the first of this one's.
    fn resume(&mut self, before: &Self) {
        let (width, known) = (self.prices.len(), before.prices.len());
        let lines = self.slot_weights.chunks_exact_mut(width);
        for (own, before) in lines.zip(before.slot_weights.chunks_exact(known)) {
            own[..known].copy_from_slice(before);
        }
        self.sums[..known].copy_from_slice(&before.sums);
        for own in &mut self.resources {
            let same = |before: &&ResourceSplit| before.resource == own.resource;
            if let Some(before) = before.resources.iter().find(same) {
                own.weights[..known].copy_from_slice(&before.weights);
            }
            for (own, sum) in own.weights.iter_mut().zip(&self.sums) {
                *own = own.max(sum * RESUMED_MIN);
            }
        }
    }

    /// For each row, where a copy pays the least. `None` where it fits nowhere.
    fn cheapest(&self) -> Vec<Option<Cheapest>> {
        let width = self.prices.len();
        let scales: Vec<f32> =
            self.prices.iter().zip(&self.sums).map(|(price, sum)| price / sum).collect();
        let mut payments = vec![0.0; width];
        let lines = self.slots.chunks_exact(width).zip(self.slot_weights.chunks_exact(width));
        lines
            .take(self.rows)
            .enumerate()
            .map(|(row, (slots, weights))| {
                for ((own, slot), weight) in payments.iter_mut().zip(slots).zip(weights) {
                    *own = slot * weight;
                }
                for resource in &self.resources {
                    let shares = &resource.shares[row * width..(row + 1) * width];
                    for ((own, share), weight) in
                        payments.iter_mut().zip(shares).zip(&resource.weights)
                    {
                        *own += share * weight;
                    }
                }
                for (own, scale) in payments.iter_mut().zip(&scales) {
                    *own *= scale;
                }
                let payment = payments.iter().copied().fold(f32::INFINITY, f32::min);
                let place = payments.iter().position(|own| *own <= payment)?;
                payment.is_finite().then_some(Cheapest { payment, place })
            })
            .collect()
    }

    /// Records that a row's copies pay the least on a node. `length` is how far the step goes for
    /// their dual value.
    fn record(&mut self, row: usize, node: usize, length: f32) {
        let (place, length) = (row * self.prices.len() + node, length * self.prices[node]);
        for resource in &mut self.resources {
            resource.rises[node] += length * resource.shares[place];
        }
        self.sums[node] += raise(&mut self.slot_weights[place], length * self.slots[place]);
    }

    /// Raises the parts that were recorded.
    fn apply(&mut self) {
        for ResourceSplit { weights, rises, .. } in &mut self.resources {
            for ((weight, exponent), sum) in weights.iter_mut().zip(rises).zip(&mut self.sums) {
                if *exponent > 0.0 {
                    *sum += raise(weight, *exponent);
                    *exponent = 0.0;
                }
            }
        }
        for node in 0..self.sums.len() {
            if self.sums[node] > SUM_MAX {
                self.normalize(node);
            }
        }
    }

    /// Brings a node's weights back to a sum of about one.
    fn normalize(&mut self, node: usize) {
        let (width, sum) = (self.prices.len(), self.sums[node]);
        let slots = self.slot_weights.iter_mut().skip(node).step_by(width);
        let resources = self.resources.iter_mut().map(|resource| &mut resource.weights[node]);
        for weight in slots.chain(resources) {
            *weight /= sum;
        }
        self.sums[node] = 1.0;
    }
}

/// Raises a weight by a factor, given as its logarithm; returns by how much.
fn raise(weight: &mut f32, exponent: f32) -> f32 {
    let before = *weight;
    *weight *= exponent.min(STEP_LENGTH).exp();
    *weight - before
}

/// A count as a term of a sum.
#[expect(clippy::cast_precision_loss, reason = "dual prices need not be exact")]
fn float(count: impl TryInto<u32>) -> f32 {
    count.try_into().unwrap_or(u32::MAX) as f32
}

/// A figure in single precision.
#[expect(clippy::cast_possible_truncation, reason = "dual prices need not be exact")]
fn rounded(figure: f64) -> f32 {
    figure as f32
}
