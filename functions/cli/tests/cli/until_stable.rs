//! `outrigger plan --until-stable` and `outrigger audit`, over the dumps among the examples.

use crate::support::{Run, SHOP, WRONG_OPERATOR, Workspace, nanos};

const KARPENTER: &str = include_str!("../../examples/karpenter.yaml");
const NODE_GROUPS: &str = include_str!("../../examples/node-groups.yaml");
const NOW: &str = "--now 2026-01-05T09:00:00Z";

fn workspace() -> Workspace {
    let files = [("karpenter.yaml", KARPENTER), ("node-groups.yaml", NODE_GROUPS)];
    Workspace::with(&files).environment("COLUMNS", "80")
}

#[track_caller]
fn page(line: &str) -> String {
    let Run { status, out, err } = workspace().run(&format!("{line} {NOW}"));
    assert_eq!((status, &*err), (0, ""), "{out}");
    let is_prices = |line: &&str| line.trim_start().starts_with("prices of ");
    let wide: Vec<&str> =
        out.lines().filter(|line| !is_prices(line) && line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
    out
}

#[test]
fn a_plan_until_nothing_changes_says_what_it_saves_how_and_what_holds_more_back() {
    insta::assert_snapshot!(page("plan --until-stable -f karpenter.yaml"));
}

#[test]
fn an_audit_of_node_groups_says_what_it_assumes() {
    insta::assert_snapshot!(page("audit -f node-groups.yaml"));
}

#[test]
fn an_audit_of_karpenters_nodes_is_the_plan_until_nothing_changes() {
    assert_eq!(page("audit -f karpenter.yaml"), page("plan --until-stable -f karpenter.yaml"));
}

#[test]
fn scripts_get_the_same_figures_and_they_add_up() {
    let line = format!("plan --until-stable -f karpenter.yaml {NOW} -o json");
    let document = workspace().run(&line).json();
    assert_eq!(document["kind"], "PlanUntilStable");
    assert_eq!(document["isStable"], true);
    let saved = nanos(&document["savingsHourlyUsd"]);
    let [from, to] = ["from", "to"].map(|side| nanos(&document[side]["hourlyUsd"]));
    assert!(saved > 0);
    assert_eq!(from - to, saved);
    let steps = document["steps"].as_array().unwrap();
    let of_steps: i64 = steps.iter().map(|step| nanos(&step["savingsHourlyUsd"])).sum();
    assert_eq!(of_steps, saved, "{steps:#?}");
    let goes = steps.iter().filter(|step| step.get("reason").is_some());
    let evicted: u64 = goes.map(|step| step["pods"].as_u64().unwrap()).sum();
    assert_eq!(document["evictions"], evicted);
    let blockers = document["blockers"].as_array().unwrap();
    let amounts: Vec<i64> = blockers.iter().map(|own| nanos(&own["savingsHourlyUsd"])).collect();
    assert!(!amounts.is_empty() && amounts.is_sorted_by(|a, b| a >= b), "{blockers:#?}");
    assert_eq!(blockers[0]["code"], "PodDisruptionBudget");
}

#[test]
fn nodes_of_a_pool_that_is_off_are_a_step_that_says_so() {
    let off = "outrigger.dev/off-schedule: 0 8 * * *, outrigger.dev/off-duration: 24h, \
               outrigger.dev/off-grace: 10m";
    let dump = ["default", "steady", "search"].iter().fold(KARPENTER.to_owned(), |dump, name| {
        let metadata = format!("kind: NodePool\nmetadata: {{name: {name}");
        assert!(dump.contains(&metadata), "{name}");
        dump.replace(&metadata, &format!("{metadata}, annotations: {{{off}}}"))
    });
    let workspace = Workspace::with(&[("off.yaml", &*dump)]);
    let line = format!("plan --until-stable -f off.yaml {NOW} -o json");
    let document = workspace.run(&line).json();
    assert_eq!(document["to"]["nodes"], 0, "{document}");
    let saved = nanos(&document["savingsHourlyUsd"]);
    let steps = document["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["reason"] == "OffHours"), "{steps:#?}");
    let of_steps: i64 = steps.iter().map(|step| nanos(&step["savingsHourlyUsd"])).sum();
    assert!(saved > 0 && of_steps == saved, "{steps:#?}");
}

/// A NodePool of one instance type, and two nodes of it with a pod each: `leaving`, whose NodeClaim
/// is being deleted, and `held`, which has expired and whose pod a PodDisruptionBudget keeps.
const LEAVING_AND_HELD: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: held}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: held}}}
";

