//! Pods that must not buy nodes.

use crate::support::{SHOP, Workspace};

/// A pod of a low priority that waits.
const CHEAP: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: cheap}
spec:
  priority: -1000
  containers:
  - name: cheap
    resources: {requests: {cpu: '1', memory: 1Gi}}
";

/// SHOP without its Deployment.
fn pool(annotations: &str) -> String {
    let (objects, _) = SHOP.split_once("---\napiVersion: apps/v1").unwrap();
    let named = "metadata: {name: default}";
    objects.replacen(named, &format!("metadata: {{name: default{annotations}}}"), 1)
}

const EXPENDABLE: &str = ", annotations: {outrigger.dev/expendable-below: '0'}";

#[test]
fn an_expendable_pod_launches_nothing_and_is_listed_apart() {
    let workspace = Workspace::with(&[
        ("plain.yaml", &pool("")),
        ("pool.yaml", &pool(EXPENDABLE)),
        ("cheap.yaml", CHEAP),
    ]);
    let plan = |pool: &str, options: &str| {
        workspace.run(&format!(
            "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f {pool} cheap.yaml {options}"
        ))
    };
    assert!(plan("plain.yaml", "").out.contains("LAUNCH  1 node"));
    let run = plan("pool.yaml", "--strict");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(!run.out.contains("LAUNCH") && !run.out.contains("UNSCHEDULABLE"), "{run:?}");
    for part in [
        "EXPENDABLE  1 pod",
        "NodePool default: the pod buys no node: its priority -1000 is below 0 (outrigger.dev/expendable-below)",
    ] {
        assert!(run.out.contains(part), "{run:?}");
    }
    let json = plan("pool.yaml", "-o json").json();
    assert_eq!(json["totals"]["hourlyUsdAfter"], json["totals"]["hourlyUsdBefore"]);
    assert!(json.to_string().contains("\"Expendable\""), "{json}");
    assert_eq!(json["nodeClaims"].as_array().unwrap().len(), 0, "{json}");
}

#[test]
fn an_annotation_that_says_nothing_is_told_and_every_pod_gets_its_node() {
    let wrong = pool(", annotations: {outrigger.dev/expendable-below: low}");
    let workspace = Workspace::with(&[("pool.yaml", &wrong), ("cheap.yaml", CHEAP)]);
    let run = workspace
        .run("plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f pool.yaml cheap.yaml");
    assert!(run.out.contains("LAUNCH  1 node"), "{run:?}");
    assert!(run.err.contains("\"low\" is no pod priority"), "{run:?}");
}
