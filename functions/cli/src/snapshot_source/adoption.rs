//! A cluster that knows nothing of NodeClaims, taken as if its nodes were NodePools'.
//!
//! Nodes of Karpenter whose NodeClaims are not in the input belong to their NodePool. Nodes of
//! managed node groups and of Cluster Autoscaler's groups are taken for those of the input's
//! NodePool; where it has none, for those of a NodePool that is assumed for each group: with the
//! group's labels and taints, in the zones of the cluster, of usual instance families. What pods
//! select on stays true so, and what the answer says about money is about the choice of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::fargate::is_fargate;
use domain::instance_type::{CapacityType, InstanceType};
use domain::label::{self, Labels};
use domain::node::Node;
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_offering::capacity_type_of;
use domain::node_pool::{Disruption, NeverOr, NodeClaimTemplate, NodeClassRef, NodePool};
use domain::node_pool_options::NodePoolOptions;
use domain::requirement::{Operator, Requirement};
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;
use domain::taint::Taint;

use super::node_classes::default_node_class;
use crate::view::pod_names::counted;

/// Labels that name a group of nodes, the first that a node has counts.
const GROUPS: [&str; 4] = [
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kops.k8s.io/instancegroup",
    label::NODE_POOL,
];
/// The group of nodes that have none of these labels.
const NO_GROUP: &str = "nodes";
/// Families that suit most pods.
const CATEGORIES: [&str; 3] = ["c", "m", "r"];
/// Generations above this one are usual.
const GENERATION: i64 = 2;
const CATEGORY: &str = "karpenter.k8s.aws/instance-category";
const INSTANCE_GENERATION: &str = "karpenter.k8s.aws/instance-generation";
const NODE_CLASS: &str = "default";

/// Gives nodes that have no NodeClaim one. Returns what was assumed, a sentence each.
pub(crate) fn adopt(snapshot: &mut ClusterSnapshot) -> Vec<String> {
    let (theirs, others) = without_claim(snapshot);
    let mut notes = Vec::new();
    if !theirs.is_empty() {
        notes.push(format!(
            "{} of NodePools of the input without a NodeClaim in it: they are taken for theirs.",
            counted(theirs.len(), "node")
        ));
        for (node, pool) in &theirs {
            take(snapshot, node, pool);
        }
    }
    if others.is_empty() {
        return notes;
    }
    let has_nodes_of_pools = !theirs.is_empty() || !snapshot.node_claims.is_empty();
    let given = snapshot.objects.node_pools.iter().filter(|pool| pool.serves_pending_pods());
    let given = given.max_by(|a, b| a.weight.cmp(&b.weight).then_with(|| b.name.cmp(&a.name)));
    match given.map(|pool| pool.name.clone()) {
        Some(_) if has_nodes_of_pools => notes.push(format!(
            "{} of no NodePool, beside those of NodePools: they stay as they are.",
            counted(others.len(), "node")
        )),
        Some(pool) => {
            notes.push(format!(
                "{} of no NodePool: they are taken for those of NodePool {pool} of the input, \
                 and replaced where it does not allow them.",
                counted(others.len(), "node")
            ));
            for node in &others {
                take(snapshot, node, &pool);
            }
        }
        None => notes.extend(assume_pools(snapshot, &others)),
    }
    notes
}

/// Nodes without a NodeClaim that could have one: those of a NodePool of the input, with it, and
/// others.
fn without_claim(snapshot: &ClusterSnapshot) -> (Vec<(Text, Text)>, Vec<Text>) {
    let claims = snapshot.node_claims.iter();
    let names: BTreeSet<&Text> =
        claims.clone().filter_map(|claim| claim.status.node_name.as_ref()).collect();
    let ids: BTreeSet<&Text> =
        claims.filter_map(|claim| claim.status.provider_id.as_ref()).collect();
    let has_claim = |node: &Node| {
        names.contains(&node.name) || node.provider_id.as_ref().is_some_and(|id| ids.contains(id))
    };
    let mut theirs = Vec::new();
    let mut others = Vec::new();
    for node in &snapshot.objects.nodes {
        let is_of_auto_mode = node.labels.contains_key(label::AUTO_MODE_NODE_CLASS);
        let is_known = type_of(snapshot, node).is_some();
        if has_claim(node)
            || node.deleted.is_some()
            || is_fargate(&node.labels)
            || is_of_auto_mode
            || !is_known
        {
            continue;
        }
        let pools = &snapshot.objects.node_pools;
        let pool = node.labels.get(label::NODE_POOL);
        match pool.filter(|pool| pools.iter().any(|own| own.name == **pool)) {
            Some(pool) => theirs.push((node.name.clone(), pool.clone())),
            None => others.push(node.name.clone()),
        }
    }
    theirs.sort();
    others.sort();
    (theirs, others)
}

