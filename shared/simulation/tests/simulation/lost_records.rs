//! The functions' table is lost while a hundred nodes run: no instance ends and no pod is evicted
//! for it, and the functions go on as if nothing had happened.

use crate::report_text::report_text;
use crate::small_scenario::{SmallScenario, deployment};
use domain::settings::Settings;
use domain::{SignedDuration, Timestamp};
use simulation::report::{Entry, Happening, Report};
use simulation::scenario::Scenario;

const POOL: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
        disruption: {consolidateAfter: 30s, budgets: [{nodes: 100%}]}
";

const TIMELINE: &str = "  - at: 30m
    loseRecords: {}
  - at: 33m
    scale: {kind: Deployment, name: web, replicas: 50}
";

/// A hundred pods, each of which fills a node, from half past eleven on. At noon the table is
/// emptied; three ticks later half of the pods go.
fn scenario() -> Scenario {
    let scenario = SmallScenario {
        name: "lost-records",
        spec: "start: 2026-01-05T11:30:00Z
               duration: 60m",
        class_annotations: "",
        objects: &[POOL, &deployment("web", 100, 1500), TIMELINE].concat(),
        expect: "[{at: 30m, nodes: {count: 100}}, {at: 33m, nodes: {count: 100}}, \
                 {at: 32m, pods: {running: 100, pending: 0}}, {nodes: {count: 50}}, \
                 {pods: {running: 50, pending: 0}}]",
    };
    scenario.read()
}

fn run() -> Report {
    let scenario = scenario();
    simulation::run(scenario, &Settings::default()).unwrap()
}

/// What happened between two moments, counted from the start.
fn between(report: &Report, from: i64, to: i64) -> impl Iterator<Item = &Entry> {
    let moment = |minutes| -> Timestamp { report.started + SignedDuration::from_mins(minutes) };
    let (from, to) = (moment(from), moment(to));
    report.timeline.iter().filter(move |entry| entry.at >= from && entry.at < to)
}

#[test]
fn a_hundred_nodes_outlive_the_table_and_are_managed_as_before() {
    let report = run();
    assert!(report.is_as_expected(), "{}", report_text(&report));
    let is_for_it = |entry: &&Entry| {
        matches!(
            entry.what,
            Happening::Launched { .. }
                | Happening::Disrupting { .. }
                | Happening::Draining(_)
                | Happening::PodsEvicted { .. }
                | Happening::PodsLost { .. }
                | Happening::NodeRemoved { .. }
                | Happening::InstanceEnded { .. }
        )
    };
    assert_eq!(between(&report, 30, 33).filter(is_for_it).count(), 0, "{}", report_text(&report));
    let launched = |entry: &&Entry| {
        matches!(entry.what, Happening::Launched { .. } | Happening::PodsEvicted { .. })
    };
    assert_eq!(between(&report, 33, 60).filter(launched).count(), 0, "{}", report_text(&report));
}
