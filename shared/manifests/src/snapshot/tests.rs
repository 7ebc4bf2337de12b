use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use documents::Source;
use domain::resource::CPU;
use domain::snapshot::ClusterSnapshot;
use proptest::prelude::*;

use super::*;
use crate::reader::read;

fn look(text: &str) -> (ClusterSnapshot, Vec<String>) {
    let objects = read(&[Source::new("in.yaml", text)]);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let (snapshot, warnings) =
        snapshot(objects, now, Settings::default(), InstanceTypes::default());
    (snapshot, warnings.iter().map(ToString::to_string).collect())
}

fn pod_names(text: &str) -> Vec<String> {
    look(text).0.objects.pods.iter().map(|pod| pod.key.to_string()).collect()
}

fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "---\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}}}}}\n"
    )
}

fn owned_pod(name: &str, owner_kind: &str, owner: &str, app: &str) -> String {
    format!(
        "---\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {app}}}, ownerReferences: [{{kind: {owner_kind}, name: {owner}, controller: true}}]}}\n"
    )
}

const AUTO_MODE: &str = "
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general-purpose}
spec: {template: {spec: {requirements: [], nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}}}}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-purpose-1}
spec: {requirements: [], nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}}
status: {nodeName: i-1}
---
kind: Node
metadata: {name: i-1, labels: {karpenter.sh/nodepool: general-purpose, karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true'}}
---
kind: Node
metadata: {name: i-2, labels: {karpenter.sh/nodepool: gone, eks.amazonaws.com/nodeclass: default}}
";

#[test]
fn what_belongs_to_another_controller_is_left_alone_with_a_warning() {
    let ours = AUTO_MODE
        .replace("eks.amazonaws.com, kind: NodeClass", "karpenter.k8s.aws, kind: EC2NodeClass");
    let (snapshot, warnings) = look(&ours);
    assert_eq!((snapshot.objects.node_pools.len(), snapshot.node_claims.len()), (1, 1));
    assert!(warnings.is_empty(), "{warnings:?}");
    let (snapshot, warnings) = look(AUTO_MODE);
    assert_eq!((snapshot.objects.node_pools.len(), snapshot.node_claims.len()), (0, 0));
    let is_pooled = |node: &domain::node::Node| {
        ["karpenter.sh/nodepool", "karpenter.sh/registered", "karpenter.sh/initialized"]
            .iter()
            .any(|own| node.labels.contains_key(*own))
    };
    assert_eq!(snapshot.objects.nodes.len(), 2, "what runs on them counts");
    assert!(!snapshot.objects.nodes.iter().any(is_pooled));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("NodePool general-purpose"), "{warnings:?}");
}

#[test]
fn a_budget_without_a_status_gets_the_one_that_kubernetes_would_write() {
    let pods = |ready: [&str; 2]| {
        let pod = |(index, ready): (usize, &str)| {
            format!(
                "---\nkind: Pod\nmetadata: {{name: web-{index}, labels: {{app: web}}}}\nspec: {{nodeName: n}}\nstatus: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}]}}\n"
            )
        };
        ready.into_iter().enumerate().map(pod).collect::<String>()
    };
    let status = |ready: [&str; 2], spec: &str| {
        let text = format!(
            "kind: PodDisruptionBudget\nmetadata: {{name: b}}\nspec: {{selector: {{matchLabels: {{app: web}}}}, {spec}}}\n{}",
            pods(ready)
        );
        let budget = look(&text).0.objects.pod_disruption_budgets.remove(0);
        (budget.disruptions_allowed, budget.current_healthy, budget.desired_healthy)
    };
    assert_eq!(status(["True", "True"], "maxUnavailable: 1"), (Some(1), 2, 1));
    assert_eq!(status(["True", "False"], "maxUnavailable: 1"), (Some(0), 1, 1));
    assert_eq!(status(["True", "True"], "minAvailable: 2"), (Some(0), 2, 2));
    assert_eq!(status(["True", "True"], "minAvailable: 30%"), (Some(1), 2, 1));
}

#[test]
fn a_buffer_without_effect_is_a_warning_that_says_why() {
    let template = |namespace: &str, spec: &str| {
        format!(
            "---\nkind: PodTemplate\nmetadata: {{name: chunk, namespace: {namespace}}}\ntemplate: {{spec: {{{spec}}}}}\n"
        )
    };
    let warnings = |spec: &str, others: &str| {
        let buffer = format!(
            "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {{name: spare, namespace: shop}}\nspec: {{{spec}}}\n"
        );
        look(&(buffer + others)).1
    };
    let by_template = "podTemplateRef: {name: chunk}, replicas: 2";
    assert_eq!(warnings(by_template, &template("shop", "")), [""; 0]);
    assert_eq!(
        warnings(by_template, &template("other", "")),
        [
            "CapacityBuffer shop/spare, field spec.podTemplateRef: PodTemplate shop/chunk is not in the input, and that \
          of namespace other is out of its reach: it has no effect"
        ]
    );
    assert_eq!(
        warnings(by_template, &template("shop", "schedulingGates: [{name: hold}]")),
        [
            "CapacityBuffer shop/spare, field spec.podTemplateRef: pods of PodTemplate shop/chunk have schedulingGates: \
          it has no effect"
        ]
    );
    let by_workload = "scalableRef: {apiGroup: apps, kind: Deployment, name: web}";
    assert_eq!(
        warnings(by_workload, ""),
        [
            "CapacityBuffer shop/spare, field spec.scalableRef: Deployment shop/web is not in the input: it has no effect"
        ]
    );
}

#[test]
fn a_workload_that_owns_no_pod_is_expanded() {
    let text = deployment("web", 2) + &deployment("none", 0);
    assert_eq!(pod_names(&text), ["default/web-0", "default/web-1"]);
    assert_eq!(look(&text).0.objects.workloads.len(), 2);
}

#[test]
fn a_deployment_owns_pods_through_replica_sets_that_its_name_and_selector_tell() {
    let with = |pod: String| pod_names(&(deployment("web", 2) + &pod));
    assert_eq!(with(owned_pod("p", "ReplicaSet", "web-5d8", "web")), ["default/p"]);
    assert_eq!(with(owned_pod("p", "ReplicaSet", "web-5d8", "other")).len(), 3);
    assert_eq!(with(owned_pod("p", "ReplicaSet", "website-5d8", "web")).len(), 3);
    assert_eq!(with(owned_pod("p", "Deployment", "web", "other")), ["default/p"]);
}

#[test]
fn a_replica_set_of_a_deployment_that_is_there_is_not_expanded_beside_it() {
    let set = "---\nkind: ReplicaSet\nmetadata: {name: web-5d8, ownerReferences: [{kind: Deployment, name: web, controller: true}]}\nspec: {replicas: 2}\n";
    assert_eq!(pod_names(&(deployment("web", 2) + set)), ["default/web-0", "default/web-1"]);
    assert_eq!(pod_names(set), ["default/web-5d8-0", "default/web-5d8-1"]);
}

#[test]
fn a_pod_that_is_there_stands_for_the_one_of_its_name() {
    let text =
        deployment("web", 2) + "---\nkind: Pod\nmetadata: {name: web-1, labels: {mine: x}}\n";
    let (snapshot, _) = look(&text);
    let pod = snapshot.objects.pods.iter().find(|pod| &*pod.key.name == "web-1").unwrap();
    assert_eq!(snapshot.objects.pods.len(), 2);
    assert!(pod.labels.contains_key("mine"));
}

#[test]
fn priorities_come_from_classes_and_the_global_default() {
    let text = "\
kind: PriorityClass
metadata: {name: high}
value: 100
---
kind: PriorityClass
metadata: {name: usual}
value: 7
globalDefault: true
---
kind: Pod
metadata: {name: by-class}
spec: {priorityClassName: high}
---
kind: Pod
metadata: {name: by-default}
---
kind: Pod
metadata: {name: own}
spec: {priorityClassName: high, priority: 3}
---
kind: Pod
metadata: {name: system}
spec: {priorityClassName: system-cluster-critical}
---
kind: Pod
metadata: {name: missing}
spec: {priorityClassName: absent}
";
    let (snapshot, warnings) = look(text);
    let priorities: BTreeMap<_, _> =
        snapshot.objects.pods.iter().map(|pod| (&*pod.key.name, pod.spec.priority)).collect();
    let expected = [
        ("by-class", 100),
        ("by-default", 7),
        ("own", 3),
        ("system", 2_000_000_000),
        ("missing", 0),
    ];
    assert_eq!(priorities, expected.into());
    assert_eq!(warnings, ["PriorityClass absent is not in the input: its pods have priority 0"]);
}

#[test]
fn a_daemon_set_takes_what_its_newest_running_pod_takes() {
    let pod = |name: &str, hour: u32, cpu: u32, rest: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: {name}, creationTimestamp: \"2026-01-01T0{hour}:00:00Z\", ownerReferences: [{{kind: DaemonSet, name: agent}}]}}\nspec: {{nodeName: n1, containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n{rest}"
        )
    };
    let set = "kind: DaemonSet\nmetadata: {name: agent}\nspec: {template: {spec: {containers: [{resources: {requests: {cpu: 100m}}}]}}}\n";
    let requests = |text: &str| look(text).0.objects.daemon_sets[0].template.spec.requests.get(CPU);
    assert_eq!(requests(set), 100);
    let live = [
        set,
        &pod("a", 2, 2, ""),
        &pod("b", 1, 1, ""),
        &pod("c", 3, 3, "status: {phase: Failed}\n"),
    ]
    .concat();
    assert_eq!(requests(&live), 2000);
}

