//! Annotations that say when nodes go: graceful expiration, and the threshold of utilization.

use crate::support::{Workspace, launched_in_october};

/// A NodePool of which no node may be disrupted.
const POOL: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  annotations:
    outrigger.dev/expiration: graceful
    outrigger.dev/expire-by: 48h
spec:
  disruption:
    budgets: [{nodes: '0'}]
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      requirements: []
";

const POD: &str = "\
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}]
spec:
  nodeName: aged
  containers: [{name: web, image: web, resources: {requests: {cpu: '1'}}}]
status: {phase: Running, startTime: 2026-10-20T00:02:00Z}
";

/// A node of 20 October that expires after 30 days and runs a pod.
fn aged() -> String {
    POOL.to_owned() + &launched_in_october("aged") + POD
}

const PLAN: &str = "plan --catalog catalog.yaml -f aged.yaml -o json --now";

#[test]
fn a_budget_keeps_an_expired_node_until_its_last_date() {
    let workspace = Workspace::with(&[("aged.yaml", &aged())]);
    let soon = workspace.run(&format!("{PLAN} 2026-11-19T01:00:00Z")).json();
    assert_eq!(soon["disruptions"].as_array().unwrap().len(), 0, "{soon}");
    assert_eq!(soon["blocked"][0]["code"], "DisruptionBudget", "{soon}");
    let reason = soon["blocked"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("allow 0 Drifted disruptions"), "{reason}");

    let later = workspace.run(&format!("{PLAN} 2026-11-21T02:00:00Z")).json();
    assert_eq!(later["disruptions"][0]["reason"], "Expired", "{later}");
    assert_eq!(later["disruptions"][0]["nodes"][0], "aged", "{later}");
}

#[test]
fn without_the_annotation_an_expired_node_goes_at_once() {
    let forceful = aged().replace("expiration: graceful", "expiration: forceful");
    let workspace = Workspace::with(&[("aged.yaml", &forceful)]);
    let plan = workspace.run(&format!("{PLAN} 2026-11-19T01:00:00Z")).json();
    assert_eq!(plan["disruptions"][0]["reason"], "Expired", "{plan}");
}

#[test]
fn explain_says_by_when_a_pod_of_an_expired_node_moves() {
    let workspace = Workspace::with(&[("aged.yaml", &aged())]);
    let explain = "explain pod web --catalog catalog.yaml -f aged.yaml --now 2026-11-19T01:00:00Z";
    let text = workspace.run(explain).out;
    assert!(text.contains("Its node goes in 1d23h whatever holds it"), "{text}");
    let document = workspace.run(&format!("{explain} -o json")).json();
    assert_eq!(document["resident"]["expiresInSeconds"], 47 * 3600, "{document}");
    assert_eq!(document["resident"]["driftCode"], "Expired", "{document}");
}

#[test]
fn a_threshold_that_is_no_percentage_is_said_and_changes_nothing() {
    let wrong = aged().replace("expiration: graceful", "consolidate-below: half");
    let workspace = Workspace::with(&[("aged.yaml", &wrong)]);
    let run = workspace.run(&format!("{PLAN} 2026-11-01T00:00:00Z"));
    assert_eq!(run.json()["blocked"][0]["code"], "DisruptionBudget", "{run:?}");
    let field = "metadata.annotations[\"outrigger.dev/consolidate-below\"]";
    for part in ["aged.yaml", "default", field, "\"half\" is not a whole percentage"] {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
}

#[test]
fn a_node_at_the_threshold_of_its_pool_stays_with_the_reason() {
    let used = aged()
        .replace("expiration: graceful", "consolidate-below: 50%")
        .replace("    budgets: [{nodes: '0'}]\n", "    consolidateAfter: 0s\n");
    let workspace = Workspace::with(&[("aged.yaml", &used)]);
    let plan = workspace.run(&format!("{PLAN} 2026-11-01T00:00:00Z")).json();
    assert_eq!(plan["blocked"][0]["code"], "Utilized", "{plan}");
    let explain =
        "explain node aged --catalog catalog.yaml -f aged.yaml --now 2026-11-01T00:00:00Z";
    let text = workspace.run(explain).out;
    assert!(text.contains("its pods request 50% of its cpu"), "{text}");
}

#[test]
fn a_node_goes_in_the_off_hours_of_its_pool_and_its_pod_is_told_until_when() {
    let off = "outrigger.dev/off-schedule: '0 20 * * *'\n    outrigger.dev/off-duration: 12h";
    let aged = aged().replace("outrigger.dev/expiration: graceful", off);
    let workspace = Workspace::with(&[("aged.yaml", &aged)]);
    let day = workspace.run(&format!("{PLAN} 2026-11-01T12:00:00Z")).json();
    assert_eq!(day["disruptions"].as_array().unwrap().len(), 0, "{day}");
    let night = workspace.run(&format!("{PLAN} 2026-11-01T21:00:00Z")).json();
    assert_eq!(night["disruptions"][0]["reason"], "OffHours", "{night}");
    assert_eq!(night["disruptions"][0]["nodes"][0], "aged", "{night}");

    let pending = aged
        .replace("  nodeName: aged\n", "")
        .replace("status: {phase: Running", "status: {phase: Pending");
    let pending = pending.replace("cpu: '1'", "cpu: '3'");
    let workspace = Workspace::with(&[("aged.yaml", &pending)]);
    let run = workspace.run("plan --catalog catalog.yaml -f aged.yaml --now 2026-11-01T21:00:00Z");
    assert!(run.out.contains("it is off until 2026-11-02T08:00:00Z"), "{run:?}");
}
