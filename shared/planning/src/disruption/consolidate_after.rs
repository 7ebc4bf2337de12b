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
    let Some(claim) = node.claim else { return false };
    let since = claim
        .status
        .last_pod_event
        .or_else(|| {
            claim.condition(ConditionType::Initialized).and_then(|condition| condition.changed)
        })
        .or(claim.created);
    since.is_some_and(|since| now.duration_since(since) < consolidate_after)
}
