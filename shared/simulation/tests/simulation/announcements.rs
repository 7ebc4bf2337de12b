//! What AWS announces beside spot interruptions, and what it finds out.

use crate::report_text::report_text;
use crate::small_scenario::{SmallScenario, catalog, deployment, guard, instance_type};
use domain::settings::Settings;
use simulation::report::{Happening, Report};

/// Two pods on a spot node each, and what is said about one of them after ten minutes.
fn run(annotations: &str, said: &str, expected: &str) -> Report {
    let zones = [("us-east-1a", 0.03), ("us-east-1b", 0.03)];
    let types = [instance_type("one", [2, 8, 20], "spot", &zones)];
    let pool = format!(
        "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default, annotations: {{{annotations}}}}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements: [{{key: karpenter.sh/capacity-type, operator: Exists}}]
        disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 5m, budgets: [{{nodes: '1'}}]}}
"
    );
    let then = format!("  - at: 10m\n    {said}\n");
    let scenario = SmallScenario {
        name: "announced",
        spec: &format!(
            "start: 2026-01-05T09:00:00Z
             duration: 40m
             seed: 3
             boot: 50s
             {}",
            catalog(&types)
        ),
        class_annotations: "",
        objects: &[pool, guard("web"), deployment("web", 2, 1500), then].concat(),
        expect: &format!(
            "[{{at: 9m, nodes: {{count: 2}}}}, {{pods: {{running: 2, pending: 0}}}}, \
             {{nodes: {{count: 2}}}}, {expected}]"
        ),
    };
    let scenario = scenario.read();
    let report = simulation::run(scenario, &Settings::default()).unwrap();
    assert!(report.is_as_expected(), "{}", report_text(&report));
    report
}

fn evictions(report: &Report) -> usize {
    let is_eviction = |what: &Happening| matches!(what, Happening::PodsEvicted { .. });
    report.timeline.iter().filter(|own| is_eviction(&own.what)).count()
}

#[test]
fn a_rebalance_recommendation_is_left_alone_unless_the_pool_wants_it() {
    let report = run("", "recommendRebalance: {count: 2}", "{launched: {count: 2}}");
    assert_eq!(evictions(&report), 0);
}

#[test]
fn where_the_pool_wants_it_nodes_are_replaced_one_after_the_other_and_pods_move_to_what_is_up() {
    let report = run(
        "outrigger.dev/on-rebalance-recommendation: replace",
        "recommendRebalance: {count: 2}",
        "{launched: {count: 4}}, {unplacedSeconds: {max: 10, since: 10m}}, {withoutHomeSeconds: {max: 10}}",
    );
    assert_eq!(evictions(&report), 2, "{}", report_text(&report));
}

#[test]
fn a_retirement_is_drained_before_its_date_once_replacements_are_ready() {
    let report = run(
        "",
        "retire: {count: 1, in: 20m}",
        "{launched: {count: 3}}, {at: 13m, nodes: {count: 2}}, {unplacedSeconds: {max: 10, since: 10m}}",
    );
    assert_eq!(evictions(&report), 1, "{}", report_text(&report));
}

#[test]
fn a_node_whose_checks_fail_for_two_minutes_is_ended_by_force() {
    let report = run(
        "",
        "impair: {count: 1}",
        "{at: 11m55s, launched: {count: 2}}, {at: 15m, launched: {count: 3}}, {at: 17m, nodes: {count: 2}}",
    );
    assert_eq!(evictions(&report), 0, "its pod is deleted, not evicted");
}
