//! The scenarios that come with the binary: each runs to its end as its author expects.

use domain::settings::Settings;
use simulation::report::Report;
use simulation::scenario::Scenario;

fn run(name: &str) -> Report {
    let path = format!("{}/../../functions/cli/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario = Scenario::read(&path, &text).unwrap();
    assert!(scenario.expectations.len() >= 3, "a scenario that expects nothing shows nothing");
    simulation::run(scenario, &Settings::default()).unwrap()
}

#[track_caller]
fn check(name: &str) {
    let report = run(name);
    println!("{}", told(&report));
    assert!(report.is_as_expected(), "{name} did not come as expected");
}

/// The timeline and what did not come as expected.
fn told(report: &Report) -> String {
    let mut lines = vec![String::new()];
    for entry in &report.timeline {
        let after = entry.at.duration_since(report.started).as_secs();
        let why = entry.why.as_ref().map(|why| format!("  [{why}]")).unwrap_or_default();
        lines.push(format!("{after:>6} s  {}{why}", entry.what));
    }
    for view in &report.views {
        lines.push(format!("{:?} {} running, {}", view.moment, view.pods_running, view.hourly));
        lines.extend(view.nodes.iter().map(|row| format!("  {row:?}")));
    }
    for outcome in &report.expectations {
        let found = outcome.found.as_deref().unwrap_or("so it is");
        lines.push(format!("expected {}: {found}", outcome.expected));
    }
    for occurrence in &report.violations {
        lines.push(format!("{}: {}", occurrence.at, occurrence.violation));
    }
    lines.join("\n")
}

#[test]
fn consolidation_gives_up_nodes_and_no_pod_loses_its_place() {
    check("consolidation");
}

#[test]
fn inflate_runs_from_v1alpha5_manifests() {
    check("inflate");
}

#[test]
fn notebooks_stop_at_the_limit_and_say_why() {
    check("notebooks");
}

#[test]
fn evening_peak_comes_and_goes_on_spot() {
    check("evening-peak");
}

#[test]
fn capacity_that_runs_out_is_passed_over_and_tried_again() {
    check("capacity-runs-out");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, second) = (run("consolidation"), run("consolidation"));
    assert_eq!(told(&first), told(&second));
}