fn type_of<'a>(snapshot: &'a ClusterSnapshot, node: &Node) -> Option<&'a InstanceType> {
    let name = node.labels.get(label::INSTANCE_TYPE)?;
    snapshot.instance_types.default.iter().find(|own| own.name == *name)
}

/// Gives a node a NodeClaim of a NodePool. It never expires: when it was to be replaced is not
/// known.
fn take(snapshot: &mut ClusterSnapshot, name: &Text, pool: &Text) {
    let Some(pool) = snapshot.objects.node_pools.iter().find(|own| own.name == *pool) else {
        return;
    };
    let (pool, node_class_ref) = (pool.name.clone(), pool.template.node_class_ref.clone());
    let node = snapshot.objects.nodes.iter().find(|node| node.name == *name);
    let own_labels = node.and_then(|node| type_of(snapshot, node)).map(labels_of);
    let Some(node) = snapshot.objects.nodes.iter_mut().find(|node| node.name == *name) else {
        return;
    };
    // What the type says of itself, as on a node that was launched from a NodePool.
    for (key, value) in own_labels.into_iter().flatten() {
        node.labels.entry(key).or_insert(value);
    }
    let bought = capacity_type_of(&node.labels).unwrap_or(CapacityType::OnDemand);
    let zone = node.labels.get(label::ZONE).cloned().unwrap_or_default();
    let id = || Text::from(format!("aws:///{zone}/i-{name}"));
    let provider_id = node.provider_id.get_or_insert_with(id).clone();
    let labels: [(&str, Text); 5] = [
        (label::NODE_POOL, pool),
        (label::NODE_CLASS, node_class_ref.name.clone()),
        (label::CAPACITY_TYPE, bought.as_str().into()),
        (label::REGISTERED, "true".into()),
        (label::INITIALIZED, "true".into()),
    ];
    node.labels.extend(labels.map(|(key, value)| (Text::from(key), value)));
    let since = node.created;
    let is_true = |kind| Condition {
        kind,
        status: ConditionStatus::True,
        reason: "".into(),
        message: "".into(),
        changed: since,
    };
    let conditions = [
        ConditionType::Launched,
        ConditionType::Registered,
        ConditionType::Initialized,
        ConditionType::Ready,
    ];
    let claim = NodeClaim {
        name: name.clone(),
        uid: format!("claim-of-{name}").into(),
        created: since,
        deleted: None,
        labels: node.labels.clone(),
        // Without a hash nothing says what it was launched from, so it has not drifted for that.
        annotations: Labels::from([(label::NODE_POOL_HASH_VERSION.into(), "v3".into())]),
        requirements: Arc::default(),
        requests: Resources::new(),
        taints: node.taints.clone(),
        startup_taints: Vec::new(),
        node_class_ref,
        termination_grace_period: None,
        expire_after: NeverOr::Never,
        status: NodeClaimStatus {
            node_name: Some(name.clone()),
            provider_id: Some(provider_id),
            capacity: node.capacity.clone(),
            allocatable: node.allocatable.clone(),
            conditions: conditions.map(is_true).into(),
            ..NodeClaimStatus::default()
        },
    };
    snapshot.node_claims.push(claim);
}

/// The labels of an instance type that have one value.
fn labels_of(own: &InstanceType) -> Vec<(Text, Text)> {
    let single = |(key, values): (&Text, &Vec<Text>)| match values.as_slice() {
        [only] => Some((key.clone(), only.clone())),
        _ => None,
    };
    own.labels.iter().filter_map(single).collect()
}

