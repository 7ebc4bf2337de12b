//! Nominations: pods with a place on a node to which the scheduler has not bound them yet.

use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};

/// How long a nomination protects its node from disruption: twice the longest batching window, as
/// in Karpenter.
pub const NOMINATION_TTL: SignedDuration = SignedDuration::from_secs(20);

/// Pods expected on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// The Node's name, or the NodeClaim's before it has a Node.
    pub node: Text,
    /// The pods, sorted.
    pub pods: Vec<PodKey>,
    /// When it expires.
    pub until: Timestamp,
}
