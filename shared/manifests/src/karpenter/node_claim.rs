//! NodeClaim (`karpenter.sh/v1`).

use domain::label::{Labels, normalized_key};
use domain::node_claim::{Condition, ConditionType, NodeClaim, NodeClaimStatus};

use super::metadata::read_metadata;
use super::requirement::RequirementsOf;
use super::template::{TEMPLATE_FIELDS, read_node_spec};
use crate::field::Field;

/// Reads a NodeClaim with its status. Conditions of unknown types are passed over: newer
/// controllers may report more of them.
pub(crate) fn read_node_claim(root: Field<'_>) -> NodeClaim {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    let known: Vec<&str> = TEMPLATE_FIELDS.into_iter().chain(["resources"]).collect();
    spec.only_or_newer(&known);
    let resources = spec.get("resources");
    resources.only(&["requests"]);
    let node = read_node_spec(spec, RequirementsOf::NodeClaim);
    let interner = root.reader().interner();
    let labels: Labels = metadata
        .labels
        .iter()
        .map(|(key, value)| (interner.text(normalized_key(key)), value.clone()))
        .collect();
    NodeClaim {
        name: metadata.name,
        uid: metadata.uid,
        created: metadata.created,
        deleted: metadata.deleted,
        labels,
        annotations: metadata.annotations,
        requirements: node.requirements.into(),
        requests: resources.get("requests").resources(),
        taints: node.taints,
        startup_taints: node.startup_taints,
        node_class_ref: node.node_class_ref,
        termination_grace_period: node.termination_grace_period,
        expire_after: node.expire_after,
        status: read_status(root.get("status")),
    }
}

fn read_status(status: Field<'_>) -> NodeClaimStatus {
    NodeClaimStatus {
        node_name: status.get("nodeName").text().filter(|name| !name.is_empty()),
        provider_id: status.get("providerID").text().filter(|id| !id.is_empty()),
        image_id: status.get("imageID").text().filter(|id| !id.is_empty()),
        capacity: status.get("capacity").resources(),
        allocatable: status.get("allocatable").resources(),
        last_pod_event: status.get("lastPodEventTime").timestamp(),
        network: None,
        conditions: status.get("conditions").items().filter_map(read_condition).collect(),
    }
}

fn read_condition(item: Field<'_>) -> Option<Condition> {
    let kind = ConditionType::parse(item.get("type").required().str()?)?;
    Some(Condition {
        kind,
        status: item.get("status").required().word()?,
        reason: item.get("reason").text().unwrap_or_default(),
        message: item.get("message").text().unwrap_or_default(),
        changed: item.get("lastTransitionTime").timestamp(),
    })
}
