//! A greedy heuristic for the pricing problem: good where many copies share a node.

use super::knapsack::{Knapsack, Pattern, copies_that_fit};
use super::open::Open;
use super::row::Duals;

/// At most this fraction of the copies that fit is put in at a time.
const CHUNKS: u32 = 3;

/// Puts copies in one after the other, each time those with the highest dual price for what they
/// take of what is left: a resource that runs short weighs more. Returns the pattern and its dual
/// value.
pub(super) fn pattern(knapsack: &Knapsack, duals: &Duals) -> (Pattern, f64) {
    complete(knapsack, duals, vec![0; knapsack.items.len()])
}

/// Puts further copies into a node that holds some already, counted by item: as many as fit.
pub(super) fn complete(knapsack: &Knapsack, duals: &Duals, mut counts: Vec<u32>) -> (Pattern, f64) {
    let mut left = knapsack.amounts.clone();
    let mut value = 0.0;
    for (item, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        value += duals[knapsack.items[item].row] * f64::from(*count);
        for (left, amount) in left.iter_mut().zip(knapsack.requests_of(item)) {
            *left -= amount * i64::from(*count);
        }
    }
    let mut open: Open<usize> = Open::default();
    let items = knapsack.items.iter().enumerate().filter(|(item, own)| own.max > counts[*item]);
    let items = items.map(|(item, own)| (item, duals[own.row])).filter(|(_, dual)| *dual > 0.0);
    open.refill(items, knapsack.width(), |item, resource| {
        float(knapsack.requests_of(item)[resource])
    });
    while let Some((place, item)) = open.densest(left.iter().map(|left| float(*left))) {
        let requests = knapsack.requests_of(item);
        let own = &knapsack.items[item];
        let most = own.max - counts[item];
        let count = (copies_that_fit(&left, requests).min(most) / CHUNKS).max(1);
        counts[item] += count;
        value += duals[own.row] * f64::from(count);
        for (left, amount) in left.iter_mut().zip(requests) {
            *left -= amount * i64::from(count);
        }
        if count == most {
            open.close(place);
        }
    }
    (knapsack.pattern(&counts), value)
}

/// An amount to weigh with: exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53")]
fn float(amount: i64) -> f64 {
    amount as f64
}
