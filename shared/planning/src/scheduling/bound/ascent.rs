//! Finding values: what nodes charge for rises where pods use it, as long as that makes all pods worth more.
//!
//! Let each node charge for what pods take of it, so that all that it has comes to its price. If a pod is worth
//! what the cheapest node charges for it, then no pods that fit on a node are worth more than it costs. A node
//! has its resources, and for each demand as many slots as it holds of its pods at most. Which charges make
//! all pods worth the most is a linear program with a column for every node and resource. It is climbed with
//! exponentiated gradients (Kivinen and Warmuth 1997): a step makes dearer, by a factor, what is used by the pods
//! that a node is cheapest for; all else on that node gets cheaper.
//!
//! Nothing here has to be exact: [`super::search::prove`] cuts what is worth too much.

use super::demand::Demand;
use super::offer::Offer;

/// Steps of the first climb, among offers that are likely to count, and of the second, with all that do.
const STEPS: [usize; 2] = [200, 300];
/// Looks at a demand on a node, for a climb; with many demands there are fewer steps.
const WORK_MAX: usize = 8_000_000;
/// With fewer steps than this, values say less than a guess.
const STEPS_MIN: usize = 30;

/// The part of a price that slots are charged at first.
const SLOTS_PART: f32 = 0.05;

/// How far a step goes: the logarithm of the factor for what all the value is used on.
const PACE: f32 = 4.0;
/// Steps get shorter with the root of their number, counted in so many.
const PACE_LASTS: f32 = 20.0;

/// A resource counts as scarce if pods take as much of it as this part of what they take of the scarcest.
const SCARCE: f64 = 0.75;

/// Moves of an offer's weights when it is asked what its pods can be worth.
const WEIGHT_STEPS: u32 = 4;

/// Weights are divided by their sum when it has grown so much.
const SUM_MAX: f32 = 1e12;

/// An offer joins the second climb if its pods can be worth more than its price by this part.
const EXCESS_MIN: f64 = 1e-3;

/// By demand, what a pod is worth, in nano-USD an hour. `None` where there are too many demands to tell.
pub(super) fn values(demands: &[Demand], offers: &mut [Offer]) -> Option<Vec<f64>> {
    let counts: Vec<f32> = demands.iter().map(|demand| float(demand.count)).collect();
    let mut counts_in = major(offers, &counts);
    let mut values = None;
    for steps_max in STEPS {
        let nodes: Vec<&Offer> =
            offers.iter().zip(&counts_in).filter(|(_, is_in)| **is_in).map(|own| own.0).collect();
        let steps = (WORK_MAX / (counts.len() * nodes.len()).max(1)).min(steps_max);
        if steps < STEPS_MIN {
            break;
        }
        let found = values.insert(climb(&counts, &nodes, steps));
        let mut is_complete = true;
        for (Offer { room, .. }, is_in) in offers.iter_mut().zip(&mut counts_in) {
            let enough = room.price * (1.0 + EXCESS_MIN);
            if !*is_in && room.settle_weights(found, enough, WEIGHT_STEPS) > enough {
                *is_in = true;
                is_complete = false;
            }
        }
        if is_complete {
            break;
        }
    }
    values
}

fn climb(counts: &[f32], nodes: &[&Offer], steps: usize) -> Vec<f64> {
    let mut charges = Charges::of(nodes, counts.len());
    let mut best = (0.0, vec![0.0; counts.len()]);
    for step in 0..steps {
        let cheapest = charges.cheapest();
        let total: f32 = cheapest
            .iter()
            .zip(counts)
            .filter_map(|(own, count)| Some(own.as_ref()?.0 * count))
            .sum();
        if total > best.0 {
            let charge = |own: &Option<(f32, usize)>| own.map_or(0.0, |(charge, _)| charge.into());
            best = (total, cheapest.iter().map(charge).collect());
        } else if total <= 0.0 {
            break;
        }
        let pace = PACE / (1.0 + float(step) / PACE_LASTS).sqrt();
        for (demand, (own, count)) in cheapest.iter().zip(counts).enumerate() {
            if let Some((_, node)) = own {
                charges.use_up(demand, *node, pace * count / total);
            }
        }
        charges.raise();
    }
    best.1
}

/// Offers worth a look: of two that give as much for their price of what is scarce, the larger.
fn major(offers: &[Offer], counts: &[f32]) -> Vec<bool> {
    let scarce: Vec<Vec<bool>> = offers.iter().map(|offer| scarce(offer, counts)).collect();
    let is_minor = |own: &Offer| {
        let small = &own.room;
        offers.iter().zip(&scarce).any(|(Offer { room: large, .. }, scarce)| {
            large.price > small.price
                && large.price <= small.price * large.times(small, scarce)
                && large.admits_all_of(small)
        })
    };
    offers.iter().map(|offer| !is_minor(offer)).collect()
}

/// Resources of a node that run out about first when it is filled with pods of all kinds.
fn scarce(offer: &Offer, counts: &[f32]) -> Vec<bool> {
    let room = &offer.room;
    let mut taken = vec![0.0; room.amounts.len()];
    for ((demand, _), shares) in room.rows.iter().zip(room.shares.chunks_exact(taken.len())) {
        for (taken, share) in taken.iter_mut().zip(shares) {
            *taken += f64::from(counts[*demand as usize]) * share;
        }
    }
    let most = taken.iter().copied().fold(0.0, f64::max);
    taken.into_iter().map(|taken| taken >= most * SCARCE).collect()
}

