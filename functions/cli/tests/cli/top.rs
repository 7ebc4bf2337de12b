//! `outrigger top` over files.

use serde_json::json;

use crate::support::Workspace;

/// Two nodes, one of a type that no catalogue prices; a pod on the first, a pod that waits.
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: one
  creationTimestamp: 2026-01-01T11:00:00Z
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: spot
    node.kubernetes.io/instance-type: small
    topology.kubernetes.io/zone: us-east-1a
status:
  allocatable: {cpu: '2', memory: 4Gi, pods: '20'}
  capacity: {cpu: '2', memory: 4Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: v1
kind: Node
metadata: {name: two, labels: {node.kubernetes.io/instance-type: unknown}}
status:
  allocatable: {cpu: '2', memory: 4Gi, pods: '20'}
  capacity: {cpu: '2', memory: 4Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: default}
spec:
  nodeName: one
  containers: [{name: web, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: default}
spec:
  containers: [{name: web, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
status: {phase: Pending}
";

const TOP: &str = "top -f cluster.yaml --catalog catalog.yaml --now 2026-01-01T12:00:00Z";

#[test]
fn nodes_are_shown_with_what_they_hold_and_cost() {
    let run = Workspace::with(&[("cluster.yaml", CLUSTER)]).run(TOP);
    assert_eq!(run.status, 0, "{run:?}");
    for line in [
        "NODES  2 nodes (1 of another kind, 1 spot)",
        "  cpu     500m of 4 (12%)",
        "  memory  1Gi of 8Gi (12%)",
        "  pods    1 on nodes, 1 pending",
        "  cost    $0.0310/h, $22.63 a month",
        "  without 1 node that the catalogue does not price: two",
        "  prices of us-east-1 (the catalogue says so), as the catalogue gives them",
    ] {
        assert!(run.out.lines().any(|own| own == line), "{line} in:\n{}", run.out);
    }
    let row = run.out.lines().find(|line| line.trim_start().starts_with("one ")).unwrap();
    for cell in ["default", "small", "us-east-1a", "spot", "25%", "$0.0310", "1h"] {
        assert!(row.contains(cell), "{cell} in {row}");
    }
}

#[test]
fn scripts_get_the_same_as_json() {
    let run = Workspace::with(&[("cluster.yaml", CLUSTER)]).run(&format!("{TOP} -o json"));
    let document = run.json();
    assert_eq!(document["kind"], "ClusterUse");
    let totals = &document["totals"];
    assert_eq!(totals["cpuMillis"], json!({"requested": 500, "allocatable": 4000}));
    assert_eq!(totals["nodesWithoutPrice"], 1);
    assert_eq!(totals["pendingPods"], 1);
    assert_eq!(totals["hourlyUsd"], 0.031);
    let node = &document["nodes"][0];
    assert_eq!(node["name"], "one");
    assert_eq!(node["ageSeconds"], 3600);
    assert_eq!(document["nodes"][1]["hourlyUsd"], json!(null));
}

#[test]
fn columns_says_how_wide_the_table_may_be() {
    let wide = Workspace::with(&[("cluster.yaml", CLUSTER)]).run(TOP).out;
    assert!(wide.contains("██████████") || wide.contains("░░░░░░░░░░"), "{wide}");
    let narrow =
        Workspace::with(&[("cluster.yaml", CLUSTER)]).environment("COLUMNS", "80").run(TOP).out;
    let table: Vec<&str> = narrow.lines().skip_while(|line| !line.starts_with(" NODE ")).collect();
    assert!(table.len() >= 3 && table[0].contains("STATE"), "{narrow}");
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{narrow}");
}
