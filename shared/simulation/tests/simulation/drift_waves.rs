//! `outrigger.dev/drift-waves`: a new image reaches 40 nodes in waves, or none where it never
//! joins.

use domain::SignedDuration;
use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// A pod each on 40 nodes, and a new image at one hour.
fn run(annotations: &str, new_image: &str, duration: &str, expect: &str) -> Report {
    let web = Deployment { name: "web", replicas: 40, cpu: "1", annotations: "" };
    let pool = format!("name: default, annotations: {{{annotations}}}");
    let pool = pool_and_pods("    ", &pool, &[web]);
    let spec = format!(
        "duration: {duration}
        images: [{{id: ami-old, alias: al2023, age: 480h}}, {new_image}]"
    );
    let scenario =
        SmallScenario { name: "waves", spec: &spec, class_annotations: "", objects: &pool, expect };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

const WAVES: &str = "outrigger.dev/drift-waves: '1, 10%, 50%, 100%', outrigger.dev/drift-soak: 10m, \
                     outrigger.dev/drift-halt-after: '2'";
const GOOD: &str = "{id: ami-new, alias: al2023, at: 1h}";
const BAD: &str = "{id: ami-new, alias: al2023, at: 1h, joins: false}";

/// When nodes were disrupted because they drifted, from the start.
fn drifted(report: &Report) -> Vec<SignedDuration> {
    let is_drift = |what: &Happening| matches!(what, Happening::Disrupting { reason, .. } if reason.to_string() == "Drifted");
    let entries = report.timeline.iter().filter(|entry| is_drift(&entry.what));
    entries.map(|entry| entry.at.duration_since(report.started)).collect()
}

fn launches_after(report: &Report, from: SignedDuration) -> usize {
    let is_launch = |what: &Happening| matches!(what, Happening::Launched { .. });
    let entries = report.timeline.iter().filter(|entry| is_launch(&entry.what));
    entries.filter(|entry| entry.at.duration_since(report.started) >= from).count()
}

#[test]
fn a_good_image_reaches_one_node_then_four_then_twenty_then_all() {
    let report =
        run(WAVES, GOOD, "4h", "[{at: 4h, pods: {running: 40}}, {at: 4h, nodes: {count: 40}}]");
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    let at = drifted(&report);
    assert_eq!(at.len(), 40, "{at:?}");
    let soak = SignedDuration::from_mins(10);
    for first_of_wave in [1, 4, 20] {
        let pause = at[first_of_wave] - at[first_of_wave - 1];
        assert!(pause >= soak, "node {first_of_wave} after {pause:#}");
    }
    let pauses = at.windows(2).filter(|pair| pair[1] - pair[0] >= soak).count();
    assert_eq!(pauses, 3, "{at:?}");
}

#[test]
fn an_image_that_never_joins_is_launched_twice_and_costs_no_node() {
    let expect = "[{at: 1h, nodes: {count: 40}}, {at: 3h, pods: {running: 40}}, \
                  {at: 3h, nodes: {count: 40}}]";
    let report = run(WAVES, BAD, "3h", expect);
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    let hour = SignedDuration::from_hours(1);
    assert_eq!(launches_after(&report, hour), 2);
    let without = run("", BAD, "3h", "[{at: 1h, nodes: {count: 40}}]");
    assert!(launches_after(&without, hour) > 10, "{}", launches_after(&without, hour));
}
