//! Offers: nodes that can be bought, or capacity that exists already.

use super::knapsack::{Item, Knapsack, copies_that_fit};
use super::row::{RowIx, Rows};
use crate::ids::{IndexVec, idx};

idx! {
    /// An offer that can be had any number of times.
    OfferIx
}

/// What an offer holds, whichever rows fit on it.
pub(crate) struct Capacity<'a> {
    /// Price of one node.
    pub(crate) price: f64,
    /// How much of each resource one node has.
    pub(crate) amounts: &'a [i64],
    /// How many such nodes there are.
    pub(crate) available: u32,
    /// Resources in the order in which sums run over them, so that sums do not depend on how
    /// resources happen to be numbered.
    pub(crate) resource_order: &'a [usize],
}

/// A node that rows can be placed on.
#[derive(Clone)]
pub(crate) struct Offer {
    /// What one node holds and costs.
    pub(super) knapsack: Knapsack,
    /// How many such nodes there are.
    pub(super) available: u32,
    /// The limit that such nodes count against together with others, and how much of each of its
    /// amounts one of them takes.
    pub(super) limit: Option<(LimitIx, Vec<i64>)>,
}

idx! {
    /// A limit that several offers share.
    LimitIx
}

/// A node full of one row's copies alone.
pub(super) struct Alone {
    pub(super) offer: OfferIx,
    /// Copies that it holds.
    pub(super) copies: u32,
    /// What each of them costs.
    pub(super) each: f64,
}

/// For each row, the offer on which a copy costs the least if the node is full of that row alone;
/// `None` for a row that fits on none.
pub(super) fn cheapest_alone(
    rows: &Rows,
    offers: &IndexVec<OfferIx, Offer>,
) -> IndexVec<RowIx, Option<Alone>> {
    let mut cheapest: IndexVec<RowIx, Option<Alone>> = rows.iter().map(|_| None).collect();
    for (offer, Offer { knapsack, .. }) in offers.iter_enumerated() {
        for item in &knapsack.items {
            let each = knapsack.price / f64::from(item.max);
            let known = &mut cheapest[item.row];
            if known.as_ref().is_none_or(|known| each < known.each) {
                *known = Some(Alone { offer, copies: item.max, each });
            }
        }
    }
    cheapest
}

impl Offer {
    /// The offer, counted against a limit: one node takes so much of each of its amounts.
    pub(crate) fn within(self, limit: LimitIx, taken: Vec<i64>) -> Self {
        Self { limit: Some((limit, taken)), ..self }
    }

    /// The offer at no price.
    pub(crate) fn without_price(mut self) -> Self {
        self.knapsack.price = 0.0;
        self
    }

    /// The offer for those rows that fit and are accepted; `None` where there are none. `accepts`
    /// is asked about rows that fit only.
    pub(crate) fn new(
        rows: &Rows,
        capacity: &Capacity,
        accepts: impl Fn(RowIx) -> bool,
    ) -> Option<Self> {
        let all_amounts = capacity.amounts;
        let mut items = Vec::new();
        let mut is_requested = vec![false; all_amounts.len()];
        for (row, own) in rows.iter_enumerated() {
            let max = copies_that_fit(all_amounts, &own.requests).min(own.count).min(own.per_node);
            if max > 0 && accepts(row) {
                items.push(Item { row, max });
                for (is_requested, amount) in is_requested.iter_mut().zip(&own.requests) {
                    *is_requested |= *amount > 0;
                }
            }
        }
        if items.is_empty() {
            return None;
        }
        let resources: Vec<usize> = capacity
            .resource_order
            .iter()
            .copied()
            .filter(|resource| is_requested[*resource])
            .collect();
        let mut requests = Vec::with_capacity(items.len() * resources.len());
        for item in &items {
            let all = &rows[item.row].requests;
            requests.extend(resources.iter().map(|resource| all[*resource]));
        }
        let amounts: Vec<i64> = resources.iter().map(|resource| all_amounts[*resource]).collect();
        #[expect(clippy::cast_precision_loss, reason = "the surrogate may be off by a rounding")]
        let shares = requests
            .chunks_exact(resources.len())
            .flat_map(|own| own.iter().zip(&amounts).map(|(a, b)| *a as f64 / *b as f64))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a handful of resources")]
        let weights = vec![1.0 / resources.len() as f64; resources.len()];
        let price = capacity.price;
        Some(Self {
            knapsack: Knapsack { price, items, resources, shares, requests, amounts, weights },
            available: capacity.available,
            limit: None,
        })
    }
}

impl Offer {
    /// For each row that fits, in order, the fraction of a node that one copy takes, its resources
    /// weighed by how scarce they are.
    pub(crate) fn weighed_shares(&self) -> impl Iterator<Item = (RowIx, f64)> {
        let Knapsack { items, shares, weights, .. } = &self.knapsack;
        items.iter().zip(shares.chunks_exact(weights.len())).map(move |(item, shares)| {
            (item.row, shares.iter().zip(weights).map(|(share, weight)| share * weight).sum())
        })
    }

    /// For each row that fits, the largest part of a resource that one copy takes.
    fn largest_shares(&self) -> impl Iterator<Item = (RowIx, f64)> {
        let Knapsack { items, shares, amounts, .. } = &self.knapsack;
        let largest = |shares: &[f64]| shares.iter().copied().fold(0.0, f64::max);
        let each = items.iter().zip(shares.chunks_exact(amounts.len()));
        each.map(move |(item, shares)| (item.row, largest(shares)))
    }

    /// Lowers, by row, the least price of a share to this offer's at another price, for those rows
    /// that are accepted.
    pub(crate) fn lower_to_shares_at(
        &self,
        price: f64,
        accepts: impl Fn(RowIx) -> bool,
        least: &mut IndexVec<RowIx, f64>,
    ) {
        for (row, share) in self.largest_shares() {
            if share * price < least[row] && accepts(row) {
                least[row] = share * price;
            }
        }
    }

    /// Whether a copy of some row takes a share whose price is at most so many times the least.
    pub(crate) fn has_share_within(&self, least: &IndexVec<RowIx, f64>, times: f64) -> bool {
        let price = self.knapsack.price;
        self.largest_shares().any(|(row, share)| share * price <= least[row] * times)
    }
}

/// Leaves out offers that another dominates: no dearer, no smaller, and open to the same rows. The
/// rest comes cheapest first; of equal prices, the least key first. What counts against a limit
/// dominates nothing, as there may be too little of it.
pub(crate) fn undominated<K: Ord>(mut offers: Vec<(K, Offer)>) -> Vec<(K, Offer)> {
    offers.sort_by(|(a_key, a), (b_key, b)| {
        a.knapsack.price.total_cmp(&b.knapsack.price).then_with(|| a_key.cmp(b_key))
    });
    let mut kept: Vec<(K, Offer)> = Vec::new();
    for (key, offer) in offers {
        let mut unlimited = kept.iter().filter(|(_, other)| other.limit.is_none());
        if !unlimited.any(|(_, other)| other.knapsack.holds_all_of(&offer.knapsack)) {
            kept.push((key, offer));
        }
    }
    kept
}
