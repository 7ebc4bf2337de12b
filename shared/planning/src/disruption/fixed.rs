//! Pools of a fixed size (`spec.replicas`): nodes that they have too many go, and drifted ones are replaced one for
//! one.
//!
//! What a pool has too many goes whatever budgets and do-not-disrupt say, since a user asked for it; evictions
//! respect PodDisruptionBudgets all the same. Upstream replaces a drifted node without asking where its pods go.
//! Here they have a place first, as with any drift: on nodes that stay, or on the replacement.
//!
//! Source: Karpenter `pkg/controllers/static/deprovisioning` and `pkg/controllers/disruption/staticdrift.go`;
//! reference B15.2 and C13.5.

use std::collections::BTreeSet;

use domain::Text;
use domain::drift::DriftReason;
use domain::label;
use domain::node_pool::NodePool;
use domain::plan::PlannedNodeClaim;
use domain::pod::Pod;
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable};
use domain::snapshot::ClusterSnapshot;

use super::candidate::{Candidate, eviction_cost, lifetime_left};
use super::replacement::one_node;
use super::trial::{Trial, Trials};
use super::{Disruptor, Drifted};
use crate::ids::{Idx, IndexVec, NodeIx, PodIx};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::scheduling::static_capacity::empty_node;
use crate::scheduling::{Scheduling, SchedulingPurpose};

/// Nodes and claims in flight that pools of a fixed size have too many: of each pool, as many as it has beyond
/// `replicas`, those under way already taken off. Nodes that pods are expected on stay until these are there.
///
/// Those first that are going in any case, then those that never came to be, then empty ones, then those without
/// do-not-disrupt; of equal ones, those that are cheapest to disrupt.
pub(super) fn surplus(
    model: &Model,
    candidates: &[Candidate],
    expects_pods: &IndexVec<NodeIx, bool>,
) -> Vec<NodeIx> {
    if !model.snapshot.settings.feature_gates.static_capacity {
        return Vec::new();
    }
    let mut surplus = Vec::new();
    for pool in model.snapshot.node_pools.iter().filter(|pool| !pool.is_deleting) {
        let Some(replicas) = pool.replicas else { continue };
        let mut members: Vec<&Candidate> =
            candidates.iter().filter(|own| is_of(&model.nodes[own.node], pool)).collect();
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
        let going = members.iter().filter(|own| own.forced.is_some()).count().min(count);
        let chosen = members.iter().filter(|own| own.forced.is_none() && !expects_pods[own.node]);
        surplus.extend(chosen.take(count - going).map(|own| own.node));
    }
    surplus
}

/// Whether the node is of a pool of a fixed size.
pub(super) fn is_of_fixed_pool(node: &NodeView) -> bool {
    node.node_pool.is_some_and(|pool| pool.replicas.is_some())
}

fn is_of(node: &NodeView, pool: &NodePool) -> bool {
    node.labels.get(label::NODE_POOL) == Some(&pool.name)
}

/// What it means to lose a node, least first.
struct Rank {
    class: Class,
    /// What evicting all its pods costs, by the share of its life left.
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
        Self { class, cost: evictions * lifetime_left(view.claim, now) }
    }
}

impl Disruptor<'_, '_> {
    /// Replaces drifted nodes of pools of a fixed size, each by one node of its pool: as many as budgets allow and
    /// `limits.nodes` leaves room for. A pool that has too many nodes, or replaces some already, comes later.
    pub(super) fn drifted_of_fixed_pools(&mut self, scheduling: &Scheduling) {
        let drifted = self.drifted_in_order(is_of_fixed_pool);
        let pools: BTreeSet<&Text> =
            drifted.iter().filter_map(|own| name_of_pool(self.model, own.node)).collect();
        for pool in pools {
            if is_settled(self.model, pool) {
                let own =
                    drifted.iter().filter(|own| name_of_pool(self.model, own.node) == Some(pool));
                self.replace_in(pool, &own.collect::<Vec<_>>(), scheduling);
            }
        }
    }

    fn replace_in(&mut self, pool: &Text, drifted: &[&Drifted], scheduling: &Scheduling) {
        let model = self.model;
        with_pool_serving(model, scheduling, pool, |trials| {
            for Drifted { node, drift, .. } in drifted {
                let reason = DisruptionReason::Drifted;
                if let Err(blocked) = self.allowance.check(model, *node, reason) {
                    self.block(*node, blocked);
                    continue;
                }
                match self.replacement(trials, *node, drift) {
                    Ok((trial, claims)) => {
                        self.allowance.count(model, *node);
                        self.push(trials, reason, *node, trial, claims);
                    }
                    Err(blocked) => self.block(*node, blocked),
                }
            }
        });
    }

    fn replacement(
        &mut self,
        trials: &mut Trials,
        node: NodeIx,
        drift: &DriftReason,
    ) -> Result<(Trial, Vec<PlannedNodeClaim>), NotDisruptable> {
        let trial = one_for_one(trials, node).map_err(|stuck| stuck.reason(trials, drift))?;
        let claims = trials.launch(&[node], &trial, &mut self.names).map_err(|unfit| {
            NotDisruptable::DriftWithoutReplacement { drift: drift.clone(), unfit }
        })?;
        Ok((trial, claims))
    }
}