#[test]
fn a_daemon_set_that_is_being_deleted_runs_on_no_new_node() {
    let text =
        "kind: DaemonSet\nmetadata: {name: agent, deletionTimestamp: \"2026-01-01T00:00:00Z\"}\n";
    assert!(look(text).0.objects.daemon_sets.is_empty());
}

#[test]
fn of_an_object_given_twice_the_later_counts_with_a_warning() {
    let node = |cpu: u32| {
        format!("kind: Node\nmetadata: {{name: n1}}\nstatus: {{capacity: {{cpu: {cpu}}}}}\n")
    };
    let (snapshot, warnings) = look(&[node(1), node(2)].join("---\n"));
    assert_eq!(snapshot.objects.nodes.len(), 1);
    assert_eq!(snapshot.objects.nodes[0].capacity.get(CPU), 2000);
    assert_eq!(warnings, ["Node n1 is given twice: this one counts (in.yaml:5)"]);
}

#[test]
fn a_node_claim_that_has_a_taint_twice_is_kept_with_a_warning() {
    let text = "\
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: claim-1}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
  taints: [{key: agent, effect: NoSchedule}]
  startupTaints: [{key: agent, effect: NoSchedule}]
";
    let objects = read(&[Source::new("in.yaml", text)]);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    assert_eq!(
        objects.warnings[0].to_string(),
        "claim-1, spec.startupTaints[0]: taint agent:NoSchedule is given twice: key and effect must \
         be unique over taints and startupTaints"
    );
}

