//! The bundled scenarios: each runs to its end, as it says it will, and nothing happens that must never happen.

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

fn run(name: &str) -> Report {
    let path = folder().join(format!("{name}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario = Scenario::read(&path.to_string_lossy(), &text).unwrap();
    assert_eq!(&*scenario.name, name, "a scenario is called as its file");
    simulation::run(scenario, &Settings::default()).unwrap()
}

#[track_caller]
fn check(name: &str) {
    let report = run(name);
    let unmet: Vec<_> = report.expectations.iter().filter(|outcome| !outcome.holds()).collect();
    assert!(unmet.is_empty(), "{unmet:#?}");
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
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
    let (once, again) = (run("consolidation"), run("consolidation"));
    assert_eq!(format!("{once:?}"), format!("{again:?}"));
}
