//! `outrigger.dev/ami-min-age`: a new image is taken once it is old enough.

use domain::SignedDuration;
use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// Three nodes, and a new image at one hour; the annotation of their class is as given.
fn run(annotations: &str, images: &str) -> Report {
    let web = Deployment { name: "web", replicas: 3, cpu: "1", annotations: "" };
    let pool = pool_and_pods("    ", "name: default", &[web]);
    let spec = format!("duration: 4h\nimages: {images}");
    let scenario = SmallScenario {
        name: "images",
        spec: &spec,
        class_annotations: annotations,
        objects: &pool,
        expect: "[]",
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

/// When nodes were replaced because they drifted, from the start.
fn drifted(report: &Report) -> Vec<SignedDuration> {
    let is_drift = |what: &Happening| matches!(what, Happening::Disrupting { reason, .. } if reason.to_string() == "Drifted");
    let start = report.started;
    let entries = report.timeline.iter().filter(|entry| is_drift(&entry.what));
    entries.map(|entry| entry.at.duration_since(start)).collect()
}

const NEW_AT_ONE_HOUR: &str =
    "[{id: ami-old, alias: al2023, age: 480h}, {id: ami-new, alias: al2023, at: 1h}]";

#[test]
fn nodes_are_replaced_once_the_image_is_old_enough() {
    let hours = SignedDuration::from_hours;
    let at_once = drifted(&run("", NEW_AT_ONE_HOUR));
    assert_eq!(at_once.len(), 3);
    assert!(at_once[0] < hours(1) + SignedDuration::from_mins(5), "{at_once:?}");
    let later = drifted(&run("outrigger.dev/ami-min-age: 2h", NEW_AT_ONE_HOUR));
    assert_eq!(later.len(), 3);
    assert!(later[0] >= hours(3), "{later:?}");
    assert!(later[0] < hours(3) + SignedDuration::from_mins(5), "{later:?}");
    assert!(drifted(&run("outrigger.dev/ami-min-age: 168h", NEW_AT_ONE_HOUR)).is_empty());
}

#[test]
fn pods_wait_where_every_image_is_too_young() {
    let only = "[{id: ami-new, alias: al2023, age: 1h}]";
    let report = run("outrigger.dev/ami-min-age: 2h", only);
    let joined =
        report.timeline.iter().find(|entry| matches!(entry.what, Happening::NodeJoined { .. }));
    let at = joined.unwrap().at.duration_since(report.started);
    assert!(at >= SignedDuration::from_hours(1) && at < SignedDuration::from_mins(75), "{at}");
    assert!(report.violations.is_empty(), "{:?}", report.violations);
}
