//! Pricing: which pods of a node's room are worth the most, and how much they can be worth at best.
//!
//! Depth first over the pods, the densest first, cut off by a surrogate: the resources weighted into one,
//! of which a node has 1. Filling that one resource densest first, the last pod in part, is worth at least
//! as much as any pods that fit. The weights are moved until the surrogate's filling overdraws no resource
//! much, where it says most.

use std::cmp::Ordering;

use super::exact;
use super::master::Pattern;

/// Pods of one row are put in by this part of those that fit.
const CHUNKS: u32 = 3;

/// What may go into a node, by row.
pub(super) struct Room {
    /// Price of the node, in nano-USD an hour.
    pub(super) price: f64,
    /// Rows that fit, each with how many pods at most.
    pub(super) rows: Vec<(u32, u32)>,
    /// Resources that the rows ask for.
    pub(super) resources: Vec<usize>,
    /// By row and resource, the share of the node that a pod takes.
    pub(super) shares: Vec<f64>,
    /// By row and resource, what a pod takes.
    pub(super) requests: Vec<i64>,
    /// By resource, what there is.
    pub(super) amounts: Vec<i64>,
    /// How the surrogate weighs resources; sums to one.
    pub(super) weights: Vec<f64>,
}

/// What pricing a node found.
pub(super) struct Priced {
    /// The best pods that were found.
    pub(super) pattern: Pattern,
    /// What they are worth.
    pub(super) worth: f64,
    /// No pods that fit are worth more.
    pub(super) at_most: f64,
}

/// One row in the order of a search.
struct Entry {
    value: f64,
    weight: f64,
    density: f64,
    most: u32,
    /// Index into the room's rows.
    index: usize,
}

/// So few rows are sorted rather than halved.
const SORTED_MAX: usize = 12;

/// The denser of two rows comes first.
fn denser(a: &Entry, b: &Entry) -> Ordering {
    b.density.total_cmp(&a.density).then_with(|| a.index.cmp(&b.index))
}

/// Searches stop after so many nodes; what they have not seen counts at its surrogate.
pub(super) struct Effort {
    /// Nodes left.
    pub(super) left: u32,
}

impl Room {
    fn width(&self) -> usize {
        self.amounts.len()
    }

    /// Whether all pods that fit into the other fit in here.
    pub(super) fn is_at_least(&self, other: &Self) -> bool {
        let is_larger = other.resources.iter().zip(&other.amounts).all(|(resource, amount)| {
            let own = self.resources.iter().position(|own| own == resource);
            own.is_some_and(|own| self.amounts[own] >= *amount)
        });
        if !is_larger {
            return false;
        }
        let mut rows = self.rows.iter();
        other
            .rows
            .iter()
            .all(|(row, most)| rows.by_ref().any(|(own, own_most)| own == row && own_most >= most))
    }

    /// Whether pods of every row of the other may go here.
    pub(super) fn admits_all_of(&self, other: &Self) -> bool {
        let mut rows = self.rows.iter();
        other.rows.iter().all(|(row, _)| rows.by_ref().any(|(own, _)| own == row))
    }

    /// How many times the other's amounts there are, of those own resources that count; not a whole number.
    pub(super) fn times(&self, other: &Self, counts: &[bool]) -> f64 {
        let mut times = f64::INFINITY;
        for (index, resource) in self.resources.iter().enumerate().filter(|own| counts[own.0]) {
            if let Some(theirs) = other.resources.iter().position(|own| own == resource) {
                #[expect(clippy::cast_precision_loss, reason = "only ranks")]
                let own = self.amounts[index] as f64 / other.amounts[theirs] as f64;
                times = times.min(own);
            }
        }
        times
    }

    /// Whether pods, counted by the room's rows, fit together.
    pub(super) fn fits(&self, counts: &[u32]) -> bool {
        let width = self.width();
        (0..width).all(|resource| {
            let taken: i64 = counts
                .iter()
                .zip(self.requests.chunks_exact(width))
                .map(|(count, requests)| requests[resource] * i64::from(*count))
                .sum();
            taken <= self.amounts[resource]
        })
    }

    /// Pods, counted by the room's rows, as a pattern.
    pub(super) fn pattern(&self, counts: &[u32]) -> Pattern {
        let used = self.rows.iter().zip(counts).filter(|(_, count)| **count > 0);
        used.map(|((row, _), count)| (*row, *count)).collect()
    }

    /// Rows worth anything, as the weights have them.
    fn weighed(&self, values: &[f64], entries: &mut Vec<Entry>) {
        let width = self.width();
        entries.clear();
        for (index, (row, most)) in self.rows.iter().enumerate() {
            let value = values[*row as usize];
            if value <= 0.0 {
                continue;
            }
            let shares = &self.shares[index * width..(index + 1) * width];
            let weight: f64 = shares.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
            // A pod that the surrogate does not feel is as dense as any.
            let density = if weight > 0.0 { value / weight } else { f64::MAX };
            entries.push(Entry { value, weight, density, most: *most, index });
        }
    }

