//! The order in which rescheduled pods try the nodes of the cluster.

use super::candidate::Candidate;
use super::score::Scores;
use super::trial::Trials;
use crate::ids::{IndexVec, NodeIx};

/// How likely a node is to be removed next.
#[derive(Clone, Copy)]
struct Likelihood {
    is_empty: bool,
    /// Waste per disruption; the lowest where nothing is about to remove it.
    rank: f64,
}

/// Makes pods try nodes that nothing is about to remove first, then those with the least waste per
/// disruption, and empty ones last. Pods on a node that is removed soon would move twice.
pub(super) fn prefer_remaining_nodes(
    trials: &mut Trials,
    candidates: &[Candidate],
    scores: &Scores,
) {
    let unlikely = Likelihood { is_empty: false, rank: f64::NEG_INFINITY };
    let mut likelihood: IndexVec<NodeIx, Likelihood> =
        IndexVec::filled(unlikely, trials.model.nodes.len());
    for candidate in candidates.iter().filter(|candidate| candidate.is_graceful()) {
        let node = candidate.node;
        let may_be_next = candidate.consolidatable().is_ok();
        if may_be_next {
            let rank = scores.rank(&[node], trials.waste(node));
            likelihood[node] = Likelihood { is_empty: candidate.is_empty, rank };
        }
    }
    let mut order: Vec<NodeIx> = likelihood.indices().collect();
    // The sort is stable: among equals, the model's order.
    order.sort_by(|a, b| {
        let (a, b) = (likelihood[*a], likelihood[*b]);
        a.is_empty.cmp(&b.is_empty).then_with(|| a.rank.total_cmp(&b.rank))
    });
    trials.prefer(order);
}
