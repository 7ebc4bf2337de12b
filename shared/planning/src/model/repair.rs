//! Node auto repair: which unhealthy nodes are replaced.

use domain::label;
use domain::node_claim::ConditionStatus;
use domain::reason::NotDisruptable;
use domain::{SignedDuration, Text, Timestamp};
use rustc_hash::FxHashMap;

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
/// more than a fifth of their pool is unhealthy, for however long; of the cluster, for nodes of no
/// pool. An outage that spreads is not repaired node by node.
///
/// Source: Karpenter's controller `node.health`.
pub(crate) fn repairs(model: &Model) -> IndexVec<NodeIx, Repair> {
    let mut repairs = IndexVec::filled(Repair::NotNeeded, model.nodes.len());
    if !model.snapshot.settings.feature_gates.node_repair {
        return repairs;
    }
    let now = model.snapshot.now;
    let mut peers: FxHashMap<Option<&Text>, Peers> = FxHashMap::default();
    for node in model.nodes.iter().filter(|node| node.node.is_some()) {
        let is_unhealthy = unhealthy_since(node).next().is_some();
        let pool = node.labels.get(label::NODE_POOL);
        for group in pool.map(Some).into_iter().chain([None]) {
            let own = peers.entry(group).or_default();
            own.total += 1;
            own.unhealthy += u32::from(is_unhealthy);
        }
    }
    for (index, node) in model.nodes.iter_enumerated().filter(|(_, node)| node.is_managed) {
        let is_over = |(tolerated, since): (SignedDuration, Option<Timestamp>)| {
            since.is_some_and(|since| now.duration_since(since) >= tolerated)
        };
        if !unhealthy_since(node).any(is_over) {
            continue;
        }
        let own = peers.get(&node.labels.get(label::NODE_POOL)).copied().unwrap_or_default();
        let Peers { unhealthy, total } = own;
        let is_held = unhealthy > (total * UNHEALTHY_PERCENT_MAX).div_ceil(100);
        repairs[index] = if is_held { Repair::Held { unhealthy, total } } else { Repair::Due };
    }
    repairs
}

/// The nodes of a pool, or of the cluster.
#[derive(Clone, Copy, Default)]
struct Peers {
    unhealthy: u32,
    total: u32,
}

/// For each condition by which a node is unhealthy, how long that is tolerated, and since when it
/// is so.
///
/// Source: the repair policies of Karpenter's AWS provider.
fn unhealthy_since<'n>(
    node: &'n NodeView,
) -> impl Iterator<Item = (SignedDuration, Option<Timestamp>)> + 'n {
    /// Conditions, with the minutes for which each is tolerated.
    const POLICIES: [(&str, i64); 6] = [
        ("Ready", 30),
        ("AcceleratedHardwareReady", 10),
        ("StorageReady", 30),
        ("NetworkingReady", 30),
        ("KernelReady", 30),
        ("ContainerRuntimeReady", 30),
    ];
    POLICIES.into_iter().filter_map(|(kind, minutes)| {
        let condition = node.node?.condition(kind)?;
        let is_bad = condition.status == ConditionStatus::False
            || (kind == "Ready" && condition.status == ConditionStatus::Unknown);
        is_bad.then_some((SignedDuration::from_mins(minutes), condition.changed))
    })
}
