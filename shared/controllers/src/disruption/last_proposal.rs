//! What an invocation remembers of its last proposal, where that came to nothing.
//!
//! While replacements start, runs follow each other every five seconds to see whether they are
//! ready. Most of them would look for disruptions in a cluster in which nothing has changed since
//! nothing was found. What time alone brings, and a NodePool that is edited, is left to the next
//! invocation: a minute later at most.

use std::cell::Cell;
use std::hash::{Hash, Hasher as _};
use std::mem::discriminant;

use domain::Timestamp;
use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::plan::VALIDATION_WAIT;
use rustc_hash::FxHasher;

use crate::record::claim::ClaimRecord;
use crate::steps::pod_events::consolidatable_in;
use crate::steps::snapshot::ClusterState;

/// In what state of the cluster an invocation found nothing to propose. Right when empty: then the
/// next run looks for itself.
#[derive(Debug, Default)]
pub(super) struct LastProposal(Cell<Option<Digest>>);

/// A digest of what proposals depend on, apart from the time: which pods are on which nodes, which
/// of these may be disrupted, and what is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(u64);

/// What a search for disruptions came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Something,
}

impl LastProposal {
    /// Whether nothing was found in the same state of the cluster.
    pub(super) fn found_nothing_in(&self, state: Digest) -> bool {
        self.0.get() == Some(state)
    }

    /// Takes note of what was found.
    pub(super) fn note(&self, state: Digest, found: Found) {
        self.0.set((found == Found::Nothing).then_some(state));
    }
}

impl Digest {
    pub(super) fn of(observed: &ClusterState) -> Self {
        let mut state = FxHasher::default();
        let objects = &observed.listing.objects;
        for pod in &objects.pods {
            (&pod.uid, &pod.node_name, pod.is_active(), pod.is_terminating()).hash(&mut state);
        }
        for node in &objects.nodes {
            let is_open = !node.is_disrupted() && !node.taints.contains(&Node::cordon());
            (&node.name, node.is_not_ready(), is_open, node.deleted).hash(&mut state);
        }
        for budget in &objects.pod_disruption_budgets {
            (&budget.key, budget.disruptions_allowed).hash(&mut state);
        }
        for claim in &observed.claims {
            hash_claim(observed, &claim.record, &mut state);
        }
        for command in &observed.commands {
            (&command.record.id, discriminant(&command.record.phase)).hash(&mut state);
        }
        let holds = |until: Timestamp| until > observed.now;
        for nomination in observed.nominations.iter().filter(|own| holds(own.until)) {
            (&nomination.node, &nomination.pods).hash(&mut state);
        }
        for offering in observed.unavailable.iter().filter(|own| holds(own.until)) {
            offering.until.hash(&mut state);
        }
        Self(state.finish())
    }
}

fn hash_claim(observed: &ClusterState, record: &ClaimRecord, state: &mut FxHasher) {
    let claim = &record.claim;
    let pools = &observed.listing.objects.node_pools;
    let pool = pools.iter().find(|pool| Some(&pool.name) == claim.node_pool());
    let left = consolidatable_in(claim, pool, observed.now);
    let is_consolidatable = left.is_none_or(|left| left <= VALIDATION_WAIT);
    let is_leaving = record.ending.is_some() || claim.deleted.is_some();
    let is_initialized = claim.is(ConditionType::Initialized);
    (&claim.name, is_initialized, is_consolidatable, is_leaving).hash(state);
}
