//! Pods that were given a place on a node which the scheduler has not bound them to yet.

use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};

/// How long a nomination keeps its node from being disrupted: twice the longest batching window.
///
/// Source: Karpenter (reference B13.2).
pub const NOMINATION_TTL: SignedDuration = SignedDuration::from_secs(20);

/// Pods expected on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// The Node's name; the NodeClaim's for one without a Node.
    pub node: Text,
    /// The pods, sorted.
    pub pods: Vec<PodKey>,
    /// When it no longer counts.
    pub until: Timestamp,
}
