//! A change of an EC2NodeClass drifts the nodes that were launched from it.

use domain::settings::Settings;
use simulation::report::{Happening, Report};
use simulation::scenario::Scenario;

use crate::pool_and_pods::{Deployment, pool_and_pods};

/// Three nodes, whose class gets what is given at ten minutes.
fn run(change: &str) -> Report {
    let class = |spec: &str| {
        format!(
            "{{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {{name: default}}, spec: \
             {{role: n, subnetSelectorTerms: [{{tags: {{a: b}}}}], securityGroupSelectorTerms: \
             [{{tags: {{a: b}}}}], {spec}}}}}"
        )
    };
    let web = Deployment { name: "web", replicas: 3, cpu: "1", annotations: "" };
    let pool = pool_and_pods("    ", "name: default", &[web]);
    let text = format!(
        "apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: drift}}
spec:
  duration: 40m
  timeline:
  - apply:
    - {}
{pool}  - at: 10m
    apply: [{}]
",
        class("amiSelectorTerms: [{alias: al2023@latest}]"),
        class(change),
    );
    let scenario = Scenario::read("drift.yaml", &text).unwrap();
    simulation::run(scenario, &Settings::default()).unwrap()
}

fn drifted(report: &Report) -> usize {
    let is_drift = |what: &Happening| matches!(what, Happening::Disrupting { reason, .. } if reason.to_string() == "Drifted");
    report.timeline.iter().filter(|entry| is_drift(&entry.what)).count()
}

#[test]
fn another_tag_replaces_every_node() {
    let report = run("amiSelectorTerms: [{alias: al2023@latest}], tags: {team: x}");
    assert_eq!((drifted(&report), report.violations.len()), (3, 0), "{:?}", report.timeline);
}

#[test]
fn another_image_replaces_every_node() {
    let report = run("amiSelectorTerms: [{alias: bottlerocket@latest}]");
    assert_eq!((drifted(&report), report.violations.len()), (3, 0), "{:?}", report.timeline);
}

#[test]
fn the_same_class_applied_again_replaces_none() {
    assert_eq!(drifted(&run("amiSelectorTerms: [{alias: al2023@latest}]")), 0);
}
