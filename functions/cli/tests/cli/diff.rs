//! `outrigger diff` of two sets of manifests, as reviewers of a change use it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{HUGE, Run, SHOP, WRONG_OPERATOR, Workspace};

/// Two types in two zones, spot at a third of on-demand.
const CATALOG: &str = "\
apiVersion: outrigger.dev/v1alpha1
kind: InstanceCatalog
metadata: {name: zones}
spec:
  region: us-east-1
  instanceTypes:
  - name: small
    architecture: amd64
    operatingSystems: [linux]
    capacity: {cpu: '2', memory: 4Gi, pods: '20'}
    offerings:
    - {zone: us-east-1a, capacityType: spot, hourlyUsd: 0.03}
    - {zone: us-east-1a, capacityType: on-demand, hourlyUsd: 0.09}
    - {zone: us-east-1b, capacityType: spot, hourlyUsd: 0.031}
    - {zone: us-east-1b, capacityType: on-demand, hourlyUsd: 0.091}
  - name: large
    architecture: amd64
    operatingSystems: [linux]
    capacity: {cpu: '8', memory: 16Gi, pods: '60'}
    offerings:
    - {zone: us-east-1a, capacityType: spot, hourlyUsd: 0.13}
    - {zone: us-east-1a, capacityType: on-demand, hourlyUsd: 0.38}
    - {zone: us-east-1b, capacityType: spot, hourlyUsd: 0.131}
    - {zone: us-east-1b, capacityType: on-demand, hourlyUsd: 0.381}
";

const CLASS: &str = "\
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {shop: '1'}}]
  securityGroupSelectorTerms: [{tags: {shop: '1'}}]
";

/// NodePool `default` with requirements on capacity types and zones, and its EC2NodeClass.
fn pool(capacity_types: &str, zones: &str) -> String {
    format!(
        "\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
      - {{key: karpenter.sh/capacity-type, operator: In, values: [{capacity_types}]}}
      - {{key: topology.kubernetes.io/zone, operator: In, values: [{zones}]}}
{CLASS}"
    )
}

/// Deployment `web` with replicas that request CPU, and run an image.
fn web(replicas: &str, cpu: &str, image: &str) -> String {
    format!(
        "\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - {{name: web, image: '{image}', resources: {{requests: {{cpu: {cpu}, memory: 256Mi}}}}}}
"
    )
}

/// A node of NodePool `default` with its NodeClaim: a spot instance of type small.
fn node(name: &str, zone: &str) -> String {
    let labels = format!(
        "karpenter.sh/nodepool: default, karpenter.sh/initialized: 'true', \
         karpenter.sh/registered: 'true', karpenter.sh/capacity-type: spot, \
         node.kubernetes.io/instance-type: small, kubernetes.io/arch: amd64, \
         kubernetes.io/os: linux, kubernetes.io/hostname: {name}, \
         topology.kubernetes.io/zone: {zone}"
    );
    format!(
        "\
---
apiVersion: v1
kind: Node
metadata: {{name: {name}, creationTimestamp: 2026-01-01T10:00:00Z, labels: {{{labels}}}}}
spec: {{providerID: 'aws:///{zone}/i-{name}'}}
status:
  allocatable: {{cpu: '2', memory: 4Gi, pods: '20'}}
  capacity: {{cpu: '2', memory: 4Gi, pods: '20'}}
  conditions: [{{type: Ready, status: 'True'}}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {{name: default-{name}, creationTimestamp: 2026-01-01T10:00:00Z, labels: {{{labels}}}}}
spec:
  nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
  expireAfter: 720h
  requirements:
  - {{key: karpenter.sh/capacity-type, operator: In, values: [spot]}}
status:
  providerID: 'aws:///{zone}/i-{name}'
  nodeName: {name}
  allocatable: {{cpu: '2', memory: 4Gi, pods: '20'}}
  conditions:
  - {{type: Launched, status: 'True', lastTransitionTime: 2026-01-01T10:00:00Z}}
  - {{type: Registered, status: 'True', lastTransitionTime: 2026-01-01T10:01:00Z}}
  - {{type: Initialized, status: 'True', lastTransitionTime: 2026-01-01T10:01:00Z}}
"
    )
}

/// A pod of Deployment `web` that runs on a node.
fn web_pod(name: &str, node: &str) -> String {
    format!(
        "\
---
apiVersion: v1
kind: Pod
metadata:
  name: web-5d4f-{name}
  labels: {{app: web}}
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d4f, uid: a, controller: true}}]
spec:
  nodeName: {node}
  containers: [{{name: web, resources: {{requests: {{cpu: 500m, memory: 256Mi}}}}}}]
