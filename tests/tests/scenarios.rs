//! The bundled scenarios: each runs to its end, as it says it will, and nothing happens that must
//! never happen.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::path::PathBuf;

use domain::settings::Settings;
use outrigger_tests::workspace::root;
use simulation::report::Report;
use simulation::scenario::Scenario;

fn folder() -> PathBuf {
    root().join("functions/cli/scenarios")
}

fn read(name: &str) -> Scenario {
    let path = folder().join(format!("{name}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario = Scenario::read(&path.to_string_lossy(), &text).unwrap();
    assert_eq!(&*scenario.name, name, "a scenario is called as its file");
    scenario
}

fn run(scenario: Scenario) -> Report {
    simulation::run(scenario, &Settings::default()).unwrap()
}

#[track_caller]
fn check(name: &str) {
    let scenario = read(name);
    if scenario.variants.is_empty() {
        return check_report(name, &run(scenario));
    }
    for variant in &scenario.variants {
        check_report(&variant.name, &run(scenario.in_variant(variant)));
    }
}

#[track_caller]
fn check_report(name: &str, report: &Report) {
    let unmet: Vec<_> = report.expectations.iter().filter(|outcome| !outcome.holds()).collect();
    assert!(unmet.is_empty(), "{name}: {unmet:#?}");
    assert!(report.violations.is_empty(), "{name}: {:#?}", report.violations);
    assert!(!report.expectations.is_empty(), "{name} expects nothing");
}

macro_rules! scenarios {
    ($($test:ident: $name:literal,)+) => {
        const TESTED: &[&str] = &[$($name),+];

        $(
            #[test]
            fn $test() {
                check($name);
            }
        )+
    };
}

scenarios! {
    consolidation_goes_as_expected: "consolidation",
    inflate_goes_as_expected: "inflate",
    notebooks_goes_as_expected: "notebooks",
    evening_peak_goes_as_expected: "evening-peak",
    evening_ahead_goes_as_expected_in_each_variant: "evening-ahead",
    quarter_hours_goes_as_expected: "quarter-hours",
    capacity_runs_out_goes_as_expected: "capacity-runs-out",
    spot_notice_goes_as_expected: "spot-notice",
}

#[test]
fn every_bundled_file_is_tested_and_offered_by_the_command_line() {
    let offered = std::fs::read_to_string(root().join("functions/cli/src/bundled.rs")).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut tested = TESTED.to_vec();
    tested.sort_unstable();
    assert_eq!(files, tested);
    for name in files {
        assert!(offered.contains(&format!("../scenarios/{name}.yaml")), "{name} is not offered");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (once, again) = (run(read("consolidation")), run(read("consolidation")));
    assert_eq!(format!("{once:?}"), format!("{again:?}"));
}

#[test]
fn nodes_ahead_of_an_evening_cost_minutes_of_nodes_and_save_the_wait() {
    let scenario = read("evening-ahead");
    let [late, ahead] = scenario.variants.as_slice() else { panic!("two variants") };
    let (late, ahead) = (run(scenario.in_variant(late)), run(scenario.in_variant(ahead)));
    assert_eq!(late.waiting.pods_bound, ahead.waiting.pods_bound, "the same pods");
    assert!(ahead.waiting.total * 2 < late.waiting.total, "{:?} {:?}", ahead.waiting, late.waiting);
    let more = ahead.cost.total_nano_usd - late.cost.total_nano_usd;
    assert!(more > 0, "nodes that are there earlier cost more");
    assert!(more * 20 < late.cost.total_nano_usd, "a few minutes of three hours: {more} more");
}
