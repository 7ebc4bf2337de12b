use domain::node::Node;
use domain::pdb::CountOrPercent;
use domain::resource::{CPU, MEMORY};

use super::{problems, read_as};
use crate::object::Object;

fn node(text: &str) -> Node {
    read_as!(text, Object::Node)
}

#[test]
fn older_label_keys_do_not_override_current_ones_and_the_host_name_is_filled_in() {
    let node = node(
        "\
kind: Node
metadata:
  name: n1
  labels:
    topology.kubernetes.io/zone: new
    failure-domain.beta.kubernetes.io/zone: old
    beta.kubernetes.io/arch: arm64
",
    );
    let label = |key| node.labels.get(key).map(|value| &**value);
    assert_eq!(label("topology.kubernetes.io/zone"), Some("new"));
    assert_eq!(label("kubernetes.io/arch"), Some("arm64"));
    assert_eq!(label("kubernetes.io/hostname"), Some("n1"));
    assert_eq!(node.labels.len(), 3);
}

#[test]
fn a_cordon_is_a_taint_once() {
    let taints = |taints: &str| {
        node(&format!(
            "kind: Node\nmetadata: {{name: n1}}\nspec: {{unschedulable: true, taints: {taints}}}\n"
        ))
        .taints
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
    };
    let cordon = "node.kubernetes.io/unschedulable:NoSchedule";
    assert_eq!(taints("[]"), [cordon]);
    assert_eq!(
        taints(
            "[{key: node.kubernetes.io/unschedulable, effect: NoSchedule}, {key: a, value: b, effect: NoExecute}]"
        ),
        [cordon, "a=b:NoExecute"]
    );
}

#[test]
fn capacity_and_allocatable_stand_in_for_each_other() {
    let only = node("kind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4}}\n");
    assert_eq!(only.allocatable.get(CPU), 4000);
    let only = node("kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {memory: 1Ki}}\n");
    assert_eq!(only.capacity.get(MEMORY), 1024);
}

#[test]
fn conditions_and_provider_id_are_read() {
    let node = node(
        "\
kind: Node
metadata: {name: n1}
spec: {providerID: aws:///z/i-1}
status:
  conditions: [{type: Ready, status: Unknown, lastTransitionTime: 2026-01-01T00:00:00Z}]
",
    );
    assert_eq!(node.provider_id.as_deref(), Some("aws:///z/i-1"));
    assert!(node.is_not_ready());
    assert!(node.condition("Ready").unwrap().changed.is_some());
}

#[test]
fn a_taint_needs_key_and_a_known_effect() {
    assert_eq!(
        problems(
            "kind: Node\nmetadata: {name: n1}\nspec: {taints: [{effect: NoSchedule}, {key: a, effect: Never}]}\n"
        ),
        ["the field is missing", "\"Never\" is not one of NoSchedule, PreferNoSchedule, NoExecute"]
    );
}

#[test]
fn a_csi_node_limits_the_drivers_that_report_a_count() {
    let csi = read_as!(
        "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: ebs.csi.aws.com, nodeID: i, allocatable: {count: 25}}, {name: efs.csi.aws.com, nodeID: i}]}\n",
        Object::CsiNode
    );
    assert_eq!(csi.limits, [("ebs.csi.aws.com".into(), 25)]);
}

#[test]
fn a_disruption_budget_counts_pods_or_percent() {
    let budget = read_as!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: shop}\nspec: {maxUnavailable: 30%, selector: {matchLabels: {app: web}}, unhealthyPodEvictionPolicy: AlwaysAllow}\nstatus: {disruptionsAllowed: 2, currentHealthy: 5, desiredHealthy: 3}\n",
        Object::PodDisruptionBudget
    );
    assert_eq!(
        (budget.max_unavailable, budget.min_available),
        (Some(CountOrPercent::Percent(30)), None)
    );
    assert_eq!(
        (budget.disruptions_allowed, budget.current_healthy, budget.desired_healthy),
        (Some(2), 5, 3)
    );
    assert!(budget.always_allow_unhealthy && budget.selector.is_some());
}

#[test]
fn a_disruption_budget_refuses_what_the_api_refuses() {
    let problems = |spec: &str| {
        problems(&format!("kind: PodDisruptionBudget\nmetadata: {{name: b}}\nspec: {spec}\n"))
    };
    assert_eq!(
        problems("{maxUnavailable: 1, minAvailable: 1}"),
        ["maxUnavailable and minAvailable exclude each other"]
    );
    assert_eq!(
        problems("{maxUnavailable: some}"),
        ["\"some\" is neither a number nor a percentage such as 30%"]
    );
    assert_eq!(problems("{minAvailable: -1}"), ["-1 is below zero"]);
}

#[test]
fn a_namespace_has_its_name_as_a_label() {
    let namespace =
        read_as!("kind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n", Object::Namespace);
    assert_eq!(&*namespace.labels["kubernetes.io/metadata.name"], "shop");
    assert_eq!(&*namespace.labels["team"], "a");
}

#[test]
fn a_priority_class_has_a_value() {
    let class = read_as!(
        "kind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\nglobalDefault: true\n",
        Object::PriorityClass
    );
    assert_eq!((class.value, class.is_global_default), (1000, true));
    assert_eq!(problems("kind: PriorityClass\nmetadata: {name: high}\n"), ["the field is missing"]);
}
