//! Removing one node after the other as long as the pods fit on remaining nodes.

use super::Trials;
use crate::feasibility::state::State;
use crate::ids::{IndexVec, NodeIx};

/// Nodes removed one after the other, without anything new.
pub(crate) struct IncrementalRemoval {
    state: State,
    /// Nodes to which pods of removed ones went.
    has_received: IndexVec<NodeIx, bool>,
}

impl IncrementalRemoval {
    /// Whether pods of removed nodes went to the node.
    pub(crate) fn has_received(&self, node: NodeIx) -> bool {
        self.has_received[node]
    }
}

impl Trials<'_, '_> {
    /// A removal of no node yet.
    pub(crate) fn incremental_removal(&self) -> IncrementalRemoval {
        IncrementalRemoval {
            state: self.state.clone(),
            has_received: IndexVec::filled(false, self.model.nodes.len()),
        }
    }

    /// Removes one more node if its pods fit on remaining nodes. Returns whether they do.
    pub(crate) fn try_remove(&mut self, removal: &mut IncrementalRemoval, node: NodeIx) -> bool {
        let mut state = removal.state.clone();
        self.remove(&mut state, node);
        self.placer.reset(state);
        let mut pods = self.pods_of(&[node]);
        pods.extend(self.virtual_pods_of(&[node]));
        let Some(placed) = self.placer.place_on_existing(&pods) else { return false };
        for (_, host) in &placed {
            removal.has_received[*host] = true;
        }
        std::mem::swap(&mut removal.state, &mut self.placer.state);
        true
    }
}