status: {{phase: Running, startTime: 2026-01-01T10:02:00Z, conditions: [{{type: Ready, status: 'True'}}]}}
"
    )
}

/// A StatefulSet's pod that runs on a node, with a volume in zone us-east-1b.
const DB: &str = "\
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: b, controller: true}]
spec:
  nodeName: two
  containers: [{name: db, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-0}}]
status: {phase: Running, startTime: 2026-01-01T10:02:00Z}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0}
spec: {storageClassName: gp3, volumeName: pv-1, accessModes: [ReadWriteOnce]}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1b]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: one}
spec: {drivers: []}
";

/// Two spot nodes in two zones with three pods of `web` and one with a volume in the second zone.
fn cluster() -> String {
    let pods = [web_pod("a", "one"), web_pod("b", "one"), web_pod("c", "two")].concat();
    let web = web("replicas: 3", "500m", "web:1");
    let pool = pool("spot, on-demand", "us-east-1a, us-east-1b");
    [pool, node("one", "us-east-1a"), node("two", "us-east-1b"), web, pods, DB.to_owned()].concat()
}

/// What a change from one text to another does to the cluster, with more options.
#[track_caller]
fn diff(old: &str, new: &str, options: &str) -> Run {
    let cluster = cluster();
    let files =
        [("old.yaml", old), ("new.yaml", new), ("cluster.yaml", &cluster), ("types.yaml", CATALOG)];
    Workspace::with(&files).run(&format!(
        "diff old.yaml new.yaml -f cluster.yaml --catalog types.yaml --now 2026-01-01T12:00:00Z \
         {options}"
    ))
}

fn both_zones(capacity_types: &str) -> String {
    pool(capacity_types, "us-east-1a, us-east-1b")
}

#[track_caller]
fn document(run: &Run) -> Value {
    let document = run.json();
    assert_eq!(document["violations"], json!([]), "{run:?}");
    document
}

