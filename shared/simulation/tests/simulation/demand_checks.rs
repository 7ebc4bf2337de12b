//! Provisioning that wakes itself every few seconds to check whether pods wait.

use crate::report_text::report_text;
use crate::small_scenario::SmallScenario;
use domain::settings::Settings;
use simulation::report::{Entry, Happening, Report};
use simulation::scenario::{ProvisioningMode, Scenario};

/// From an instance's launch to its ready node, seconds.
const BOOT: i64 = 40;
/// From one demand check to the next, and what messages take.
const CHECK: i64 = 6;
/// From a node that is there to one that takes pods, and to a pod's place on it.
const JOIN: i64 = 20;

/// A Deployment that grows by a node's worth of pods at moments that are no multiples of anything.
const DEMAND: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements:
            - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
            - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
        disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 0
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1500m}}}]}
  - {at: 83s, scale: {kind: Deployment, namespace: default, name: web, replicas: 1}}
  - {at: 254s, scale: {kind: Deployment, namespace: default, name: web, replicas: 3}}
  - {at: 417s, scale: {kind: Deployment, namespace: default, name: web, replicas: 4}}
  - {at: 581s, scale: {kind: Deployment, namespace: default, name: web, replicas: 7}}
  - {at: 749s, scale: {kind: Deployment, namespace: default, name: web, replicas: 8}}
";

fn run(change: impl FnOnce(&mut Scenario)) -> Report {
    let scenario = SmallScenario {
        name: "demand-checks",
        spec: "duration: 20m\nseed: 5\nboot: 40s\nprovisioning: tick",
        class_annotations: "",
        objects: DEMAND,
        expect: "[{pods: {workload: web, running: 8, pending: 0}}, {nodes: {count: 8}}]",
    };
    let mut scenario = scenario.read();
    change(&mut scenario);
    simulation::run(scenario, &Settings::default()).unwrap()
}

fn longest(report: &Report) -> i64 {
    assert!(report.is_as_expected(), "{}", report_text(report));
    report.waiting.longest.as_secs()
}

#[test]
fn pods_wait_for_the_next_check_and_no_longer() {
    let by_checks = longest(&run(|_| {}));
    let by_the_minute = longest(&run(|scenario| scenario.provisioning = ProvisioningMode::Poll));
    assert!(by_checks <= BOOT + CHECK + JOIN, "{by_checks} s");
    assert!(by_the_minute > by_checks, "{by_the_minute} s by the minute, {by_checks} s by checks");
}

#[test]
fn messages_that_come_twice_or_late_launch_nothing_twice() {
    for seed in 0..10 {
        let report = run(|scenario| {
            scenario.seed = seed;
            scenario.faults.events_doubled_per_mille = 300;
            scenario.faults.events_late_per_mille = 100;
        });
        longest(&report);
        let launched = |own: &&Entry| matches!(own.what, Happening::Launched { .. });
        let launches = report.timeline.iter().filter(launched).count();
        assert_eq!(launches, 8, "{}", report_text(&report));
    }
}

#[test]
fn a_chain_that_breaks_with_its_process_is_missed_for_a_minute_at_most() {
    for seed in 0..10 {
        let report = run(|scenario| {
            scenario.seed = seed;
            scenario.faults.crashes_per_mille = 20;
            scenario.expectations.retain(|own| own.at.is_none());
        });
        assert_eq!(report.waiting.pods_bound, 8, "{}", report_text(&report));
    }
}
