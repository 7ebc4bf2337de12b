//! Candidates: for each managed node, what would disrupt it and what blocks that.

use domain::drift::DriftReason;
use domain::label::{self, Labels};
use domain::node_claim::{ConditionStatus, ConditionType};
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pdb::{Guards, Refused};
use domain::pod::Pod;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::taint::{Taint, tolerated};
use domain::{SignedDuration, Text, Timestamp};

use super::consolidate_after::left_of_consolidate_after;
use super::cost::eviction_cost;
use super::drift;
use super::drift_waves::halted;
use super::static_capacity::is_static;
use super::utilization::above_threshold;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::node::NodeView;
use crate::model::repair::Repair;
use crate::model::successor::must_move;

/// A managed node, and what speaks for and against disrupting it.
pub(super) struct Candidate {
    /// The node.
    pub(super) node: NodeIx,
    /// Why it is disrupted whatever budgets and pods say: expired, unhealthy, or surplus of a
    /// static NodePool.
    pub(super) forced: Option<DisruptionReason>,
    /// What blocks the node itself: annotation, nomination, not initialized.
    pub(super) blocked: Option<NotDisruptable>,
    /// What blocks one of its pods: annotation, PodDisruptionBudget.
    pub(super) pod_block: Option<NotDisruptable>,
    /// It has a termination grace period, so drift may go ahead whatever its pods say.
    pub(super) has_grace_period: bool,
    /// Holds no pod whose eviction would cost anything.
    pub(super) is_empty: bool,
    /// Pods that have to be rescheduled.
    pub(super) reschedulable_pods: usize,
    /// Why it has drifted.
    pub(super) drifted: Option<DriftReason>,
    /// When it drifted, if that is recorded; otherwise now.
    pub(super) drifted_since: Option<Timestamp>,
    /// Whether `consolidateAfter` has passed and its pool consolidates at all.
    waited: Result<(), NotDisruptable>,
    /// Its pool, if that consolidates only empty nodes.
    empty_only: Option<Text>,
    /// What of its pool's utilization threshold keeps it, with its pods, from being consolidated.
    utilized: Option<NotDisruptable>,
    /// It has drifted, and drift of its pool is halted: what would replace it does not come up.
    halted: Option<NotDisruptable>,
    /// Virtual pods of this plan have their room on it.
    pub(super) keeps_virtual_pods: bool,
    /// Whether it is repaired.
    repair: Repair,
}

/// What a plan places on a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Expected {
    /// Pods that are there.
    pub(super) pods: bool,
    /// Room that CapacityBuffers and schedules keep. It holds back nothing but the removal of an
    /// empty node: it can be kept elsewhere.
    pub(super) virtual_pods: bool,
}

