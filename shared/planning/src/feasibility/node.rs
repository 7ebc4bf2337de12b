//! Whether a node that is there meets requirements.

use crate::model::Model;
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;

/// Whether a node's labels and name meet the requirements.
pub(crate) fn node_meets(model: &Model, node: &NodeView, conjunction: ConjunctionId) -> bool {
    let sets = model.sets.borrow();
    sets.rules(conjunction).iter().all(|rule| {
        let value = if &*rule.key == NODE_NAME_FIELD {
            node.node.map(|node| &node.name)
        } else {
            node.labels.get(&rule.key)
        };
        match value {
            Some(value) => sets.get(rule.set).contains(value),
            None => rule.may_be_absent,
        }
    })
}
