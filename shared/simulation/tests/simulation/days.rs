//! Simulated days of a cluster of about a hundred nodes: whatever happens, nothing happens that
//! must never happen, every pod is placed within a bound, and what is left costs little more than
//! it must.
//!
//! A day takes half a minute of processor time or more where all is optimised, so that only a
//! morning is run by default. All two hundred, shared among the machine's threads:
//! `OUTRIGGER_DAYS=0..200 cargo test --release -p outrigger-simulation --test simulation days::
//! -- --ignored --nocapture`.
//!
//! The cluster is that of somebody who cares about cost: spot may replace spot, which it may not by
//! default. `OUTRIGGER_FEATURE_GATES=` (empty) runs the days with the defaults,
//! `OUTRIGGER_CONSOLIDATION_POLICY=Balanced` with that policy. Costs are held against the bound in
//! neither: both leave moves that save on purpose.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use domain::money::UsdPerHour;
use domain::node_pool::ConsolidationPolicy;
use domain::settings::{FeatureGates, Settings};
use domain::{SignedDuration, Text};
use simulation::day::{DAY, Length, MORNING, day};
use simulation::invariant::Violation;
use simulation::report::{ExpectationOutcome, Happening, Occurrence, Report};

const BY_DEFAULT: Range<u64> = 0..2;
const MORNINGS: [(u64, ConsolidationPolicy); 2] =
    [(0, ConsolidationPolicy::WhenEmptyOrUnderutilized), (1, ConsolidationPolicy::Balanced)];
const FEATURE_GATES: &str = "SpotToSpotConsolidation=true";
/// The length of the end of a day in which nothing is launched.
const SETTLED: SignedDuration = SignedDuration::from_mins(30);
/// What a day's churn may be.
const LAUNCHES_PER_NODE_MAX: f64 = 4.0;
const EVICTIONS_PER_POD_DAY_MAX: f64 = 1.5;