    /// Rows worth anything, the densest first under the weights.
    fn entries(&self, values: &[f64]) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.weighed(values, &mut entries);
        entries.sort_unstable_by(denser);
        entries
    }

    /// The surrogate's worth of the whole node, and what its filling takes of each resource.
    ///
    /// Only the row that is put in in part has to be found, so rows are not sorted: halves are told apart by
    /// density, and the search goes on in the one where the node is full.
    fn surrogate(&self, entries: &mut [Entry], usage: &mut [f64]) -> f64 {
        usage.fill(0.0);
        let (mut left, mut worth) = (1.0_f64, 0.0);
        let mut open = entries;
        while open.len() > SORTED_MAX {
            let middle = open.len() / 2;
            open.select_nth_unstable_by(middle, denser);
            let (dense, rest) = open.split_at_mut(middle);
            let all: f64 = dense.iter().map(|own| own.weight * f64::from(own.most)).sum();
            if all <= left {
                left -= all;
                for entry in &*dense {
                    worth += self.put(entry, f64::from(entry.most), usage);
                }
                open = rest;
            } else {
                open = dense;
            }
        }
        open.sort_unstable_by(denser);
        for entry in &*open {
            let all = entry.weight * f64::from(entry.most);
            let count = if all <= left { f64::from(entry.most) } else { left / entry.weight };
            worth += self.put(entry, count, usage);
            left -= all;
            if left <= 0.0 {
                break;
            }
        }
        worth
    }

    /// Counts so many pods of a row in, and says what they are worth.
    fn put(&self, entry: &Entry, count: f64, usage: &mut [f64]) -> f64 {
        let width = self.width();
        let shares = &self.shares[entry.index * width..(entry.index + 1) * width];
        for (sum, share) in usage.iter_mut().zip(shares) {
            *sum += share * count;
        }
        entry.value * count
    }

    /// The pods of the surrogate's filling; the last is in part.
    pub(super) fn surrogate_pods(&self, values: &[f64]) -> Vec<(u32, f64)> {
        let mut left = 1.0_f64;
        let mut pods = Vec::new();
        for entry in self.entries(values) {
            let all = entry.weight * f64::from(entry.most);
            let count = if all <= left { f64::from(entry.most) } else { left / entry.weight };
            if count > 0.0 {
                pods.push((self.rows[entry.index].0, count));
            }
            left -= all;
            if left <= 0.0 {
                break;
            }
        }
        pods
    }

    /// Moves the weights towards resources that the surrogate's filling overdraws, until that is worth no more
    /// than `enough`. Returns the least worth that any weights gave, an upper bound; keeps the weights that
    /// gave it.
    pub(super) fn settle_weights(&mut self, values: &[f64], enough: f64, steps: u32) -> f64 {
        let mut usage = vec![0.0; self.width()];
        let mut entries = Vec::with_capacity(self.rows.len());
        self.weighed(values, &mut entries);
        let mut best = self.surrogate(&mut entries, &mut usage);
        let mut best_usage = usage.clone();
        let mut pace = 1.0;
        for _ in 1..steps {
            if best <= enough {
                break;
            }
            let before = self.weights.clone();
            let mut sum = 0.0;
            for (weight, usage) in self.weights.iter_mut().zip(&best_usage) {
                // A weight of nothing could never grow again.
                *weight = (*weight * (pace * (usage - 1.0).clamp(-2.0, 2.0)).exp()).max(1e-3);
                sum += *weight;
            }
            for weight in &mut self.weights {
                *weight /= sum;
            }
            self.weighed(values, &mut entries);
            let worth = self.surrogate(&mut entries, &mut usage);
            if worth < best {
                best = worth;
                best_usage.clone_from(&usage);
                pace *= 1.3;
            } else {
                self.weights = before;
                pace *= 0.4;
            }
        }
        best
    }

    /// Pods put in one after the other, each time those worth most for what they take of what is left: of
    /// a resource that runs short, the same amount weighs more. Good where many pods share a node.
    pub(super) fn balanced(&self, values: &[f64]) -> (Pattern, f64) {
        let width = self.width();
        let mut open: Vec<usize> = (0..self.rows.len())
            .filter(|index| values[self.rows[*index].0 as usize] > 0.0)
            .collect();
        let mut counts = vec![0_u32; self.rows.len()];
        let mut left = self.amounts.clone();
        let mut scarcity = vec![1.0_f64; width];
        let mut worth = 0.0;
        loop {
            let mut best: Option<(usize, f64)> = None;
            open.retain(|index| {
                let requests = &self.requests[index * width..(index + 1) * width];
                if counts[*index] >= self.rows[*index].1
                    || requests.iter().zip(&left).any(|(amount, left)| amount > left)
                {
                    return false;
                }
                let shares = &self.shares[index * width..(index + 1) * width];
                let taken: f64 = shares.iter().zip(&scarcity).map(|(a, b)| a * b).sum();
                let density = values[self.rows[*index].0 as usize] / taken.max(1e-12);
                if best.is_none_or(|(_, most)| density > most) {
                    best = Some((*index, density));
                }
                true
            });
            let Some((index, _)) = best else { break };
            let requests = &self.requests[index * width..(index + 1) * width];
            let fitting = super::super::state::room_for(&left, requests);
            let count = (fitting.min(self.rows[index].1 - counts[index]) / CHUNKS).max(1);
            counts[index] += count;
            worth += values[self.rows[index].0 as usize] * f64::from(count);
            for (resource, amount) in requests.iter().enumerate() {
                left[resource] -= amount * i64::from(count);
                #[expect(clippy::cast_precision_loss, reason = "only ranks")]
                let share = left[resource].max(1) as f64 / self.amounts[resource] as f64;
                scarcity[resource] = 1.0 / share.max(1e-6);
            }
        }
        (self.pattern(&counts), worth)
    }

    /// Pods worth more than `enough`, if any were found.
    pub(super) fn worth_more(
        &self,
        values: &[f64],
        enough: f64,
        (nodes, is_exact): (u32, bool),
    ) -> Option<Pattern> {
        let (pattern, worth) = self.balanced(values);
        if worth > enough {
            return Some(pattern);
        }
        if is_exact
            && let Some((most, pattern)) = exact::best(self, values)
            && (most <= enough || pattern.is_some())
        {
            return pattern.filter(|_| most > enough);
        }
        let priced = self.price_out(values, enough, &mut Effort { left: nodes });
        (priced.worth > enough).then_some(priced.pattern)
    }

    /// The pods worth most at these values, searched for as long as none are worth more than `enough`.
    pub(super) fn price_out(&self, values: &[f64], enough: f64, effort: &mut Effort) -> Priced {
        let entries = self.entries(values);
        let mut search = Search {
            room: self,
            entries: &entries,
            left: self.amounts.clone(),
            chosen: Vec::new(),
            best: Vec::new(),
            best_worth: 0.0,
            enough,
            effort,
        };
        let at_most = search.descend(0, 1.0, 0.0);
        let mut pattern: Pattern = search
            .best
            .iter()
            .map(|(entry, count)| (self.rows[entries[*entry].index].0, *count))
            .collect();
        pattern.sort_unstable();
        Priced { pattern, worth: search.best_worth, at_most: at_most.max(search.best_worth) }
    }
}

