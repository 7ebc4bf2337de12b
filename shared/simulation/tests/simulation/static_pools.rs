//! NodePools of a fixed size through the controllers: they come up, shrink, and are replaced one
//! for one.

use crate::report_text::report_text;
use domain::settings::Settings;
use simulation::report::{Happening, Report};
use simulation::scenario::Scenario;

/// The pool, to have so many nodes of a type.
fn pool(replicas: u32, instance_type: &str) -> String {
    format!(
        "
    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: fixed}}
      spec:
        replicas: {replicas}
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements:
            - {{key: node.kubernetes.io/instance-type, operator: In, values: [{instance_type}]}}
        disruption: {{budgets: [{{nodes: '1'}}]}}"
    )
}

/// An instance type of a catalogue, sold on demand in one zone.
fn instance_type(name: &str, cpus: u32, price: &str) -> String {
    format!(
        "
      - name: {name}
        architecture: amd64
        operatingSystems: [linux]
        capacity: {{cpu: '{cpus}', memory: 8Gi, pods: '20'}}
        allocatable: {{cpu: '{cpus}', memory: 8Gi, pods: '20'}}
        offerings: [{{zone: us-east-1a, capacityType: on-demand, hourlyUsd: {price}, available: true}}]"
    )
}

/// Three nodes with two guarded pods, and what happens to the pool after ten minutes.
fn run(then: &str, expected: &str) -> Report {
    let text = format!(
        "
apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: fixed}}
spec:
  start: 2026-01-05T09:00:00Z
  duration: 40m
  seed: 3
  boot: 50s
  catalog:
    apiVersion: outrigger.dev/v1alpha1
    kind: InstanceCatalog
    metadata: {{name: two-types}}
    spec:
      region: us-east-1
      instanceTypes:{}{}
  timeline:
  - apply:
    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {{name: default}}
      spec:
        amiSelectorTerms: [{{alias: al2023@latest}}]
        role: nodes
        subnetSelectorTerms: [{{tags: {{a: b}}}}]
        securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {{name: web}}
      spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: web}}}}}}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: web}}
      spec:
        replicas: 2
        selector: {{matchLabels: {{app: web}}}}
        template:
          metadata: {{labels: {{app: web}}}}
          spec:
            containers: [{{name: c, image: x, resources: {{requests: {{cpu: 900m, memory: 1Gi}}}}}}]{}
  - at: 10m
    apply:{then}
  expect:
  - {{at: 9m, nodes: {{count: 3, instanceType: small}}}}
  - {{at: 9m, pods: {{running: 2, pending: 0}}}}
  - pods: {{running: 2, pending: 0}}
{expected}",
        instance_type("small", 2, "0.03"),
        instance_type("large", 4, "0.06"),
        pool(3, "small"),
    );
    let scenario = Scenario::read("fixed.yaml", &text).unwrap();
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
        "  - {at: 15m, nodes: {count: 2}}\n  - nodes: {count: 2}\n  - launched: {count: 3}\n",
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
        "  - {at: 15m, nodes: {count: 1}}\n  - launched: {count: 3}\n  - withoutHomeSeconds: {max: 30}\n",
    );
}

#[test]
fn a_drifted_pool_is_replaced_one_node_at_a_time_and_keeps_its_size() {
    let report = run(
        &pool(3, "large"),
        "  - {at: 20m, nodes: {min: 3, max: 4}}\n  - nodes: {count: 3, instanceType: large}\n\
         \x20 - launched: {count: 6}\n  - unplacedSeconds: {max: 10, since: 10m}\n",
    );
    let most = |what: &Happening| matches!(what, Happening::Disrupting { .. });
    assert_eq!(count(&report, most), 3, "{}", report_text(&report));
}