#[test]
fn pods_of_one_shape_share_specification_and_labels() {
    let mut text = "{\"kind\": \"List\", \"items\": [\n".to_owned();
    for index in 0..2000 {
        let comma = if index == 0 { "" } else { "," };
        writeln!(text, "{comma}{{\"kind\": \"Pod\", \"metadata\": {{\"name\": \"p{index}\", \"labels\": {{\"app\": \"web\"}}}}, \"spec\": {{\"priorityClassName\": \"system-node-critical\", \"containers\": [{{\"resources\": {{\"requests\": {{\"cpu\": \"1\"}}}}}}]}}}}").unwrap();
    }
    text.push_str("]}");
    let (snapshot, _) = look(&text);
    let specs: BTreeSet<_> =
        snapshot.objects.pods.iter().map(|pod| Arc::as_ptr(&pod.spec)).collect();
    let labels: BTreeSet<_> =
        snapshot.objects.pods.iter().map(|pod| Arc::as_ptr(&pod.labels)).collect();
    let namespaces: BTreeSet<_> =
        snapshot.objects.pods.iter().map(|pod| pod.key.namespace.as_ptr()).collect();
    assert_eq!(snapshot.objects.pods.len(), 2000);
    assert_eq!((specs.len(), labels.len(), namespaces.len()), (1, 1, 1));
}

/// The snapshot with every list in the order of its shown form.
fn in_order(snapshot: &ClusterSnapshot) -> Vec<Vec<String>> {
    fn shown<T: std::fmt::Debug>(items: &[T]) -> Vec<String> {
        let mut shown: Vec<_> = items.iter().map(|item| format!("{item:?}")).collect();
        shown.sort();
        shown
    }
    vec![
        shown(&snapshot.objects.nodes),
        shown(&snapshot.objects.pods),
        shown(&snapshot.objects.daemon_sets),
        shown(&snapshot.objects.workloads),
        shown(&snapshot.objects.namespaces),
        shown(&snapshot.objects.persistent_volume_claims),
        shown(&snapshot.objects.storage_classes),
        shown(&snapshot.objects.pod_disruption_budgets),
    ]
}

