//! Candidates: for each managed node, what would disrupt it and what keeps it.

use domain::label::{self, Labels};
use domain::node_claim::{ConditionStatus, ConditionType, NodeClaim};
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pod::Pod;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::taint::{Taint, tolerated};
use domain::{SignedDuration, Timestamp};

use super::evaluation::count;
use super::{drift, fixed};
use crate::ids::{IndexVec, NodeIx};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::scheduling::Scheduling;

/// A managed node, and what speaks for and against disrupting it.
pub(super) struct Candidate {
    /// Index of the node.
    pub(super) node: NodeIx,
    /// Expired, unhealthy, or one too many of a pool of a fixed size.
    pub(super) forced: Option<DisruptionReason>,
    /// What keeps the node itself: annotation, nomination, not initialized.
    pub(super) blocked: Option<NotDisruptable>,
    /// What one of its pods keeps it by: annotation, PodDisruptionBudget.
    pub(super) pod_block: Option<NotDisruptable>,
    /// Its claim ends for sure, so drift may go ahead whatever its pods say.
    pub(super) has_grace_period: bool,
    /// Holds no pod whose move would cost anything.
    pub(super) is_empty: bool,
    /// Pods that need another place.
    pub(super) pods_to_move: usize,
    /// Why it has drifted.
    pub(super) drifted: Option<domain::drift::DriftReason>,
    /// Since when, if that is recorded.
    pub(super) drifted_since: Option<Timestamp>,
    /// Whether `consolidateAfter` has passed and its pool consolidates at all.
    pub(super) consolidatable: Result<(), NotDisruptable>,
    /// Its pool consolidates nodes with pods.
    pub(super) consolidates_underutilized: bool,
    /// Whether it is to be repaired.
    repair: Repair,
}

/// Whether a node reports trouble that has been waited out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// It does not.
    NotNeeded,
    /// It does, and is repaired.
    Due,
    /// It does, and so do too many others.
    Held { unhealthy: u32, total: u32 },
}

impl Repair {
    fn held(self) -> Option<NotDisruptable> {
        match self {
            Self::NotNeeded | Self::Due => None,
            Self::Held { unhealthy, total } => {
                Some(NotDisruptable::TooManyUnhealthy { unhealthy, total })
            }
        }
    }
}

impl Candidate {
    /// Nothing keeps it from being consolidated.
    pub(super) fn is_graceful(&self) -> bool {
        self.forced.is_none() && self.blocked.is_none() && self.pod_block.is_none()
    }

    /// The first thing that keeps it.
    pub(super) fn kept_by(&self) -> Option<NotDisruptable> {
        let held_repair = self.repair.held();
        let is_free = self.is_eventual();
        let drift = self.drifted.clone().filter(|_| is_free).map(NotDisruptable::DriftLater);
        let of_pool = || self.consolidatable.as_ref().err().cloned();
        held_repair
            .or(drift)
            .or_else(|| self.blocked.clone())
            .or_else(|| self.pod_block.clone())
            .or_else(of_pool)
    }

    /// It holds pods, and nothing but budgets and its price keeps it from being consolidated.
    pub(super) fn is_consolidatable(&self) -> bool {
        self.is_graceful()
            && !self.is_empty
            && self.consolidatable.is_ok()
            && self.consolidates_underutilized
    }

    /// Nothing keeps it from being replaced because it drifted.
    pub(super) fn is_eventual(&self) -> bool {
        self.forced.is_none()
            && self.blocked.is_none()
            && (self.pod_block.is_none() || self.has_grace_period)
    }
}

/// The managed nodes of a model, and claims in flight that their pool has too many, in the model's order.
pub(super) fn candidates(model: &Model, scheduling: &Scheduling) -> Vec<Candidate> {
    let mut expects_pods = IndexVec::filled(false, model.nodes.len());
    for (_, node) in &scheduling.placed {
        expects_pods[*node] = true;
    }
    let repair = repairs(model);
    let mut candidates: Vec<Candidate> = model
        .nodes
        .iter_enumerated()
        .filter(|(_, node)| node.is_managed && !node.is_leaving())
        .map(|(index, node)| candidate(model, index, node, expects_pods[index], repair[index]))
        .collect();
    for node in fixed::surplus(model, &candidates, &expects_pods) {
        for own in candidates.iter_mut().filter(|own| own.node == node) {
            own.forced = Some(DisruptionReason::ScaledDown);
        }
    }
    let has_joined = |own: &Candidate| model.nodes[own.node].node.is_some();
    candidates.retain(|own| has_joined(own) || own.forced == Some(DisruptionReason::ScaledDown));
    candidates
}

