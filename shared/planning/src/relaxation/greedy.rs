//! A greedy heuristic for the pricing problem: good where many copies share a node.

use super::knapsack::{Knapsack, Pattern, copies_that_fit};
use super::row::Duals;

/// At most this fraction of the copies that fit is put in at a time.
const CHUNKS: u32 = 3;

/// Puts copies in one after the other, each time those with the highest dual price for what they
/// take of what is left: a resource that runs short weighs more. Returns the pattern and its dual
/// value.
pub(super) fn pattern(knapsack: &Knapsack, duals: &Duals) -> (Pattern, f64) {
    let dual = |item: usize| duals[knapsack.items[item].row];
    let mut open: Vec<usize> = (0..knapsack.items.len()).filter(|item| dual(*item) > 0.0).collect();
    let mut counts = vec![0_u32; knapsack.items.len()];
    let mut left = knapsack.amounts.clone();
    let mut scarcity = vec![1.0_f64; knapsack.width()];
    let mut value = 0.0;
    loop {
        let mut best: Option<(usize, f64)> = None;
        open.retain(|item| {
            let requests = knapsack.requests_of(*item);
            if counts[*item] >= knapsack.items[*item].max
                || requests.iter().zip(&left).any(|(amount, left)| amount > left)
            {
                return false;
            }
            let shares = knapsack.shares_of(*item);
            let taken: f64 = shares.iter().zip(&scarcity).map(|(a, b)| a * b).sum();
            let density = dual(*item) / taken.max(1e-12);
            if best.is_none_or(|(_, most)| density > most) {
                best = Some((*item, density));
            }
            true
        });
        let Some((item, _)) = best else { break };
        let requests = knapsack.requests_of(item);
        let fitting = copies_that_fit(&left, requests);
        let count = (fitting.min(knapsack.items[item].max - counts[item]) / CHUNKS).max(1);
        counts[item] += count;
        value += dual(item) * f64::from(count);
        for (resource, amount) in requests.iter().enumerate() {
            left[resource] -= amount * i64::from(count);
            #[expect(clippy::cast_precision_loss, reason = "only ranks")]
            let share = left[resource].max(1) as f64 / knapsack.amounts[resource] as f64;
            scarcity[resource] = 1.0 / share.max(1e-6);
        }
    }
    (knapsack.pattern(&counts), value)
}