/// Objects that lean on each other in every way that the snapshot settles.
fn entangled() -> Vec<String> {
    let mut objects = vec![
        "kind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n".to_owned(),
        "kind: PriorityClass\nmetadata: {name: usual}\nvalue: 7\nglobalDefault: true\n".to_owned(),
        "kind: PriorityClass\nmetadata: {name: lower}\nvalue: 5\nglobalDefault: true\n".to_owned(),
        "kind: DaemonSet\nmetadata: {name: agent}\nspec: {template: {spec: {priorityClassName: high}}}\n".to_owned(),
        "kind: StatefulSet\nmetadata: {name: web}\nspec: {replicas: 3, volumeClaimTemplates: [{metadata: {name: data}}]}\n".to_owned(),
        "kind: Job\nmetadata: {name: web}\nspec: {parallelism: 2, template: {spec: {priorityClassName: high}}}\n".to_owned(),
        "kind: Namespace\nmetadata: {name: shop}\n".to_owned(),
        "kind: PersistentVolumeClaim\nmetadata: {name: data-web-0}\n".to_owned(),
        "kind: StorageClass\nmetadata: {name: gp3}\nprovisioner: ebs.csi.aws.com\n".to_owned(),
        "kind: PodDisruptionBudget\nmetadata: {name: b}\n".to_owned(),
        "kind: Node\nmetadata: {name: n1}\n".to_owned(),
    ];
    objects.extend(["api", "front"].map(|name| deployment(name, 2).replace("---\n", "")));
    objects.push(owned_pod("front-x", "ReplicaSet", "front-1", "front").replace("---\n", ""));
    for (name, cpu) in [("d1", 1), ("d2", 2)] {
        objects.push(format!("kind: Pod\nmetadata: {{name: {name}, ownerReferences: [{{kind: DaemonSet, name: agent}}]}}\nspec: {{nodeName: n1, containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n"));
    }
    objects
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_order_of_objects_makes_no_difference(shuffled in Just(entangled()).prop_shuffle()) {
        let (one, _) = look(&entangled().join("---\n"));
        let (other, _) = look(&shuffled.join("---\n"));
        prop_assert_eq!(in_order(&one), in_order(&other));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-zA-Z0-9{}\\[\\]:,\"'&*|>#%!<\\- \n]{0,200}") {
        let objects = read(&[Source::new("in.yaml", text.clone()), Source::new("in.yaml", format!("kind: Pod\nmetadata: {text}"))]);
        for error in &objects.errors {
            prop_assert!(error.to_string().contains("(in.yaml:"));
        }
    }
}

const DAEMON_PODS: &str = "
---
kind: Pod
metadata:
  name: agent-old
  namespace: kube-system
  creationTimestamp: 2026-01-01T00:00:00Z
  ownerReferences: [{kind: DaemonSet, name: agent, controller: true}]
spec:
  nodeName: n-1
  containers: [{resources: {requests: {cpu: 50m}}}]
---
kind: Pod
metadata:
  name: agent-new
  namespace: kube-system
  creationTimestamp: 2026-01-01T01:00:00Z
  ownerReferences: [{kind: DaemonSet, name: agent, controller: true}]
spec:
  nodeName: n-2
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]
          matchFields: [{key: metadata.name, operator: In, values: [n-2]}]
  containers: [{resources: {requests: {cpu: 70m}}}]
";

#[test]
fn pods_stand_in_for_a_daemon_set_that_is_not_there() {
    let (snapshot, warnings) = look(DAEMON_PODS);
    let [daemon_set] = snapshot.objects.daemon_sets.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!(daemon_set.key.to_string(), "kube-system/agent");
    assert_eq!(daemon_set.template.spec.requests.get(CPU), 70, "of the newest pod");
    let terms = daemon_set.template.spec.required_node_terms.as_ref().unwrap();
    assert_eq!((terms[0].expressions.len(), terms[0].fields.len()), (1, 0));
    assert_eq!(
        warnings,
        ["DaemonSets are not in the input though 2 of their pods are (kube-system/agent): new \
          nodes are planned with room for such pods"]
    );
}

#[test]
fn a_daemon_set_that_is_there_needs_no_stand_in() {
    let daemon_set = "
---
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}}}
";
    let (snapshot, warnings) = look(&format!("{DAEMON_PODS}{daemon_set}"));
    assert_eq!((snapshot.objects.daemon_sets.len(), warnings), (1, vec![]));
}

#[test]
fn kinds_that_others_need_are_missed() {
    let pod = "
---
kind: Node
metadata: {name: n-1, labels: {karpenter.sh/nodepool: default}}
---
kind: Pod
metadata: {name: db-0, ownerReferences: [{kind: StatefulSet, name: db, controller: true}]}
spec: {nodeName: n-1, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
";
    let claim = "
---
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {volumeName: pv-1}
";
    let (_, warnings) = look(pod);
    let missed = |kind: &str| warnings.iter().any(|own| own.starts_with(&format!("no {kind} is")));
    assert!(missed("PodDisruptionBudget") && missed("PersistentVolumeClaim") && missed("CSINode"));
    let (_, warnings) = look(&format!("{pod}{claim}"));
    let missed = |kind: &str| warnings.iter().any(|own| own.starts_with(&format!("no {kind} is")));
    assert!(!missed("PersistentVolumeClaim") && missed("PersistentVolume"), "{warnings:?}");
}