/// A node of [`LEAVING_AND_HELD`] with its NodeClaim and a pod; `metadata` and `spec` are lines of
/// the claim.
fn node_with_pod(name: &str, metadata: &str, spec: &str) -> String {
    const OBJECTS: &str = "\
---
apiVersion: v1
kind: Node
metadata:
  name: NAME
  creationTimestamp: 2026-01-02T09:00:00Z
  labels: {karpenter.sh/nodepool: default, karpenter.sh/capacity-type: on-demand,
    karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true',
    node.kubernetes.io/instance-type: m5.large, topology.kubernetes.io/zone: us-east-1a}
spec: {providerID: aws:///us-east-1a/i-NAME}
status:
  allocatable: {cpu: 1930m, memory: 7000Mi, pods: '29'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-NAME
  creationTimestamp: 2026-01-02T09:00:00Z
  METADATA
  labels: {karpenter.sh/nodepool: default, karpenter.sh/capacity-type: on-demand,
    node.kubernetes.io/instance-type: m5.large, topology.kubernetes.io/zone: us-east-1a}
spec:
  SPEC
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
status:
  nodeName: NAME
  providerID: aws:///us-east-1a/i-NAME
  conditions:
  - {type: Launched, status: 'True', lastTransitionTime: 2026-01-02T09:00:00Z}
  - {type: Registered, status: 'True', lastTransitionTime: 2026-01-02T09:00:00Z}
  - {type: Initialized, status: 'True', lastTransitionTime: 2026-01-02T09:00:00Z}
---
apiVersion: v1
kind: Pod
metadata:
  name: NAME-1
  labels: {app: NAME}
  creationTimestamp: 2026-01-02T09:00:00Z
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: NAME, uid: NAME, controller: true}]
spec: {nodeName: NAME, containers: [{name: c, resources: {requests: {cpu: 1500m}}}]}
status: {phase: Running}
";
    OBJECTS.replace("NAME", name).replace("METADATA", metadata).replace("SPEC", spec)
}

#[test]
fn steps_add_up_where_nodes_were_leaving_before_and_where_some_do_not_get_away() {
    let leaving =
        node_with_pod("leaving", "deletionTimestamp: 2026-01-05T08:59:00Z", "expireAfter: Never");
    let held = node_with_pod("held", "", "expireAfter: 1h");
    let dump = [LEAVING_AND_HELD, &leaving, &held].concat();
    let workspace = Workspace::with(&[("dump.yaml", &*dump)]);
    let line = format!("plan --until-stable -f dump.yaml {NOW}");
    let document = workspace.run(&format!("{line} -o json")).json();
    let steps = document["steps"].as_array().unwrap();
    let of_steps: i64 = steps.iter().map(|step| nanos(&step["savingsHourlyUsd"])).sum();
    assert_eq!(of_steps, nanos(&document["savingsHourlyUsd"]), "{steps:#?}");
    let of_node = |node: &str| {
        let nodes = |step: &serde_json::Value| step["nodes"].as_array().unwrap().clone();
        steps.iter().find(|step| nodes(step).iter().any(|own| own == node)).unwrap()
    };
    let left = of_node("leaving");
    assert!(left.get("reason").is_none() && nanos(&left["savingsHourlyUsd"]) > 0, "{left}");
    let held = of_node("held");
    assert_eq!((&held["reason"], &held["heldNodes"][0]), (&"Expired".into(), &"held".into()));
    let page = workspace.run(&line).out;
    assert!(
        page.contains("leaving already") && page.contains("1 still there in the end"),
        "{page}"
    );
}

#[test]
fn a_node_pool_that_is_given_beside_node_groups_is_the_one_that_counts() {
    let pool = SHOP.split("---\napiVersion: apps/v1").next().unwrap();
    let workspace = Workspace::with(&[("node-groups.yaml", NODE_GROUPS), ("nodepool.yaml", pool)]);
    let run = workspace.run(&format!("audit -f node-groups.yaml nodepool.yaml {NOW} -o json"));
    let document = run.json();
    let assumed = document["assumptions"].as_array().unwrap();
    assert_eq!(assumed.len(), 1, "{assumed:?}");
    assert!(assumed[0].as_str().unwrap().contains("NodePool default of the input"), "{assumed:?}");
}

#[test]
fn it_is_a_page_too() {
    let run = workspace().run(&format!("plan --until-stable -f karpenter.yaml {NOW} -o html"));
    let page = run.out;
    for part in ["<!DOCTYPE html>", "What holds more back", "data/orders"] {
        assert!(page.contains(part), "{part}");
    }
    let data = crate::pages::block(&page);
    let nodes = &data["runs"][0]["nodes"];
    let gone = nodes["gone"].as_array().unwrap().iter().filter(|at| at.as_i64() > Some(0)).count();
    assert!(gone > 0 && nodes["name"].as_array().unwrap().len() > gone, "{nodes}");
    let bounds = data["runs"][0]["least"].as_array().unwrap().len();
    assert_eq!(bounds, 2, "pods stay the same: one bound is enough");
}

#[test]
fn nothing_is_guessed_of_input_that_cannot_be_read() {
    let run =
        workspace().run_with_input(&format!("plan --until-stable -f - {NOW}"), WRONG_OPERATOR);
    assert_eq!((run.status, &*run.out), (2, ""), "{run:?}");
}
