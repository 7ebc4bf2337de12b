//! Finding values: patterns come in as they are found, until none is worth more than its price.

use domain::settings::SearchEffort;

use super::demand::Demand;
use super::master::{Master, Pattern};
use super::offer::Offer;

/// How much work the relaxation may take: counted, never timed.
pub(crate) struct Budget {
    /// With more demands than this no patterns are looked for.
    pub(crate) demands: usize,
    /// Rows times rows times pivots, at most.
    pub(crate) pivot_work: u64,
    /// Rounds of passes, each with a proof at its end.
    pub(crate) rounds: u32,
    /// Passes over all offers in a round.
    pub(crate) passes: u32,
    /// Nodes of one search for a pattern, at first.
    pub(crate) pricing_nodes: u32,
    /// The same in the end, where patterns are hard to find.
    pub(crate) pricing_nodes_max: u32,
    /// Looks at all offers while values are cut, at most.
    pub(crate) cuts: u32,
    /// With more demands than this on an offer, no proof is searched for beyond what weights say.
    pub(crate) proof_demands: usize,
    /// Nodes of one search for a proof.
    pub(crate) proof_nodes: u32,
    /// Moves of a surrogate's weights before a proof is searched for.
    pub(crate) weight_steps: u32,
}

impl Budget {
    /// What planning spends.
    const PLAN: Self = Self {
        demands: 256,
        pivot_work: 40_000_000,
        rounds: 10,
        passes: 5,
        pricing_nodes: 60,
        pricing_nodes_max: 300,
        cuts: 3,
        proof_demands: 256,
        proof_nodes: 1_500,
        weight_steps: 16,
    };

    /// Values without patterns, for what is only ranked by them, and for more pods than [`Self::MANY_PODS`]: speed
    /// counts there, and patterns change nothing about the plan.
    pub(crate) const WITHOUT_PATTERNS: Self =
        Self { demands: 0, cuts: 1, proof_demands: 0, ..Self::PLAN };

    const MANY_PODS: u32 = 5_000;

    /// What a quick answer spends: patterns among many demands take longer to find than all else together.
    const QUICK: Self = Self { demands: Self::QUICK_DEMANDS, ..Self::PLAN };

    const QUICK_DEMANDS: usize = 64;

    /// What planning spends on so many pods.
    pub(crate) fn of(pods: u32, effort: SearchEffort) -> &'static Self {
        match effort {
            _ if pods > Self::MANY_PODS => &Self::WITHOUT_PATTERNS,
            SearchEffort::Quick => &Self::QUICK,
            SearchEffort::Full => &Self::PLAN,
        }
    }
}

/// A pattern comes in if it is worth more than its price by this part.
const GAIN_MIN: f64 = 1e-3;

/// Offers whose best pattern is worth less than this part of the price are passed over for some passes.
const COLD: f64 = 0.9;

/// Offers that are passed over are looked at again after so many passes.
const THAW: u32 = 4;

/// Moves of an offer's weights when it is looked at, the first time and later.
const FIRST_WEIGHT_STEPS: u32 = 6;
const WEIGHT_STEPS: u32 = 2;

/// What a search found.
pub(super) struct Found {
    /// What one more pod of each demand costs.
    pub(super) values: Vec<f64>,
    /// Patterns in use: the offer, the pods, and how often, a fraction.
    pub(super) mix: Vec<(usize, Pattern, f64)>,
}

/// Values stay between these parts of those at the start, for as long as that is no loss.
const FLOOR: f64 = 0.7;
const CEILING: f64 = 1.3;

/// How far from proved values to the program's own the next proof starts.
const LEVEL: f64 = 0.5;

/// How far from the program's own values to proved ones patterns are priced.
const CALM: f64 = 0.6;

/// The search ends when the cost and the bound are so close.
const GAP_MAX: f64 = 3e-3;

