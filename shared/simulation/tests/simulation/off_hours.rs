//! `outrigger.dev/off-schedule`: a NodePool for working hours, through a weekday.

use domain::settings::Settings;
use simulation::report::Report;

use crate::pool_and_pods::{Deployment, pool_and_pods};
use crate::small_scenario::SmallScenario;

/// Twelve pods from eight in the evening of a Monday until ten in the evening of the Tuesday, in
/// Seoul; the annotations of their NodePool are as given. One pod refuses disruption.
fn run(annotations: &str, expect: &str) -> Report {
    let web = Deployment { name: "web", replicas: 11, cpu: "800m", annotations: "" };
    let refuses = "karpenter.sh/do-not-disrupt: \"true\"";
    let long = Deployment { name: "long", replicas: 1, cpu: "800m", annotations: refuses };
    let metadata = format!("name: dev, annotations: {{{annotations}}}");
    let pool = pool_and_pods("    ", &metadata, &[web, long]);
    let scenario = SmallScenario {
        name: "off-hours",
        spec: "start: 2026-11-23T10:00:00Z\nduration: 26h",
        class_annotations: "",
        objects: &pool,
        expect,
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

const OFF: &str = "outrigger.dev/off-schedule: 0 20 * * mon-fri, outrigger.dev/off-duration: 12h, \
                   outrigger.dev/off-time-zone: Asia/Seoul, outrigger.dev/off-grace: 30m";

#[test]
fn no_node_is_there_at_night_and_all_pods_run_in_the_morning() {
    // From a quarter to nine until eight nothing is there; at five past eight everything is.
    let expect = "[{at: 59m, pods: {running: 12}}, {at: 80m, nodes: {count: 1}}, \
                  {at: 105m, nodes: {count: 0}}, \
                  {at: 2h, waiting: {pod: web, because: it is off until 2026-11-23T23:00:00Z}}, \
                  {at: 12h59m, nodes: {count: 0}}, {at: 13h5m, pods: {running: 12}}, \
                  {at: 25h55m, nodes: {count: 0}}]";
    let with = run(OFF, expect);
    let failed: Vec<_> = with.expectations.iter().filter(|own| !own.holds()).collect();
    assert!(with.violations.is_empty() && failed.is_empty(), "{failed:?} {:?}", with.violations);
    let without = run("", "[{at: 2h, pods: {running: 12}}]");
    assert!(without.is_as_expected());
    let (with, without) = (with.cost.total_nano_usd, without.cost.total_nano_usd);
    assert!(with * 100 <= without * 55, "{with} of {without}");
}

#[test]
fn whoever_works_late_keeps_the_nodes() {
    let late = format!("{OFF}, outrigger.dev/awake-until: 2026-11-23T15:00:00Z");
    let expect = "[{at: 4h55m, pods: {running: 12}}, {at: 5h45m, nodes: {count: 0}}]";
    let report = run(&late, expect);
    assert!(report.is_as_expected(), "{:?}", report.expectations);
}
