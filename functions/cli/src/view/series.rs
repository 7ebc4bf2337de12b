//! Runs of one scenario with several seeds: means, and how sure they are.

use std::collections::{BTreeMap, BTreeSet};

use domain::{SignedDuration, Text, Timestamp};
use simulation::report::{Happening, Moment, Report};

use crate::view::money::Dollars;
use crate::view::pricing::PriceNote;

/// What a run came to, as far as series compare it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its seed.
    pub(crate) seed: u64,
    /// What it cost, in US dollars.
    pub(crate) cost_usd: f64,
    /// How long all pods waited together, in seconds.
    pub(crate) total_wait_seconds: f64,
    /// How long a pod waited on average, in seconds.
    pub(crate) mean_wait_seconds: f64,
    /// What half of the pods did not exceed, in seconds.
    pub(crate) median_wait_seconds: f64,
    /// What nineteen of twenty pods did not exceed, in seconds.
    pub(crate) percentile_95_seconds: f64,
    /// The longest wait, in seconds.
    pub(crate) longest_seconds: f64,
    /// Instances that were launched.
    pub(crate) launched: usize,
    /// Pods that were evicted, or lost with their node.
    pub(crate) evictions: usize,
    /// Instances that were launched, by NodePool.
    pub(crate) launched_for: BTreeMap<Text, usize>,
    /// Why pods were unschedulable, each once.
    pub(crate) unschedulable: BTreeSet<Text>,
    /// Pods that were bound.
    pub(crate) pods_bound: usize,
    /// Pods without a node at the end.
    pub(crate) pods_pending: usize,
    /// What was not as expected, and what must never happen.
    pub(crate) unmet: Vec<String>,
    /// What is the same in every run.
    pub(crate) setting: Setting,
}

/// What runs of one scenario have in common.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The scenario's name.
    pub(crate) scenario: Text,
    /// What it is about.
    pub(crate) about: Text,
    /// When simulated time began.
    pub(crate) started: Timestamp,
    /// When it ended.
    pub(crate) ended: Timestamp,
    /// Where prices come from.
    pub(crate) prices: PriceNote,
}

impl Run {
    /// What series compare of a report.
    pub(crate) fn of(seed: u64, report: &Report) -> Self {
        let is_launch = |what: &Happening| matches!(what, Happening::Launched { .. });
        let seconds = |duration: SignedDuration| duration.as_secs_f64();
        let unmet = report.expectations.iter().filter_map(|outcome| {
            outcome.found.as_ref().map(|found| format!("{}: {found}", outcome.expected))
        });
        let broken = report.violations.iter().map(|own| own.violation.to_string());
        Self {
            seed,
            cost_usd: report.cost.total_usd(),
            total_wait_seconds: seconds(report.waiting.total),
            mean_wait_seconds: seconds(report.waiting.mean()),
            median_wait_seconds: seconds(report.waiting.median),
            percentile_95_seconds: seconds(report.waiting.percentile_95),
            longest_seconds: seconds(report.waiting.longest),
            launched: report.timeline.iter().filter(|entry| is_launch(&entry.what)).count(),
            evictions: report.timeline.iter().map(|entry| evicted(&entry.what)).sum(),
            launched_for: launched_for(report),
            unschedulable: unschedulable(report),
            pods_bound: report.waiting.pods_bound,
            pods_pending: report.view(Moment::End).map_or(0, |view| view.pods_pending),
            unmet: unmet.chain(broken).collect(),
            setting: Setting {
                scenario: report.scenario.clone(),
                about: report.about.clone(),
                started: report.started,
                ended: report.ended,
                prices: PriceNote::from(report),
            },
        }
    }
}

/// Pods that were evicted or lost in one event.
fn evicted(what: &Happening) -> usize {
    match what {
        Happening::PodsEvicted { pods, .. } | Happening::PodsLost { pods, .. } => pods.len(),
        _ => 0,
    }
}

