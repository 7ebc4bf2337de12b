//! Nominated pods: an earlier plan gave them a place on a node, which they keep as long as it is
//! free.
//!
//! Planned from scratch each time, the same pods could find other places, and nodes be launched for
//! those that are left, while what the earlier plan launched for them is on its way.

use super::placer::{Placements, Placer};
use crate::feasibility::state::PodsOn;
use crate::ids::{NodeIx, PodIx, ShapeIx};

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
        if self.nominations().is_empty() || self.model.shape(shape).is_never_schedulable() {
            return;
        }
        pods.retain(|pod| match self.place_where_expected(*pod, shape) {
            Some(node) => {
                placements.placed.push((*pod, node));
                false
            }
            None => true,
        });
    }

    /// Puts a pod where it is expected, if it may go there; returns the node.
    pub(crate) fn place_where_expected(&mut self, pod: PodIx, shape: ShapeIx) -> Option<NodeIx> {
        let node = self.nominations().node_of(pod)?;
        self.check_node(shape, node).ok()?;
        self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
        Some(node)
    }
}
