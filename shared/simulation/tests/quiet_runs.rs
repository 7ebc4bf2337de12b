//! Runs that are left out because they would find nothing to do make no difference to the report.

#![expect(clippy::unwrap_used, reason = "what cannot be read or run ends the test")]

use domain::node_pool::ConsolidationPolicy;
use domain::settings::{FeatureGates, Settings};
use simulation::day::{self, MORNING};
use simulation::scenario::Scenario;

/// The day's workloads and events, on which nothing fails and no call takes time: only then is any
/// run left out. Idle hours are added at its end.
fn calm(seed: u64, policy: ConsolidationPolicy) -> Scenario {
    let mut scenario = day::day(seed, MORNING, policy, FeatureGates::default()).unwrap();
    scenario.faults = simulation::ec2::Faults::default();
    scenario.duration = domain::SignedDuration::from_hours(2);
    scenario.expectations.clear();
    scenario
}

#[track_caller]
fn check(scenario: Scenario) {
    let every = Scenario { every_run: true, ..scenario.clone() };
    let every = simulation::run(every, &Settings::default()).unwrap();
    let own = simulation::run(scenario, &Settings::default()).unwrap();
    assert_eq!(own.timeline.len(), every.timeline.len());
    for (own, every) in own.timeline.iter().zip(&every.timeline) {
        assert_eq!(own, every);
    }
    assert_eq!(own.views, every.views);
    assert_eq!(own.cost, every.cost);
    assert_eq!((own.waiting, own.violations), (every.waiting, every.violations));
}

#[test]
fn a_morning_and_idle_hours_are_the_same_with_and_without_runs_that_do_nothing() {
    check(calm(0, ConsolidationPolicy::WhenEmptyOrUnderutilized));
}

#[test]
fn so_they_are_where_only_empty_nodes_go() {
    check(calm(3, ConsolidationPolicy::WhenEmpty));
}
