//! The recipes of docs/overlays.md, each planned with.

use std::path::Path;

use serde_json::Value;

use crate::support::Workspace;

/// A NodePool of one capacity type, its class, and six pods.
fn shop(capacity_type: &str) -> String {
    format!(
        "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
      - {{key: karpenter.sh/capacity-type, operator: In, values: [{capacity_type}]}}
      - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r, g]}}
      - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  role: nodes
  amiSelectorTerms: [{{alias: al2023@latest}}]
  subnetSelectorTerms: [{{tags: {{shop: '1'}}}}]
  securityGroupSelectorTerms: [{{tags: {{shop: '1'}}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 6
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - name: web
        resources: {{requests: {{cpu: 900m, memory: 1500Mi}}}}
"
    )
}

/// The recipe whose overlay has the name.
fn recipe(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/overlays.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let own = format!("kind: NodeOverlay\nmetadata: {{name: {name}}}");
    blocks.into_iter().find(|block| block.contains(&own)).unwrap().to_owned()
}

/// The plans without a recipe and with it.
fn plans(capacity_type: &str, name: &str, pods: &str) -> [Value; 2] {
    let shop = format!("{}{pods}", shop(capacity_type));
    let workspace = Workspace::with(&[("shop.yaml", &shop), ("recipe.yaml", &recipe(name))]);
    ["plan -f shop.yaml -o json", "plan -f shop.yaml recipe.yaml -o json"].map(|line| {
        let run = workspace.run(line);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{run:?}");
        run.json()
    })
}

fn types(plan: &Value) -> Vec<&str> {
    let claims = plan["nodeClaims"].as_array().unwrap();
    claims.iter().map(|claim| claim["offering"]["instanceType"].as_str().unwrap()).collect()
}

fn pod(name: &str, resource: &str, amount: u32) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, resources: \
         {{requests: {{{resource}: {amount}}}, limits: {{{resource}: {amount}}}}}}}]}}\n"
    )
}

#[test]
fn a_charge_by_the_node_makes_few_nodes_of_many() {
    let [without, with] = plans("spot", "agent-charge", "");
    assert_eq!((types(&without).len(), types(&with).len()), (3, 1));
}

#[test]
fn a_discount_moves_pods_to_the_family_that_has_it() {
    let [without, with] = plans("on-demand", "savings-plan", "");
    assert!(types(&without).iter().all(|own| !own.starts_with("m7i.")), "{:?}", types(&without));
    assert!(types(&with).iter().all(|own| own.starts_with("m7i.")), "{:?}", types(&with));
}

#[test]
fn the_part_of_a_commitment_is_used_first() {
    let [_, with] = plans("on-demand", "savings-plan-share", "");
    let claims = with["nodeClaims"].as_array().unwrap();
    assert!(claims.iter().all(|claim| claim["nodePool"] == "committed"), "{:?}", types(&with));
}

#[test]
fn pods_that_share_a_gpu_share_a_node() {
    let pods = pod("a", "nvidia.com/gpu", 3) + &pod("b", "nvidia.com/gpu", 5);
    let [without, with] = plans("on-demand", "shared-gpus", &pods);
    assert_eq!(types(&without), ["g4dn.metal"], "the cheapest with eight GPUs of its own");
    assert!(types(&with).contains(&"g5.xlarge"), "{:?}", types(&with));
    assert_eq!(with["unschedulable"], Value::from(Vec::<Value>::new()));
}

#[test]
fn a_device_of_ones_own_gets_a_node() {
    let [without, with] = plans("on-demand", "fuse", &pod("a", "smarter-devices/fuse", 5));
    assert_eq!(without["unschedulable"][0]["pod"], "default/a");
    assert_eq!(with["unschedulable"], Value::from(Vec::<Value>::new()));
}
