//! `outrigger.dev/evict-by: rollout`: a Deployment of one replica is never without a ready pod.

use domain::settings::Settings;
use simulation::report::{Happening, Report};

use crate::small_scenario::SmallScenario;

/// A replica that takes 40 s to be ready, and a new image at one hour. Annotations, replicas and
/// specification of the Deployment are as given.
fn run(annotations: &str, replicas: u32, spec: &str, expect: &str) -> Report {
    let objects = format!(
        "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements:
            - {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}
            - {{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: web, annotations: {{{annotations}}}}}
      spec:
        replicas: {replicas}
        selector: {{matchLabels: {{app: web}}}}
        {spec}
        template:
          metadata: {{labels: {{app: web}}}}
          spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: 1, memory: 1Gi}}}}}}]}}
"
    );
    let scenario = SmallScenario {
        name: "rollouts",
        spec: "duration: 2h
        podStart: 40s
        images: [{id: ami-old, alias: al2023, age: 480h}, {id: ami-new, alias: al2023, at: 1h}]",
        class_annotations: "",
        objects: &objects,
        expect,
    };
    let mut settings = Settings::default();
    settings.feature_gates = settings.feature_gates.with("RolloutEviction=true").unwrap();
    simulation::run(scenario.read(), &settings).unwrap()
}

const ROLLOUT: &str = "outrigger.dev/evict-by: rollout";

fn count(report: &Report, is_meant: impl Fn(&Happening) -> bool) -> usize {
    report.timeline.iter().filter(|entry| is_meant(&entry.what)).count()
}

fn evictions(report: &Report) -> usize {
    count(report, |what| matches!(what, Happening::PodsEvicted { .. }))
}

fn rollouts(report: &Report) -> usize {
    count(report, |what| matches!(what, Happening::RolloutStarted { .. }))
}

fn launches(report: &Report) -> usize {
    count(report, |what| matches!(what, Happening::Launched { .. }))
}

fn drifted(report: &Report) -> usize {
    let is_drift = |what: &Happening| matches!(what, Happening::Disrupting { reason, .. } if reason.to_string() == "Drifted");
    count(report, is_drift)
}

#[test]
fn one_replica_is_never_without_a_ready_pod() {
    let never =
        "[{withoutReadySeconds: {workload: web, max: 0}}, {pods: {workload: web, running: 1}}]";
    let with = run(ROLLOUT, 1, "", never);
    assert!(with.is_as_expected(), "{:?} {:?}", with.expectations, with.violations);
    assert_eq!((drifted(&with), evictions(&with), rollouts(&with)), (1, 0, 1));
    assert_eq!(launches(&with), 2, "nothing is launched for the pod that ends");
    let without = run("", 1, "", never);
    let gap = &without.expectations[0];
    assert!(!gap.holds(), "{gap:?}");
    assert_eq!((evictions(&without), rollouts(&without)), (1, 0));
}

#[test]
fn a_rollout_moves_all_pods_of_a_node_at_once() {
    // Five nodes of a pod each, of which a budget lets one go at a time.
    let report = run(ROLLOUT, 5, "", "[{withoutReadySeconds: {workload: web, max: 0}}]");
    assert!(report.is_as_expected(), "{:?} {:?}", report.expectations, report.violations);
    assert_eq!(evictions(&report), 0);
    assert!(rollouts(&report) <= 5, "{}", rollouts(&report));
}

#[test]
fn pods_are_evicted_where_no_rollout_is_possible() {
    for spec in
        ["strategy: {type: Recreate}", "paused: true", "strategy: {rollingUpdate: {maxSurge: 0}}"]
    {
        let report = run(ROLLOUT, 1, spec, "[{pods: {workload: web, running: 1}}]");
        assert!(report.is_as_expected(), "{spec}: {:?}", report.expectations);
        assert_eq!((evictions(&report), rollouts(&report)), (1, 0), "{spec}");
    }
}
