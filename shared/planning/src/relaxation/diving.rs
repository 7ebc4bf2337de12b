//! Patterns in whole numbers, by a dive (Sadykov, Vanderbeck, Pessoa, Tahiri and Uchoa 2019).
//!
//! Patterns that the fractional solution uses wholly, or nearly so, are bought; the program is
//! solved again for the copies that these leave, from the patterns that are known, and so on until
//! nothing is left. Rounding a fractional solution at once leaves copies that go together badly.
//! Here each step has patterns that suit what is left.

use super::budget::Budget;
use super::column_generation::{ColumnGeneration, ColumnUse};
use super::knapsack::{Pattern, whole};
use super::offer::{Offer, OfferIx};
use super::pricing::worth_of;
use super::row::{Duals, Rows};
use crate::ids::IndexVec;

/// Solutions, at most: most dives end after some twenty.
const STEPS_MAX: u32 = 120;

/// Passes in which patterns are looked for at each step.
const PASSES: u32 = 4;

/// A pattern is bought from this level on, and as many of it as its level is whole; what is missing
/// to the next whole number may be this short.
const SHORT: f64 = 0.1;

/// Where no pattern is used so much, one in so many nodes is bought of those that most is paid for.
const BOUGHT_PART: f64 = 16.0;

/// Patterns that are worth less, as fractions of their price, are no longer bought once copies run
/// out that they are made of: first by this, and where that leaves none, by less.
const WORTH_MIN: [f64; 3] = [0.9, 0.8, 0.0];

/// Patterns bought on the way down.
struct Dive<'d> {
    duals: &'d Duals,
    /// What is left of the rows.
    left: Rows,
    bought: Vec<ColumnUse>,
    worth_min: f64,
}

/// Covers the rows with patterns in whole numbers, from dual prices and patterns of a fractional
/// solution. Copies may be missing where no pattern takes them.
pub(super) fn dive(
    rows: &Rows,
    mut offers: IndexVec<OfferIx, Offer>,
    (duals, columns): (&Duals, &[ColumnUse]),
    budget: &Budget,
) -> Vec<ColumnUse> {
    let mut thresholds = WORTH_MIN.into_iter();
    let worth_min = thresholds.next().unwrap_or(0.0);
    let mut dive = Dive { duals, left: rows.clone(), bought: Vec::new(), worth_min };
    let mut known: Vec<(OfferIx, Pattern)> =
        columns.iter().map(|own| (own.offer, own.pattern.clone())).collect();
    let mut work_left = budget.generation;
    for _ in 0..STEPS_MAX {
        if dive.left.iter().all(|row| row.count == 0) {
            break;
        }
        for offer in offers.iter_mut() {
            offer.knapsack.cap(&dive.left);
        }
        dive.trim(&mut known, &offers);
        let work = (budget, work_left);
        let mut generation =
            ColumnGeneration::resumed(&dive.left, &mut offers, duals.clone(), work);
        generation.enter_known(&known);
        generation.look_for_more(PASSES);
        work_left = generation.work_left();
        if work_left.is_spent() {
            return Vec::new();
        }
        let mut used = generation.into_levels();
        known.extend(used.iter().map(|(offer, pattern, _)| (*offer, pattern.clone())));
        used.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| (a.0, &a.1).cmp(&(b.0, &b.1))));
        if !dive.buy_whole(&used, &offers) && !dive.buy_largest_parts(used, &offers) {
            match thresholds.next() {
                Some(worth_min) => dive.worth_min = worth_min,
                None => break,
            }
        }
    }
    dive.bought
}

impl Dive<'_> {
    /// Takes copies out of patterns that are not left, and leaves out patterns that are then worth
    /// too little.
    fn trim(&self, known: &mut Vec<(OfferIx, Pattern)>, offers: &IndexVec<OfferIx, Offer>) {
        for (_, pattern) in &mut *known {
            self.trim_pattern(pattern);
        }
        known.retain(|(offer, pattern)| self.is_worth_it(pattern, &offers[*offer]));
        known.sort_unstable();
        known.dedup();
    }

    fn trim_pattern(&self, pattern: &mut Pattern) {
        for (row, count) in &mut *pattern {
            *count = (*count).min(self.left[*row].count);
        }
        pattern.retain(|(_, count)| *count > 0);
    }

    fn is_worth_it(&self, pattern: &Pattern, offer: &Offer) -> bool {
        let least = offer.knapsack.price * self.worth_min;
        !pattern.is_empty() && worth_of(pattern, self.duals) >= least
    }

    /// Buys patterns as often as they are used wholly, or nearly so. Returns whether there were
    /// any.
    fn buy_whole(
        &mut self,
        used: &[(OfferIx, Pattern, f64)],
        offers: &IndexVec<OfferIx, Offer>,
    ) -> bool {
        let before = self.bought.len();
        for (offer, pattern, level) in used {
            self.buy((*offer, &offers[*offer]), pattern, whole(level + SHORT));
        }
        self.bought.len() > before
    }

    /// Buys one each of the patterns for parts of nodes that cost the most. Large nodes come first
    /// so, while there is much left to fill them with. Returns whether there were any.
    fn buy_largest_parts(
        &mut self,
        mut used: Vec<(OfferIx, Pattern, f64)>,
        offers: &IndexVec<OfferIx, Offer>,
    ) -> bool {
        let before = self.bought.len();
        let nodes: f64 = used.iter().map(|own| own.2).sum();
        used.retain(|own| own.2 > 0.0);
        let part = |(offer, _, level): &(OfferIx, Pattern, f64)| {
            level.fract() * offers[*offer].knapsack.price
        };
        used.sort_by(|a, b| part(b).total_cmp(&part(a)));
        for (offer, pattern, _) in used.iter().take(whole(nodes / BOUGHT_PART).max(1) as usize) {
            self.buy((*offer, &offers[*offer]), pattern, 1);
        }
        self.bought.len() > before
    }

    /// Buys a pattern up to so many times, as far as it is worth it with the copies that are left.
    fn buy(&mut self, (index, offer): (OfferIx, &Offer), pattern: &Pattern, most: u32) {
        let mut most = most;
        while most > 0 {
            let mut own = pattern.clone();
            self.trim_pattern(&mut own);
            if !self.is_worth_it(&own, offer) {
                return;
            }
            let enough = own.iter().map(|(row, count)| self.left[*row].count / count).min();
            let times = enough.unwrap_or(0).min(most);
            for (row, count) in &own {
                self.left[*row].count -= count * times;
            }
            most -= times;
            self.bought.push(ColumnUse { offer: index, pattern: own, level: f64::from(times) });
        }
    }
}
