//! Node and CSINode.

use domain::Text;
use domain::label::{HOSTNAME, Labels, normalized_key};
use domain::node::{Node, NodeCondition};
use domain::resource::Resources;
use domain::taint::UNSCHEDULABLE;
use domain::volume::CsiNode;

use super::metadata::Metadata;
use super::selector::taint;
use crate::field::Field;
use crate::intern::Interner;

pub(super) fn read_node(root: Field<'_>) -> Node {
    let metadata = Metadata::of(root);
    let (spec, status) = (root.get("spec"), root.get("status"));
    let mut taints: Vec<_> = spec.get("taints").items().filter_map(taint).collect();
    let is_cordoned = spec.get("unschedulable").bool().unwrap_or_default();
    if is_cordoned && !taints.iter().any(|taint| &*taint.key == UNSCHEDULABLE) {
        taints.push(Node::cordon());
    }
    let capacity = status.get("capacity").resources();
    let allocatable = status.get("allocatable").resources();
    let labels = node_labels(&metadata.labels, &metadata.name, root.reader().interner());
    Node {
        labels,
        name: metadata.name,
        uid: metadata.uid,
        created: metadata.created,
        deleted: metadata.deleted,
        annotations: metadata.annotations,
        taints,
        provider_id: spec.get("providerID").own_text().filter(|id| !id.is_empty()),
        capacity: either(&capacity, &allocatable),
        allocatable: either(&allocatable, &capacity),
        conditions: status.get("conditions").items().filter_map(node_condition).collect(),
    }
}

fn either(preferred: &Resources, other: &Resources) -> Resources {
    if preferred.is_empty() { other.clone() } else { preferred.clone() }
}

/// Labels under their current keys; an older key does not override the current one. The host name
/// is the node's name where no label says otherwise.
fn node_labels(labels: &Labels, name: &Text, interner: &Interner) -> Labels {
    let mut current: Labels = labels
        .iter()
        .map(|(key, value)| (interner.text(normalized_key(key)), value.clone()))
        .collect();
    for (key, value) in labels.iter().filter(|(key, _)| normalized_key(key) == &***key) {
        current.insert(key.clone(), value.clone());
    }
    current.entry(interner.text(HOSTNAME)).or_insert_with(|| name.clone());
    current
}

fn node_condition(condition: Field<'_>) -> Option<NodeCondition> {
    Some(NodeCondition {
        kind: condition.get("type").required().text()?,
        status: condition.get("status").required().word()?,
        changed: condition.get("lastTransitionTime").timestamp(),
    })
}

pub(super) fn read_csi_node(root: Field<'_>) -> CsiNode {
    let limits = root.get("spec").get("drivers").items().filter_map(|driver| {
        let name = driver.get("name").required().text();
        let count = driver.get("allocatable").get("count").count();
        Some((name?, count?))
    });
    let mut limits: Vec<_> = limits.collect();
    limits.sort();
    CsiNode { name: Metadata::of(root).name, limits }
}
