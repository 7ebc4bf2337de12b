//! Memory overhead and reserved interfaces of one EC2NodeClass.

use crate::support::{Run, Workspace};

/// Pods of half a gibibyte, of which an `m5.large` takes fewer the less memory it has left, and a
/// class with these annotations.
fn manifest(annotations: &str, memory: &str) -> String {
    format!(
        "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default, annotations: {{{annotations}}}}}
spec:
  role: node-role
  amiSelectorTerms: [{{alias: al2023@latest}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: first}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: first}}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 20
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers: [{{name: web, image: web, resources: {{requests: {{cpu: 10m, memory: {memory}}}}}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
      - {{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}}
"
    )
}

fn planned(annotations: &str, memory: &str) -> (Run, usize) {
    let workspace = Workspace::with(&[("web.yaml", &manifest(annotations, memory))]);
    let run = workspace.run("plan -f web.yaml -o json");
    let nodes = run.json()["nodeClaims"].as_array().unwrap().len();
    (run, nodes)
}

#[test]
fn a_class_says_how_much_memory_its_nodes_never_see() {
    // 6,903 MiB are left of 8 GiB after 7.5 %, and 5,879 after 20 %.
    assert_eq!(planned("", "340Mi").1, 1);
    let (run, nodes) = planned("outrigger.dev/vm-memory-overhead-percent: '0.2'", "340Mi");
    assert_eq!((nodes, &*run.err), (2, ""), "{run:?}");
}

#[test]
fn a_class_reserves_interfaces_of_its_nodes() {
    // Two of three interfaces are left nine addresses, and two pods are on the host's network.
    assert_eq!(planned("", "10Mi").1, 1);
    assert_eq!(planned("outrigger.dev/reserved-enis: '2'", "10Mi").1, 2);
    let none = planned("outrigger.dev/reserved-enis: '3'", "10Mi").0.json();
    assert_eq!(none["unschedulable"].as_array().unwrap().len(), 20, "{none}");
    assert_eq!(none["unschedulable"][0]["codes"][0], "InsufficientResources", "{none}");
}

#[test]
fn what_cannot_be_read_is_said_and_the_plan_is_as_without_it() {
    let (run, _) = planned("outrigger.dev/reserved-enis: two", "10Mi");
    let claims = &run.json()["nodeClaims"];
    assert_eq!(*claims, planned("", "10Mi").0.json()["nodeClaims"]);
    for part in [
        "web.yaml",
        "metadata.annotations[\"outrigger.dev/reserved-enis\"]",
        "\"two\" is not a count of network interfaces from 0 to 14",
    ] {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
}
