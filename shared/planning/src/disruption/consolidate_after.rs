//! `consolidateAfter`: how long a node is left alone after a pod came or went.

use domain::node_claim::ConditionType;
use domain::{SignedDuration, Timestamp};

use crate::model::node::NodeView;

/// Whether a pod came or went, or the node became ready, less than `consolidateAfter` ago.
pub(super) fn is_within_consolidate_after(
    node: &NodeView,
    consolidate_after: SignedDuration,
    now: Timestamp,
) -> bool {
    left_of_consolidate_after(node, consolidate_after, now).is_some()
}

/// What is left of `consolidateAfter` since a pod came or went, or the node became ready; `None`
/// once it has passed.
pub(super) fn left_of_consolidate_after(
    node: &NodeView,
    consolidate_after: SignedDuration,
    now: Timestamp,
) -> Option<SignedDuration> {
    let claim = node.claim?;
    let since = claim
        .status
        .last_pod_event
        .or_else(|| {
            claim.condition(ConditionType::Initialized).and_then(|condition| condition.changed)
        })
        .or(claim.created);
    let left = consolidate_after.saturating_sub(now.duration_since(since?));
    (left > SignedDuration::ZERO).then_some(left)
}
