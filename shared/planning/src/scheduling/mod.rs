//! Scheduling: places for pods that have none, on nodes that are there or on new ones.
//!
//! Two steps. [`placement`] goes through the pods: onto existing nodes where they fit, else into
//! topology domains of nodes still to be launched. [`packing`] then chooses those nodes at the
//! lowest price. Karpenter's semantics decide what is allowed, cost decides what is chosen.

mod attempt;
pub(crate) mod claim;
pub(crate) mod commitment_fill;
pub(crate) mod committed;
mod left;
pub(crate) mod node_zones;
mod offerings;
mod one_by_one;
mod priority;
mod relaxations;
mod reorder;
mod retry;
mod soft_spread;
pub(crate) mod spot_share;
pub(crate) mod static_capacity;
mod stranded;
pub(crate) mod unschedulable;
mod zones;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label;
use domain::money::UsdPerHour;
use domain::plan::{
    Placement, Plan, PlanFigures, PlannedNodeClaim, PlannedVirtualPod, Totals, UnschedulablePod,
};

use domain::pod::Pod;
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;

use crate::feasibility::domains::pinned_keys;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::feasibility::state::{PodOnClaim, State};
use crate::feasibility::topology::{SoftSpread, Topology};
use crate::ids::{IndexVec, NodeIx, PodIx, PoolIx, ShapeIx};
use crate::model::Model;
use crate::model::commitments::ModelCommitments;
use crate::model::memo::Memo;
use crate::model::node::NodeView;
use crate::model::successor::{must_move, needs_successor};
use crate::placement::{Placements, Placer};
use crate::work::NewNode;
use attempt::{Attempt, Effort, budget, demand};
use claim::Names;
use commitment_fill::{Unfilled, fill_commitments};
use committed::committed_totals;
use node_zones::{NodeZones, Settled};
pub use offerings::offerings_of_claim;
use spot_share::SpotShares;

/// Places for all pods that need one; disrupts nothing.
pub fn schedule(snapshot: &ClusterSnapshot) -> Plan {
    let snapshot = &*snapshot.with_default_constraints();
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    Scheduling::of(&model, SchedulingPurpose::PendingPods).plan
}

/// What a scheduling is for: topology of bound pods matters only where they may have to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulingPurpose {
    /// Places for pods that have none.
    PendingPods,
    /// Places for pending pods, and then trials of what may be disrupted.
    Disruption,
    /// Places for pending pods, and then trials of what may be disrupted, where nobody asks what
    /// the places cost. The plan is held against no bound.
    Proposal,
    /// Places for pending pods, and then a trial of what was proposed earlier. The plan is held
    /// against no bound.
    Validation,
}

impl SchedulingPurpose {
    /// Whether the plan says what its new nodes cost at the least.
    fn is_held_against_a_bound(self) -> bool {
        match self {
            Self::PendingPods | Self::Disruption => true,
            Self::Proposal | Self::Validation => false,
        }
    }
}

/// A plan for pods that need a place, and what disruption goes on from.
pub(crate) struct Scheduling {
    /// The plan.
    pub(crate) plan: Plan,
    /// Groups of all shapes.
    pub(crate) topology: Topology,
    /// What was worked out about NodePools.
    pub(crate) memo: Memo,
    /// The state once the plan's placements are made and its claims launched.
    pub(crate) state: State,
    /// Nodes to launch, as limits and reservations count them.
    pub(crate) launched: Vec<Launched>,
    /// Pods that the nodes are launched for, each with the name of its claim; virtual ones left
    /// out.
    on_claims: Vec<(PodIx, Text)>,
    /// The zones of its nodes, where anybody asks.
    pub(crate) zones: Option<NodeZones>,
    /// What may still be launched once the plan is done.
    pub(crate) limits: Limits,
    /// Pods placed on existing nodes.
    pub(crate) placed: Vec<(PodIx, NodeIx)>,
}