/// Solves the relaxation as far as the budget goes, from values on at which hardly a pattern is worth more than its
/// price: patterns come in until none is, or until the budget is spent; then values are cut where patterns
/// still are.
pub(super) fn solve(
    demands: &[Demand],
    offers: &mut [Offer],
    start: Vec<f64>,
    budget: &Budget,
) -> Found {
    if demands.len() > budget.demands {
        return Found { values: start, mix: Vec::new() };
    }
    let counts: Vec<u32> = demands.iter().map(|demand| demand.count).collect();
    let ceilings: Vec<f64> = singles(demands.len(), offers)
        .iter()
        .zip(&start)
        .map(|(single, own)| single.min(own * CEILING))
        .collect();
    let floors: Vec<f64> = start.iter().map(|own| own * FLOOR).collect();
    let mut search = ColumnSearch {
        master: Master::new(&counts, &ceilings, &floors),
        patterns: Vec::new(),
        pricing_nodes: budget.pricing_nodes,
        is_cold: vec![false; offers.len()],
        proved: (worth(&start, demands), start),
        counts,
        offers,
    };
    for _ in 0..budget.rounds {
        search.run(budget);
        // Part of the way from values that were proved to the program's own, less has to be cut.
        let own = search.values();
        let start = search
            .proved
            .1
            .iter()
            .zip(&own)
            .map(|(proved, own)| proved + (own - proved) * LEVEL)
            .collect();
        let cut = search.cut_down(start, budget);
        let cut = (worth(&cut, demands), cut);
        if cut.0 > search.proved.0 {
            search.proved = cut;
        }
        let cost = search.master.cost(&search.counts);
        if !search.master.loosen() && cost <= search.proved.0 * (1.0 + GAP_MAX) {
            break;
        }
    }
    search.found()
}

/// What all demand is worth.
pub(super) fn worth(values: &[f64], demands: &[Demand]) -> f64 {
    values.iter().zip(demands).map(|(value, demand)| value * f64::from(demand.count)).sum()
}

struct ColumnSearch<'o> {
    master: Master,
    counts: Vec<u32>,
    /// Patterns that came in, with the offer of each.
    patterns: Vec<(usize, Pattern)>,
    pricing_nodes: u32,
    /// Offers to pass over.
    is_cold: Vec<bool>,
    /// The values that were proved best, and what all demand is worth at them.
    proved: (f64, Vec<f64>),
    offers: &'o mut [Offer],
}

impl ColumnSearch<'_> {
    fn run(&mut self, budget: &Budget) {
        let square = (self.counts.len() * self.counts.len()).max(1) as u64;
        let pivots_max = usize::try_from(budget.pivot_work / square).unwrap_or(usize::MAX);
        let mut since_full = THAW;
        for pass in 0..budget.passes {
            let is_full = since_full >= THAW;
            if is_full {
                since_full = 0;
            }
            since_full += 1;
            let before = self.patterns.len();
            self.pass(is_full, if pass == 0 { FIRST_WEIGHT_STEPS } else { WEIGHT_STEPS });
            let has_gained = self.patterns.len() > before;
            if self.patterns.len() >= pivots_max {
                break;
            }
            let has_raised = self.master.loosen();
            if !has_gained {
                since_full = THAW;
                if is_full && !has_raised {
                    if self.pricing_nodes >= budget.pricing_nodes_max {
                        break;
                    }
                    self.pricing_nodes *= 4;
                }
            }
        }
    }

    fn values(&self) -> Vec<f64> {
        self.master.values().iter().map(|value| value.max(0.0)).collect()
    }

    /// The program's values, part of the way to those that were proved best: the program's own swing from
    /// pass to pass.
    fn calmed(&self) -> Vec<f64> {
        let own = self.values();
        own.iter().zip(&self.proved.1).map(|(own, proved)| own + (proved - own) * CALM).collect()
    }

    /// Prices offers and takes in what is worth more than its price.
    fn pass(&mut self, is_full: bool, steps: u32) {
        let mut values = self.calmed();
        for index in 0..self.offers.len() {
            if self.is_cold[index] && !is_full {
                continue;
            }
            let room = &mut self.offers[index].room;
            let price = room.price;
            let enough = price * (1.0 + GAIN_MIN);
            let at_most = room.settle_weights(&values, price * COLD, steps);
            self.is_cold[index] = at_most < price * COLD;
            if at_most <= enough {
                continue;
            }
            let Some(pattern) = room.worth_more(&values, enough, (self.pricing_nodes, false))
            else {
                // Values move little from pass to pass: what was not found now is not found next time.
                self.is_cold[index] = true;
                continue;
            };
            let own = self.master.values();
            let worth: f64 =
                pattern.iter().map(|(row, count)| own[*row as usize] * f64::from(*count)).sum();
            if worth <= enough {
                continue;
            }
            let mark = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
            if self.master.enter(&pattern, price, mark) {
                self.patterns.push((index, pattern));
                values = self.calmed();
            }
        }
    }

    fn found(self) -> Found {
        let mix = self
            .master
            .levels()
            .map(|(mark, level)| {
                let (offer, pattern) = &self.patterns[mark as usize];
                (*offer, pattern.clone(), level)
            })
            .collect();
        Found { values: self.proved.1, mix }
    }

    /// Values at which hardly a pattern is worth more than its price.
    /// Patterns that show up on the way come in.
    fn cut_down(&mut self, mut values: Vec<f64>, budget: &Budget) -> Vec<f64> {
        let mut found = Vec::new();
        let mut is_done = vec![false; self.offers.len()];
        for _ in 0..budget.cuts {
            if !self.cut(&mut values, budget, (&mut found, &mut is_done)) {
                break;
            }
        }
        for (index, pattern) in found {
            let price = self.offers[index].room.price;
            let own = self.master.values();
            let worth: f64 =
                pattern.iter().map(|(row, count)| own[*row as usize] * f64::from(*count)).sum();
            let mark = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
            if worth > price * (1.0 + GAIN_MIN) && self.master.enter(&pattern, price, mark) {
                self.patterns.push((index, pattern));
            }
        }
        values
    }

    /// Cuts values where a pattern is worth more than its price, of the rows where that costs the bound the
    /// least. Returns whether there were any. Values only fall, so an offer that is done stays so.
    fn cut(
        &mut self,
        values: &mut [f64],
        budget: &Budget,
        (found, is_done): (&mut Vec<(usize, Pattern)>, &mut [bool]),
    ) -> bool {
        let mut has_cut = false;
        for (index, is_done) in is_done.iter_mut().enumerate().filter(|(_, is_done)| !**is_done) {
            let room = &mut self.offers[index].room;
            let enough = room.price * (1.0 + GAIN_MIN);
            for _ in 0..CUTS_MAX {
                let nodes = (budget.pricing_nodes_max, true);
                let better = if room.settle_weights(values, enough, WEIGHT_STEPS) <= enough {
                    None
                } else {
                    room.worth_more(values, enough, nodes)
                };
                let Some(pattern) = better else {
                    *is_done = true;
                    break;
                };
                let price = room.price;
                found.push((index, pattern.clone()));
                let mut pods: Vec<(u32, f64)> =
                    pattern.iter().map(|(row, count)| (*row, f64::from(*count))).collect();
                let worth: f64 =
                    pods.iter().map(|(row, count)| values[*row as usize] * count).sum();
                cut_values(values, &self.counts, &mut pods, worth - price);
                has_cut = true;
            }
        }
        has_cut
    }
}

