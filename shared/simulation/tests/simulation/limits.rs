//! Limits of NodePools, while their nodes are replaced.

use domain::settings::Settings;
use simulation::report::{Happening, Moment, Report};

use crate::small_scenario::SmallScenario;

/// Two pods that need a node each of a NodePool that may have so many nodes; its nodes expire after
/// an hour.
fn run(nodes: u32) -> Report {
    let objects = format!(
        "    - {{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: default}}, spec: {{limits: {{nodes: \"{nodes}\"}},
      disruption: {{consolidateAfter: Never}}, template: {{spec: {{expireAfter: 1h,
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: [
      {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}},
      {{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}}]}}}}}}}}
    - {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: 2,
      selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [
      {{name: c, image: x, resources: {{requests: {{cpu: 1100m}}}}}}]}}}}}}}}
"
    );
    let scenario = SmallScenario {
        name: "limits",
        spec: "duration: 3h",
        class_annotations: "",
        objects: &objects,
        expect: "[]",
    };
    simulation::run(scenario.read(), &Settings::default()).unwrap()
}

fn count(report: &Report, is_it: impl Fn(&Happening) -> bool) -> usize {
    report.timeline.iter().filter(|entry| is_it(&entry.what)).count()
}

#[test]
fn nodes_of_a_pool_at_its_limit_are_replaced_one_for_one() {
    let report = run(2);
    assert_eq!(report.violations, []);
    let launches = count(&report, |what| matches!(what, Happening::Launched { .. }));
    // Two nodes, replaced after one hour and after two.
    assert_eq!(launches, 6);
    assert_eq!(count(&report, |what| matches!(what, Happening::PodsPending(_))), 1);
}

#[test]
fn a_pod_beyond_the_limit_waits_however_often_nodes_are_replaced() {
    let report = run(1);
    assert_eq!(report.violations, []);
    assert_eq!(report.view(Moment::End).map(|own| own.pods_pending), Some(1));
}