/// How many instances were launched, by NodePool.
fn launched_for(report: &Report) -> BTreeMap<Text, usize> {
    let mut pools: BTreeMap<&Text, &Text> = BTreeMap::new();
    let mut launched: BTreeMap<Text, usize> = BTreeMap::new();
    for entry in &report.timeline {
        match &entry.what {
            Happening::NodeClaimCreated { claim, node_pool, .. } => {
                pools.insert(claim, node_pool);
            }
            Happening::Launched { claim, .. } => {
                if let Some(pool) = pools.get(claim) {
                    *launched.entry((*pool).clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    launched
}

/// Why pods were unschedulable, each reason once.
fn unschedulable(report: &Report) -> BTreeSet<Text> {
    let is_meant = |what: &Happening| matches!(what, Happening::PodsUnschedulable(_));
    let meant = report.timeline.iter().filter(|entry| is_meant(&entry.what));
    meant.filter_map(|entry| entry.why.clone()).collect()
}

/// One scenario, or variant of it, run with several seeds.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The variant's name.
    pub(crate) name: Text,
    /// Its runs, by seed.
    pub(crate) runs: Vec<Run>,
}

impl Series {
    /// Whether every run is as expected.
    pub(crate) fn is_as_expected(&self) -> bool {
        self.runs.iter().all(|run| run.unmet.is_empty())
    }

    /// `seed 7`, or `seeds 7 to 11; ± is half of a 95 % confidence interval`.
    pub(crate) fn seeds(&self) -> String {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) if first.seed != last.seed => {
                let [first, last] = [first.seed, last.seed];
                format!("seeds {first} to {last}; ± is half of a 95 % confidence interval")
            }
            (Some(only), _) => format!("seed {}", only.seed),
            (None, _) => String::new(),
        }
    }

    /// What of the runs was not as expected, each once, with the first seed it was seen with.
    pub(crate) fn unmet(&self) -> Vec<(u64, &str)> {
        let mut unmet: Vec<(u64, &str)> = Vec::new();
        for run in &self.runs {
            for what in &run.unmet {
                if unmet.iter().all(|(_, known)| known != what) {
                    unmet.push((run.seed, what));
                }
            }
        }
        unmet
    }

    /// The figures that are shown of it, beside those of the first series.
    pub(crate) fn figures(&self, first: &Self) -> Figures {
        let seconds =
            |figure: fn(&Run) -> f64| self.estimate(figure).shown(|own| format!("{own:.1}s"));
        let count =
            |figure: fn(&Run) -> f64| self.estimate(figure).shown(|own| format!("{own:.0}"));
        let against = self.difference(first, |run| run.cost_usd);
        let is_first = self.name == first.name;
        Figures {
            cost: self.estimate(|run| run.cost_usd).shown(dollars),
            against: if is_first { "-".to_owned() } else { against.shown(dollars) },
            is_cheaper: against.is_below_zero(),
            waits: [seconds(|run| run.mean_wait_seconds), seconds(|run| run.percentile_95_seconds)],
            counts: [count(|run| count_of(run.launched)), count(|run| count_of(run.pods_pending))],
        }
    }

    /// A figure of every run, as an estimate.
    pub(crate) fn estimate(&self, figure: impl Fn(&Run) -> f64) -> Estimate {
        Estimate::of(&self.runs.iter().map(figure).collect::<Vec<_>>())
    }

    /// By how much a figure differs from that of another series, seed by seed: what both runs of a
    /// seed have in common cancels out.
    pub(crate) fn difference(&self, other: &Self, figure: impl Fn(&Run) -> f64) -> Estimate {
        let pairs = self.runs.iter().zip(&other.runs);
        Estimate::of(&pairs.map(|(own, other)| figure(own) - figure(other)).collect::<Vec<_>>())
    }
}

/// Figures of a series as they are shown: means, with ± where there are several runs.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// What a run cost.
    pub(crate) cost: String,
    /// How much more than in the first series that is, seed by seed; `-` in that one itself.
    pub(crate) against: String,
    /// Whether it is less for certain, as far as runs can say.
    pub(crate) is_cheaper: bool,
    /// How long pods waited on average, and what nineteen of twenty did not exceed.
    pub(crate) waits: [String; 2],
    /// How many instances were launched, and pods without a node at the end.
    pub(crate) counts: [String; 2],
}

#[expect(clippy::cast_precision_loss, reason = "counts of pods and nodes")]
fn count_of(count: usize) -> f64 {
    count as f64
}

const NANOS_PER_USD: f64 = 1e9;

/// To the cent.
#[expect(clippy::cast_possible_truncation, reason = "a cluster's bill is far from the largest")]
pub(crate) fn dollars(usd: f64) -> String {
    Dollars((usd * NANOS_PER_USD).round() as i128).to_string()
}

/// A mean of runs, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// Half the width of the interval; `None` of a single run, which says nothing of it.
    pub(crate) half_width: Option<f64>,
}

