//! Runs that are left out because they would find nothing to do make no difference to the report.

use crate::small_scenario::{SmallScenario, deployment};
use domain::node_pool::ConsolidationPolicy;
use domain::settings::{FeatureGates, Settings};
use simulation::day::{self, MORNING};
use simulation::scenario::Scenario;

/// The day's workloads and events, on which nothing fails and no call takes time: only then is any
/// run left out. Idle hours are added at its end.
fn calm(seed: u64, policy: ConsolidationPolicy) -> Scenario {
    let mut scenario = day::day(seed, MORNING, policy, FeatureGates::default()).unwrap();
    scenario.faults = simulation::ec2::Faults::default();
    scenario.duration = domain::SignedDuration::from_hours(2);
    scenario.expectations.clear();
    scenario
}

#[track_caller]
fn check(scenario: Scenario) {
    let every = Scenario { every_run: true, ..scenario.clone() };
    let every = simulation::run(every, &Settings::default()).unwrap();
    let own = simulation::run(scenario, &Settings::default()).unwrap();
    assert_eq!(own.timeline.len(), every.timeline.len());
    for (own, every) in own.timeline.iter().zip(&every.timeline) {
        assert_eq!(own, every);
    }
    assert_eq!(own.views, every.views);
    assert_eq!(own.cost, every.cost);
    assert_eq!((own.waiting, own.violations), (every.waiting, every.violations));
}

#[test]
fn a_morning_and_idle_hours_are_the_same_with_and_without_runs_that_do_nothing() {
    check(calm(0, ConsolidationPolicy::WhenEmptyOrUnderutilized));
}

#[test]
fn so_they_are_where_only_empty_nodes_go() {
    check(calm(3, ConsolidationPolicy::WhenEmpty));
}

/// A Deployment that has five replicas more for half an hour, and a schedule that knows it.
const SCHEDULED: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
        disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 2
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, resources: {requests: {cpu: '1', memory: 1Gi}}}]}
    - apiVersion: outrigger.dev/v1alpha1
      kind: PrewarmSchedule
      metadata: {name: web}
      spec:
        scaleTargetRef: {kind: Deployment, name: web}
        triggers:
        - type: cron
          metadata: {timezone: UTC, start: 30 12 * * *, end: 36 12 * * *, desiredReplicas: '7'}
  - {at: 210m, scale: {kind: Deployment, name: web, replicas: 7}}
  - {at: 240m, scale: {kind: Deployment, name: web, replicas: 2}}
";

#[test]
fn so_they_are_where_a_schedule_wants_capacity_now_and_then() {
    let scenario = SmallScenario {
        name: "scheduled",
        spec: "duration: 6h\nseed: 5",
        class_annotations: "",
        objects: SCHEDULED,
        expect: "[]",
    };
    check(scenario.read());
}

/// A node of Karpenter's that expires after ninety minutes.
const ADOPTED: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
            expireAfter: 90m
        disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
    - apiVersion: karpenter.sh/v1
      kind: NodeClaim
      metadata:
        name: default-abcde
        uid: uid-abcde
        labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m5.xlarge, topology.kubernetes.io/zone: us-east-1a, karpenter.sh/capacity-type: on-demand}
      spec:
        nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
        requirements: []
        expireAfter: 90m
      status: {nodeName: ip-10-0-0-1.ec2.internal, providerID: 'aws:///us-east-1a/i-0123456789abcdef0', capacity: {cpu: '4', memory: 16Gi, pods: '58'}, allocatable: {cpu: '4', memory: 15Gi, pods: '58'}, conditions: [{type: Launched, status: 'True'}, {type: Registered, status: 'True'}, {type: Initialized, status: 'True'}]}
    - apiVersion: v1
      kind: Node
      metadata:
        name: ip-10-0-0-1.ec2.internal
        labels: {karpenter.sh/nodepool: default, karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true', node.kubernetes.io/instance-type: m5.xlarge, topology.kubernetes.io/zone: us-east-1a, karpenter.sh/capacity-type: on-demand, kubernetes.io/os: linux, kubernetes.io/arch: amd64, kubernetes.io/hostname: ip-10-0-0-1.ec2.internal}
      spec: {providerID: 'aws:///us-east-1a/i-0123456789abcdef0'}
      status: {capacity: {cpu: '4', memory: 16Gi, pods: '58'}, allocatable: {cpu: '4', memory: 15Gi, pods: '58'}, conditions: [{type: Ready, status: 'True'}]}
";

#[test]
fn so_they_are_where_nodes_were_there_before() {
    let objects = format!("{ADOPTED}{}", deployment("web", 2, 1000));
    let scenario = SmallScenario {
        name: "adopted",
        spec: "duration: 4h\nseed: 5",
        class_annotations: "",
        objects: &objects,
        expect: "[]",
    };
    check(scenario.read());
}
