//! What a NodePool's template and a NodeClaim have in common: `spec` of a node to be.

use domain::node_pool::{NeverOr, NodeClassRef};
use domain::requirement::Requirement;
use domain::taint::Taint;
use domain::{SignedDuration, Text};

use super::requirement::{RequirementsOf, read_requirements};
use super::taint::read_taints;
use crate::duration;
use crate::field::Field;

/// Fields of `spec.template.spec`; a NodeClaim's `spec` has `resources` too.
pub(crate) const TEMPLATE_FIELDS: [&str; 6] = [
    "taints",
    "startupTaints",
    "requirements",
    "nodeClassRef",
    "terminationGracePeriod",
    "expireAfter",
];

/// The common fields.
pub(crate) struct NodeSpec {
    pub(crate) taints: Vec<Taint>,
    pub(crate) startup_taints: Vec<Taint>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) node_class_ref: NodeClassRef,
    pub(crate) termination_grace_period: Option<SignedDuration>,
    pub(crate) expire_after: NeverOr,
}

/// Reads the common fields.
pub(crate) fn read_node_spec(spec: Field<'_>, of: RequirementsOf) -> NodeSpec {
    let (taints, startup_taints) = read_taints(spec, of);
    NodeSpec {
        taints,
        startup_taints,
        requirements: read_requirements(spec.get("requirements").required(), of),
        node_class_ref: read_node_class_ref(spec.get("nodeClassRef").required()),
        termination_grace_period: spec.get("terminationGracePeriod").parsed(duration::parse),
        expire_after: spec.get("expireAfter").parsed(duration::parse_or_never).unwrap_or_default(),
    }
}

/// A reference that lacks a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ReferenceRule {
    #[error("it may not be empty")]
    Empty,
    #[error("a group has no '/': write karpenter.k8s.aws without the version")]
    GroupWithVersion,
}

fn read_node_class_ref(field: Field<'_>) -> NodeClassRef {
    if !field.exists() {
        return NodeClassRef::default();
    }
    field.only(&["group", "kind", "name"]);
    let part = |key| -> Text {
        let part = field.get(key).required();
        let text = part.text().unwrap_or_default();
        if part.exists() && text.is_empty() {
            part.note_rule(ReferenceRule::Empty);
        }
        text
    };
    let reference = NodeClassRef { group: part("group"), kind: part("kind"), name: part("name") };
    if reference.group.contains('/') {
        field.get("group").note_rule(ReferenceRule::GroupWithVersion);
    }
    reference
}
