//! Pods that an earlier plan gave a place on a node: they keep it as long as it is free.
//!
//! A plan that began anew in every tick could find the same pods other places, and launch nodes for those that are left,
//! while what the earlier plan launched for them is on its way.

use domain::Text;
use domain::pod::PodKey;
use rustc_hash::FxHashMap;

use super::{Placements, Placer};
use crate::ids::{Idx, NodeIx, PodIx, ShapeIx};
use crate::model::Model;

/// Where pods are expected, by their indices and that of the node.
#[derive(Default)]
pub(super) struct Expected(FxHashMap<PodIx, NodeIx>);

impl Expected {
    /// What the snapshot's nominations say of nodes and claims that are there.
    pub(super) fn of(model: &Model) -> Self {
        let nominations = &model.snapshot.nominations;
        if nominations.is_empty() {
            return Self::default();
        }
        let nodes: FxHashMap<&Text, NodeIx> =
            model.nodes.iter_enumerated().map(|(index, node)| (node.name, index)).collect();
        let mut node_of: FxHashMap<&PodKey, NodeIx> = FxHashMap::default();
        for (name, pods) in nominations {
            if let Some(node) = nodes.get(name) {
                node_of.extend(pods.iter().map(|pod| (pod, *node)));
            }
        }
        let pods = model.snapshot.objects.pods.iter().enumerate();
        Self(
            pods.filter_map(|(index, pod)| Some((PodIx::new(index), *node_of.get(&pod.key)?)))
                .collect(),
        )
    }
}

impl Placer<'_, '_> {
    /// Puts those of a shape's pods where they are expected that may go there; the others are left. Pods of a higher
    /// priority have their places by then: they take those of others, as kube-scheduler would have it.
    pub(super) fn fill_expected(
        &mut self,
        shape: ShapeIx,
        pods: &mut Vec<PodIx>,
        placements: &mut Placements,
    ) {
        if self.expected.0.is_empty() || self.model.shape(shape).goes_nowhere() {
            return;
        }
        pods.retain(|pod| {
            let Some(node) = self.expected.0.get(pod).copied() else { return true };
            if !self.may_take(shape, node) {
                return true;
            }
            self.state.place(self.model, self.topology, shape, node, 1);
            placements.placed.push((*pod, node));
            false
        });
    }

    fn may_take(&mut self, shape: ShapeIx, node: NodeIx) -> bool {
        if !self.has_room(shape, node) || !self.allowed_nodes(shape).contains(&node) {
            return false;
        }
        let ties = self.ties_of(shape);
        self.keeps_required(&ties, node)
    }
}