/// Assumes a NodePool for each group of nodes.
fn assume_pools(snapshot: &mut ClusterSnapshot, nodes: &[Text]) -> Vec<String> {
    let mut groups: BTreeMap<Text, Vec<Node>> = BTreeMap::new();
    for node in snapshot.objects.nodes.iter().filter(|node| nodes.contains(&node.name)) {
        let group = GROUPS.iter().find_map(|key| node.labels.get(*key).cloned());
        groups.entry(group.unwrap_or_else(|| NO_GROUP.into())).or_default().push(node.clone());
    }
    let zones: BTreeSet<Text> = snapshot
        .objects
        .nodes
        .iter()
        .filter_map(|node| node.labels.get(label::ZONE).cloned())
        .collect();
    if !snapshot.objects.node_classes.iter().any(|class| &*class.name == NODE_CLASS) {
        snapshot.objects.node_classes.push(default_node_class(NODE_CLASS.into()));
    }
    let mut notes = Vec::new();
    for (name, own) in groups {
        let (pool, note) = assumed(snapshot, &name, &own, &zones);
        notes.push(note);
        snapshot.objects.node_pools.push(pool);
        for node in own {
            take(snapshot, &node.name, &name);
        }
    }
    notes.push(format!(
        "EC2NodeClass {NODE_CLASS}: Amazon Linux 2023, all else at its default. To say what you \
         would use, give NodePools and EC2NodeClasses beside the rest: -f DUMP nodepool.yaml"
    ));
    notes
}

/// The NodePool that is assumed for a group of nodes, and what is to be said of it.
fn assumed(
    snapshot: &ClusterSnapshot,
    name: &Text,
    nodes: &[Node],
    zones: &BTreeSet<Text>,
) -> (NodePool, String) {
    let types: Vec<&InstanceType> =
        nodes.iter().filter_map(|node| type_of(snapshot, node)).collect();
    let values = |key: &str| -> BTreeSet<Text> {
        types.iter().filter_map(|own| own.labels.get(key)).flatten().cloned().collect()
    };
    let mut requirements = Vec::new();
    let mut shown = Vec::new();
    let mut require = |key: &str, values: BTreeSet<Text>, what: &str| {
        if !values.is_empty() {
            let list: Vec<&str> = values.iter().map(|own| &**own).collect();
            shown.push(format!("{what} {}", list.join(", ")));
            requirements.push(Requirement::is_in(key, values));
        }
    };
    let mut categories = values(CATEGORY);
    if !categories.is_empty() {
        categories.extend(CATEGORIES.map(Text::from));
    }
    require(CATEGORY, categories, "instance categories");
    require(label::ARCH, values(label::ARCH), "architecture");
    let bought = nodes.iter().map(|node| {
        capacity_type_of(&node.labels).unwrap_or(CapacityType::OnDemand).as_str().into()
    });
    require(label::CAPACITY_TYPE, bought.collect(), "capacity type");
    require(label::ZONE, zones.clone(), "zones");
    let generations = values(INSTANCE_GENERATION);
    let oldest = generations.iter().filter_map(|own| own.parse::<i64>().ok()).min();
    if let Some(oldest) = oldest {
        let above = GENERATION.min(oldest - 1);
        shown.push(format!("generations above {above}"));
        requirements.push(Requirement {
            key: INSTANCE_GENERATION.into(),
            operator: Operator::Gt,
            values: vec![above.to_string().into()],
            min_values: None,
        });
    }
    let template = NodeClaimTemplate {
        labels: common_labels(nodes),
        taints: common_taints(nodes),
        requirements,
        node_class_ref: NodeClassRef {
            group: "karpenter.k8s.aws".into(),
            kind: "EC2NodeClass".into(),
            name: NODE_CLASS.into(),
        },
        expire_after: NeverOr::Never,
        ..NodeClaimTemplate::default()
    };
    let pool = NodePool {
        name: name.clone(),
        uid: "".into(),
        annotations: Labels::new(),
        is_deleting: false,
        ready: None,
        template: Arc::new(template),
        disruption: Disruption::default(),
        limits: Resources::new(),
        weight: 0,
        replicas: None,
        options: NodePoolOptions::default(),
    };
    let note = format!(
        "NodePool {name} for {}, with the labels and taints that they share: {}.",
        counted(nodes.len(), "node"),
        shown.join("; ")
    );
    (pool, note)
}

/// Labels that all nodes of a group have and that do not follow from what the node is.
fn common_labels(nodes: &[Node]) -> Labels {
    let mut common = nodes.first().map(|node| node.labels.clone()).unwrap_or_default();
    for node in nodes {
        common.retain(|key, value| node.labels.get(key) == Some(value));
    }
    common.retain(|key, _| is_own_label(key));
    common
}

