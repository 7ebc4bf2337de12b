//! NodePools of a fixed size through the controllers: they come up, shrink, and are replaced one
//! for one.

use crate::report_text::report_text;
use crate::small_scenario::{SmallScenario, catalog, deployment, guard, instance_type};
use domain::settings::Settings;
use simulation::report::{Happening, Report};

/// The pool, to have so many nodes of a type.
fn pool(replicas: u32, instance_type: &str) -> String {
    format!(
        "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: fixed}}
      spec:
        replicas: {replicas}
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements:
            - {{key: node.kubernetes.io/instance-type, operator: In, values: [{instance_type}]}}
        disruption: {{budgets: [{{nodes: '1'}}]}}
"
    )
}

/// Three nodes with two guarded pods, and what happens to the pool after ten minutes.
fn run(then: &str, expected: &str) -> Report {
    let sold = |name, cpus, price| {
        instance_type(name, [cpus, 8, 20], "on-demand", &[("us-east-1a", price)])
    };
    let types = [sold("small", 2, 0.03), sold("large", 4, 0.06)];
    let then = format!("  - at: 10m\n    apply:\n{then}");
    let scenario = SmallScenario {
        name: "fixed",
        spec: &format!(
            "start: 2026-01-05T09:00:00Z
             duration: 40m
             seed: 3
             boot: 50s
             {}",
            catalog(&types)
        ),
        class_annotations: "",
        objects: &[guard("web"), deployment("web", 2, 900), pool(3, "small"), then].concat(),
        expect: &format!(
            "[{{at: 9m, nodes: {{count: 3, instanceType: small}}}}, \
             {{at: 9m, pods: {{running: 2, pending: 0}}}}, \
             {{pods: {{running: 2, pending: 0}}}}, {expected}]"
        ),
    };
    let scenario = scenario.read();
    // Pods are where kube-scheduler puts them: apart, though one node has room for both.
    let mut settings = Settings::default();
    settings.feature_gates.pod_nomination = false;
    let report = simulation::run(scenario, &settings).unwrap();
    assert!(report.is_as_expected(), "{}", report_text(&report));
    assert!(report.violations.is_empty(), "{}", report_text(&report));
    report
}

fn count(report: &Report, is_meant: impl Fn(&Happening) -> bool) -> usize {
    report.timeline.iter().filter(|own| is_meant(&own.what)).count()
}

#[test]
fn a_pool_that_is_scaled_down_keeps_the_nodes_with_pods_as_long_as_it_can() {
    let report = run(
        &pool(2, "small"),
        "{at: 15m, nodes: {count: 2}}, {nodes: {count: 2}}, {launched: {count: 3}}",
    );
    let is_eviction = |what: &Happening| matches!(what, Happening::PodsEvicted { .. });
    let nodes_with_pods = report.views.last().unwrap().nodes.iter().filter(|own| own.pods.used > 0);
    // The scheduler spreads the two pods, so that one node is empty.
    assert_eq!(
        (count(&report, is_eviction), nodes_with_pods.count()),
        (0, 2),
        "{}",
        report_text(&report)
    );
}

#[test]
fn pods_of_nodes_that_are_too_many_move_to_one_that_stays() {
    let _report = run(
        &pool(1, "small"),
        "{at: 15m, nodes: {count: 1}}, {launched: {count: 3}}, {withoutHomeSeconds: {max: 30}}",
    );
}

#[test]
fn a_drifted_pool_is_replaced_one_node_at_a_time_and_keeps_its_size() {
    let report = run(
        &pool(3, "large"),
        "{at: 20m, nodes: {min: 3, max: 4}}, {nodes: {count: 3, instanceType: large}}, \
         {launched: {count: 6}}, {unplacedSeconds: {max: 10, since: 10m}}",
    );
    let most = |what: &Happening| matches!(what, Happening::Disrupting { .. });
    assert_eq!(count(&report, most), 3, "{}", report_text(&report));
}