fn candidate(
    model: &Model,
    index: NodeIx,
    node: &NodeView,
    expects_pods: bool,
    repair: Repair,
) -> Candidate {
    let now = model.snapshot.now;
    let pods: Vec<&Pod> = node.bound.iter().map(|pod| model.pod(*pod)).collect();
    let to_move: Vec<&Pod> = pods.iter().copied().filter(|pod| pod.is_reschedulable()).collect();
    let reschedule_cost = 1.0 + to_move.iter().map(|pod| eviction_cost(pod).max(0.0)).sum::<f64>();
    // A claim in flight is given up by its time-outs, not replaced.
    let is_expired = node.node.is_some() && node.claim.is_some_and(|claim| is_expired(claim, now));
    let forced = if is_expired {
        Some(DisruptionReason::Expired)
    } else {
        (repair == Repair::Due).then_some(DisruptionReason::Unhealthy)
    };
    let is_kept_up =
        !fixed::is_of_fixed_pool(node) || model.snapshot.settings.feature_gates.static_capacity;
    let drifted = is_kept_up.then(|| drift::reason(model.snapshot, node)).flatten();
    let drifted_since = node
        .claim
        .and_then(|claim| claim.condition(ConditionType::Drifted))
        .filter(|condition| condition.status == ConditionStatus::True)
        .and_then(|condition| condition.changed)
        // Found only now: after all that are on record.
        .or(drifted.is_some().then_some(now));
    Candidate {
        node: index,
        forced,
        blocked: node_block(model, node, expects_pods),
        pod_block: pods.iter().find_map(|pod| pod_block(model, pod)),
        has_grace_period: node.claim.map_or_else(
            || node.node_pool.is_some_and(|pool| pool.template.termination_grace_period.is_some()),
            |claim| claim.termination_grace_period.is_some(),
        ),
        is_empty: reschedule_cost <= 1.0,
        pods_to_move: to_move.len(),
        drifted,
        drifted_since,
        consolidatable: consolidatable(node, now),
        consolidates_underutilized: node.node_pool.is_some_and(|pool| {
            pool.disruption.consolidation_policy != ConsolidationPolicy::WhenEmpty
        }),
        repair,
    }
}

/// What evicting a pod costs: 1, more with a deletion cost or a priority, between -10 and 10.
///
/// Source: Karpenter `pkg/utils/disruption`.
pub(super) fn eviction_cost(pod: &Pod) -> f64 {
    let deletion = f64::from(pod.deletion_cost.unwrap_or(0)) / f64::from(1_u32 << 27);
    let priority = f64::from(pod.spec.priority) / f64::from(1_u32 << 25);
    (1.0 + deletion + priority).clamp(-10.0, 10.0)
}

fn is_expired(claim: &NodeClaim, now: Timestamp) -> bool {
    match (claim.expire_after, claim.created) {
        (NeverOr::After(lifetime), Some(created)) => now.duration_since(created) >= lifetime,
        _ => false,
    }
}

/// The share of its life that a node has left, 1 where it never expires.
pub(super) fn lifetime_left(claim: Option<&NodeClaim>, now: Timestamp) -> f64 {
    let Some(claim) = claim else { return 1.0 };
    match (claim.expire_after, claim.created) {
        (NeverOr::After(lifetime), Some(created)) if lifetime > SignedDuration::ZERO => {
            let left = lifetime.as_secs_f64() - now.duration_since(created).as_secs_f64();
            (left / lifetime.as_secs_f64()).clamp(0.0, 1.0)
        }
        _ => 1.0,
    }
}

fn node_block(model: &Model, node: &NodeView, expects_pods: bool) -> Option<NotDisruptable> {
    let says_no = |annotations: &Labels| {
        annotations.get(label::DO_NOT_DISRUPT).is_some_and(|value| &**value == "true")
    };
    if node.node.is_some_and(|node| says_no(&node.annotations))
        || node.claim.is_some_and(|claim| says_no(&claim.annotations))
    {
        return Some(NotDisruptable::DoNotDisrupt);
    }
    if !node.is_initialized {
        return Some(NotDisruptable::NotInitialized);
    }
    if node.node_pool.is_none() {
        let name = node.labels.get(label::NODE_POOL).cloned().unwrap_or_else(|| "(none)".into());
        return Some(NotDisruptable::NoNodePool(name));
    }
    let is_nominated = model.snapshot.nominations.contains_key(node.name);
    (expects_pods || is_nominated).then_some(NotDisruptable::Nominated)
}

