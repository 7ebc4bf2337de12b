//! Drains that something holds up.

use crate::support::{Workspace, launched_in_october};

const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
";

const PODS: &str = "\
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}}
spec: {nodeName: held, containers: [{name: web, resources: {requests: {cpu: 500m}}}]}
status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: job, namespace: default, annotations: {karpenter.sh/do-not-disrupt: 'true'}}
spec: {nodeName: held, containers: [{name: job, resources: {requests: {cpu: 500m}}}]}
status: {phase: Running}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: never, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1}
";

/// A node whose NodeClaim was deleted at noon of 21 October.
fn held() -> Workspace {
    let node = launched_in_october("held").replace(
        "  name: default-held\n",
        "  name: default-held\n  deletionTimestamp: 2026-10-21T12:00:00Z\n",
    );
    assert!(node.contains("deletionTimestamp"), "{node}");
    Workspace::with(&[("held.yaml", &(POOL.to_owned() + &node + PODS))])
}

const OF: &str = "--catalog catalog.yaml -f held.yaml --now";

#[test]
fn a_stuck_drain_is_shown_with_what_holds_each_pod_and_what_it_costs_a_day() {
    let run = held().run(&format!("explain node held {OF} 2026-10-21T12:47:00Z"));
    assert_eq!(run.status, 0, "{run:?}");
    // 24 h at $0.031.
    assert!(run.out.contains("it is being drained, for 47m, at $0.74 a day."), "{run:?}");
    let holds = [
        "default/job: karpenter.sh/do-not-disrupt holds it",
        "default/web: PodDisruptionBudget default/never does not let it go: it allows 0",
    ];
    assert!(holds.iter().all(|own| run.out.contains(own)), "{run:?}");
    let json = held().run(&format!("explain node held {OF} 2026-10-21T12:47:00Z -o json")).json();
    let drain = &json["drain"];
    assert_eq!(
        (&drain["isStuck"], &drain["lastedSeconds"]),
        (&true.into(), &2820.into()),
        "{json}"
    );
    assert!((drain["dailyUsd"].as_f64().unwrap() - 0.744).abs() < 1e-9, "{json}");
    let codes: Vec<&str> =
        drain["pods"].as_array().unwrap().iter().map(|own| own["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["DoNotDisrupt", "PodDisruptionBudgetForGood"]);
}

#[test]
fn top_lists_drains_once_they_are_stuck() {
    let run = held().run(&format!("top {OF} 2026-10-21T12:47:00Z"));
    let head = "STUCK DRAINS  1 node for longer than 10 minutes, $0.74 a day";
    assert!(run.out.contains(head), "{run:?}");
    assert!(run.out.contains("default/web: PodDisruptionBudget default/never"), "{run:?}");
    let run = held().run(&format!("top {OF} 2026-10-21T12:09:00Z"));
    assert!(!run.out.contains("STUCK"), "{run:?}");
    let json = held().run(&format!("top {OF} 2026-10-21T12:09:00Z -o json")).json();
    assert_eq!(json["drains"][0]["isStuck"], false, "{json}");
}

#[test]
fn a_node_that_is_not_drained_says_nothing_of_drains() {
    let node = POOL.to_owned() + &launched_in_october("held");
    let workspace = Workspace::with(&[("held.yaml", &node)]);
    let json =
        workspace.run(&format!("explain node held {OF} 2026-10-21T12:47:00Z -o json")).json();
    assert!(json.get("drain").is_none(), "{json}");
}
