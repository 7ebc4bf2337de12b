//! Static NodePools (`spec.replicas`): surplus nodes are removed, and drifted ones are replaced one
//! for one.

pub(super) mod drift;
pub(super) mod surplus;

use domain::Text;
use domain::label;

use crate::model::node::NodeView;

/// Whether the node belongs to a static NodePool.
pub(super) fn is_static(node: &NodeView) -> bool {
    node.node_pool.is_some_and(|pool| pool.replicas.is_some())
}

/// Whether the node is labelled as a member of the pool.
pub(super) fn is_member(node: &NodeView, pool: &Text) -> bool {
    node.labels.get(label::NODE_POOL) == Some(pool)
}