fn pod_block(model: &Model, pod: &Pod) -> Option<NotDisruptable> {
    if !pod.is_active() {
        return None;
    }
    if pod.refuses_disruption(model.snapshot.now) {
        return Some(NotDisruptable::PodDoNotDisrupt(pod.key.clone()));
    }
    if pod.is_static() || tolerated(&pod.spec.tolerations, &Taint::disrupted()) {
        return None;
    }
    let guards: Vec<_> =
        model.snapshot.pod_disruption_budgets.iter().filter(|budget| budget.guards(pod)).collect();
    let held = guards.iter().find(|budget| {
        budget.allows_none() && !(pod.ready == Some(false) && budget.lets_unready_go())
    });
    let budget = match held {
        Some(budget) => budget.key.to_string(),
        // The Eviction API refuses a pod that more than one budget guards.
        None if guards.len() > 1 => {
            let mut names: Vec<String> =
                guards.iter().map(|budget| budget.key.to_string()).collect();
            names.sort();
            names.join(" and ")
        }
        None => return None,
    };
    Some(NotDisruptable::Pdb { pod: pod.key.clone(), budget: budget.into() })
}

fn consolidatable(node: &NodeView, now: Timestamp) -> Result<(), NotDisruptable> {
    let Some(pool) = node.node_pool else { return Ok(()) };
    let policy = |why: &str| Err(NotDisruptable::Policy(pool.name.clone(), why.into()));
    if pool.replicas.is_some() {
        return policy("it keeps a fixed number of nodes");
    }
    let NeverOr::After(wait) = pool.disruption.consolidate_after else {
        return policy("consolidateAfter is Never");
    };
    if wait > SignedDuration::ZERO && is_within_window(node, wait, now) {
        let shown = format!("{}s", wait.as_secs());
        return Err(NotDisruptable::ConsolidateAfter(shown.into()));
    }
    Ok(())
}

/// Whether a pod came or went, or the node became ready, less than `consolidateAfter` ago.
pub(super) fn is_within_window(node: &NodeView, wait: SignedDuration, now: Timestamp) -> bool {
    let Some(claim) = node.claim else { return false };
    let since = claim
        .status
        .last_pod_event
        .or_else(|| {
            claim.condition(ConditionType::Initialized).and_then(|condition| condition.changed)
        })
        .or(claim.created);
    since.is_some_and(|since| now.duration_since(since) < wait)
}

/// Nodes that report trouble for longer than their kind of trouble is waited out, unless more than a
/// fifth of their pool does; of the cluster, for nodes of no pool.
fn repairs(model: &Model) -> IndexVec<NodeIx, Repair> {
    let mut repairs = IndexVec::filled(Repair::NotNeeded, model.nodes.len());
    if !model.snapshot.settings.feature_gates.node_repair {
        return repairs;
    }
    let now = model.snapshot.now;
    let sick: IndexVec<NodeIx, bool> =
        model.nodes.iter().map(|node| node.is_managed && is_sick(node, now)).collect();
    for (index, node) in model.nodes.iter_enumerated().filter(|(index, _)| sick[*index]) {
        let pool = node.labels.get(label::NODE_POOL);
        let is_peer = |other: &NodeView| {
            other.node.is_some()
                && pool.is_none_or(|pool| other.labels.get(label::NODE_POOL) == Some(pool))
        };
        let peers = || model.nodes.iter().zip(&sick).filter(|(other, _)| is_peer(other));
        let total = count(peers().count());
        let unhealthy = count(peers().filter(|(_, is_sick)| **is_sick).count());
        let is_held = unhealthy > (total * 20).div_ceil(100);
        repairs[index] = if is_held { Repair::Held { unhealthy, total } } else { Repair::Due };
    }
    repairs
}

/// Source: the AWS provider's repair policies.
fn is_sick(node: &NodeView, now: Timestamp) -> bool {
    const POLICIES: [(&str, i64); 6] = [
        ("Ready", 30),
        ("AcceleratedHardwareReady", 10),
        ("StorageReady", 30),
        ("NetworkingReady", 30),
        ("KernelReady", 30),
        ("ContainerRuntimeReady", 30),
    ];
    let Some(node) = node.node else { return false };
    POLICIES.iter().any(|(kind, minutes)| {
        node.condition(kind).is_some_and(|condition| {
            let is_bad = condition.status == ConditionStatus::False
                || (*kind == "Ready" && condition.status == ConditionStatus::Unknown);
            is_bad
                && condition.changed.is_some_and(|changed| {
                    now.duration_since(changed) >= SignedDuration::from_mins(*minutes)
                })
        })
    })
}
