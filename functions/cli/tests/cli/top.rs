//! `outrigger top` over files.

use serde_json::json;

use crate::support::{Workspace, nanos};

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

/// A node of Fargate in Ireland for each of three pods: one says its size, the requests of another
/// do, and the third is on ARM.
const FARGATE: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: fargate-one
  labels: {eks.amazonaws.com/compute-type: fargate, kubernetes.io/arch: amd64, topology.kubernetes.io/zone: eu-west-1a}
spec: {taints: [{key: eks.amazonaws.com/compute-type, value: fargate, effect: NoSchedule}]}
status: {capacity: {cpu: '2', memory: 4Gi, pods: '1'}}
---
apiVersion: v1
kind: Node
metadata:
  name: fargate-two
  labels: {eks.amazonaws.com/compute-type: fargate, kubernetes.io/arch: amd64, topology.kubernetes.io/zone: eu-west-1b}
status: {capacity: {cpu: '2', memory: 4Gi, pods: '1'}}
---
apiVersion: v1
kind: Node
metadata:
  name: fargate-arm
  labels: {eks.amazonaws.com/compute-type: fargate, kubernetes.io/arch: arm64, topology.kubernetes.io/zone: eu-west-1b}
status: {capacity: {cpu: '2', memory: 4Gi, pods: '1'}}
---
apiVersion: v1
kind: Node
metadata:
  name: fargate-empty
  labels: {eks.amazonaws.com/compute-type: fargate, topology.kubernetes.io/zone: eu-west-1b}
status: {capacity: {cpu: '2', memory: 4Gi, pods: '1'}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {CapacityProvisioned: 0.25vCPU 0.5GB}}
spec: {nodeName: fargate-one, containers: [{name: a}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {nodeName: fargate-two, containers: [{name: b, resources: {requests: {cpu: '1', memory: 8Gi}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: c, annotations: {CapacityProvisioned: 1vCPU 2GB}}
spec: {nodeName: fargate-arm, containers: [{name: c}]}
status: {phase: Running}
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

#[test]
fn nodes_of_fargate_are_priced_by_the_size_of_their_pods() {
    let workspace = Workspace::with(&[("cluster.yaml", FARGATE)]);
    let document = workspace.run("top -f cluster.yaml -o json").json();
    let nodes = document["nodes"].as_array().unwrap();
    let priced: Vec<_> = nodes
        .iter()
        .map(|node| (node["name"].as_str().unwrap(), node["hourlyUsd"].as_f64()))
        .collect();
    // Dollars of us-east-1 times 1.115, the factor of eu-west-1: 0.25 vCPU and 0.5 GB, 2 vCPU and
    // 9 GB (8 GB and what Kubernetes takes are more than one vCPU can have), 1 vCPU and 2 GB.
    let expected = [
        ("fargate-arm", Some(0.044_042_5)),
        ("fargate-empty", None),
        ("fargate-one", Some(0.013_761_887)),
        ("fargate-two", Some(0.134_875_975)),
    ];
    assert_eq!(priced, expected);
    assert!(nodes.iter().all(|node| node["capacityType"] == "fargate"), "{document}");
    assert_eq!(document["totals"]["nodesWithoutPrice"], 1);
    let text = workspace.run("top -f cluster.yaml").out;
    assert!(text.starts_with("NODES  4 nodes (4 fargate)\n"), "{text}");

    let plan = workspace.run("plan -f cluster.yaml -o json").json();
    assert_eq!(plan["totals"]["hourlyUsdBefore"], document["totals"]["hourlyUsd"]);
    assert_eq!(plan["totals"]["hourlyUsdAfter"], document["totals"]["hourlyUsd"]);
    let node = workspace.run("explain node fargate-one -f cluster.yaml").out;
    assert!(node.contains("fargate ") && node.contains("$0.0138"), "{node}");
}

#[test]
fn cost_is_split_by_what_pods_request_and_adds_up_to_the_billionth() {
    let pods = "\
apiVersion: v1
kind: Pod
metadata: {name: api-0, namespace: shop, labels: {team: checkout}}
spec:
  nodeName: one
  containers: [{name: api, resources: {requests: {cpu: 333m, memory: 777Mi}}}]
status: {phase: Running}
";
    let workspace = Workspace::with(&[("cluster.yaml", CLUSTER), ("pods.yaml", pods)]);
    let top = TOP.replace("cluster.yaml", "cluster.yaml pods.yaml");
    for (by, names) in [
        ("namespace", [json!("default"), json!("shop")].as_slice()),
        ("nodepool", &[json!("default")]),
        ("label:team", &[json!(null), json!("checkout")]),
    ] {
        let document = workspace.run(&format!("{top} --by {by} -o json")).json();
        let split = &document["split"];
        assert_eq!(split["by"], by);
        let shares = split["shares"].as_array().unwrap();
        let found: Vec<_> = shares.iter().map(|share| share["name"].clone()).collect();
        assert_eq!(found, names, "{by}");
        let sum: i64 = shares.iter().map(|share| nanos(&share["hourlyUsd"])).sum();
        let idle = nanos(&split["idle"]["hourlyUsd"]);
        assert!(sum > 0 && idle > 0, "{split}");
        assert_eq!(sum + idle, nanos(&document["totals"]["hourlyUsd"]), "{by}");
    }
    let text = workspace.run(&format!("{top} --by namespace")).out;
    assert!(text.contains(" NAMESPACE ") && text.contains(" idle "), "{text}");
    let wrong = workspace.run(&format!("{top} --by pod"));
    assert_eq!(wrong.status, 2, "{wrong:?}");
    assert!(wrong.err.contains("namespace, nodepool, label:KEY"), "{wrong:?}");
}

#[test]
fn nodes_are_selected_and_columns_are_added_as_kubectl_has_it() {
    let workspace = Workspace::with(&[("cluster.yaml", CLUSTER)]);
    let all = workspace.run(&format!("{TOP} -o json")).json();
    let count = |document: &serde_json::Value| document["nodes"].as_array().unwrap().len();
    let none = workspace.run(&format!("{TOP} -l karpenter.sh/nodepool=none -o json")).json();
    assert!(count(&all) > 0 && count(&none) == 0, "{none}");
    let pool = workspace.run(&format!("{TOP} -l karpenter.sh/nodepool=default -o json")).json();
    assert!((1..count(&all)).contains(&count(&pool)), "{pool}");

    let labels = "topology.kubernetes.io/zone,example.com/team";
    let text = workspace.run(&format!("{TOP} -L {labels} --resources cpu,ephemeral-storage")).out;
    let header = text.lines().find(|line| line.contains("NODE ")).unwrap();
    assert!(header.contains(" CPU ") && !header.contains(" MEMORY "), "{text}");
    assert!(header.trim_end().ends_with("TEAM") && header.contains("EPHEMERAL-STORAGE"), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("one ")).unwrap();
    assert_eq!(row.matches("us-east-1a").count(), 2, "the zone, and the label's column: {text}");
    let wrong = workspace.run(&format!("{TOP} -l a=b,"));
    assert_eq!(wrong.status, 2, "{wrong:?}");
    assert!(wrong.err.contains("is no expression such as KEY"), "{wrong:?}");
}
