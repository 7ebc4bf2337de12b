//! What every command has in common, and the commands that need no cluster.

use crate::support::{HUGE, SHOP, Workspace};

#[test]
fn bad_usage_ends_with_status_2() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    for line in [
        "plan",
        "plan -f shop.yaml --now yesterday",
        "plan -f shop.yaml -o xml",
        "plan -f shop.yaml --feature-gates Nonsense=true",
        "plan -f shop.yaml --preference-policy Sometimes",
        "nonsense",
        "simulate",
    ] {
        let run = workspace.run(line);
        assert_eq!(run.status, 2, "{line}: {run:?}");
        assert!(run.err.starts_with("error: "), "{line}: {run:?}");
        assert_eq!(run.out, "", "{line}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let run = Workspace::with(&[]).run("plan -f missing.yaml");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("error: cannot read missing.yaml: "), "{run:?}");
}

#[test]
fn help_is_not_an_error() {
    let run = Workspace::with(&[]).run("--help");
    assert_eq!(run.status, 0);
    for command in ["plan", "simulate", "explain", "catalog", "convert", "top"] {
        assert!(run.out.contains(&format!("  {command} ")), "{command} in {}", run.out);
    }
}

#[test]
fn help_ends_with_a_command_that_can_be_copied() {
    for command in ["plan", "explain", "top"] {
        let run = Workspace::with(&[]).run(&format!("{command} --help"));
        let copied = "\n  kubectl get -A -o yaml \\\n  no,po,ds,";
        assert!(run.out.contains(copied), "{}", run.out);
    }
}

#[cfg(not(feature = "live"))]
#[test]
fn without_a_kubernetes_client_it_is_said_how_to_get_one() {
    for command in ["top", "plan --live", "explain pod web --live"] {
        let run = Workspace::with(&[]).run(command);
        assert_eq!(run.status, 2);
        let how = "`cargo install --path functions/cli --features live`";
        assert!(
            run.err.starts_with("error: a live cluster needs a build") && run.err.contains(how),
            "{run:?}"
        );
    }
}

#[test]
fn explain_tells_a_pods_reasons() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    let run = workspace.run("explain pod huge -f shop.yaml huge.yaml --catalog catalog.yaml");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("It has no place") && run.out.contains("NodePool default"), "{run:?}");
    let run = workspace.run("explain pod default/web-1 -f shop.yaml --catalog catalog.yaml");
    assert!(run.out.contains("It gets a place on a new node"), "{run:?}");
}

#[test]
fn explain_shows_what_every_filter_left() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    let arguments = "pod huge -f shop.yaml huge.yaml --catalog catalog.yaml";
    let run = workspace.run(&format!("explain {arguments}"));
    assert!(run.out.contains("NODEPOOLS") && run.out.contains("room for cpu"), "{run:?}");

    let document = workspace.run(&format!("explain {arguments} -o json")).json();

    assert_eq!(document["kind"], "PodExplanation");
    let filters = document["nodePools"][0]["filters"].as_array().unwrap();
    assert!(filters[0]["left"].as_u64() > Some(0), "{document}");
    assert!(filters.iter().any(|filter| filter["left"] == 0), "{document}");
}

#[test]
fn explain_says_what_a_claim_was_chosen_from() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let plan = workspace.run("plan -f shop.yaml --catalog catalog.yaml -o json").json();
    let claim = &plan["nodeClaims"][0];
    let arguments =
        format!("node {} -f shop.yaml --catalog catalog.yaml", claim["name"].as_str().unwrap());
    let run = workspace.run(&format!("explain {arguments}"));
    assert!(run.out.contains("INSTANCE TYPES") && run.out.contains("OFFERED TO EC2"), "{run:?}");

    let document = workspace.run(&format!("explain {arguments} -o json")).json();

    let offers = document["offers"].as_array().unwrap();
    let named: Vec<_> = offers.iter().map(|offer| offer["instanceType"].clone()).collect();
    assert_eq!(&named, claim["instanceTypes"].as_array().unwrap());
}

#[test]
fn explain_does_not_make_up_what_is_not_there() {
    let run = Workspace::with(&[("shop.yaml", SHOP)])
        .run("explain node ghost -f shop.yaml --catalog catalog.yaml");
    assert_eq!(run.status, 2);
    assert_eq!(run.err, "error: no node ghost in the input\n");
}

#[test]
fn explain_says_which_name_may_have_been_meant() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let error = |what: &str| {
        let run = workspace.run(&format!("explain {what} -f shop.yaml --catalog catalog.yaml"));
        assert_eq!(run.status, 2, "{run:?}");
        run.err
    };
    for (what, meant) in [
        ("pod shop/web-0", "default/web-0"),
        ("pod default/wbe-0", "default/web-0"),
        ("pod web", "default/web-0, default/web-1 or default/web-2"),
    ] {
        let name = what.trim_start_matches("pod ");
        assert_eq!(
            error(what),
            format!("error: no pod {name} in the input: did you mean {meant}?\n")
        );
    }
    assert_eq!(
        error("node web-0"),
        "error: no node web-0 in the input: it is a pod, see `outrigger explain pod web-0`\n"
    );
}

