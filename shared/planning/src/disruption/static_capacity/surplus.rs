//! Nodes that static NodePools have beyond `spec.replicas`.
//!
//! Surplus nodes are removed whatever budgets and do-not-disrupt say, since a user asked for it;
//! evictions respect PodDisruptionBudgets all the same.
//!
//! Source: Karpenter `pkg/controllers/static/deprovisioning`.

use domain::pod::Pod;
use domain::reason::NotDisruptable;

use super::is_member;
use crate::disruption::candidate::{Candidate, Expected};
use crate::disruption::cost::{eviction_cost, lifetime_remaining};
use crate::ids::{IndexVec, NodeIx};
use crate::model::Model;

/// Nodes and claims in flight that static NodePools have too many: of each pool, as many as it has
/// beyond `replicas`, those that are disrupted already taken off. Nodes that pods are expected on
/// are left until the pods have arrived.
///
/// First those that are disrupted in any case, then those that were never launched, then empty
/// ones, then those without do-not-disrupt; of equal ones, those that are cheapest to disrupt.
pub(crate) fn surplus(
    model: &Model,
    candidates: &[Candidate],
    expected: &IndexVec<NodeIx, Expected>,
) -> Vec<NodeIx> {
    if !model.snapshot.settings.feature_gates.static_capacity {
        return Vec::new();
    }
    let mut surplus = Vec::new();
    for pool in model.snapshot.objects.node_pools.iter().filter(|pool| !pool.is_deleting) {
        let Some(replicas) = pool.replicas else { continue };
        let mut members: Vec<&Candidate> =
            candidates.iter().filter(|own| is_member(&model.nodes[own.node], &pool.name)).collect();
        let count = members.len().saturating_sub(usize::try_from(replicas).unwrap_or(usize::MAX));
        if count == 0 {
            continue;
        }
        let rank = |own: &&Candidate| Rank::of(model, own);
        let by_rank = |a: &&Candidate, b: &&Candidate| {
            let (rank_a, rank_b) = (rank(a), rank(b));
            (rank_a.class.cmp(&rank_b.class)).then(rank_a.cost.total_cmp(&rank_b.cost))
        };
        // The sort is stable: of equal ones, the model's order.
        members.sort_by(by_rank);
        let forced = members.iter().filter(|own| own.forced.is_some()).count().min(count);
        let is_awaited = |node: NodeIx| expected[node].pods || expected[node].virtual_pods;
        let chosen = members.iter().filter(|own| own.forced.is_none() && !is_awaited(own.node));
        surplus.extend(chosen.take(count - forced).map(|own| own.node));
    }
    surplus
}

/// What it means to lose a node, least first.
struct Rank {
    class: Class,
    /// Sum of eviction costs × remaining lifetime fraction.
    cost: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    NeverLaunched,
    Empty,
    InUse,
    Protected,
}

impl Rank {
    fn of(model: &Model, candidate: &Candidate) -> Self {
        let view = &model.nodes[candidate.node];
        let pods = || view.bound.iter().map(|pod| model.pod(*pod));
        let now = model.snapshot.now;
        let is_protected = pods().any(|pod| pod.is_active() && pod.refuses_disruption(now))
            || candidate.blocked == Some(NotDisruptable::DoNotDisrupt);
        let was_launched = view.claim.is_none_or(|claim| claim.status.provider_id.is_some());
        let class = if !was_launched {
            Class::NeverLaunched
        } else if is_protected {
            Class::Protected
        } else if pods().all(Pod::is_daemon) {
            Class::Empty
        } else {
            Class::InUse
        };
        let evictions: f64 = pods().map(eviction_cost).sum();
        Self { class, cost: evictions * lifetime_remaining(view.claim, now) }
    }
}