impl Candidate {
    /// What speaks for and against disrupting a managed node.
    /// `acts_at` is when its `consolidateAfter` has to be over; `guards` are the cluster's.
    pub(super) fn of<'a>(
        model: &Model<'a>,
        guards: &mut Guards<'a>,
        index: NodeIx,
        (expected, repair): (Expected, Repair),
        acts_at: Timestamp,
    ) -> Self {
        let (node, now) = (&model.nodes[index], model.snapshot.now);
        let pods: Vec<&'a Pod> = node.bound.iter().map(|pod| model.pod(*pod)).collect();
        let to_move: Vec<&Pod> = node
            .bound
            .iter()
            .filter(|pod| must_move(model, **pod))
            .map(|pod| model.pod(*pod))
            .collect();
        let reschedule_cost =
            1.0 + to_move.iter().map(|pod| eviction_cost(pod).max(0.0)).sum::<f64>();
        let forced = if node.is_expired(now) {
            Some(DisruptionReason::Expired)
        } else if node.off.is_some() {
            Some(DisruptionReason::OffHours)
        } else {
            (repair == Repair::Due).then_some(DisruptionReason::Unhealthy)
        };
        let can_drift = !is_static(node) || model.snapshot.settings.feature_gates.static_capacity;
        let drifted = can_drift.then(|| drift::reason(model.snapshot, node)).flatten();
        let drifted_since = node
            .claim
            .and_then(|claim| claim.condition(ConditionType::Drifted))
            .filter(|condition| condition.status == ConditionStatus::True)
            .and_then(|condition| condition.changed)
            // Found only now: after all that are on record.
            .or(drifted.is_some().then_some(now));
        let halted = drifted.as_ref().and_then(|drift| halted(model, node, drift));
        let pool = node.node_pool;
        Self {
            node: index,
            forced,
            blocked: node_block(model, node, expected),
            pod_block: pods.iter().find_map(|pod| pod_block(model, guards, pod)),
            has_grace_period: node.claim.map_or_else(
                || pool.is_some_and(|pool| pool.template.termination_grace_period.is_some()),
                |claim| claim.termination_grace_period.is_some(),
            ),
            is_empty: reschedule_cost <= 1.0,
            reschedulable_pods: to_move.len(),
            drifted,
            drifted_since,
            waited: waited(node, acts_at),
            empty_only: pool
                .filter(|pool| {
                    pool.disruption.consolidation_policy == ConsolidationPolicy::WhenEmpty
                })
                .map(|pool| pool.name.clone()),
            utilized: above_threshold(node, &pods),
            halted,
            keeps_virtual_pods: expected.virtual_pods,
            repair,
        }
    }

    /// Whether nothing blocks a graceful disruption, such as consolidation.
    pub(super) fn is_graceful(&self) -> bool {
        self.forced.is_none() && self.blocked.is_none() && self.pod_block.is_none()
    }

    /// Whether nothing blocks an eventual disruption, such as drift: with a termination grace
    /// period, pods do not.
    pub(super) fn is_eventual(&self) -> bool {
        self.forced.is_none()
            && self.blocked.is_none()
            && (self.pod_block.is_none() || self.has_grace_period)
    }

    /// Whether it holds pods, and nothing but budgets and its price can keep it from being
    /// consolidated.
    pub(super) fn is_consolidatable(&self) -> bool {
        self.is_graceful() && !self.is_empty && self.consolidatable().is_ok()
    }

    /// Whether nothing but budgets, its price, `consolidateAfter` and pods that are about to be
    /// bound to it can keep it from being consolidated with its pods.
    pub(super) fn is_consolidatable_soon(&self) -> bool {
        let waits = matches!(self.waited, Ok(()) | Err(NotDisruptable::ConsolidateAfter { .. }));
        let passes = matches!(self.blocked, None | Some(NotDisruptable::Nominated));
        self.forced.is_none()
            && passes
            && self.pod_block.is_none()
            && !self.is_empty
            && waits
            && self.empty_only.is_none()
            && self.utilized.is_none()
            && self.halted.is_none()
    }

    /// Whether it goes as an empty node now or soon, unless pods come to it.
    pub(super) fn is_empty_for_now(&self) -> bool {
        let waits = matches!(self.waited, Ok(()) | Err(NotDisruptable::ConsolidateAfter { .. }));
        self.is_empty && self.is_graceful() && waits && !self.keeps_virtual_pods
    }

    /// Whether only budgets, its price and its pods' new places can keep it from going for a
    /// voluntary reason.
    pub(super) fn is_eligible_for(&self, reason: DisruptionReason) -> bool {
        match reason {
            DisruptionReason::Drifted => self.is_eventual() && self.drifted.is_some(),
            DisruptionReason::Empty => {
                self.is_empty
                    && self.is_graceful()
                    && self.consolidatable().is_ok()
                    && !self.keeps_virtual_pods
            }
            DisruptionReason::Underutilized => self.is_consolidatable(),
            _ => false,
        }
    }

    /// Whether `consolidateAfter` has passed and its pool consolidates such nodes: one with pods
    /// goes only where the pool consolidates more than empty ones.
    pub(super) fn consolidatable(&self) -> Result<(), NotDisruptable> {
        self.waited.clone()?;
        match &self.empty_only {
            Some(pool) if !self.is_empty => {
                Err(NotDisruptable::Policy(pool.clone(), "it consolidates only empty nodes".into()))
            }
            _ => {
                let held = self.halted.as_ref().or(self.utilized.as_ref());
                held.cloned().filter(|_| !self.is_empty).map_or(Ok(()), Err)
            }
        }
    }

    /// The first thing that blocks it; `before` is the drifted node that goes before it.
    pub(super) fn blocked_by(&self, before: Option<&Text>) -> Option<NotDisruptable> {
        let can_drift = self.is_eventual();
        let keeps_room = self.is_empty && self.keeps_virtual_pods;
        let later = |drift| NotDisruptable::DriftLater { drift, before: before.cloned() };
        let drift = self.drifted.clone().filter(|_| can_drift).map(later);
        let by_policy = || self.consolidatable().err();
        self.repair
            .held()
            .or(drift)
            .or_else(|| self.blocked.clone())
            .or_else(|| self.pod_block.clone())
            .or_else(by_policy)
            .or(keeps_room.then_some(NotDisruptable::Nominated))
    }
}

/// What blocks the node whatever its pods are.
fn node_block(model: &Model, node: &NodeView, expected: Expected) -> Option<NotDisruptable> {
    let forbids = |annotations: &Labels| {
        annotations.get(label::DO_NOT_DISRUPT).is_some_and(|value| &**value == "true")
    };
    if node.node.is_some_and(|node| forbids(&node.annotations))
        || node.claim.is_some_and(|claim| forbids(&claim.annotations))
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
    (expected.pods || is_nominated).then_some(NotDisruptable::Nominated)
}

/// What blocks the eviction of a pod.
pub(super) fn pod_block<'a>(
    model: &Model<'a>,
    guards: &mut Guards<'a>,
    pod: &'a Pod,
) -> Option<NotDisruptable> {
    if !pod.is_active() {
        return None;
    }
    if pod.refuses_disruption(model.snapshot.now) {
        return Some(NotDisruptable::PodDoNotDisrupt(pod.key.clone()));
    }
    if pod.is_static() || tolerated(&pod.spec.tolerations, &Taint::disrupted()) {
        return None;
    }
    let Refused { budget, refusal, .. } = guards.refusal(pod)?;
    Some(NotDisruptable::Pdb { pod: pod.key.clone(), budget, refusal })
}

/// Whether the node's pool lets it be consolidated now.
fn waited(node: &NodeView, now: Timestamp) -> Result<(), NotDisruptable> {
    let Some(pool) = node.node_pool else { return Ok(()) };
    let policy = |why: &str| Err(NotDisruptable::Policy(pool.name.clone(), why.into()));
    if pool.replicas.is_some() {
        return policy("it keeps a fixed number of nodes");
    }
    let NeverOr::After(wait) = pool.disruption.consolidate_after else {
        return policy("consolidateAfter is Never");
    };
    match left_of_consolidate_after(node, wait, now) {
        Some(left) if wait > SignedDuration::ZERO => {
            Err(NotDisruptable::ConsolidateAfter { wait, left })
        }
        _ => Ok(()),
    }
}