#[test]
fn a_node_pool_that_gets_dearer_costs_more_and_makes_its_nodes_drift() {
    let run = diff(&both_zones("spot, on-demand"), &both_zones("on-demand"), "-o json");
    assert_eq!(run.status, 0, "{run:?}");
    let diff = document(&run);
    let replaced = &diff["allReplaced"];
    let monthly = |side: &str| replaced[side]["nodes"]["monthlyUsd"].as_f64().unwrap();
    assert!(monthly("new") > 2.5 * monthly("old"), "{replaced}");
    assert_eq!(replaced["old"]["spot"]["pods"], json!({"onSpot": 4, "total": 4, "share": 1.0}));
    assert_eq!(replaced["new"]["spot"]["pods"]["onSpot"], 0);
    assert_eq!(
        diff["changes"],
        json!([{"kind": "NodePool", "name": "default", "difference": "Changed"}])
    );
    let drifted: Vec<(&str, &str)> = diff["newlyDrifted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| (own["node"].as_str().unwrap(), own["code"].as_str().unwrap()))
        .collect();
    assert_eq!(drifted, [("one", "RequirementsDrifted"), ("two", "RequirementsDrifted")]);
    // On the nodes that are there, one tick replaces what budgets let go, and no pod waits.
    assert_eq!(
        diff["nextTick"]["new"]["nodesDisrupted"],
        json!([{"reason": "Drifted", "nodes": 1}])
    );
    assert_eq!(diff["newlyUnschedulable"], json!([]));
}

#[test]
fn a_change_for_the_worse_ends_with_status_3_where_a_threshold_says_so() {
    let (old, new) = (both_zones("spot, on-demand"), both_zones("on-demand"));
    let run = diff(&old, &new, "-o json --max-cost-increase 5% --max-newly-drifted 1");
    assert_eq!(run.status, 3, "{run:?}");
    let codes: Vec<Value> = document(&run)["exceeded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["code"].clone())
        .collect();
    assert_eq!(codes, ["CostIncrease", "NewlyDrifted"]);
    assert_eq!(diff(&old, &new, "--max-cost-increase 500").status, 0);
    // The other way it is cheaper, and more exposed.
    assert_eq!(diff(&new, &old, "--max-cost-increase 0").status, 0);
    let run = diff(&new, &old, "--max-spot-increase 99.5");
    assert_eq!(run.status, 3);
    assert!(run.out.contains("rises by 100 percentage points, and 99.5 are allowed"), "{run:?}");
}

#[test]
fn a_node_pool_that_loses_a_zone_leaves_the_pod_whose_volume_is_there_without_a_place() {
    let (old, new) = (both_zones("spot"), pool("spot", "us-east-1a"));
    let run = diff(&old, &new, "-o json --max-newly-unschedulable 0");
    assert_eq!(run.status, 3, "{run:?}");
    let document = document(&run);
    let lost = &document["newlyUnschedulable"];
    assert_eq!(lost.as_array().unwrap().len(), 1, "{lost}");
    assert_eq!((&lost[0]["pod"], &lost[0]["when"]), (&json!("default/db-0"), &json!("NodeGone")));
    assert!(lost[0]["reasons"][0].as_str().unwrap().contains("zone"), "{lost}");
    let zones = |side: &str| -> Vec<String> {
        let places = document["allReplaced"][side]["byPlace"].as_array().unwrap();
        places.iter().map(|own| own["zone"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(zones("new"), ["us-east-1a"]);
    assert!(zones("old").contains(&"us-east-1b".to_owned()));
}

#[test]
fn pods_of_a_workload_that_no_longer_fits_are_named_with_the_reason() {
    let (old, new) = (web("replicas: 3", "500m", "web:1"), web("replicas: 3", "'9'", "web:1"));
    let run = diff(&old, &new, "");
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.contains("NEWLY WITHOUT A PLACE  3 pods"), "{run:?}");
    assert!(run.out.contains("at once: default/web-5d4f-* (3 pods)"), "{run:?}");
    assert!(run.out.contains("cpu"), "{run:?}");
    // Back again they get their places.
    let run = diff(&new, &old, "-o json");
    assert_eq!(document(&run)["newlyUnschedulable"], json!([]));
}

#[test]
fn a_change_that_nodes_do_not_depend_on_changes_nothing() {
    let (old, new) = (web("replicas: 3", "500m", "web:1"), web("replicas: 3", "500m", "web:2"));
    let options = "--max-cost-increase 0 --max-newly-unschedulable 0 --max-newly-drifted 0 \
                   --max-spot-increase 0";
    let run = diff(&old, &new, options);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.out.starts_with("CHANGE  nothing that nodes depend on changes\n"), "{run:?}");
    assert!(run.out.contains("the same by both"), "{run:?}");
    let document = document(&diff(&old, &new, "-o json"));
    assert_eq!(document["changes"], json!([]));
    assert_eq!(document["allReplaced"]["old"], document["allReplaced"]["new"]);
    assert_eq!(document["nextTick"]["old"], document["nextTick"]["new"]);
}

#[test]
fn pods_follow_the_replicas_of_a_change_and_nothing_else_scales_them() {
    let placed = |old: &str, new: &str| {
        let document = document(&diff(old, new, "-o json"));
        let of = |side: &str| document["nextTick"][side]["podsPlaced"].as_u64().unwrap();
        (of("old"), of("new"))
    };
    let [none, one, three, five] = ["", "replicas: 1", "replicas: 3", "replicas: 5"]
        .map(|replicas| web(replicas, "500m", "web:1"));
    assert_eq!(placed(&three, &five), (4, 6));
    assert_eq!(placed(&three, &one), (4, 2));
    // Three run, whatever both say: an autoscaler may have its say.
    assert_eq!(placed(&one, &one), (4, 4));
    assert_eq!(placed(&none, &none), (4, 4));
    // What only the old ones have is gone.
    assert_eq!(placed(&three, "# nothing"), (4, 1));
    // What only the new ones have is there, and what it was before is what the cluster says.
    assert_eq!(placed("# nothing", &three), (4, 4));
    assert_eq!(placed("# nothing", &five), (4, 6));
}

#[test]
fn a_daemon_set_that_grows_takes_room_on_every_node() {
    let agent = |cpu: &str| {
        format!(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: agent}}\nspec:\n  selector: \
             {{matchLabels: {{app: agent}}}}\n  template:\n    metadata: {{labels: {{app: agent}}}}\n    \
             spec:\n      tolerations: [{{operator: Exists}}]\n      containers: [{{name: agent, resources: \
             {{requests: {{cpu: {cpu}}}}}}}]\n"
        )
    };
    let document = document(&diff(&agent("100m"), &agent("1500m"), "-o json"));
    let cost = |side: &str| document["allReplaced"][side]["nodes"]["hourlyUsd"].as_f64().unwrap();
    assert!(cost("new") > cost("old"), "{document}");
}

#[test]
fn a_node_pool_that_is_removed_launches_nothing_any_more() {
    let run = diff(&both_zones("spot"), CLASS, "-o json");
    let document = document(&run);
    assert_eq!(document["changes"][0]["difference"], "Removed");
    assert_eq!(document["allReplaced"]["new"]["nodes"]["count"], 0);
    let lost = document["newlyUnschedulable"].as_array().unwrap();
    assert_eq!(lost.len(), 4, "{document}");
    assert!(lost.iter().all(|own| own["when"] == "NextTick"), "its nodes are deleted: {document}");
    assert_eq!(document["nextTick"]["new"]["nodes"]["count"], 0, "{document}");
}

/// A NodePool and an EC2NodeClass as controllers have completed them.
fn completed() -> String {
    let class = CLASS.replace(
        "metadata: {name: default}",
        "metadata: {name: default, annotations: {karpenter.k8s.aws/ec2nodeclass-hash: '1', \
         karpenter.k8s.aws/ec2nodeclass-hash-version: v4}}",
    );
    class + "status: {subnets: [{id: subnet-1, zone: us-east-1b}]}\n"
}

#[test]
fn a_class_keeps_what_controllers_found_out_about_it() {
    let cluster = cluster().replace(CLASS, &completed()).replace(
        "kind: NodeClaim\nmetadata: {",
        "kind: NodeClaim\nmetadata: {annotations: {karpenter.k8s.aws/ec2nodeclass-hash: '1', \
         karpenter.k8s.aws/ec2nodeclass-hash-version: v4}, ",
    );
    let role = CLASS.replace("role: nodes", "role: others");
    let subnets = CLASS.replace(
        "subnetSelectorTerms: [{tags: {shop: '1'}}]",
        "subnetSelectorTerms: [{id: subnet-2}]",
    );
    let files = [
        ("old.yaml", CLASS),
        ("role.yaml", &role),
        ("subnets.yaml", &subnets),
        ("cluster.yaml", &cluster),
        ("types.yaml", CATALOG),
    ];
    let workspace = Workspace::with(&files);
    let diff = |new: &str| {
        let options = "-f cluster.yaml --catalog types.yaml --now 2026-01-01T12:00:00Z -o json";
        document(&workspace.run(&format!("diff old.yaml {new} {options}")))
    };
    let drifted = |document: &Value| document["newlyDrifted"].as_array().unwrap().len();
    let zones = |document: &Value| -> BTreeSet<String> {
        let places = document["allReplaced"]["new"]["byPlace"].as_array().unwrap();
        places.iter().map(|own| own["zone"].as_str().unwrap().to_owned()).collect()
    };
    let same = diff("old.yaml");
    assert_eq!((drifted(&same), &same["open"]), (0, &json!([])), "{same}");
    assert_eq!(zones(&same), ["us-east-1b".to_owned()].into(), "its only subnet");
    let role = diff("role.yaml");
    assert_eq!(drifted(&role), 2, "{role}");
    assert_eq!(role["newlyDrifted"][0]["code"], "NodeClassDrift");
    assert_eq!(zones(&role), ["us-east-1b".to_owned()].into());
    let subnets = diff("subnets.yaml");
    assert_eq!(drifted(&subnets), 0, "what is selected is no part of the hash: {subnets}");
    let open = subnets["open"][0].as_str().unwrap();
    assert!(open.contains("subnetSelectorTerms changes"), "{open}");
}

#[test]
fn a_disruption_budget_counts_the_pods_that_it_guards() {
    let budget = |most: &str| {
        format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\nspec: \
             {{maxUnavailable: {most}, selector: {{matchLabels: {{app: web}}}}}}\n"
        )
    };
    // Two nodes become one by the next tick, unless nothing may be evicted.
    let settings = format!("{}\n---\n{}", pool("spot", "us-east-1a, us-east-1b"), budget("1"));
    let blocked = format!("{}\n---\n{}", pool("spot", "us-east-1a, us-east-1b"), budget("0"));
    let document = document(&diff(&settings, &blocked, "-o json"));
    assert_eq!(document["changes"][0]["kind"], "PodDisruptionBudget");
    assert_eq!(document["nextTick"]["new"]["nodesDisrupted"], json!([]), "{document}");
    assert_eq!(document["allReplaced"]["old"], document["allReplaced"]["new"]);
}