/// Whether whoever made a group of nodes may have set a label, and pods select on it.
fn is_own_label(key: &str) -> bool {
    const OTHERS: [&str; 5] =
        ["kubernetes.io", "k8s.io", "k8s.aws", "karpenter.sh", "amazonaws.com"];
    let Some((domain, _)) = key.split_once('/') else { return true };
    GROUPS[..3].contains(&key)
        || !OTHERS.iter().any(|own| {
            domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

/// Taints that all nodes of a group have and that do not come and go with their state.
fn common_taints(nodes: &[Node]) -> Vec<Taint> {
    let mut common = nodes.first().map(|node| node.taints.clone()).unwrap_or_default();
    common.retain(|taint| {
        let is_state = taint.key.starts_with("node.kubernetes.io/")
            || taint.key.starts_with("karpenter.sh/")
            || taint.key.starts_with("outrigger.dev/");
        !is_state && nodes.iter().all(|node| node.taints.contains(taint))
    });
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn group_node(name: &str, group: &str) -> Node {
        let mut node = testing::node(name);
        node.labels.remove(label::NODE_POOL);
        node.labels.remove(label::CAPACITY_TYPE);
        node.labels.insert(GROUPS[0].into(), group.into());
        node.labels.insert("team".into(), group.into());
        node
    }

    fn with_nodes(nodes: Vec<Node>) -> ClusterSnapshot {
        let mut snapshot = testing::snapshot();
        snapshot.objects.nodes = nodes.into();
        snapshot
    }

    #[test]
    fn every_node_group_gets_a_node_pool_with_its_labels() {
        let mut snapshot = with_nodes(vec![
            group_node("a", "web"),
            group_node("b", "web"),
            group_node("c", "batch"),
        ]);
        let notes = adopt(&mut snapshot);
        let pools: Vec<&str> = snapshot.objects.node_pools.iter().map(|pool| &*pool.name).collect();
        assert_eq!(pools, ["batch", "web"]);
        let template = &snapshot.objects.node_pools[1].template;
        assert_eq!(template.labels.get("team").map(|own| &**own), Some("web"));
        assert_eq!(template.labels.get(label::ZONE), None);
        assert!(template.requirements.iter().any(|own| &*own.key == label::CAPACITY_TYPE));
        assert_eq!(snapshot.node_claims.len(), 3);
        assert!(snapshot.node_claims.iter().all(|claim| claim.node_pool().is_some()));
        assert!(notes[1].starts_with("NodePool web for 2 nodes"), "{notes:?}");
        assert!(notes[2].contains("-f DUMP nodepool.yaml"), "{notes:?}");
    }

    #[test]
    fn a_given_node_pool_takes_the_nodes_of_groups() {
        let mut snapshot = with_nodes(vec![group_node("a", "web")]);
        snapshot.objects.node_pools = vec![testkit::node_pool("mine").build()];
        let notes = adopt(&mut snapshot);
        assert_eq!(snapshot.node_claims[0].node_pool().map(|own| &**own), Some("mine"));
        assert!(notes[0].contains("NodePool mine of the input"), "{notes:?}");
    }

    #[test]
    fn nodes_of_groups_beside_karpenters_stay_as_they_are() {
        let mut snapshot = with_nodes(vec![group_node("a", "system"), testing::node("b")]);
        snapshot.objects.node_pools = vec![testkit::node_pool("default").build()];
        let notes = adopt(&mut snapshot);
        let claimed: Vec<_> =
            snapshot.node_claims.iter().map(|claim| claim.status.node_name.clone()).collect();
        assert_eq!(claimed, [Some("b".into())]);
        assert_eq!(notes.len(), 2, "{notes:?}");
    }

    #[test]
    fn labels_of_kubernetes_and_aws_are_not_the_groups_own() {
        for (key, is_own) in [
            ("team", true),
            ("example.com/team", true),
            ("eks.amazonaws.com/nodegroup", true),
            ("eks.amazonaws.com/capacityType", false),
            ("topology.kubernetes.io/zone", false),
            ("karpenter.k8s.aws/instance-category", false),
            ("notkubernetes.io/x", true),
        ] {
            assert_eq!(is_own_label(key), is_own, "{key}");
        }
    }
}