impl Scheduling {
    /// Schedules what waits in the model.
    pub(crate) fn of(model: &Model, purpose: SchedulingPurpose) -> Self {
        let waiting = waiting_pods(model);
        let mut waits = IndexVec::filled(false, model.shapes.list.len());
        for shape in waiting.iter().filter_map(|pod| model.shapes.of_pod[*pod]) {
            waits[shape] = true;
        }
        let mut to_place = waits.clone();
        if purpose != SchedulingPurpose::PendingPods {
            for shape in bound_shapes(model) {
                to_place[shape] = true;
            }
        }
        let topology = Topology::of(model, &to_place, &waits);
        let state = State::of(model, &topology);
        let memo = Memo::of(model);
        let scope = Scope { model, topology: &topology, memo: &memo };
        let mut placer = Placer::new(scope, state.clone());
        let effort = if purpose.is_held_against_a_bound() { Effort::Bounded } else { Effort::Full };
        let Attempt { mut outcome, packing, mut limits, relaxation } =
            retry::best_attempt(&mut placer, &state, &waiting, effort);
        let mut packing = priority::enforce_priorities(
            scope,
            &placer.state,
            &mut limits,
            &outcome.items,
            packing,
        );
        one_by_one::place_left(&mut placer, &mut limits, &mut outcome, &mut packing);
        if let Some(ModelCommitments { usage, .. }) = &model.commitments {
            let (state, items) = (&placer.state, &outcome.items);
            let (before, relaxation) = (Limits::of(model, |_| false), relaxation.as_ref());
            let unfilled = Unfilled { state, items, usage, limits: before, relaxation };
            packing = fill_commitments(scope, unfilled, &mut limits, packing);
        }
        if let Some(mut shares) = SpotShares::of(model, &outcome.placed) {
            packing.nodes = shares.settle(scope, &mut limits, packing.nodes);
        }
        let mut zones = NodeZones::of(model);
        if let Some(zones) = &mut zones {
            count_addresses_of(model, &mut limits, &outcome.placed);
            let Settled { nodes, left } = zones.settle(scope, &mut limits, &packing.nodes);
            packing.nodes = nodes;
            packing.left.extend(left);
        }
        outcome.failed.extend(packing.left);
        let lower_bound = purpose.is_held_against_a_bound().then(|| {
            let demand = demand(model, &outcome, &packing.nodes);
            relaxation.as_ref().map_or(UsdPerHour::ZERO, |relaxation| {
                if model.chooses_beside_cost() {
                    return attempt::lower_bound_at_cost(model, &waiting, &demand);
                }
                relaxation.lower_bound(model, &demand, budget(model, &demand))
            })
        });
        let mut settling = Settling { limits: &mut limits, zones: &mut zones };
        let Planned { mut plan, launched, on_claims } =
            plan(&mut placer, &mut settling, &outcome, &packing.nodes, &waiting);
        plan.totals.lower_bound = lower_bound;
        plan.figures.pending_by_zone = zones::pending_by_zone(&mut placer, state, &waiting);
        let soft_spread = placer.soft_spread;
        let state = placer.state;
        let placed = outcome.placed;
        let mut own =
            Self { plan, topology, memo, state, launched, on_claims, zones, limits, placed };
        own.count_on_claims(model, soft_spread);
        own
    }

    /// Counts pods on claims where constraints of other pods look. Placement has counted what it
    /// pins; it leaves aside a spread or an affinity that no waiting pod carries, but pods that
    /// have to move may carry it.
    fn count_on_claims(&mut self, model: &Model, soft_spread: SoftSpread) {
        let mut state = std::mem::take(&mut self.state);
        let mut pinned: BTreeMap<ShapeIx, Vec<Text>> = BTreeMap::new();
        for (shape, claim) in self.pods_on_claims(model) {
            let pinned = pinned
                .entry(shape)
                .or_insert_with(|| pinned_keys(&self.topology, shape, soft_spread));
            state.count_on_claim(model, &self.topology, PodOnClaim { shape, claim }, pinned);
        }
        self.state = state;
    }

    /// Pods for which the plan launches claims, by shape, each with its claim. The model may be
    /// another one of the same pods.
    pub(crate) fn pods_on_claims(
        &self,
        model: &Model,
    ) -> impl Iterator<Item = (ShapeIx, &PlannedNodeClaim)> {
        let claims = self.plan.node_claims.iter();
        let claims: BTreeMap<&Text, &PlannedNodeClaim> =
            claims.map(|claim| (&claim.name, claim)).collect();
        self.on_claims
            .iter()
            .filter_map(move |(pod, claim)| Some((model.shapes.of_pod[*pod]?, *claims.get(claim)?)))
    }
}