#[test]
fn without_a_cluster_the_manifests_are_all_there_is() {
    let workspace = Workspace::with(&[
        ("old/shop.yaml", SHOP),
        ("new/shop.yaml", SHOP),
        ("new/huge.yaml", HUGE),
    ]);
    let run = workspace.run("diff old new --catalog catalog.yaml -o json");
    assert_eq!(run.status, 0, "{run:?}");
    let document = run.json();
    assert_eq!(document["nodesNow"]["count"], 0);
    assert_eq!(document["allReplaced"], document["nextTick"]);
    assert_eq!(document["newlyUnschedulable"][0]["pod"], "default/huge");
    assert_eq!(document["newlyUnschedulable"][0]["when"], "NextTick");
    let text = workspace.run("diff old new --catalog catalog.yaml").out;
    assert!(!text.contains("NEXT TICK"), "{text}");
}

#[test]
fn what_an_api_server_refused_is_no_part_of_what_there_was() {
    let files = [("good.yaml", SHOP), ("bad.yaml", WRONG_OPERATOR), ("shop.yaml", SHOP)];
    let workspace = Workspace::with(&files);
    let mended = workspace.run("diff bad.yaml good.yaml --catalog catalog.yaml");
    assert_eq!(mended.status, 0, "{mended:?}");
    assert!(mended.err.contains("warning: left out of what there was: "), "{mended:?}");
    let broken = workspace.run("diff good.yaml bad.yaml --catalog catalog.yaml -o json");
    assert_eq!(broken.status, 2, "{broken:?}");
    assert!(broken.json()["errors"][0].as_str().unwrap().contains("bad.yaml:9"), "{broken:?}");
}

