//! What AWS announces beside spot interruptions, and what it finds out.

use crate::report_text::report_text;
use domain::settings::Settings;
use simulation::report::{Happening, Report};
use simulation::scenario::Scenario;

/// Two pods on a spot node each, and what is said about one of them after ten minutes.
fn run(annotations: &str, said: &str, expected: &str) -> Report {
    let text = format!(
        "
apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: announced}}
spec:
  start: 2026-01-05T09:00:00Z
  duration: 40m
  seed: 3
  boot: 50s
  catalog:
    apiVersion: outrigger.dev/v1alpha1
    kind: InstanceCatalog
    metadata: {{name: one-type}}
    spec:
      region: us-east-1
      instanceTypes:
      - name: one
        architecture: amd64
        operatingSystems: [linux]
        capacity: {{cpu: '2', memory: 8Gi, pods: '20'}}
        allocatable: {{cpu: '2', memory: 8Gi, pods: '20'}}
        offerings:
        - {{zone: us-east-1a, capacityType: spot, hourlyUsd: 0.03, available: true}}
        - {{zone: us-east-1b, capacityType: spot, hourlyUsd: 0.03, available: true}}
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
    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default, annotations: {{{annotations}}}}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements: [{{key: karpenter.sh/capacity-type, operator: Exists}}]
        disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 5m, budgets: [{{nodes: '1'}}]}}
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
            containers: [{{name: c, image: x, resources: {{requests: {{cpu: 1500m, memory: 1Gi}}}}}}]
  - at: 10m
    {said}
  expect:
  - {{at: 9m, nodes: {{count: 2}}}}
  - pods: {{running: 2, pending: 0}}
  - nodes: {{count: 2}}
{expected}"
    );
    let scenario = Scenario::read("announced.yaml", &text).unwrap();
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
    let report = run("", "recommendRebalance: {count: 2}", "  - launched: {count: 2}\n");
    assert_eq!(evictions(&report), 0);
}

#[test]
fn where_the_pool_wants_it_nodes_are_replaced_one_after_the_other_and_pods_move_to_what_is_up() {
    let report = run(
        "outrigger.dev/on-rebalance-recommendation: replace",
        "recommendRebalance: {count: 2}",
        "  - launched: {count: 4}\n  - {unplacedSeconds: {max: 10, since: 10m}}\n  - withoutHomeSeconds: {max: 10}\n",
    );
    assert_eq!(evictions(&report), 2, "{}", report_text(&report));
}

#[test]
fn a_retirement_is_drained_before_its_date_once_replacements_are_ready() {
    let report = run(
        "",
        "retire: {count: 1, in: 20m}",
        "  - launched: {count: 3}\n  - {at: 13m, nodes: {count: 2}}\n  - {unplacedSeconds: {max: 10, since: 10m}}\n",
    );
    assert_eq!(evictions(&report), 1, "{}", report_text(&report));
}

#[test]
fn a_node_whose_checks_fail_for_two_minutes_is_ended_by_force() {
    let report = run(
        "",
        "impair: {count: 1}",
        "  - {at: 11m55s, launched: {count: 2}}\n  - {at: 15m, launched: {count: 3}}\n  - {at: 17m, nodes: {count: 2}}\n",
    );
    assert_eq!(evictions(&report), 0, "its pod is deleted, not evicted");
}
