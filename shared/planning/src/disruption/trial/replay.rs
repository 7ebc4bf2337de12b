//! Replacements that other trials of the same cluster decided on, done again.

use domain::plan::PlannedNodeClaim;

use super::{Decision, Trials};
use crate::feasibility::state::{PodOnClaim, PodsOn};
use crate::ids::{NodeIx, PodIx, ShapeIx};

/// A node that one new node replaces, and where its pods go.
pub(crate) struct Replaced {
    node: NodeIx,
    /// Pods that go to remaining nodes.
    moved: Vec<(PodIx, NodeIx)>,
    /// Pods that go to the new node.
    on_new: Vec<PodIx>,
    claim: Option<PlannedNodeClaim>,
}

impl Replaced {
    /// What a decision says about the one node that it removes.
    pub(crate) fn of(node: NodeIx, decision: &Decision) -> Self {
        let members = decision.trial.packed.iter().flat_map(|own| &own.members);
        Self {
            node,
            moved: decision.trial.moved.clone(),
            on_new: members.flat_map(|member| member.pods.iter().copied()).collect(),
            claim: decision.replacements.first().cloned(),
        }
    }
}

impl Trials<'_, '_> {
    /// Removes the node and puts its pods where they go. What was launched is not counted against
    /// limits.
    pub(crate) fn replay(&mut self, replaced: &Replaced) {
        let (model, topology) = (self.model, self.topology);
        let mut state = std::mem::take(&mut self.state);
        self.remove(&mut state, replaced.node);
        self.removed[replaced.node] = true;
        for (pod, node) in &replaced.moved {
            if let Some(shape) = model.shapes.of_pod[*pod] {
                state.place(model, topology, PodsOn { shape, node: *node, count: 1 });
            }
        }
        self.state = state;
        for shape in replaced.on_new.iter().filter_map(|pod| model.shapes.of_pod[*pod]) {
            if let Some(claim) = &replaced.claim {
                self.count_on_claim(shape, claim);
            }
        }
    }

    /// Counts a pod of the shape on a claim that is launched besides, where constraints of other
    /// pods look.
    pub(crate) fn count_on_claim(&mut self, shape: ShapeIx, claim: &PlannedNodeClaim) {
        let pod = PodOnClaim { shape, claim };
        self.state.count_on_claim(self.model, self.topology, pod, &[]);
    }
}