#[test]
fn an_invalid_object_of_the_new_manifests_is_called_so_and_stays_as_it_was() {
    let old = both_zones("spot") + &web("replicas: 3", "500m", "web:1");
    let without_role = old.replace("  role: nodes\n", "");
    let wrong_operator =
        old.replace("operator: In, values: [spot]", "operator: Is, values: [spot]");
    let negative = old.replace("replicas: 3", "replicas: -3");
    for (new, changed) in [
        (without_role, json!({"kind": "EC2NodeClass", "namespace": null, "name": "default"})),
        (wrong_operator, json!({"kind": "NodePool", "namespace": null, "name": "default"})),
        (negative, json!({"kind": "Deployment", "namespace": "default", "name": "web"})),
    ] {
        let run = diff(&old, &new, "-o json");
        assert_eq!(run.status, 2, "{run:?}");
        let document = run.json();
        let [change] = document["changes"].as_array().unwrap().as_slice() else {
            panic!("{}", document["changes"]);
        };
        for key in ["kind", "namespace", "name"] {
            assert_eq!(change[key], changed[key], "{change}");
        }
        assert_eq!(change["difference"], "Invalid");
        assert_eq!(document["headline"], "1 object invalid");
        for figures in ["allReplaced", "nextTick"] {
            assert_eq!(document[figures]["old"], document[figures]["new"], "{changed}");
        }
    }
}

