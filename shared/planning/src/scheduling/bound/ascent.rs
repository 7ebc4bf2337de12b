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
use super::knapsack::Room;
use super::offer::Offer;

/// Rounds of climbing, each with more nodes than the one before.
const ROUNDS: usize = 8;
/// Steps of a round.
const STEPS: usize = 200;
/// Steps of later rounds are as short as if there had been so many before.
const STEPS_BEHIND: usize = 60;
/// Looks at a demand on a node, in all; with many demands there are fewer steps.
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

/// An offer joins if its pods can be worth more than its price by this part.
const EXCESS_MIN: f64 = 3e-3;

/// So many join at once.
const JOINING_MAX: usize = 16;

/// By demand, what a pod is worth, in nano-USD an hour. `None` where there are too many demands to tell.
///
/// Of nodes that are much alike, each would have to be made dearer by itself. So few nodes take part at first, and
/// those whose pods turn out to be worth most more than their price join.
pub(super) fn values(demands: &[Demand], offers: &mut [Offer]) -> Option<Vec<f64>> {
    let counts: Vec<f32> = demands.iter().map(|demand| float(demand.count)).collect();
    let mut nodes = major(offers, &counts);
    let mut work = WORK_MAX;
    let mut charges: Option<Charges> = None;
    let mut values = None;
    for round in 0..ROUNDS {
        let looks = (counts.len() * nodes.len()).max(1);
        // Half of what is left, so that those that join get their turn.
        let steps = (work / 2 / looks).min(STEPS);
        if steps < STEPS_MIN {
            break;
        }
        work -= steps * looks;
        let of_nodes: Vec<&Offer> = nodes.iter().map(|node| &offers[*node]).collect();
        let mut own = Charges::of(&of_nodes, counts.len());
        if let Some(before) = &charges {
            own.go_on_from(before);
        }
        let top = climb(&counts, charges.insert(own), steps, round);
        for (place, node) in nodes.iter().enumerate() {
            top.weigh(place, &mut offers[*node].room);
        }
        let joining = exceeding(offers, values.insert(top.values));
        if joining.is_empty() {
            break;
        }
        nodes.extend(joining);
    }
    values
}

/// Nodes whose pods can be worth more than they cost: those of which it is most. None of those that took part.
fn exceeding(offers: &mut [Offer], values: &[f64]) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = Vec::new();
    for (index, Offer { room, .. }) in offers.iter_mut().enumerate() {
        let enough = room.price * (1.0 + EXCESS_MIN);
        let at_most = room.settle_weights(values, enough, WEIGHT_STEPS);
        if at_most > enough {
            found.push((at_most / room.price, index));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(JOINING_MAX).map(|(_, index)| index).collect()
}

/// Where pods were worth most.
struct Top {
    /// What all of them are worth.
    total: f32,
    /// By demand, what a pod is worth.
    values: Vec<f64>,
    /// By resource, its index, and by node what it is charged in parts of the price.
    parts: Vec<(usize, Vec<f32>)>,
}

impl Top {
    /// Has a node's surrogate weigh resources as they are charged, which bounds what its pods are worth by its price:
    /// they are worth no more than they are charged.
    fn weigh(&self, place: usize, room: &mut Room) {
        let part = |name: &usize| {
            let own = self.parts.iter().find(|(own, _)| own == name);
            own.map_or(0.0, |(_, parts)| f64::from(parts[place]))
        };
        let parts: Vec<f64> = room.resources.iter().map(part).collect();
        let sum: f64 = parts.iter().sum();
        if sum > 0.0 {
            room.weights = parts.into_iter().map(|part| part / sum).collect();
        }
    }
}

fn climb(counts: &[f32], charges: &mut Charges, steps: usize, round: usize) -> Top {
    let mut top = Top { total: 0.0, values: vec![0.0; counts.len()], parts: Vec::new() };
    let behind = if round == 0 { 0 } else { STEPS_BEHIND };
    for step in 0..steps {
        let cheapest = charges.cheapest();
        let total: f32 = cheapest
            .iter()
            .zip(counts)
            .filter_map(|(own, count)| Some(own.as_ref()?.0 * count))
            .sum();
        if total > top.total {
            let charge = |own: &Option<(f32, usize)>| own.map_or(0.0, |(charge, _)| charge.into());
            let parts = charges.resources.iter().map(|own| (own.name, own.weights.clone()));
            let values = cheapest.iter().map(charge).collect();
            top = Top { total, values, parts: parts.collect() };
        } else if total <= 0.0 {
            break;
        }
        let pace = PACE / (1.0 + float(step + behind) / PACE_LASTS).sqrt();
        for (demand, (own, count)) in cheapest.iter().zip(counts).enumerate() {
            if let Some((_, node)) = own {
                charges.use_up(demand, *node, pace * count / total);
            }
        }
        charges.raise();
    }
    top
}

/// Offers worth a look: of two that give as much for their price of what is scarce, the larger.
fn major(offers: &[Offer], counts: &[f32]) -> Vec<usize> {
    let scarce: Vec<Vec<bool>> = offers.iter().map(|offer| scarce(offer, counts)).collect();
    let is_minor = |own: &Offer| {
        let small = &own.room;
        offers.iter().zip(&scarce).any(|(Offer { room: large, .. }, scarce)| {
            large.price > small.price
                && large.price <= small.price * large.times(small, scarce)
                && large.admits_all_of(small)
        })
    };
    (0..offers.len()).filter(|index| !is_minor(&offers[*index])).collect()
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
    /// Its index.
    name: usize,
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
            .map(|name| Resource {
                name: *name,
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
            for (name, weight) in room.resources.iter().zip(&room.weights) {
                let resource = &mut resources[names.partition_point(|own| own < name)];
                #[expect(clippy::cast_possible_truncation, reason = "values need not be exact")]
                let weight = *weight as f32;
                resource.weights[node] = (1.0 - SLOTS_PART) * weight;
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "values need not be exact")]
        let prices = nodes.iter().map(|node| node.room.price as f32).collect();
        Self { demands, prices, resources, slots, slot_weights, sums: vec![1.0; width] }
    }

    /// Takes over what was charged: the first nodes are those of before.
    fn go_on_from(&mut self, before: &Self) {
        let (width, known) = (self.prices.len(), before.prices.len());
        let rows = self.slot_weights.chunks_exact_mut(width);
        for (own, before) in rows.zip(before.slot_weights.chunks_exact(known)) {
            own[..known].copy_from_slice(before);
        }
        self.sums[..known].copy_from_slice(&before.sums);
        for own in &mut self.resources {
            if let Some(before) = before.resources.iter().find(|before| before.name == own.name) {
                own.weights[..known].copy_from_slice(&before.weights);
            }
        }
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
