//! PrewarmSchedules that scale their workloads, from the functions down to the pods.

use crate::report_text::report_text;
use crate::small_scenario::SmallScenario;
use domain::settings::Settings;
use simulation::report::Report;
use simulation::scenario::{ProvisioningMode, Scenario};

const OBJECTS: &str = "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
        disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, budgets: [{nodes: 100%}]}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 0
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1}}}]}
    - apiVersion: outrigger.dev/v1alpha1
      kind: PrewarmSchedule
      metadata: {name: web}
      spec:
        scaleTargetRef: {name: web}
        scaleTarget: true
        triggers:
        - type: cron
          metadata: {timezone: UTC, start: 10 * * * *, end: 20 * * * *, desiredReplicas: '5'}
";

/// Five replicas from the 10th until the 20th minute; without any by the 40th.
fn scenario() -> Scenario {
    let scenario = SmallScenario {
        name: "schedule",
        spec: "duration: 40m
               seed: 3",
        class_annotations: "",
        objects: OBJECTS,
        expect: "[{at: 9m50s, pods: {workload: web, running: 0}}, {at: 9m50s, nodes: {min: 1}}, \
                 {at: 11m10s, pods: {workload: web, running: 5, pending: 0}}, \
                 {at: 24m50s, pods: {workload: web, running: 5}}, \
                 {at: 27m, pods: {workload: web, running: 0}}, {nodes: {count: 0}}]",
    };
    scenario.read()
}

fn run(change: impl FnOnce(&mut Scenario)) -> Report {
    let mut scenario = scenario();
    change(&mut scenario);
    simulation::run(scenario, &Settings::default()).unwrap()
}

#[track_caller]
fn check(report: &Report) {
    assert!(report.is_as_expected(), "{}", report_text(report));
}

#[test]
fn replicas_come_with_the_window_onto_nodes_that_are_there_and_go_after_it() {
    let report = run(|_| {});
    check(&report);
    assert!(report.waiting.longest.as_secs() <= 5, "{:?}", report.waiting);
}

#[test]
fn polling_once_a_minute_does_as_well() {
    check(&run(|scenario| scenario.provisioning = ProvisioningMode::Poll));
}

#[test]
fn runs_that_die_are_made_good_by_later_ones() {
    for seed in 0..3 {
        let report = run(|scenario| {
            scenario.seed = seed;
            scenario.faults.crashes_per_mille = 20;
            scenario.expectations.retain(|own| own.at.is_none());
        });
        check(&report);
        assert_eq!(report.waiting.pods_bound, 5, "{}", report_text(&report));
    }
}
