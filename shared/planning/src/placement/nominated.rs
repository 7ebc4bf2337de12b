//! Nominated pods: an earlier plan gave them a place on a node, which they keep as long as it is
//! free.
//!
//! Planned from scratch each time, the same pods could find other places, and nodes be launched for
//! those that are left, while what the earlier plan launched for them is on its way.

use super::placer::{Placements, Placer};
use crate::feasibility::state::PodsOn;
use crate::ids::{PodIx, ShapeIx};

impl Placer<'_, '_> {
    /// Puts those of a shape's pods where they are expected that may go there; the others are left.
    /// Pods of a higher priority have their places by then: they take those of others, as
    /// kube-scheduler would have it.
    pub(super) fn fill_expected(
        &mut self,
        shape: ShapeIx,
        pods: &mut Vec<PodIx>,
        placements: &mut Placements,
    ) {
        if self.nominations.is_empty() || self.model.shape(shape).is_never_schedulable() {
            return;
        }
        pods.retain(|pod| {
            let Some(node) = self.nominations.node_of(*pod) else { return true };
            if self.check_node(shape, node).is_err() {
                return true;
            }
            self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
            placements.placed.push((*pod, node));
            false
        });
    }
}
