//! Marking the nodes that are going to be removed next, so that pods go to those that stay.

use std::collections::BTreeSet;

use domain::Text;
use domain::taint::{CANDIDATE, Taint};

use super::run_state::DisruptionRun;
use crate::ports::cluster::NodePatch;
use crate::ports::error::found;
use crate::ports::{Cluster, NodeRef, Ports};

impl<P: Ports> DisruptionRun<'_, P> {
    /// Puts taint `outrigger.dev/disruption-candidate` on the Nodes of these names, and takes it
    /// from all others. What cannot be written now is left to the next run.
    pub(super) async fn mark_candidates(&mut self, names: &[Text]) {
        let wanted: BTreeSet<&Text> = names.iter().collect();
        for node in &self.observed.listing.objects.nodes {
            let marks = node.taints.iter().filter(|own| &*own.key == CANDIDATE);
            let marks: Vec<_> = marks.map(|own| (own.key.clone(), own.effect)).collect();
            let is_wanted = wanted.contains(&node.name);
            if is_wanted != marks.is_empty() {
                continue;
            }
            let patch = if is_wanted {
                NodePatch {
                    add_taints: vec![Taint::candidate(self.observed.now)],
                    ..NodePatch::default()
                }
            } else {
                NodePatch { remove_taints: marks, ..NodePatch::default() }
            };
            let patched = self.ports.cluster().patch_node(&NodeRef::from(node), &patch).await;
            let operation = || format!("mark Node {} as a candidate or not", node.name);
            self.report.problems.record(operation, found(patched));
        }
    }
}
