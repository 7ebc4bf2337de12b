//! Drifted nodes of static NodePools: each is replaced by one node of its pool.
//!
//! Upstream replaces such a node without asking where its pods go. Here they have a place first, as
//! with any drift: on nodes that remain, or on the replacement.
//!
//! Source: Karpenter `pkg/controllers/disruption/staticdrift.go`.

use std::collections::BTreeSet;

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::cluster_limit::{Tightest, first_unreadable, tightest};
use domain::drift::DriftReason;
use domain::label;
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable};
use domain::snapshot::ClusterSnapshot;

use super::{is_member, is_static};
use crate::disruption::candidate::Candidate;
use crate::disruption::disruptor::{Disruptor, Drifted};
use crate::disruption::replacement::single_node;
use crate::disruption::trial::{Decision, Replaced, Trial, Trials};
use crate::ids::{Idx, NodeIx, PodIx};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::scheduling::static_capacity::empty_node;
use crate::scheduling::{Launched, Scheduling, SchedulingPurpose};

impl Disruptor<'_, '_> {
    /// Replaces drifted nodes of static NodePools, each by one node of its pool: as many as budgets
    /// allow and `limits.nodes` leaves room for. Pools that have too many nodes, or are replacing
    /// some, are left for later.
    pub(crate) fn static_drift(&mut self, scheduling: &Scheduling) {
        let drifted = self.drifted_in_order(is_static);
        let pools: BTreeSet<&Text> =
            drifted.iter().filter_map(|own| pool_name(self.model, own.node)).collect();
        let mut earlier = Earlier::of(scheduling, replaceable(self.model, &self.candidates));
        for pool in pools {
            if is_settled(self.model, pool) {
                let own =
                    drifted.iter().filter(|own| pool_name(self.model, own.node) == Some(pool));
                self.replace_in_pool(pool, &own.collect::<Vec<_>>(), &mut earlier);
            }
        }
    }

    fn replace_in_pool(&mut self, pool: &Text, drifted: &[&Drifted], earlier: &mut Earlier) {
        let mut replaced = Vec::new();
        let (launched, addresses) = with_pool_serving(self.model, earlier, pool, |trials| {
            for Drifted { node, drift, .. } in drifted {
                if let Err(blocked) = self.may_drift(*node, drift) {
                    self.block(*node, blocked);
                    continue;
                }
                match self.one_for_one(trials, *node, drift) {
                    Ok(decision) => {
                        self.count_drifted(*node, drift);
                        replaced.push(Replaced::of(*node, &decision));
                        self.push(trials, decision);
                    }
                    Err(blocked) => self.block(*node, blocked),
                }
            }
            (trials.launched.clone(), trials.addresses.clone())
        });
        (earlier.launched, earlier.addresses) = (launched, addresses);
        earlier.replaced.extend(replaced);
    }

    fn one_for_one(
        &mut self,
        trials: &mut Trials,
        node: NodeIx,
        drift: &DriftReason,
    ) -> Result<Decision, NotDisruptable> {
        let trial = one_for_one(trials, node)
            .map_err(|irreplaceable| irreplaceable.reason(trials, drift))?;
        let replacements = trials.launch(&[node], &trial, &mut self.names).map_err(|unfit| {
            NotDisruptable::DriftWithoutReplacement { drift: drift.clone(), unfit }
        })?;
        let reason = DisruptionReason::Drifted;
        Ok(Decision { reason, nodes: vec![node], trial, replacements })
    }
}

/// What this plan decided on before the next static NodePool has its turn, whose trials start over.
pub(crate) struct Earlier<'s> {
    scheduling: &'s Scheduling,
    /// Nodes that are replaced in this run or in a later one: pods there would move twice.
    closed: Vec<NodeIx>,
    launched: Vec<Launched>,
    addresses: Option<AddressLedger>,
    replaced: Vec<Replaced>,
}

impl<'s> Earlier<'s> {
    /// Only what pending pods need; pods move to none of the nodes that are `closed`.
    pub(crate) fn of(scheduling: &'s Scheduling, closed: Vec<NodeIx>) -> Self {
        let launched = scheduling.launched.clone();
        let addresses = scheduling.limits.addresses.clone();
        Self { scheduling, closed, launched, addresses, replaced: Vec::new() }
    }
}

/// Drifted nodes of static NodePools of which at most budgets keep any from being replaced.
pub(crate) fn replaceable(model: &Model, candidates: &[Candidate]) -> Vec<NodeIx> {
    let is_replaceable = |own: &&Candidate| {
        own.is_eligible_for(DisruptionReason::Drifted) && is_static(&model.nodes[own.node])
    };
    candidates.iter().filter(is_replaceable).map(|own| own.node).collect()
}

fn pool_name<'m>(model: &'m Model, node: NodeIx) -> Option<&'m Text> {
    model.nodes[node].labels.get(label::NODE_POOL)
}

/// Whether a static NodePool has no more nodes than `spec.replicas`, replacements in flight
/// included.
fn is_settled(model: &Model, pool: &Text) -> bool {
    let replicas = model.snapshot.objects.node_pools.iter().find(|own| own.name == *pool);
    let replicas = replicas.and_then(|own| own.replicas);
    let counts = |node: &&NodeView| node.is_managed && !node.is_deleting && is_member(node, pool);
    let members = model.nodes.iter().filter(counts).count();
    replicas.is_some_and(|replicas| members <= usize::try_from(replicas).unwrap_or(usize::MAX))
}