impl Scheduling {
    /// What it worked on, for whoever goes on from it.
    pub(crate) fn scope<'m, 'a>(&'m self, model: &'m Model<'a>) -> Scope<'m, 'a> {
        Scope { model, topology: &self.topology, memo: &self.memo }
    }
}

/// What a node that is still to be launched takes of what there is to launch.
#[derive(Clone)]
pub(crate) struct Launched {
    pool: PoolIx,
    /// The most of each resource that any listed type has.
    capacity: Resources,
    /// The reservation that it uses an instance of.
    reservation: Option<Text>,
}

impl Launched {
    /// Counts it in.
    pub(crate) fn count(&self, limits: &mut Limits) {
        limits.take(self.pool, &self.capacity);
        if let Some(reservation) = &self.reservation {
            limits.reserve(reservation, 1);
        }
    }
}

/// What a claim may turn out to take.
pub(crate) fn launched(model: &Model, pool: PoolIx, claim: &PlannedNodeClaim) -> Launched {
    let mut capacity = Resources::new();
    for one in &model.pools[pool].types {
        if claim.instance_types.contains(&one.instance_type.name) {
            capacity.raise_to(&one.capacity);
        }
    }
    Launched { pool, capacity, reservation: claim.offering.reservation_id.clone() }
}

/// Shapes of pods that would need another place if their nodes went away.
fn bound_shapes(model: &Model) -> impl Iterator<Item = ShapeIx> {
    model
        .nodes
        .iter()
        .filter(|node| node.is_managed)
        .flat_map(|node| node.bound.iter().copied())
        .filter(|pod| must_move(model, *pod))
        .filter_map(|pod| model.shapes.of_pod[pod])
}

/// Pods that need a place: pending ones, successors of those on leaving nodes, and virtual ones.
pub(crate) fn waiting_pods(model: &Model) -> Vec<PodIx> {
    let mut waiting = pending_pods(model);
    for node in model.nodes.iter().filter(|node| node.is_leaving()) {
        waiting.extend(node.bound.iter().copied().filter(|pod| needs_successor(model, *pod)));
    }
    waiting
}

/// Pods that wait for a place themselves.
pub(crate) fn pending_pods(model: &Model) -> Vec<PodIx> {
    let pods = model.shapes.pods.iter_enumerated();
    pods.filter(|(_, pod)| is_pending(pod)).map(|(index, _)| index).collect()
}

/// Waits for a place: not bound, nominated, gated, ending, or of a DaemonSet or a kubelet.
fn is_pending(pod: &Pod) -> bool {
    pod.node_name.is_none()
        && pod.nominated_node_name.is_none()
        && pod.is_active()
        && pod.spec.scheduling_gates.is_empty()
        && !pod.is_daemon()
        && !pod.is_static()
}

/// Counts the addresses of pods that are placed on nodes that start: EC2 does not count them yet.
fn count_addresses_of(model: &Model, limits: &mut Limits, placed: &[(PodIx, NodeIx)]) {
    let Some(ledger) = &mut limits.addresses else { return };
    for (_, node) in placed {
        let view = &model.nodes[*node];
        let Some(claim) = view.claim.filter(|_| !view.is_initialized) else { continue };
        let class = &claim.node_class_ref.name;
        let zone = view.labels.get(label::ZONE).or_else(|| claim.labels.get(label::ZONE));
        if let (Some(zone), Some(policy)) = (zone, ledger.policy(class)) {
            let per_pod = policy.per_pod.into();
            ledger.take(class, zone, per_pod);
        }
    }
}

/// A plan, with what is launched.
struct Planned {
    plan: Plan,
    launched: Vec<Launched>,
    on_claims: Vec<(PodIx, Text)>,
}

/// What a plan's launches change.
struct Settling<'s> {
    limits: &'s mut Limits,
    zones: &'s mut Option<NodeZones>,
}

