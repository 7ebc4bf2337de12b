//! Settings that a recording speaks for, each with what a replay says of it.

use domain::Text;
use serde_json::Value;
use suggestion::{Candidate, CandidateKind, UnusedRequests};

use crate::view::series::{Estimate, Run, Series};

/// What a change must save of the cost, in percent: less may be an accident of one recording.
const COST_PERCENT_MIN: f64 = 0.5;
/// The same where a single seed tells nothing of how sure it is.
const COST_PERCENT_MIN_OF_ONE: f64 = 2.0;
/// What capacity beforehand must save of all waiting, in percent.
const WAIT_PERCENT_MIN: f64 = 5.0;
/// And at least so much, in seconds of all pods together.
const WAIT_SECONDS_MIN: f64 = 60.0;
/// By how much what nineteen of twenty pods wait at most may grow: seconds, and percent; the larger
/// of the two.
const LONGER_SECONDS_MAX: f64 = 10.0;
const LONGER_PERCENT_MAX: f64 = 20.0;

/// A change of settings, and what comes of it.
#[derive(Clone, Debug)]
pub(crate) struct Suggestion {
    /// The change.
    pub(crate) candidate: Candidate,
    /// What was recorded or given of each of its manifests; `None` of objects that are new.
    pub(crate) was: Vec<Option<Value>>,
    /// NodePools that stay as they are: a replay that is given one NodePool is given all.
    pub(crate) unchanged: Vec<Value>,
    /// What pods would request, where that is the change.
    pub(crate) requests: Option<UnusedRequests>,
    /// The replays with it.
    pub(crate) after: Series,
}

impl Suggestion {
    /// All that a replay with it is given.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = &Value> {
        self.candidate.manifests.iter().chain(&self.unchanged)
    }
}

/// Several suggestions at once.
#[derive(Clone, Debug)]
pub(crate) struct Together {
    /// What they are called, in the order in which they were added.
    pub(crate) ids: Vec<Text>,
    /// The objects that they create or change.
    pub(crate) manifests: Vec<Value>,
    /// NodePools that stay as they are.
    pub(crate) unchanged: Vec<Value>,
    /// The replays with them.
    pub(crate) after: Series,
}

/// A change that was replayed and is not suggested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    /// What it is called.
    pub(crate) id: Text,
    /// What it changes.
    pub(crate) what: String,
    /// Why it is not suggested.
    pub(crate) why_not: String,
}

/// All that a recording speaks for.
#[derive(Clone, Debug)]
pub(crate) struct Suggestions {
    /// The replays with nothing changed.
    pub(crate) before: Series,
    /// What is suggested, in order.
    pub(crate) suggested: Vec<Suggestion>,
    /// All of it at once, where there is more than one.
    pub(crate) together: Option<Together>,
    /// What was replayed and is not suggested.
    pub(crate) tried: Vec<Tried>,
    /// What was looked for and not found, or cannot be known, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Suggestions {
    /// The manifests of all suggestions, with what a replay of them needs beside.
    pub(crate) fn manifests(&self) -> Vec<Value> {
        match (&self.together, self.suggested.as_slice()) {
            (Some(all), _) => all.manifests.iter().chain(&all.unchanged).cloned().collect(),
            (None, [only]) => only.manifests().cloned().collect(),
            (None, _) => Vec::new(),
        }
    }
}

/// Why a change is not to be suggested; `None` where it is. PodDisruptionBudgets that never allow
/// an eviction are named whatever they cost: drift, expiry and upgrades come to a halt before them.
pub(crate) fn why_not(kind: CandidateKind, before: &Series, after: &Series) -> Option<String> {
    if let Some(broken) = after.runs.iter().find_map(|run| run.unmet.first())
        && before.is_as_expected()
    {
        return Some(broken.clone());
    }
    match kind {
        CandidateKind::Budget => None,
        CandidateKind::NodePool | CandidateKind::Requests => {
            costs_no_less(before, after).or_else(|| serves_worse(before, after))
        }
        CandidateKind::Limits => places_no_more(before, after),
        CandidateKind::Prewarm => waits_no_less(before, after),
    }
}

fn costs_no_less(before: &Series, after: &Series) -> Option<String> {
    let difference = after.difference(before, |run| run.cost_usd);
    let cost = before.estimate(|run| run.cost_usd).mean;
    let percent = match difference.half_width {
        Some(_) => COST_PERCENT_MIN,
        None => COST_PERCENT_MIN_OF_ONE,
    };
    if difference.is_below_zero() && -difference.mean >= cost * percent / 100.0 {
        return None;
    }
    if difference.mean.abs() < 0.01 && difference.half_width.unwrap_or(0.0) < 0.01 {
        return Some("costs the same".to_owned());
    }
    let (word, of) = if difference.mean < 0.0 { ("saves", -1.0) } else { ("costs", 1.0) };
    let sure = difference.half_width.map_or_else(String::new, |half| format!(" ± ${half:.2}"));
    let more = if difference.mean < 0.0 { ": no more than noise" } else { " more" };
    Some(format!("{word} ${:.2}{sure}{more}", of * difference.mean))
}