fn name_of_pool<'m>(model: &'m Model, node: NodeIx) -> Option<&'m Text> {
    model.nodes[node].labels.get(label::NODE_POOL)
}

/// Whether a pool of a fixed size has no more nodes than it is to have, those under way to replace others included.
fn is_settled(model: &Model, pool: &Text) -> bool {
    let replicas = model.snapshot.node_pools.iter().find(|own| own.name == *pool);
    let replicas = replicas.and_then(|own| own.replicas);
    let is_member = |node: &&NodeView| {
        node.is_managed && !node.is_deleting && node.labels.get(label::NODE_POOL) == Some(pool)
    };
    let members = model.nodes.iter().filter(is_member).count();
    replicas.is_some_and(|replicas| members <= usize::try_from(replicas).unwrap_or(usize::MAX))
}

/// Why a node cannot be replaced by one of its pool.
pub(super) enum Stuck {
    /// A pod of its would have no place.
    NoPlace(PodIx),
    /// The pool may launch none.
    Unfit(NodePoolUnfit),
}

impl Stuck {
    /// What is told of the node.
    pub(super) fn reason(self, trials: &Trials, drift: &DriftReason) -> NotDisruptable {
        let drift = drift.clone();
        match self {
            Self::NoPlace(pod) => {
                let pod = trials.model.pod(pod).key.clone();
                NotDisruptable::DriftWithoutPlace { drift, pod }
            }
            Self::Unfit(unfit) => NotDisruptable::DriftWithoutReplacement { drift, unfit },
        }
    }
}

/// Where a node's pods go if one new node of its pool takes its place, all others staying: to nodes that stay as far
/// as they fit there, and the rest to the new one. The trials are those of [`with_pool_serving`].
pub(super) fn one_for_one(trials: &mut Trials, node: NodeIx) -> Result<Trial, Stuck> {
    let model = trials.model;
    let pool_index = model
        .pools
        .position(|pool| is_of(&model.nodes[node], pool.node_pool))
        .ok_or(Stuck::Unfit(NodePoolUnfit::NotReady))?;
    let pool = &model.pools[pool_index];
    if let Some(unfit) = &pool.unfit {
        return Err(Stuck::Unfit(unfit.clone()));
    }
    let mut trial = trials.try_without(&[node]);
    if let Some(pod) = trial.failed.first() {
        return Err(Stuck::NoPlace(*pod));
    }
    let packed = match trial.items.first() {
        None => {
            empty_node(model, pool_index, pool).ok_or(Stuck::Unfit(NodePoolUnfit::NoOffering))?
        }
        Some(first) => one_node(trials, &trial.items, pool_index)
            .ok_or_else(|| Stuck::NoPlace(first.pods.first().copied().unwrap_or_default()))?,
    };
    // The new node comes before the old one goes: both count.
    let limits = trials.limits_beside_all();
    if let Some((resource, left)) =
        limits.exceeded(pool_index, &pool.types[packed.type_index].capacity)
    {
        let limit = pool.node_pool.limits.get(&resource);
        return Err(Stuck::Unfit(NodePoolUnfit::Limit { resource, limit, used: limit - left }));
    }
    trial.packed = vec![packed];
    Ok(trial)
}

/// Tries things out as though one pool of a fixed size served pods, and no other pool did: its nodes' pods then find
/// places on nodes that stay, or on new ones of the pool. Pods that wait and found no node to go to stay out of it.
pub(super) fn with_pool_serving<R>(
    model: &Model,
    scheduling: &Scheduling,
    pool: &Text,
    work: impl FnOnce(&mut Trials<'_, '_>) -> R,
) -> R {
    let placed: BTreeSet<PodIx> = scheduling.placed.iter().map(|(pod, _)| *pod).collect();
    let snapshot = serving(model.snapshot, pool, &placed);
    let model = Model::new(&snapshot, &[]);
    let own = Scheduling::of(&model, SchedulingPurpose::Disruption);
    let mut trials = Trials::of(&model, &own);
    trials.launched.clone_from(&scheduling.launched);
    work(&mut trials)
}

fn serving(snapshot: &ClusterSnapshot, pool: &Text, placed: &BTreeSet<PodIx>) -> ClusterSnapshot {
    let mut serving = snapshot.clone();
    for own in &mut serving.node_pools {
        if own.name == *pool {
            own.replicas = None;
        } else {
            own.ready = Some(false);
        }
    }
    for (index, pod) in serving.pods.iter_mut().enumerate() {
        if pod.node_name.is_none() && !placed.contains(&PodIx::new(index)) {
            let spec = std::sync::Arc::make_mut(&mut pod.spec);
            spec.scheduling_gates.push("outrigger.dev/waits".into());
        }
    }
    serving
}
