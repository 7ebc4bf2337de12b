//! Annotations that say when nodes go: graceful expiration, and the threshold of utilization.

use crate::support::Workspace;

/// A node of 20 October that expires after 30 days and runs a pod; no node may be disrupted.
const AGED: &str = "\
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
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: node
  subnetSelectorTerms: [{id: subnet-12345678}]
  securityGroupSelectorTerms: [{id: sg-12345678}]
---
apiVersion: v1
kind: Node
metadata:
  name: aged
  creationTimestamp: 2026-10-20T00:00:00Z
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: spot
    karpenter.sh/initialized: 'true'
    karpenter.sh/registered: 'true'
    node.kubernetes.io/instance-type: small
    topology.kubernetes.io/zone: us-east-1a
spec: {providerID: aws:///us-east-1a/i-00000000000000001}
status:
  allocatable: {cpu: '2', memory: 4Gi, pods: '20'}
  capacity: {cpu: '2', memory: 4Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-aged
  creationTimestamp: 2026-10-20T00:00:00Z
  labels: {karpenter.sh/nodepool: default, karpenter.sh/capacity-type: spot}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  expireAfter: 720h
  requirements: []
status:
  providerID: aws:///us-east-1a/i-00000000000000001
  nodeName: aged
  conditions:
  - {type: Launched, status: 'True', lastTransitionTime: 2026-10-20T00:00:00Z}
  - {type: Registered, status: 'True', lastTransitionTime: 2026-10-20T00:00:30Z}
  - {type: Initialized, status: 'True', lastTransitionTime: 2026-10-20T00:01:00Z}
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

const PLAN: &str = "plan --catalog catalog.yaml -f aged.yaml -o json --now";

#[test]
fn a_budget_keeps_an_expired_node_until_its_last_date() {
    let workspace = Workspace::with(&[("aged.yaml", AGED)]);
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
    let forceful = AGED.replace("expiration: graceful", "expiration: forceful");
    let workspace = Workspace::with(&[("aged.yaml", &forceful)]);
    let plan = workspace.run(&format!("{PLAN} 2026-11-19T01:00:00Z")).json();
    assert_eq!(plan["disruptions"][0]["reason"], "Expired", "{plan}");
}

#[test]
fn explain_says_by_when_a_pod_of_an_expired_node_moves() {
    let workspace = Workspace::with(&[("aged.yaml", AGED)]);
    let explain = "explain pod web --catalog catalog.yaml -f aged.yaml --now 2026-11-19T01:00:00Z";
    let text = workspace.run(explain).out;
    assert!(text.contains("Its node goes in 1d23h whatever holds it"), "{text}");
    let document = workspace.run(&format!("{explain} -o json")).json();
    assert_eq!(document["resident"]["expiresInSeconds"], 47 * 3600, "{document}");
    assert_eq!(document["resident"]["driftCode"], "Expired", "{document}");
}

#[test]
fn a_threshold_that_is_no_percentage_is_said_and_changes_nothing() {
    let wrong = AGED.replace("expiration: graceful", "consolidate-below: half");
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
    let used = AGED
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