/// Pods get no node any more, or wait notably longer.
fn serves_worse(before: &Series, after: &Series) -> Option<String> {
    let more = after.difference(before, |run| count(run.pods_pending));
    if more.mean > 0.0 {
        return Some(format!("{:.1} pods more are without a node at the end", more.mean));
    }
    let longer = after.difference(before, |run| run.percentile_95_seconds);
    let before = before.estimate(|run| run.percentile_95_seconds).mean;
    let allowed = LONGER_SECONDS_MAX.max(before * LONGER_PERCENT_MAX / 100.0);
    (longer.mean > allowed).then(|| {
        let mean = longer.mean;
        format!("saves, but 95 % of the pods wait up to {mean:.0} s longer than {before:.0} s")
    })
}

fn places_no_more(before: &Series, after: &Series) -> Option<String> {
    let bound = after.difference(before, |run| count(run.pods_bound));
    let pending = after.difference(before, |run| count(run.pods_pending));
    let places = |own: Estimate| own.is_above_zero();
    let is_better = places(bound) || pending.is_below_zero();
    (!is_better).then(|| "no pod more gets a node".to_owned())
}

fn waits_no_less(before: &Series, after: &Series) -> Option<String> {
    let saved = after.difference(before, |run| run.total_wait_seconds);
    let waited = before.estimate(|run| run.total_wait_seconds).mean;
    let least = WAIT_SECONDS_MIN.max(waited * WAIT_PERCENT_MIN / 100.0);
    if saved.is_below_zero() && -saved.mean >= least {
        return None;
    }
    let sure = saved.half_width.map_or_else(String::new, |half| format!(" ± {half:.0}"));
    Some(format!("all pods together wait {:+.0}{sure} s: no more than noise", saved.mean))
}

#[expect(clippy::cast_precision_loss, reason = "counts of pods")]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

/// A figure of runs that suggestions show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: Unit,
    /// Its value in a run.
    pub(crate) of: fn(&Run) -> f64,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// US dollars.
    Dollars,
    /// Seconds.
    Seconds,
    /// Things.
    Count,
}

/// What is shown of every suggestion, before and after.
pub(crate) const FIGURES: [Figure; 8] = [
    Figure { name: "cost", unit: Unit::Dollars, of: |run| run.cost_usd },
    Figure { name: "mean wait", unit: Unit::Seconds, of: |run| run.mean_wait_seconds },
    Figure { name: "median wait", unit: Unit::Seconds, of: |run| run.median_wait_seconds },
    Figure { name: "95 % wait up to", unit: Unit::Seconds, of: |run| run.percentile_95_seconds },
    Figure { name: "longest wait", unit: Unit::Seconds, of: |run| run.longest_seconds },
    Figure { name: "all waits", unit: Unit::Seconds, of: |run| run.total_wait_seconds },
    Figure { name: "evictions", unit: Unit::Count, of: |run| count(run.evictions) },
    Figure { name: "pending at the end", unit: Unit::Count, of: |run| count(run.pods_pending) },
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use domain::Timestamp;
    use domain::instance_type::Pricing;

    use super::*;
    use crate::view::pricing::{PriceNote, SaidBy};
    use crate::view::series::Setting;

    fn run(seed: u64, cost_usd: f64, wait: f64) -> Run {
        let at: Timestamp = "2026-01-05T00:00:00Z".parse().unwrap();
        Run {
            seed,
            cost_usd,
            total_wait_seconds: wait,
            mean_wait_seconds: wait,
            median_wait_seconds: wait,
            percentile_95_seconds: wait,
            longest_seconds: wait,
            launched: 1,
            evictions: 0,
            launched_for: BTreeMap::new(),
            unschedulable: BTreeSet::new(),
            pods_bound: 1,
            pods_pending: 0,
            unmet: Vec::new(),
            setting: Setting {
                scenario: "s".into(),
                about: "".into(),
                started: at,
                ended: at,
                prices: PriceNote {
                    region: None,
                    said_by: SaidBy::Nothing,
                    pricing: Pricing::default(),
                },
            },
        }
    }

    fn series(runs: &[(f64, f64)]) -> Series {
        let runs = (0..).zip(runs).map(|(seed, (cost, wait))| run(seed, *cost, *wait));
        Series { name: "s".into(), runs: runs.collect() }
    }

    #[test]
    fn what_seeds_do_not_tell_apart_is_not_suggested() {
        let before = series(&[(10.0, 50.0), (11.0, 50.0), (12.0, 50.0)]);
        let surely = series(&[(9.0, 50.0), (10.1, 50.0), (10.9, 50.0)]);
        assert_eq!(why_not(CandidateKind::NodePool, &before, &surely), None);
        let perhaps = series(&[(9.0, 50.0), (11.4, 50.0), (11.9, 50.0)]);
        let why = why_not(CandidateKind::NodePool, &before, &perhaps).unwrap();
        assert!(why.contains("no more than noise"), "{why}");
    }

    #[test]
    fn what_lets_pods_wait_much_longer_is_no_saving() {
        let before = series(&[(10.0, 50.0), (10.0, 50.0)]);
        let slower = series(&[(5.0, 90.0), (5.0, 90.0)]);
        let why = why_not(CandidateKind::NodePool, &before, &slower).unwrap();
        assert!(why.contains("40 s longer"), "{why}");
    }

    #[test]
    fn capacity_beforehand_is_worth_what_pods_wait_less() {
        let before = series(&[(10.0, 500.0), (10.0, 510.0)]);
        let after = series(&[(10.2, 100.0), (10.2, 104.0)]);
        assert_eq!(why_not(CandidateKind::Prewarm, &before, &after), None);
        assert!(why_not(CandidateKind::Prewarm, &before, &before).is_some());
    }
}