/// The seeds that `OUTRIGGER_DAYS` names, as `FROM..TO`.
fn seeds() -> Range<u64> {
    let Ok(given) = std::env::var("OUTRIGGER_DAYS") else { return BY_DEFAULT };
    let (from, to) = given.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

/// What `OUTRIGGER_CONSOLIDATION_POLICY` names.
fn policy() -> ConsolidationPolicy {
    let given = std::env::var("OUTRIGGER_CONSOLIDATION_POLICY");
    let Ok(given) = given else { return ConsolidationPolicy::WhenEmptyOrUnderutilized };
    given.parse().unwrap()
}

fn run(seed: u64, length: Length, policy: ConsolidationPolicy) -> Report {
    let gates = std::env::var("OUTRIGGER_FEATURE_GATES").unwrap_or(FEATURE_GATES.to_owned());
    let feature_gates = FeatureGates::default().with(&gates).unwrap();
    let settings = Settings { feature_gates, ..Settings::default() };
    simulation::run(day(seed, length, policy, feature_gates).unwrap(), &settings).unwrap()
}

/// What was expected of a day and is not so.
fn unmet(report: &Report) -> impl Iterator<Item = String> {
    let unmet = report.expectations.iter().filter(|outcome| !outcome.holds());
    let found = |outcome: &ExpectationOutcome| outcome.found.clone().unwrap_or_default();
    unmet.map(move |outcome| format!("expected {}: {}", outcome.expected, found(outcome)))
}

/// What happened and must never happen. The scheduler may spread pods that a plan packed: one that
/// finds its place taken gets a node of its own, within the bound that is expected.
fn violations(report: &Report) -> impl Iterator<Item = String> {
    let is_meant =
        |own: &&Occurrence| !matches!(own.violation, Violation::EvictedWithoutReplacement { .. });
    let meant = report.violations.iter().filter(is_meant);
    meant.map(|own| format!("{} {}", own.at, own.violation))
}

/// What a day's figures are per node and per pod.
struct Churn {
    /// Launches for each node that was there at the peak.
    launches_per_node: f64,
    /// Evictions by choice for each pod and day.
    evictions_per_pod_day: f64,
}

impl Churn {
    #[expect(clippy::cast_precision_loss, reason = "ratios")]
    fn of(report: &Report) -> Self {
        let launches =
            report.timeline.iter().filter(|entry| matches!(entry.what, Happening::Launched { .. }));
        let peak = report.views.iter().map(|view| view.nodes.len()).max().unwrap_or_default();
        let pod_time = report.needed.map_or(SignedDuration::ZERO, |needed| needed.pod_time);
        let pod_days = pod_time.as_secs_f64() / SignedDuration::from_hours(24).as_secs_f64();
        Self {
            launches_per_node: launches.count() as f64 / peak as f64,
            evictions_per_pod_day: evictions_by_choice(report) as f64 / pod_days,
        }
    }

    fn excess(self) -> impl Iterator<Item = String> {
        let Self { launches_per_node: launches, evictions_per_pod_day: evictions } = self;
        let launches = (launches > LAUNCHES_PER_NODE_MAX)
            .then(|| format!("{launches:.1} launches for each node at the peak"));
        let evictions = (evictions > EVICTIONS_PER_POD_DAY_MAX)
            .then(|| format!("{evictions:.2} evictions by choice a pod and day"));
        launches.into_iter().chain(evictions)
    }
}

/// What the whole day cost, in percent of the least that its pods needed.
fn percent_of_needed(report: &Report) -> f64 {
    report.needed.map_or(f64::NAN, |needed| 100.0 * report.cost.total_usd() / needed.least_usd())
}

/// What is wrong with a day; nothing for one that went as it should.
fn wrongs(report: &Report) -> Vec<String> {
    let settled = report.ended - SETTLED;
    let restless = report
        .timeline
        .iter()
        .filter(|entry| entry.at > settled)
        .filter(|entry| matches!(entry.what, Happening::Launched { .. }))
        .map(|entry| format!("{} {}, though nothing changed", entry.at, entry.what));
    let churn = Churn::of(report).excess();
    unmet(report).chain(violations(report)).chain(restless).chain(churn).collect()
}

fn summary(seed: u64, report: &Report, took: Duration) -> String {
    let launches =
        report.timeline.iter().filter(|entry| matches!(entry.what, Happening::Launched { .. }));
    let faults = report.timeline.iter().filter(|entry| matches!(entry.what, Happening::Fault(_)));
    let peak = report.views.iter().map(|view| view.nodes.len()).max().unwrap_or_default();
    let pods = report.views.iter().map(|view| view.pods_running).max().unwrap_or_default();
    let churn = Churn::of(report);
    format!(
        "seed {seed}: {peak} nodes and {pods} pods at the peak, {} launches ({:.1} a node), {} evictions by choice ({:.2} a pod and day), {} faults, \
         longest wait {} s, after an eviction {} s, {:.1} % of what the pods of the day needed, {} an hour in the end, {} % of the bound; {:.1} s",
        launches.count(),
        churn.launches_per_node,
        evictions_by_choice(report),
        churn.evictions_per_pod_day,
        faults.count(),
        report.waiting.longest.as_secs(),
        report.waiting.longest_after_eviction.as_secs(),
        percent_of_needed(report),
        report.cost.final_hourly,
        report.cost.percent_of_bound.map_or("?".to_owned(), |percent| percent.to_string()),
        took.as_secs_f64(),
    )
}

/// Pods that were evicted from nodes that went by choice.
fn evictions_by_choice(report: &Report) -> usize {
    let mut chosen: BTreeSet<&Text> = BTreeSet::new();
    let mut evicted = 0;
    for entry in &report.timeline {
        match &entry.what {
            Happening::Disrupting { reason, nodes, .. } if reason.is_voluntary() => {
                chosen.extend(nodes);
            }
            Happening::PodsEvicted { node, pods } if chosen.contains(node) => evicted += pods.len(),
            _ => {}
        }
    }
    evicted
}

/// What must never happen, and the bounds of waiting; what a cluster costs takes longer to settle.
#[test]
fn whatever_happens_in_a_morning_every_promise_is_kept() {
    for (seed, policy) in MORNINGS {
        let report = run(seed, MORNING, policy);
        let line = summary(seed, &report, Duration::ZERO);
        assert!(report.cost.peak_hourly > UsdPerHour::ZERO, "{line}");
        let promises = unmet(&report).chain(violations(&report));
        let broken: Vec<String> = promises.collect();
        assert!(broken.is_empty(), "{line}\n{}", broken.join("\n"));
    }
}

#[test]
#[ignore = "half a minute of processor time a seed: see above"]
fn whatever_happens_in_a_day_every_promise_is_kept() {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let started = Instant::now();
                    let report = run(seed, DAY, policy());
                    let mut line = summary(seed, &report, started.elapsed());
                    let wrongs = wrongs(&report);
                    for wrong in &wrongs {
                        let _infallible = write!(line, "\n  {wrong}");
                    }
                    println!("{line}");
                    if !wrongs.is_empty() {
                        failures.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
