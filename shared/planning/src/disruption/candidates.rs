//! Which nodes are candidates for disruption.

use domain::Timestamp;
use domain::pdb::Guards;
use domain::reason::DisruptionReason;

use super::candidate::{Candidate, Expected};
use super::static_capacity::surplus::surplus;
use crate::ids::{IndexVec, NodeIx};
use crate::model::Model;
use crate::model::repair::repairs;
use crate::scheduling::Scheduling;

/// The managed nodes of a model, and claims in flight that are surplus of their static NodePool, in
/// the model's order. Nodes that are being deleted are none. `consolidateAfter` holds those back
/// for which it is not over at `acts_at`.
pub(super) fn candidates(
    model: &Model,
    scheduling: &Scheduling,
    acts_at: Timestamp,
) -> Vec<Candidate> {
    let mut expected = IndexVec::filled(Expected::default(), model.nodes.len());
    for (pod, node) in &scheduling.placed {
        let is_virtual = model.pod(*pod).virtual_of.is_some();
        expected[*node].virtual_pods |= is_virtual;
        expected[*node].pods |= !is_virtual;
    }
    let repairs = repairs(model);
    let mut guards = Guards::of(&model.snapshot.objects.pod_disruption_budgets);
    let mut candidates: Vec<Candidate> = model
        .nodes
        .iter_enumerated()
        .filter(|(_, node)| node.is_managed && !node.is_leaving())
        .map(|(index, _)| {
            let seen = (expected[index], repairs[index]);
            Candidate::of(model, &mut guards, index, seen, acts_at)
        })
        .collect();
    for node in surplus(model, &candidates, &expected) {
        for own in candidates.iter_mut().filter(|own| own.node == node) {
            own.forced = Some(DisruptionReason::ScaledDown);
        }
    }
    let has_joined = |own: &Candidate| model.nodes[own.node].node.is_some();
    candidates.retain(|own| has_joined(own) || own.forced == Some(DisruptionReason::ScaledDown));
    candidates
}

/// Nodes that are disrupted whatever budgets and pods say, and why, in the model's order.
pub(super) fn forced(candidates: &[Candidate]) -> Vec<(NodeIx, DisruptionReason)> {
    candidates.iter().filter_map(|own| Some((own.node, own.forced?))).collect()
}
