//! The pricing problem of one offer: a bounded knapsack with several resources.

use super::row::{RowIx, Rows};

/// Rows, with how many copies of each one node holds. Sorted by row; no count is zero.
pub(super) type Pattern = Vec<(RowIx, u32)>;

/// A row that fits into a knapsack.
#[derive(Clone)]
pub(super) struct Item {
    /// The row.
    pub(super) row: RowIx,
    /// The most copies that fit alone. At least one, unless [capped](Knapsack::cap).
    pub(super) max: u32,
}

/// What one node of an offer holds and costs.
///
/// `shares` and `requests` are matrices with a line for each of `items` and a column for each of
/// `resources`, line by line.
#[derive(Clone)]
pub(super) struct Knapsack {
    /// Price of the node.
    pub(super) price: f64,
    /// Rows that fit, in order.
    pub(super) items: Vec<Item>,
    /// Resources that the rows request.
    pub(super) resources: Vec<usize>,
    /// The fraction of the node that one copy takes.
    pub(super) shares: Vec<f64>,
    /// The amount that one copy takes.
    pub(super) requests: Vec<i64>,
    /// The amount that the node has of each resource.
    pub(super) amounts: Vec<i64>,
    /// Weights of the resources in the surrogate constraint; they sum to one.
    pub(super) weights: Vec<f64>,
}

/// How many copies of the requests fit into the amounts.
pub(super) fn copies_that_fit(amounts: &[i64], requests: &[i64]) -> u32 {
    let mut most = i64::from(u32::MAX);
    for (amount, request) in amounts.iter().zip(requests) {
        if *request > 0 {
            if amount < request {
                return 0;
            }
            most = most.min(amount / request);
        }
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// The whole copies in a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounds down; none is below zero, and what is too many is the most there can be"
)]
pub(super) fn whole(copies: f64) -> u32 {
    copies.floor() as u32
}

impl Knapsack {
    /// The number of resources.
    pub(super) fn width(&self) -> usize {
        self.amounts.len()
    }

    /// What one copy of an item takes of each resource.
    pub(super) fn requests_of(&self, item: usize) -> &[i64] {
        let width = self.width();
        &self.requests[item * width..(item + 1) * width]
    }

    /// What one copy of an item takes of each resource, as a fraction of the node.
    pub(super) fn shares_of(&self, item: usize) -> &[f64] {
        let width = self.width();
        &self.shares[item * width..(item + 1) * width]
    }

    /// Has patterns hold no more copies of a row than it counts.
    pub(super) fn cap(&mut self, rows: &Rows) {
        for item in &mut self.items {
            item.max = item.max.min(rows[item.row].count);
        }
    }

    /// Whether every pattern of the other fits here.
    pub(super) fn holds_all_of(&self, other: &Self) -> bool {
        let is_larger = other.resources.iter().zip(&other.amounts).all(|(resource, amount)| {
            let own = self.resources.iter().position(|own| own == resource);
            own.is_some_and(|own| self.amounts[own] >= *amount)
        });
        if !is_larger {
            return false;
        }
        let mut own = self.items.iter();
        other
            .items
            .iter()
            .all(|theirs| own.by_ref().any(|own| own.row == theirs.row && own.max >= theirs.max))
    }

    /// Whether at least one copy of every row of the other fits here.
    pub(super) fn admits_all_of(&self, other: &Self) -> bool {
        let mut own = self.items.iter();
        other.items.iter().all(|theirs| own.by_ref().any(|own| own.row == theirs.row))
    }

    /// How many times larger than the other this is, in the resource where that is the least; only
    /// resources for which `counts` is set are compared.
    pub(super) fn size_ratio(&self, other: &Self, counts: &[bool]) -> f64 {
        let mut ratio = f64::INFINITY;
        for (index, resource) in self.resources.iter().enumerate().filter(|own| counts[own.0]) {
            if let Some(theirs) = other.resources.iter().position(|own| own == resource) {
                #[expect(clippy::cast_precision_loss, reason = "only ranks")]
                let own = self.amounts[index] as f64 / other.amounts[theirs] as f64;
                ratio = ratio.min(own);
            }
        }
        ratio
    }

    /// Whether copies, counted by item, fit together.
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

    /// Copies, counted by item, as a pattern.
    pub(super) fn pattern(&self, counts: &[u32]) -> Pattern {
        let used = self.items.iter().zip(counts).filter(|(_, count)| **count > 0);
        used.map(|(item, count)| (item.row, *count)).collect()
    }
}