#[test]
fn what_is_invalid_stands_in_the_comment_and_on_the_page() {
    let old = both_zones("spot");
    let new = old.replace("  role: nodes\n", "");
    let error = "exactly one of role and instanceProfile is needed";
    let comment = diff(&old, &new, "-o markdown").out;
    assert!(comment.contains("### ❌ Nodes: 1 object invalid\n"), "{comment}");
    assert!(comment.contains(&format!("- **invalid:** {error} (new.yaml:")), "{comment}");
    assert!(comment.contains("- EC2NodeClass default invalid\n"), "{comment}");
    let page = diff(&old, &new, "-o html").out;
    assert!(page.contains(error), "{page}");
}

#[test]
fn nothing_is_launched_by_a_new_node_class_that_is_invalid() {
    let shop = SHOP.replace("  role: nodes\n", "");
    let files = [("none.yaml", "# none\n"), ("shop.yaml", &shop), ("catalog.yaml", CATALOG)];
    let workspace = Workspace::with(&files);
    let run = workspace.run("diff none.yaml shop.yaml --catalog catalog.yaml -o json");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("NodePools that refer to it launch nothing"), "{run:?}");
    assert_eq!(run.json()["allReplaced"]["new"]["nodes"]["count"], 0, "{}", run.out);
}

#[test]
fn the_same_change_gives_the_same_bytes() {
    let run = || diff(&both_zones("spot"), &both_zones("on-demand"), "-o json").out;
    assert_eq!(run(), run());
}

#[test]
fn both_forms_tell_each_other_apart() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    for line in [
        "diff",
        "diff shop.yaml",
        "diff shop.yaml shop.yaml shop.yaml",
        "diff - -",
        "diff shop.yaml - -f -",
        "diff shop.yaml shop.yaml --catalog -",
        "diff shop.yaml shop.yaml --max-cost-increase ten",
        "diff shop.yaml shop.yaml --table a",
        "diff --observed",
        "diff --observed --table a",
        "diff --observed --table a --cluster b shop.yaml shop.yaml",
        "diff --observed --table a --cluster b -f shop.yaml",
    ] {
        let run = workspace.run(line);
        assert_eq!(run.status, 2, "{line}: {run:?}");
        assert!(run.err.starts_with("error: ") && run.out.is_empty(), "{line}: {run:?}");
    }
    let help = workspace.run("diff --help").out;
    assert!(help.contains("outrigger diff --observed --table NAME --cluster NAME"), "{help}");
}

#[cfg(not(feature = "live"))]
#[test]
fn what_was_observed_needs_clients() {
    let run = Workspace::with(&[]).run("diff --observed --table a --cluster b");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("--features live"), "{run:?}");
}

/// The change of the pages below: on-demand only, in one zone, beside a workload of two replicas
/// more and a pod that has no place whatever is changed.
fn page(options: &str) -> String {
    let old = both_zones("spot") + &web("replicas: 3", "500m", "web:1");
    let new = pool("on-demand", "us-east-1a") + &web("replicas: 5", "500m", "web:1");
    let run = diff(&old, &new, &format!("--max-cost-increase 10% {options}"));
    assert_eq!(run.status, 3, "{run:?}");
    run.out
}

#[test]
fn a_reviewer_reads_it_as_text() {
    insta::assert_snapshot!(page(""));
}

#[test]
fn a_reviewer_reads_it_as_a_comment() {
    let page = page("-o markdown");
    insta::assert_snapshot!(page);
    for line in page.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 5, "{line}");
    }
}
