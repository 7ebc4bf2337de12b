//! What is remembered of spot, as commands show it.

use crate::support::Workspace;

const POOL: &str = r#"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  annotations: {outrigger.dev/spot-interruption-cost: 2h}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5a.large]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1500m}}}]}
---
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-0-9
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: spot
    node.kubernetes.io/instance-type: m5a.large
    topology.kubernetes.io/zone: us-east-1a
    topology.kubernetes.io/region: us-east-1
status: {allocatable: {cpu: "1", memory: 4Gi, pods: "20"}, conditions: [{type: Ready, status: "True"}]}
"#;

const HISTORY: &str = r"
apiVersion: outrigger.dev/v1alpha1
kind: SpotHistory
metadata: {name: us-east-1}
spec:
  asOf: 2026-01-05T09:00:00Z
  offerings:
  - {instanceType: m5a.large, zone: us-east-1a, nodeHours: 40, interruptions: 12}
  - {instanceType: m5.large, zone: us-east-1a, nodeHours: 210, interruptions: 1}
";

const NOW: &str = "--now 2026-01-05T09:00:00Z";

fn workspace() -> Workspace {
    Workspace::with(&[("pool.yaml", POOL), ("history.yaml", HISTORY)])
}

#[test]
fn a_plan_says_how_often_offerings_are_taken_back_and_what_that_weighs() {
    let workspace = workspace();
    let run = workspace.run(&format!("plan -f pool.yaml history.yaml {NOW}"));
    assert!(run.out.contains("m5.large spot in us-east-1a"), "{run:?}");
    assert!(run.out.contains(" interruptions in 100 node-hours, which weigh $0.00"), "{run:?}");
    assert!(run.out.contains("TAKEN IN 100H"), "{run:?}");
    let json = workspace.run(&format!("plan -f pool.yaml history.yaml {NOW} -o json")).json();
    let new = &json["nodeClaims"][0]["spot"];
    let old = &json["existingNodes"][0]["spot"];
    let rate = |own: &serde_json::Value| own["interruptionsPer100NodeHours"].as_f64().unwrap();
    assert!(rate(new) < 2.0 && rate(old) > 15.0, "{json}");
    assert!(old["weightHourlyUsd"].as_f64().unwrap() > new["weightHourlyUsd"].as_f64().unwrap());
    let run = workspace.run(&format!("explain pod web -f pool.yaml history.yaml {NOW}"));
    assert!(run.out.contains("  m5.large spot in us-east-1a: "), "{run:?}");
    let run = workspace.run(&format!("top -f pool.yaml history.yaml {NOW}"));
    assert!(run.out.contains("TAKEN IN 100H"), "{run:?}");
}

#[test]
fn without_a_history_and_without_an_annotation_nothing_is_said_of_interruptions() {
    let plain = POOL.replace("  annotations: {outrigger.dev/spot-interruption-cost: 2h}\n", "");
    let workspace = Workspace::with(&[("pool.yaml", &plain)]);
    let run = workspace.run(&format!("plan -f pool.yaml {NOW}"));
    assert!(run.out.contains("spot in us-east-1a"), "{run:?}");
    assert!(!run.out.contains("100"), "{run:?}");
    let json = workspace.run(&format!("plan -f pool.yaml {NOW} -o json")).json();
    assert!(json["nodeClaims"][0].get("spot").is_none(), "{json}");
}

#[test]
fn a_catalogue_shows_the_rates_of_a_history() {
    let workspace = workspace();
    let run = workspace.run("catalog m5a.large --spot-history history.yaml");
    let mut lines = run.out.lines();
    assert!(lines.next().unwrap().ends_with("TAKEN IN 100H"), "{run:?}");
    assert!(lines.next().unwrap().trim_end().ends_with("27"), "{run:?}");
    let run = workspace.run("catalog m5a.large");
    assert!(!run.out.contains("TAKEN"), "{run:?}");
}
