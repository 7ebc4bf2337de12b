//! Node auto repair: which unhealthy nodes are replaced.

use domain::label;
use domain::node_claim::ConditionStatus;
use domain::reason::NotDisruptable;
use domain::{SignedDuration, Timestamp};

use super::Model;
use super::node::NodeView;
use crate::ids::{IndexVec, NodeIx};

/// No node is repaired while more than this percentage of its peers is unhealthy.
const UNHEALTHY_PERCENT_MAX: u32 = 20;

/// Whether a node is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// It is healthy, or has not been unhealthy for long enough.
    NotNeeded,
    /// It is unhealthy and replaced.
    Due,
    /// It is unhealthy, and so are too many others.
    Held {
        /// Unhealthy nodes of its pool.
        unhealthy: u32,
        /// All nodes of its pool.
        total: u32,
    },
}

impl Repair {
    /// Why an unhealthy node is not repaired.
    pub(crate) fn held(self) -> Option<NotDisruptable> {
        match self {
            Self::NotNeeded | Self::Due => None,
            Self::Held { unhealthy, total } => {
                Some(NotDisruptable::TooManyUnhealthy { unhealthy, total })
            }
        }
    }
}

/// Nodes that have been unhealthy for longer than their condition is tolerated are repaired, unless
/// more than a fifth of their pool is unhealthy; of the cluster, for nodes of no pool.
pub(crate) fn repairs(model: &Model) -> IndexVec<NodeIx, Repair> {
    let mut repairs = IndexVec::filled(Repair::NotNeeded, model.nodes.len());
    if !model.snapshot.settings.feature_gates.node_repair {
        return repairs;
    }
    let now = model.snapshot.now;
    let unhealthy: IndexVec<NodeIx, bool> =
        model.nodes.iter().map(|node| node.is_managed && is_unhealthy(node, now)).collect();
    for (index, node) in model.nodes.iter_enumerated().filter(|(index, _)| unhealthy[*index]) {
        let pool = node.labels.get(label::NODE_POOL);
        let is_peer = |other: &NodeView| {
            other.node.is_some()
                && pool.is_none_or(|pool| other.labels.get(label::NODE_POOL) == Some(pool))
        };
        let peers = || model.nodes.iter().zip(&unhealthy).filter(|(other, _)| is_peer(other));
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let total = count(peers().count());
        let unhealthy = count(peers().filter(|(_, is_unhealthy)| **is_unhealthy).count());
        let is_held = unhealthy > (total * UNHEALTHY_PERCENT_MAX).div_ceil(100);
        repairs[index] = if is_held { Repair::Held { unhealthy, total } } else { Repair::Due };
    }
    repairs
}

/// Source: the repair policies of Karpenter's AWS provider.
fn is_unhealthy(node: &NodeView, now: Timestamp) -> bool {
    /// Conditions, with the minutes for which each is tolerated.
    const POLICIES: [(&str, i64); 6] = [
        ("Ready", 30),
        ("AcceleratedHardwareReady", 10),
        ("StorageReady", 30),
        ("NetworkingReady", 30),
        ("KernelReady", 30),
        ("ContainerRuntimeReady", 30),
    ];
    let Some(node) = node.node else { return false };
    POLICIES.iter().any(|(kind, minutes)| {
        node.condition(kind).is_some_and(|condition| {
            let is_bad = condition.status == ConditionStatus::False
                || (*kind == "Ready" && condition.status == ConditionStatus::Unknown);
            is_bad
                && condition.changed.is_some_and(|changed| {
                    now.duration_since(changed) >= SignedDuration::from_mins(*minutes)
                })
        })
    })
}