/// A node of NodePool `default` with the pod `web-9`, which refuses disruption.
const OCCUPIED: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-0-1.ec2.internal
  creationTimestamp: 2026-01-01T11:00:00Z
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/initialized: 'true'
    karpenter.sh/capacity-type: spot
    node.kubernetes.io/instance-type: small
    topology.kubernetes.io/zone: us-east-1a
status:
  allocatable: {cpu: '2', memory: 4Gi, pods: '20'}
  capacity: {cpu: '2', memory: 4Gi, pods: '20'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: v1
kind: Pod
metadata:
  name: web-9
  annotations: {karpenter.sh/do-not-disrupt: 'true'}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: a, controller: true}]
spec:
  nodeName: ip-10-0-0-1.ec2.internal
  containers: [{name: web, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
status: {phase: Running}
";

#[test]
fn a_pod_that_runs_is_told_what_holds_it_and_where_it_would_go() {
    let pools = SHOP.split("---\napiVersion: apps/v1").next().unwrap();
    let workspace = Workspace::with(&[("pools.yaml", pools), ("node.yaml", OCCUPIED)]);
    let input = "-f pools.yaml node.yaml --catalog catalog.yaml --now 2026-01-01T12:00:00Z";
    let text = workspace.run(&format!("explain pod web-9 {input}")).out;
    for part in [
        "It runs on ip-10-0-0-1.ec2.internal.",
        "WHAT HOLDS ITS NODE",
        "pod default/web-9 has karpenter.sh/do-not-disrupt",
        "it would need a new node of NodePool default: small spot in us-east-1a at $0.0310/h",
        "10% of 1 node = 1",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    let document = workspace.run(&format!("explain pod web-9 {input} -o json")).json();
    assert_eq!(document["resident"]["situation"], "Moves");
    assert_eq!(document["resident"]["wouldNeed"]["instanceType"], "small");
    let node = workspace.run(&format!("explain node ip-10-0-0-1 {input}"));
    assert_eq!(node.status, 0, "a node is known by its host: {node:?}");
}

#[test]
fn the_catalogue_is_a_document_that_plan_reads() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let run = workspace.run("catalog m7i.* c7i.large -o json");
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["kind"], "InstanceCatalog");
    std::fs::write(workspace.path("few.json"), &run.out).unwrap();

    let run = workspace.run("plan -f shop.yaml --catalog few.json -o json");

    let plan = run.json();
    let offered = plan["nodeClaims"][0]["instanceTypes"].as_array().unwrap();
    assert!(!offered.is_empty(), "{plan}");
    for name in offered {
        let name = name.as_str().unwrap();
        assert!(name.starts_with("m7i.") || name == "c7i.large", "{name}");
    }
}

#[test]
fn the_catalogue_is_a_table_for_people() {
    let run = Workspace::with(&[]).run("catalog --catalog catalog.yaml");
    assert_eq!(run.status, 0, "{run:?}");
    let row = run.out.lines().find(|line| line.contains("small")).unwrap();
    assert!(row.contains("$0.1000/h") && row.contains("$0.0310/h"), "{row}");
}

#[test]
fn an_instance_type_that_is_not_there_is_bad_input() {
    let run = Workspace::with(&[]).run("catalog nonsense.large");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("nonsense.large"), "{run:?}");
}

/// An EC2NodeClass whose subnets are in two zones of Ireland and one of Virginia.
const IRISH_CLASS: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: irish}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {shop: '1'}}]
  securityGroupSelectorTerms: [{tags: {shop: '1'}}]
status:
  subnets: [{id: subnet-1, zone: eu-west-1a}, {id: subnet-2, zone: eu-west-1c}, {id: subnet-3, zone: us-east-1a}]
";

#[test]
fn a_class_says_the_region_by_its_subnets() {
    let workspace = Workspace::with(&[("class.yaml", IRISH_CLASS)]);
    let run = workspace.run("catalog m7i.large --nodeclass class.yaml");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("prices of eu-west-1 (2 subnets say so), estimated"), "{run:?}");
    let warning = "while some of the subnets are elsewhere: 1 in us-east-1";
    assert!(run.err.contains(warning), "{run:?}");
    let run = workspace.run("catalog m7i.large --nodeclass class.yaml --region us-east-1");
    assert!(run.out.contains("prices of us-east-1 (--region), list prices"), "{run:?}");
}
