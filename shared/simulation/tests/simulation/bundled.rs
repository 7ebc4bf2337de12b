//! The scenarios that come with the binary: each runs to its end as its author expects.

use crate::report_text::report_text;
use domain::settings::Settings;
use simulation::report::Report;
use simulation::scenario::Scenario;

fn read(name: &str) -> Scenario {
    let path = format!("{}/../../functions/cli/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario = Scenario::read(&path, &text).unwrap();
    assert!(scenario.expectations.len() >= 3, "a scenario that expects nothing shows nothing");
    scenario
}

fn run(name: &str) -> Report {
    simulation::run(read(name), &Settings::default()).unwrap()
}

#[track_caller]
fn check(name: &str) {
    let report = run(name);
    assert!(report.is_as_expected(), "{}", report_text(&report));
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
fn spot_notice_leaves_no_pod_without_a_node() {
    check("spot-notice");
}

/// Seeds draw when functions wake, which call takes how long, and which messages come twice.
#[test]
fn spot_notice_holds_whenever_functions_wake() {
    for seed in 1..3 {
        let mut scenario = read("spot-notice");
        scenario.seed = seed;
        scenario.faults.call_millis_max = 200;
        scenario.faults.events_doubled_per_mille = 300;
        let report = simulation::run(scenario, &Settings::default()).unwrap();
        assert!(report.is_as_expected(), "seed {seed}: {}", report_text(&report));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, second) = (run("consolidation"), run("consolidation"));
    assert_eq!(report_text(&first), report_text(&second));
}