/// What nodes charge. Tables have a row for each demand, and in it a figure for each node.
struct Charges {
    demands: usize,
    prices: Vec<f32>,
    resources: Vec<Resource>,
    /// The share of its slots that a pod takes; infinite where it cannot go.
    slots: Vec<f32>,
    /// Slots' parts of the price, times the node's sum.
    slot_weights: Vec<f32>,
    /// By node, what all its weights come to.
    sums: Vec<f32>,
}

/// A resource on all nodes.
struct Resource {
    /// The share that a pod takes.
    shares: Vec<f32>,
    /// By node, the resource's part of the price, times the node's sum.
    weights: Vec<f32>,
    /// By node, the logarithm of the factor by which the weight is about to rise.
    rises: Vec<f32>,
}

impl Charges {
    fn of(nodes: &[&Offer], demands: usize) -> Self {
        let width = nodes.len();
        let mut names: Vec<usize> =
            nodes.iter().flat_map(|node| node.room.resources.iter().copied()).collect();
        names.sort_unstable();
        names.dedup();
        let mut resources: Vec<Resource> = names
            .iter()
            .map(|_| Resource {
                shares: vec![0.0; demands * width],
                weights: vec![0.0; width],
                rises: vec![0.0; width],
            })
            .collect();
        let mut slots = vec![f32::INFINITY; demands * width];
        let mut slot_weights = vec![1.0; demands * width];
        for (node, Offer { room, .. }) in nodes.iter().enumerate() {
            let of_node = room.resources.len();
            for (row, (demand, most)) in room.rows.iter().enumerate() {
                let place = *demand as usize * width + node;
                slots[place] = 1.0 / float(*most);
                slot_weights[place] = SLOTS_PART / float(room.rows.len());
                let shares = &room.shares[row * of_node..(row + 1) * of_node];
                for (name, share) in room.resources.iter().zip(shares) {
                    #[expect(clippy::cast_possible_truncation, reason = "values need not be exact")]
                    let share = *share as f32;
                    resources[names.partition_point(|own| own < name)].shares[place] = share;
                }
            }
            for name in &room.resources {
                let resource = &mut resources[names.partition_point(|own| own < name)];
                resource.weights[node] = (1.0 - SLOTS_PART) / float(of_node);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "values need not be exact")]
        let prices = nodes.iter().map(|node| node.room.price as f32).collect();
        Self { demands, prices, resources, slots, slot_weights, sums: vec![1.0; width] }
    }

    /// By demand, what a pod is charged where that is the least, and by which node. `None` where it can go nowhere.
    fn cheapest(&self) -> Vec<Option<(f32, usize)>> {
        let width = self.prices.len();
        let scales: Vec<f32> =
            self.prices.iter().zip(&self.sums).map(|(price, sum)| price / sum).collect();
        let mut charged = vec![0.0; width];
        let rows = self.slots.chunks_exact(width).zip(self.slot_weights.chunks_exact(width));
        rows.take(self.demands)
            .enumerate()
            .map(|(demand, (slots, weights))| {
                for ((own, slot), weight) in charged.iter_mut().zip(slots).zip(weights) {
                    *own = slot * weight;
                }
                for resource in &self.resources {
                    let shares = &resource.shares[demand * width..(demand + 1) * width];
                    for ((own, share), weight) in
                        charged.iter_mut().zip(shares).zip(&resource.weights)
                    {
                        *own += share * weight;
                    }
                }
                for (own, scale) in charged.iter_mut().zip(&scales) {
                    *own *= scale;
                }
                let least = charged.iter().copied().fold(f32::INFINITY, f32::min);
                let node = charged.iter().position(|own| *own <= least)?;
                least.is_finite().then_some((least, node))
            })
            .collect()
    }

    /// Counts a demand in that a node is cheapest for. `pace` is how far the step goes for its pods' value.
    fn use_up(&mut self, demand: usize, node: usize, pace: f32) {
        let (place, pace) = (demand * self.prices.len() + node, pace * self.prices[node]);
        for resource in &mut self.resources {
            resource.rises[node] += pace * resource.shares[place];
        }
        self.sums[node] += rise(&mut self.slot_weights[place], pace * self.slots[place]);
    }

    /// Makes dearer what was counted in.
    fn raise(&mut self) {
        for Resource { weights, rises, .. } in &mut self.resources {
            for ((weight, by), sum) in weights.iter_mut().zip(rises).zip(&mut self.sums) {
                if *by > 0.0 {
                    *sum += rise(weight, *by);
                    *by = 0.0;
                }
            }
        }
        for node in 0..self.sums.len() {
            if self.sums[node] > SUM_MAX {
                self.divide(node);
            }
        }
    }

    /// Brings a node's weights back to a sum of about one.
    fn divide(&mut self, node: usize) {
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
fn rise(weight: &mut f32, by: f32) -> f32 {
    let before = *weight;
    *weight *= by.min(PACE).exp();
    *weight - before
}

/// Counts as they take part in sums.
#[expect(clippy::cast_precision_loss, reason = "values need not be exact")]
fn float(count: impl TryInto<u32>) -> f32 {
    count.try_into().unwrap_or(u32::MAX) as f32
}
