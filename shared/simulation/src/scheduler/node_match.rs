//! Taints, node selectors and node affinity: what a pod requires of a node alone.

use domain::Text;
use domain::label::{self, Labels};
use domain::node::Node;
use domain::pod::NodeSelectorTerm;
use domain::taint::{self, Taint};

use super::view::SchedulingPod;

/// The first taint of a node that keeps the pod off.
pub(super) fn untolerated<'n>(pod: &SchedulingPod, node: &'n Node) -> Option<&'n Taint> {
    taint::first_untolerated(&pod.spec.tolerations, &node.taints)
}

/// Whether a node meets the pod's node selector and required node affinity.
pub(super) fn node_matches(pod: &SchedulingPod, node: &Node) -> bool {
    let selected = pod
        .spec
        .node_selector
        .iter()
        .all(|(key, value)| label_of(&node.labels, key) == Some(value));
    selected
        && pod
            .spec
            .required_node_terms
            .as_ref()
            .is_none_or(|terms| terms.iter().any(|term| term_matches(term, node)))
}

fn label_of<'n>(labels: &'n Labels, key: &str) -> Option<&'n Text> {
    labels.get(label::normalized_key(key))
}

/// Whether a node meets every expression and field of a term.
pub(super) fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let fields = Labels::from([("metadata.name".into(), node.name.clone())]);
    expressions_match(term, &node.labels)
        && term.fields.iter().all(|field| field.holds_for(&fields))
}

/// Whether labels meet every expression of a term.
pub(super) fn expressions_match(term: &NodeSelectorTerm, labels: &Labels) -> bool {
    term.expressions.iter().all(|expression| expression.holds_for(labels))
}