/// Cuts values until hardly an offer can be worth more than its price, by what can be proved of it: what is
/// left then costs the bound next to nothing.
pub(super) fn prove(demands: &[Demand], offers: &mut [Offer], values: &mut [f64], budget: &Budget) {
    let counts: Vec<u32> = demands.iter().map(|demand| demand.count).collect();
    let mut is_done = vec![false; offers.len()];
    for _ in 0..budget.cuts {
        let mut has_cut = false;
        // Values only fall, so an offer that is done stays so.
        for (offer, is_done) in offers.iter_mut().zip(&mut is_done).filter(|(_, done)| !**done) {
            let price = offer.room.price;
            let enough = price * (1.0 + GAIN_MIN);
            for _ in 0..CUTS_MAX {
                let at_most = offer.at_most(values, enough, budget);
                if at_most <= enough {
                    *is_done = true;
                    break;
                }
                let mut pods = offer.room.surrogate_pods(values);
                cut_values(values, &counts, &mut pods, at_most - price);
                has_cut = true;
            }
        }
        if !has_cut {
            break;
        }
    }
}

/// Takes an excess off the values of pods: first of rows of which they are the largest part, where the fewest
/// pods lose value.
fn cut_values(values: &mut [f64], counts: &[u32], pods: &mut [(u32, f64)], mut excess: f64) {
    pods.sort_by(|a, b| {
        let each = |(row, count): &(u32, f64)| f64::from(counts[*row as usize]) / count;
        each(a).total_cmp(&each(b)).then_with(|| a.0.cmp(&b.0))
    });
    for (row, count) in pods {
        let value = &mut values[*row as usize];
        let loss = (excess / *count).min(*value * CUT_SHARE_MAX);
        *value -= loss;
        excess -= loss * *count;
        if excess <= 0.0 {
            break;
        }
    }
}

/// Cuts for one offer in a row.
const CUTS_MAX: u32 = 24;

/// A cut takes no more than this part of a value.
const CUT_SHARE_MAX: f64 = 0.3;

/// By demand, what a pod costs on the cheapest node full of nothing else.
fn singles(demands: usize, offers: &[Offer]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; demands];
    for offer in offers {
        for (row, pods) in &offer.room.rows {
            let own = &mut best[*row as usize];
            *own = own.min(offer.room.price / f64::from(*pods));
        }
    }
    best
}