/// Why a node cannot be replaced by one of its pool.
pub(crate) enum Irreplaceable {
    /// A pod of the node would have no place.
    NoPlace(PodIx),
    /// The pool cannot launch a node.
    Unfit(NodePoolUnfit),
}

impl Irreplaceable {
    /// Why a drifted node is not disrupted.
    pub(crate) fn reason(self, trials: &Trials, drift: &DriftReason) -> NotDisruptable {
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

/// Where a node's pods go if one new node of its pool replaces it and all others remain: to
/// remaining nodes as far as they fit there, and the rest to the new one. The trials are those of
/// [`with_pool_serving`].
pub(crate) fn one_for_one(trials: &mut Trials, node: NodeIx) -> Result<Trial, Irreplaceable> {
    let model = trials.model;
    let pool_index = model
        .pools
        .position(|pool| is_member(&model.nodes[node], &pool.node_pool.name))
        .ok_or(Irreplaceable::Unfit(NodePoolUnfit::NotReady))?;
    let pool = &model.pools[pool_index];
    if let Some(unfit) = &pool.unfit {
        return Err(Irreplaceable::Unfit(unfit.clone()));
    }
    let mut trial = trials.try_with_successors(&[node]);
    if let Some(pod) = trial.first_left(model) {
        return Err(Irreplaceable::NoPlace(pod));
    }
    // The new node is launched before the old one is deleted: both count.
    let limits = trials.limits_beside_all();
    let packed = match trial.items.first() {
        None => empty_node(trials.scope, &limits, pool_index)
            .ok_or(Irreplaceable::Unfit(NodePoolUnfit::NoOffering))?,
        Some(first) => single_node(trials, &limits, &trial.items, pool_index).ok_or_else(|| {
            Irreplaceable::NoPlace(first.pods.first().copied().unwrap_or_default())
        })?,
    };
    let capacity = &pool.types[packed.type_index].capacity;
    let cluster_limits = &trials.model.snapshot.objects.cluster_limits;
    if let Some((name, problem)) = first_unreadable(cluster_limits) {
        let (name, problem) = (name.clone(), problem.clone());
        let unfit = NodePoolUnfit::ClusterLimitUnreadable { name, problem };
        return Err(Irreplaceable::Unfit(unfit));
    }
    if let Some((resource, left)) = limits.exceeded_of_cluster(capacity) {
        let mut all = tightest(cluster_limits);
        let Tightest { limit, by } = all.remove(&resource).unwrap_or_default();
        let own = NodePoolUnfit::Limit { resource, limit, used: limit - left };
        let unfit = NodePoolUnfit::ClusterLimit { name: by, reason: Box::new(own) };
        return Err(Irreplaceable::Unfit(unfit));
    }
    if let Some((resource, left)) = limits.exceeded(pool_index, capacity) {
        let limit = pool.node_pool.limits.get(&resource);
        let unfit = NodePoolUnfit::Limit { resource, limit, used: limit - left };
        return Err(Irreplaceable::Unfit(unfit));
    }
    trial.packed = match &trials.zones {
        None => vec![packed],
        Some(zones) => {
            let (mut zones, mut limits) = (zones.clone(), limits);
            zones.leave(model, &[node]);
            limits.take(pool_index, capacity);
            let settled = zones.settle(trials.scope, &mut limits, &[packed]);
            if let Some(pod) = settled.left.first() {
                return Err(Irreplaceable::NoPlace(*pod));
            }
            settled.nodes
        }
    };
    if trial.packed.is_empty() {
        return Err(Irreplaceable::Unfit(NodePoolUnfit::NoOffering));
    }
    Ok(trial)
}

/// Runs trials as though one static NodePool launched nodes for pods and no other pool did: pods of
/// its nodes then find places on remaining nodes or on new ones of the pool. Pending pods that
/// found no existing node take no part, but count where they are launched.
pub(crate) fn with_pool_serving<R>(
    model: &Model,
    earlier: &Earlier,
    pool: &Text,
    work: impl FnOnce(&mut Trials<'_, '_>) -> R,
) -> R {
    let placed: BTreeSet<PodIx> = earlier.scheduling.placed.iter().map(|(pod, _)| *pod).collect();
    let snapshot = with_only_pool(model.snapshot, pool, &placed);
    let model = Model::new(&snapshot, &[]);
    let own = Scheduling::of(&model, SchedulingPurpose::Disruption);
    let mut trials = Trials::of(&model, &own, model.snapshot.now);
    trials.close(earlier.closed.iter().copied());
    trials.launched.clone_from(&earlier.launched);
    trials.addresses.clone_from(&earlier.addresses);
    for (shape, claim) in earlier.scheduling.pods_on_claims(&model) {
        trials.count_on_claim(shape, claim);
    }
    for replaced in &earlier.replaced {
        trials.replay(replaced);
    }
    work(&mut trials)
}

/// The snapshot with one pool that launches nodes for pods. Pending pods that are not `placed` are
/// gated.
fn with_only_pool(
    snapshot: &ClusterSnapshot,
    pool: &Text,
    placed: &BTreeSet<PodIx>,
) -> ClusterSnapshot {
    let mut snapshot = snapshot.clone();
    for own in &mut snapshot.objects.node_pools {
        if own.name == *pool {
            own.replicas = None;
        } else {
            own.ready = Some(false);
        }
    }
    for (index, pod) in snapshot.objects.pods.iter_mut().enumerate() {
        if pod.node_name.is_none() && !placed.contains(&PodIx::new(index)) {
            let spec = std::sync::Arc::make_mut(&mut pod.spec);
            spec.scheduling_gates.push("outrigger.dev/waits".into());
        }
    }
    snapshot
}