struct Search<'s> {
    room: &'s Room,
    entries: &'s [Entry],
    left: Vec<i64>,
    chosen: Vec<(usize, u32)>,
    best: Vec<(usize, u32)>,
    best_worth: f64,
    enough: f64,
    effort: &'s mut Effort,
}

impl Search<'_> {
    fn requests(&self, entry: usize) -> &[i64] {
        let width = self.left.len();
        let index = self.entries[entry].index;
        &self.room.requests[index * width..(index + 1) * width]
    }

    fn fits(&self, entry: usize) -> bool {
        self.left.iter().zip(self.requests(entry)).all(|(left, amount)| amount <= left)
    }

    /// What is best from an entry on; returns no less than that.
    fn descend(&mut self, from: usize, weight_left: f64, worth: f64) -> f64 {
        if worth > self.best_worth {
            self.best_worth = worth;
            self.best.clone_from(&self.chosen);
        }
        let Some((next, bound)) = self.outlook(from, weight_left, worth) else { return worth };
        if bound <= self.best_worth.max(self.enough) || self.effort.left == 0 {
            return bound;
        }
        self.effort.left -= 1;
        let entry = &self.entries[next];
        let most = entry.most.min(super::super::state::room_for(&self.left, self.requests(next)));
        let mut at_most = worth;
        for count in (0..=most).rev() {
            self.take(next, i64::from(count));
            if count > 0 {
                self.chosen.push((next, count));
            }
            let taken = f64::from(count);
            let below = self.descend(
                next + 1,
                weight_left - entry.weight * taken,
                worth + entry.value * taken,
            );
            at_most = at_most.max(below);
            if count > 0 {
                self.chosen.pop();
            }
            self.take(next, -i64::from(count));
        }
        at_most
    }

    fn take(&mut self, entry: usize, count: i64) {
        let width = self.left.len();
        let index = self.entries[entry].index;
        let requests = &self.room.requests[index * width..(index + 1) * width];
        for (left, amount) in self.left.iter_mut().zip(requests) {
            *left -= amount * count;
        }
    }

    /// The next entry that fits, and what the surrogate makes of all that fit. `None` where nothing fits.
    fn outlook(&self, from: usize, weight_left: f64, worth: f64) -> Option<(usize, f64)> {
        let mut next = None;
        let mut bound = worth;
        let mut left = weight_left.max(0.0);
        for index in from..self.entries.len() {
            if !self.fits(index) {
                continue;
            }
            next.get_or_insert(index);
            let entry = &self.entries[index];
            let all = entry.weight * f64::from(entry.most);
            if all > left {
                bound += entry.value * left / entry.weight;
                break;
            }
            bound += entry.value * f64::from(entry.most);
            left -= all;
        }
        next.map(|next| (next, bound))
    }
}
