//! Balance over zones, and free addresses: sixteen pods on nodes of the embedded catalogue.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Run, Workspace};

const WEB: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node-role
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: first}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: first}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 16
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: 900m, memory: 1Gi}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['4']}
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
";

fn planned(of_class: &str, of_pool: &str) -> (Run, BTreeMap<String, usize>) {
    let annotated = |text: &str, kind: &str, annotations: &str| {
        let plain = format!("kind: {kind}\nmetadata: {{name: default}}");
        assert!(text.contains(&plain));
        text.replace(
            &plain,
            &format!("kind: {kind}\nmetadata: {{name: default, annotations: {{{annotations}}}}}"),
        )
    };
    let text = annotated(&annotated(WEB, "EC2NodeClass", of_class), "NodePool", of_pool);
    let run = Workspace::with(&[("web.yaml", &text)]).run("plan -f web.yaml -o json");
    let mut zones = BTreeMap::new();
    for claim in run.json()["nodeClaims"].as_array().unwrap() {
        *zones.entry(claim["offering"]["zone"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    (run, zones)
}

#[test]
fn zone_balance_puts_nodes_into_several_zones_that_would_all_be_in_one() {
    let (_, plain) = planned("", "");
    assert_eq!(plain.len(), 1, "{plain:?}");
    let nodes: usize = plain.values().sum();
    assert!(nodes >= 4, "{plain:?}");
    let (run, even) = planned("", "outrigger.dev/zone-balance: 20%");
    assert_eq!(even.values().sum::<usize>(), nodes, "{even:?}");
    assert!(even.values().all(|count| *count <= 2), "{even:?}");
    let price = |own: &Value| own["totals"]["hourlyUsdAfter"].as_f64();
    let (before, after) = (planned("", "").0.json(), run.json());
    if let (Some(before), Some(after)) = (price(&before), price(&after)) {
        assert!(after <= before * 1.05, "{before} {after}");
    }
}

#[test]
fn a_zone_with_few_addresses_gets_no_node_and_pods_that_have_no_other_are_told_why() {
    let (_, plain) = planned("", "");
    let zone = plain.keys().next().unwrap().clone();
    let free = |count: u32| {
        format!(
            "outrigger.dev/min-free-addresses: '32', \
             outrigger.dev/free-addresses: {zone}/subnet-1={count}"
        )
    };
    assert_eq!(planned(&free(500), "").1, plain);
    let (run, elsewhere) = planned(&free(5), "");
    assert!(!elsewhere.is_empty() && !elsewhere.contains_key(&zone), "{elsewhere:?} {run:?}");

    let text = WEB
        .replace("values: [spot]}", &format!("values: [spot]}}\n      - {{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}"))
        .replace("EC2NodeClass\nmetadata: {name: default}", &format!("EC2NodeClass\nmetadata: {{name: default, annotations: {{{}}}}}", free(5)));
    let workspace = Workspace::with(&[("web.yaml", &text)]);
    let plan = workspace.run("plan -f web.yaml -o json").json();
    assert_eq!(plan["unschedulable"][0]["codes"][0], "NoAddresses", "{plan}");
    let run = workspace.run("plan -f web.yaml");
    let what = format!(
        "too few addresses: 5 are free in {zone}, a node for the pod takes 2, and 32 stay free"
    );
    assert!(run.out.contains(&what), "{run:?}");
}
