//! Where an earlier plan placed pods, by the snapshot's nominations.

use domain::Text;
use domain::pod::PodKey;
use rustc_hash::FxHashMap;

use crate::ids::{Idx, NodeIx, PodIx};
use crate::model::Model;

/// Where pods are expected, by their indices and that of the node.
#[derive(Default)]
pub(super) struct Nominations(FxHashMap<PodIx, NodeIx>);

impl Nominations {
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

impl Nominations {
    /// Whether no pod is nominated.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The node that a pod is nominated for.
    pub(super) fn node_of(&self, pod: PodIx) -> Option<NodeIx> {
        self.0.get(&pod).copied()
    }
}
