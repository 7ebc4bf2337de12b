//! What disrupting a node costs its pods.

use domain::node_claim::NodeClaim;
use domain::node_pool::NeverOr;
use domain::pod::Pod;
use domain::{SignedDuration, Timestamp};

/// What evicting a pod costs: 1, more with a deletion cost or a priority, between -10 and 10.
///
/// Source: Karpenter `pkg/utils/disruption`.
pub(super) fn eviction_cost(pod: &Pod) -> f64 {
    let deletion = f64::from(pod.deletion_cost.unwrap_or(0)) / f64::from(1_u32 << 27);
    let priority = f64::from(pod.spec.priority) / f64::from(1_u32 << 25);
    (1.0 + deletion + priority).clamp(-10.0, 10.0)
}

/// The fraction of its lifetime that a node has left, between 0 and 1; 1 where it never expires.
pub(super) fn lifetime_remaining(claim: Option<&NodeClaim>, now: Timestamp) -> f64 {
    let Some(claim) = claim else { return 1.0 };
    match (claim.expire_after, claim.created) {
        (NeverOr::After(lifetime), Some(created)) if lifetime > SignedDuration::ZERO => {
            let left = lifetime.as_secs_f64() - now.duration_since(created).as_secs_f64();
            (left / lifetime.as_secs_f64()).clamp(0.0, 1.0)
        }
        _ => 1.0,
    }
}