fn plan(
    placer: &mut Placer,
    Settling { limits, zones }: &mut Settling,
    outcome: &Placements,
    packed: &[NewNode],
    waiting: &[PodIx],
) -> Planned {
    let Scope { model, memo, .. } = placer.scope();
    let mut names = Names::of(model);
    let mut node_claims: Vec<PlannedNodeClaim> = Vec::with_capacity(packed.len());
    let mut counted: Vec<Launched> = Vec::with_capacity(packed.len());
    let mut launched_for: Vec<(PodIx, Text)> = Vec::new();
    let mut failed = outcome.failed.clone();
    for packed in packed {
        match claim::claim(model, memo, packed, limits, &mut names) {
            Some(claim) => {
                counted.push(launched(model, packed.pool, &claim));
                let pods = packed.members.iter().flat_map(|own| own.pods.iter());
                launched_for.extend(pods.map(|pod| (*pod, claim.name.clone())));
                node_claims.push(claim);
            }
            None => failed.extend(packed.members.iter().flat_map(|own| own.pods.iter().copied())),
        }
    }
    let scope = placer.scope();
    for (pool, claim) in static_capacity::claims(scope, limits, zones, &mut names) {
        counted.push(launched(model, pool, &claim));
        node_claims.push(claim);
    }
    node_claims.sort_by(|a, b| a.name.cmp(&b.name));
    let is_listed = |pod: &PodIx| model.pod(*pod).virtual_of.is_none();
    let mut reasons: IndexVec<ShapeIx, Option<Vec<domain::reason::PodUnschedulable>>> =
        IndexVec::filled(None, model.shapes.list.len());
    let mut unschedulable: Vec<UnschedulablePod> = failed
        .iter()
        .filter(|pod| is_listed(pod))
        .filter_map(|pod| {
            let shape = model.shapes.of_pod[*pod]?;
            let known = reasons[shape]
                .get_or_insert_with(|| unschedulable::reasons(model, placer, limits, shape));
            Some(UnschedulablePod { pod: model.pod(*pod).key.clone(), reasons: known.clone() })
        })
        .collect();
    unschedulable.sort_by(|a, b| a.pod.cmp(&b.pod));
    let before: UsdPerHour = model.nodes.iter().filter_map(NodeView::cost).sum();
    let added: UsdPerHour = node_claims.iter().map(|claim| claim.offering.price).sum();
    let pending = waiting.iter().filter(|pod| is_listed(pod)).count();
    let committed = committed_totals(model, &node_claims, &BTreeSet::new());
    let plan = Plan {
        committed,
        totals: Totals {
            pending_pods: u32::try_from(pending).unwrap_or(u32::MAX),
            hourly_before: before,
            hourly_after: before + added,
            // Said by who knows what the nodes were held against.
            lower_bound: None,
        },
        node_claims,
        placements: placements(model, &outcome.placed),
        unschedulable,
        disruptions: Vec::new(),
        blocked: Vec::new(),
        awaiting_budget: Vec::new(),
        candidates: Vec::new(),
        virtual_pods: virtual_pods(model, &outcome.placed, &launched_for, &failed),
        figures: PlanFigures::default(),
    };
    launched_for.retain(|(pod, _)| is_listed(pod));
    Planned { plan, launched: counted, on_claims: launched_for }
}

/// Where pods go that existing nodes take; virtual ones are not listed.
fn placements(model: &Model, placed: &[(PodIx, NodeIx)]) -> Vec<Placement> {
    let listed = placed.iter().filter(|(pod, _)| model.pod(*pod).virtual_of.is_none());
    let placement = |(pod, node): &(PodIx, NodeIx)| Placement {
        pod: model.pod(*pod).key.clone(),
        node: model.nodes[*node].name.clone(),
    };
    let mut placements: Vec<Placement> = listed.map(placement).collect();
    placements.sort();
    placements
}

/// Where room is kept for virtual pods: on nodes that are there, on claims of the plan, or nowhere.
fn virtual_pods(
    model: &Model,
    placed: &[(PodIx, NodeIx)],
    launched_for: &[(PodIx, Text)],
    failed: &[PodIx],
) -> Vec<PlannedVirtualPod> {
    let placed = placed.iter().map(|(pod, node)| (*pod, Some(model.nodes[*node].name)));
    let launched = launched_for.iter().map(|(pod, claim)| (*pod, Some(claim)));
    let failed = failed.iter().map(|pod| (*pod, None));
    let all = placed.chain(launched).chain(failed);
    let mut planned: Vec<PlannedVirtualPod> = all
        .filter_map(|(pod, place)| {
            let pod = model.pod(pod);
            let source = pod.virtual_of.clone()?;
            Some(PlannedVirtualPod { pod: pod.key.clone(), source, place: place.cloned() })
        })
        .collect();
    planned.sort();
    planned
}
