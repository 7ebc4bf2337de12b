//! Removing taints that no command accounts for, because the command that set them is gone.
//! Karpenter does the same at the start of each disruption loop.

use std::collections::BTreeSet;

use domain::Text;
use domain::node::Node;
use domain::taint::DISRUPTED;

use super::run_state::DisruptionRun;
use crate::ports::cluster::NodePatch;
use crate::ports::error::found;
use crate::ports::{Cluster, NodeRef, Ports};

impl<P: Ports> DisruptionRun<'_, P> {
    /// Unmarks nodes that neither a command in flight nor an ending claim accounts for.
    pub(super) async fn clean_up(&mut self) {
        let observed = self.observed;
        let accounted: BTreeSet<&Text> =
            observed.commands_under_way().flat_map(|command| &command.candidates).collect();
        for claim in &observed.claims {
            let name = &claim.record.claim.name;
            let Some(node) = observed.node_of(&claim.record) else { continue };
            let is_abandoned = node.is_disrupted()
                && node.deleted.is_none()
                && claim.record.ending.is_none()
                && !accounted.contains(name);
            if is_abandoned && self.unmark(name).await {
                self.report.untainted.push(node.name.clone());
            }
        }
    }

    /// Removes taint `karpenter.sh/disrupted` from a Node. Returns whether it is gone.
    pub(super) async fn untaint(&mut self, node: &Node) -> bool {
        let taints: Vec<_> = node
            .taints
            .iter()
            .filter(|taint| &*taint.key == DISRUPTED)
            .map(|taint| (taint.key.clone(), taint.effect))
            .collect();
        // A taint that this very run added is not in the list yet.
        let remove_taints = if taints.is_empty() {
            vec![(DISRUPTED.into(), domain::taint::TaintEffect::NoSchedule)]
        } else {
            taints
        };
        let patch = NodePatch { remove_taints, ..NodePatch::default() };
        let patched = self.ports.cluster().patch_node(&NodeRef::from(node), &patch).await;
        let operation = || format!("untaint Node {}", node.name);
        self.report.problems.record(operation, found(patched)).is_some()
    }
}
