//! Limits that several offers share: how much more than they cost copies on them can be worth.

use super::ROUNDING;
use super::offer::LimitIx;
use crate::ids::IndexVec;

/// An offer that counts against a limit.
struct Counted {
    /// The most that copies on one node can be worth.
    bound: f64,
    price: f64,
    /// How much of each amount of the limit one node takes.
    taken: Vec<i64>,
}

/// Offers by the limit that they count against.
pub(super) struct LimitExcess<'l> {
    limits: &'l IndexVec<LimitIx, Vec<i64>>,
    offers: IndexVec<LimitIx, Vec<Counted>>,
}

impl<'l> LimitExcess<'l> {
    /// No offers.
    pub(super) fn new(limits: &'l IndexVec<LimitIx, Vec<i64>>) -> Self {
        Self { limits, offers: limits.iter().map(|_| Vec::new()).collect() }
    }

    /// Counts an offer against a limit.
    pub(super) fn add(&mut self, limit: LimitIx, bound: f64, price: f64, taken: &[i64]) {
        self.offers[limit].push(Counted { bound, price, taken: taken.to_vec() });
    }

    /// An upper bound on the sum by which copies on nodes within the limits can be worth more than
    /// the nodes cost, at dual prices scaled by a factor.
    ///
    /// However nodes are chosen, each unit of an amount brings no more than on the offer where it
    /// brings the most; of several amounts, the one that allows the least counts.
    pub(super) fn at(&self, scale: f64) -> f64 {
        let own = self.limits.iter().zip(&self.offers);
        own.map(|(amounts, offers)| {
            let most = |index: usize| most(offers, index, amounts[index], scale);
            (0..amounts.len()).map(most).fold(f64::INFINITY, f64::min)
        })
        .sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "off by far less than is rounded down")]
fn most(offers: &[Counted], index: usize, amount: i64, scale: f64) -> f64 {
    let mut rate = 0.0_f64;
    for Counted { bound, price, taken } in offers {
        let excess = bound * scale * (1.0 + ROUNDING) - price;
        if excess > 0.0 {
            // What takes nothing of the amount can be had any number of times.
            let taken = taken[index];
            rate = rate.max(if taken > 0 { excess / taken as f64 } else { f64::INFINITY });
        }
    }
    if rate > 0.0 { rate * amount.max(0) as f64 } else { 0.0 }
}