/// Quantiles of Student's t distribution for a two-sided interval of 95 %, by degrees of freedom
/// from 1 on.
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The quantile of the normal distribution, to which those of more degrees of freedom are near.
const NORMAL: f64 = 1.96;

impl Estimate {
    #[expect(clippy::cast_precision_loss, reason = "there are at most a thousand runs")]
    fn of(figures: &[f64]) -> Self {
        let count = figures.len().max(1) as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let half_width = (figures.len() > 1).then(|| {
            let squares: f64 = figures.iter().map(|own| (own - mean) * (own - mean)).sum();
            let deviation = (squares / (count - 1.0)).sqrt();
            let quantile = STUDENT_T.get(figures.len() - 2).copied().unwrap_or(NORMAL);
            quantile * deviation / count.sqrt()
        });
        Self { mean, half_width }
    }

    /// Whether the mean is below zero for certain, as far as runs can say.
    pub(crate) fn is_below_zero(self) -> bool {
        self.mean + self.half_width.unwrap_or(0.0) < 0.0
    }

    /// Whether the mean is above zero for certain, as far as runs can say.
    pub(crate) fn is_above_zero(self) -> bool {
        self.mean - self.half_width.unwrap_or(0.0) > 0.0
    }

    /// The mean and its interval, each written by `write`.
    pub(crate) fn shown(self, write: impl Fn(f64) -> String) -> String {
        match self.half_width {
            None => write(self.mean),
            Some(half) => format!("{} ± {}", write(self.mean), write(half)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_few_runs_is_less_sure_than_one_of_many() {
        let few = Estimate::of(&[10.0, 12.0]);
        // t(1) 12.706 × deviation 1.4142 ÷ √2
        assert!((few.half_width.unwrap() - 12.706).abs() < 1e-9, "{few:?}");
        let many = Estimate::of(&[10.0, 12.0, 10.0, 12.0, 10.0, 12.0]);
        assert_eq!(many.mean.to_bits(), 11.0_f64.to_bits());
        // t(5) 2.571 × deviation 1.0954 ÷ √6
        assert!((many.half_width.unwrap() - 1.14979).abs() < 1e-3, "{many:?}");
    }

    #[test]
    fn one_run_says_nothing_of_how_sure_it_is() {
        let one = Estimate::of(&[3.0]);
        assert_eq!((one.mean.to_bits(), one.half_width), (3.0_f64.to_bits(), None));
        assert_eq!(one.shown(|own| format!("{own:.1}")), "3.0");
    }

    #[test]
    fn a_difference_that_may_be_none_is_not_below_zero() {
        assert!(!Estimate { mean: -1.0, half_width: Some(1.5) }.is_below_zero());
        assert!(Estimate { mean: -1.0, half_width: Some(0.5) }.is_below_zero());
    }
}
