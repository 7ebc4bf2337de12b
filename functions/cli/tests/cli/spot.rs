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
    let rates = |args: &str| -> Vec<Option<f64>> {
        let json = workspace.run(&format!("catalog m5a.large {args} -o json")).json();
        let offerings = json["spec"]["instanceTypes"][0]["offerings"].as_array().unwrap().clone();
        let spot = offerings.into_iter().filter(|own| own["capacityType"] == "spot");
        spot.map(|own| own["interruptionsPer100NodeHours"].as_f64()).collect()
    };
    let known = rates("--spot-history history.yaml");
    assert!(known[0].unwrap() > 15.0, "{known:?}");
    assert!(known[1..].iter().all(Option::is_some), "{known:?}");
    assert!(rates("").iter().all(Option::is_none));
}

#[test]
fn a_catalogue_with_rates_is_read_as_one_without() {
    let workspace = workspace();
    let catalog = |args: &str| workspace.run(&format!("catalog m5.large m5a.large {args} -o json"));
    let with = catalog("--spot-history history.yaml").out;
    std::fs::write(workspace.path("with.json"), with).unwrap();
    std::fs::write(workspace.path("without.json"), catalog("").out).unwrap();
    let plan = |name: &str| {
        workspace.run(&format!("plan -f pool.yaml history.yaml --catalog {name} {NOW}")).out
    };
    let plans = ["with.json", "without.json"].map(|name| plan(name).replace(name, "catalog"));
    assert_eq!(plans[0], plans[1]);
    assert!(plans[0].contains("m5.large spot in us-east-1a"), "{}", plans[0]);
}

/// A NodePool that allows both, a pod that is not to be disrupted, and one that may be.
const BOTH: &str = r#"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
  annotations: {outrigger.dev/spot-interruption-cost-do-not-disrupt: $20}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: default, annotations: {karpenter.sh/do-not-disrupt: "true"}}
spec: {containers: [{name: train, image: train, resources: {requests: {cpu: 1500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1500m}}}]}
"#;

#[test]
fn a_plan_says_why_a_dear_pod_is_launched_on_demand() {
    let workspace = Workspace::with(&[("both.yaml", BOTH)]);
    let run = workspace.run(&format!("plan -f both.yaml {NOW}"));
    assert!(run.out.contains("m5.large on-demand in us-east-1a"), "{run:?}");
    assert!(run.out.contains("m5.large spot in us-east-1a"), "{run:?}");
    let why = "on demand, since m5.large spot in us-east-1a for $0.0";
    assert!(run.out.contains(why) && run.out.contains("which weigh $0.2000/h"), "{run:?}");
    let json = workspace.run(&format!("plan -f both.yaml {NOW} -o json")).json();
    let claims = json["nodeClaims"].as_array().unwrap();
    let of = |pod: &str| claims.iter().find(|claim| claim["pods"][0] == pod).unwrap();
    let passed_over = &of("default/train")["spotPassedOver"];
    assert_eq!(passed_over["instanceType"], "m5.large");
    let weight = passed_over["spot"]["weightHourlyUsd"].as_f64().unwrap();
    assert!((weight - 0.2).abs() < 1e-9, "{json}");
    let of_web = of("default/web");
    assert!(of_web.get("spotPassedOver").is_none(), "{json}");
    assert_eq!(of_web["spot"]["weightHourlyUsd"], 0.0);
    let run = workspace.run(&format!("explain pod train -f both.yaml {NOW}"));
    assert!(run.out.contains(why), "{run:?}");
    let json = workspace.run(&format!("explain pod train -f both.yaml {NOW} -o json")).json();
    assert_eq!(json["spotPassedOver"], *passed_over);
    let json = workspace.run(&format!("explain pod web -f both.yaml {NOW} -o json")).json();
    assert_eq!(json["spot"], of_web["spot"]);
}

#[test]
fn a_pod_says_what_its_interruption_costs_and_what_is_no_cost_is_warned_about() {
    let own = BOTH
        .replace("  annotations: {outrigger.dev/spot-interruption-cost-do-not-disrupt: $20}\n", "");
    let costing = |cost: &str| {
        let own = own.replace("karpenter.sh/do-not-disrupt: \"true\"", cost);
        Workspace::with(&[("both.yaml", &own)]).run(&format!("plan -f both.yaml {NOW}"))
    };
    let run = costing("outrigger.dev/spot-interruption-cost: 500h");
    assert!(run.out.contains("m5.large on-demand in us-east-1a"), "{run:?}");
    let run = costing("outrigger.dev/spot-interruption-cost: soon");
    assert!(!run.out.contains("m5.large on-demand"), "{run:?}");
    assert!(run.err.contains("is no cost of an interruption"), "{run:?}");
    assert!(run.err.contains("default/train"), "{run:?}");
}

#[test]
fn a_workload_with_a_share_is_spread_over_spot_offerings() {
    let share = |text: &str| {
        let own = POOL
            .replace("outrigger.dev/spot-interruption-cost: 2h", text)
            .replace("values: [us-east-1a]", "values: [us-east-1a, us-east-1b]");
        let own = own.split("---").next().unwrap().to_owned()
            + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 4, \
               selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: \
               {containers: [{name: web, image: web, resources: {requests: {cpu: 1500m}}}]}}}\n";
        let workspace = Workspace::with(&[("share.yaml", &own)]);
        let run = workspace.run(&format!("plan -f share.yaml {NOW}"));
        (run.err.clone(), run.out.matches(" spot in us-east-1").count(), run)
    };
    let (_, nodes, run) = share("outrigger.dev/spot-offering-share: 25%");
    assert_eq!(nodes, 4, "{run:?}");
    for offering in ["m5.large spot in us-east-1a", "m5a.large spot in us-east-1b"] {
        assert_eq!(run.out.matches(offering).count(), 1, "{run:?}");
    }
    let (err, _, _) = share("outrigger.dev/spot-offering-share: half");
    assert!(err.contains("\"half\" is no share of a workload's replicas"), "{err}");
}
