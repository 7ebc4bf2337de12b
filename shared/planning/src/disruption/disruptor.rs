//! The disruptions that one run decides on, while they are collected.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::drain::drains;
use domain::drift::DriftReason;
use domain::money::UsdPerHour;
use domain::plan::{
    ApprovedMove, BlockedNode, Plan, PlanFigures, PlannedDisruption, PlannedVirtualPod, StuckDrains,
};
use domain::reason::{DisruptionReason, NotDisruptable};

use super::budget::{Allowance, VOLUNTARY};
use super::candidate::Candidate;
use super::drift_waves::Waves;
use super::figures::count;
use super::score::Scores;
use super::trial::{Decision, Trials};
use crate::ids::{NodeIx, PodIx, ZoneIx};
use crate::model::Model;
use crate::model::node::NodeView;
use crate::scheduling::claim::Names;
use crate::scheduling::committed::committed_totals;
use crate::scheduling::node_zones::NodeZones;

/// Collects disruptions and what blocks others. Each method of disruption is an `impl` block in a
/// file of its own.
pub(super) struct Disruptor<'m, 'a> {
    pub(super) model: &'m Model<'a>,
    pub(super) allowance: Allowance,
    pub(super) waves: Waves,
    pub(super) scores: Scores<'a>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) names: Names,
    pub(super) disruptions: Vec<PlannedDisruption>,
    pub(super) blocked: Vec<BlockedNode>,
    pub(super) awaiting_budget: Vec<PlannedDisruption>,
    /// Nodes that consolidation removes in the end if this run removes none; `None` where it was
    /// not its turn.
    pub(super) going: Option<Vec<NodeIx>>,
    /// Names of nodes that later disruptions remove.
    pub(super) to_come: BTreeSet<Text>,
    figures: PlanFigures,
}

/// A drifted node that may be replaced.
pub(super) struct Drifted {
    pub(super) node: NodeIx,
    pub(super) drift: DriftReason,
    /// None of its pods has to be rescheduled, and no room on it is kept.
    pub(super) is_empty: bool,
}

impl<'m, 'a> Disruptor<'m, 'a> {
    /// Nothing disrupted yet. `plan` is that for pending pods, whose names are taken.
    pub(super) fn new(
        model: &'m Model<'a>,
        candidates: Vec<Candidate>,
        scores: Scores<'a>,
        plan: &Plan,
    ) -> Self {
        let mut names = Names::of(model);
        for claim in &plan.node_claims {
            names.take(&claim.name);
        }
        let (allowance, waves) = (Allowance::of(model), Waves::of(model));
        let eligible =
            |reason| count(candidates.iter().filter(|own| own.is_eligible_for(reason)).count());
        let figures = PlanFigures {
            allowed_disruptions: allowance.figures(),
            eligible_nodes: VOLUNTARY.map(|reason| (reason, eligible(reason))).into(),
            past_expiry: past_expiry(model),
            off: off(model),
            zone_nodes: zone_nodes(model),
            drift: waves.figures(),
            stuck_drains: stuck_drains(model),
            ..PlanFigures::default()
        };
        Self {
            model,
            allowance,
            waves,
            figures,
            scores,
            candidates,
            names,
            disruptions: Vec::new(),
            blocked: Vec::new(),
            awaiting_budget: Vec::new(),
            going: None,
            to_come: BTreeSet::new(),
        }
    }

    /// Commits a decision and adds it to the plan.
    pub(super) fn push(&mut self, trials: &mut Trials, decision: Decision) {
        let nodes = decision.nodes.clone();
        let disruption = trials.decide(decision);
        if disruption.reason == DisruptionReason::Underutilized {
            let scores = self.scores.balanced(self.model, &nodes, disruption.savings);
            let approved = scores.into_iter().map(|(node_pool, score)| ApprovedMove {
                node_pool,
                nodes: disruption.nodes.clone(),
                score: score.to_string().into(),
            });
            self.figures.approved.extend(approved);
        }
        self.disruptions.push(disruption);
    }

    /// Has nodes stay that pods move to: the pods are expected there, like pending ones.
    pub(super) fn keep_hosts(&mut self, moved: &[(PodIx, NodeIx)]) {
        for (_, node) in moved {
            // Candidates are in the model's order.
            if let Ok(found) = self.candidates.binary_search_by_key(node, |own| own.node) {
                self.candidates[found].blocked.get_or_insert(NotDisruptable::Nominated);
            }
        }
    }

    /// Reports why a node is not disrupted.
    pub(super) fn block(&mut self, node: NodeIx, reason: NotDisruptable) {
        let node = self.model.nodes[node].name.clone();
        self.blocked.push(BlockedNode { node, reason });
    }

    /// Drifted nodes that nothing blocks, those first that drifted first.
    pub(super) fn drifted_in_order(&self, is_meant: impl Fn(&NodeView) -> bool) -> Vec<Drifted> {
        let is_meant =
            |own: &&Candidate| own.is_eventual() && is_meant(&self.model.nodes[own.node]);
        let mut order: Vec<&Candidate> = self.candidates.iter().filter(is_meant).collect();
        order.sort_by_key(|candidate| (candidate.drifted_since, candidate.node));
        let drifted = |candidate: &Candidate| {
            let drift = candidate.drifted.clone()?;
            let is_empty = candidate.reschedulable_pods == 0 && !candidate.keeps_virtual_pods;
            Some(Drifted { node: candidate.node, drift, is_empty })
        };
        order.into_iter().filter_map(drifted).collect()
    }

    /// Reports the first thing that blocks each node that is neither disrupted nor reported yet.
    pub(super) fn report_blocked(&mut self) {
        let mut reported: BTreeSet<Text> =
            self.blocked.iter().map(|blocked| blocked.node.clone()).collect();
        reported.extend(self.disruptions.iter().flat_map(|own| own.nodes.iter().cloned()));
        let first = self.first_to_go();
        for index in 0..self.candidates.len() {
            let candidate = &self.candidates[index];
            if reported.contains(self.model.nodes[candidate.node].name) {
                continue;
            }
            let before = first.clone().or_else(|| self.leaving_beside(candidate.node));
            if let Some(reason) = candidate.blocked_by(before.as_ref()) {
                self.block(candidate.node, reason);
            }
        }
    }

    /// A node that this plan disrupts, before which no drifted node has its turn: the drifted one
    /// that it replaces, else the first of the others.
    fn first_to_go(&self) -> Option<Text> {
        let is_drift = |own: &&PlannedDisruption| own.reason == DisruptionReason::Drifted;
        let first = self.disruptions.iter().find(is_drift).or_else(|| self.disruptions.first());
        first.and_then(|own| own.nodes.first()).cloned()
    }

    /// A node of the same pool that is on its way out, by name.
    fn leaving_beside(&self, node: NodeIx) -> Option<Text> {
        let pool = self.model.nodes[node].node_pool.map(|pool| &pool.name)?;
        let nodes = self.model.nodes.iter().filter(|own| own.is_leaving());
        let beside = nodes.filter(|own| own.node_pool.is_some_and(|other| other.name == *pool));
        beside.map(|own| own.name).min().cloned()
    }

    /// The plan with everything that was collected, and with where room for virtual pods is kept
    /// instead.
    pub(super) fn finish(mut self, mut plan: Plan, relocated: &BTreeMap<PodIx, Text>) -> Plan {
        self.disruptions.sort_by(|a, b| (a.reason, &a.nodes).cmp(&(b.reason, &b.nodes)));
        // What held a node back for one reason does not matter once it goes for another.
        let going: BTreeSet<&Text> = self.disruptions.iter().flat_map(|own| &own.nodes).collect();
        self.blocked.retain(|own| !going.contains(&own.node));
        self.blocked.sort_by(|a, b| a.node.cmp(&b.node));
        self.blocked.dedup();
        let saved: UsdPerHour =
            self.disruptions.iter().fold(UsdPerHour::ZERO, |sum, one| sum + one.savings);
        plan.totals.hourly_after = plan.totals.hourly_after - saved;
        let replacements = || self.disruptions.iter().flat_map(|own| &own.replacements);
        let launched = plan.node_claims.iter().chain(replacements());
        plan.committed = committed_totals(self.model, launched, &going);
        if plan.committed.is_some() {
            // What is saved beyond commitments is not what is saved of list prices.
            let goes = |node: &&NodeView| going.contains(node.name);
            let removed = self.model.nodes.iter().filter(goes).filter_map(NodeView::cost);
            let added = replacements().map(|claim| claim.offering.price);
            let listed = plan.totals.hourly_after + saved + added.sum::<UsdPerHour>();
            plan.totals.hourly_after = listed - removed.sum::<UsdPerHour>();
        }
        for (pod, place) in relocated {
            let pod = self.model.pod(*pod);
            let same = |own: &&mut PlannedVirtualPod| {
                own.pod == pod.key && pod.virtual_of.as_ref() == Some(&own.source)
            };
            for own in plan.virtual_pods.iter_mut().filter(same) {
                own.place = Some(place.clone());
            }
        }
        plan.disruptions = self.disruptions;
        plan.blocked = self.blocked;
        plan.awaiting_budget = self.awaiting_budget;
        plan.candidates = self.to_come.into_iter().collect();
        let pending_by_zone = plan.figures.pending_by_zone;
        plan.figures = PlanFigures { pending_by_zone, ..self.figures };
        plan
    }
}

/// Whether each NodePool is off that has off hours.
fn off(model: &Model) -> BTreeMap<Text, bool> {
    let pools = model.snapshot.objects.node_pools.iter();
    let with_off_hours = pools.filter_map(|pool| Some((pool, pool.options.off_hours.as_ref()?)));
    let now = model.snapshot.now;
    with_off_hours.map(|(pool, own)| (pool.name.clone(), own.period(now).is_some())).collect()
}

/// Nodes by zone of each NodePool that asks for balance; 0 where it could have some.
fn zone_nodes(model: &Model) -> BTreeMap<(Text, Text), u32> {
    let mut counts = BTreeMap::new();
    let Some(zones) = NodeZones::of(model) else { return counts };
    for pool in model.pools.iter().filter(|own| own.node_pool.options.zone_balance.is_some()) {
        let offered = pool.types.iter().flat_map(|own| own.offerings.iter().map(|own| own.zone));
        let offered: BTreeSet<ZoneIx> = offered.collect();
        for (zone, count) in zones.nodes_of(pool.index) {
            if count > 0 || offered.contains(&zone) {
                counts.insert((pool.node_pool.name.clone(), pool.zone(zone).clone()), count);
            }
        }
    }
    counts
}

/// Nodes whose drain is stuck, with what they cost.
fn stuck_drains(model: &Model) -> StuckDrains {
    let now = model.snapshot.now;
    let mut stuck = StuckDrains::default();
    if !model.nodes.iter().any(NodeView::is_leaving) {
        return stuck;
    }
    for drain in drains(model.snapshot).iter().filter(|own| own.is_stuck(now)) {
        let node = model.nodes.iter().find(|own| *own.name == drain.node);
        stuck.nodes += 1;
        stuck.hourly += node.and_then(NodeView::cost).unwrap_or_default();
    }
    stuck
}

/// How many nodes are past their age limit, of each NodePool whose nodes expire gracefully.
fn past_expiry(model: &Model) -> BTreeMap<Text, u32> {
    let pools = model.snapshot.objects.node_pools.iter();
    let graceful = pools.filter(|pool| pool.options.expiration.is_graceful);
    let mut counts: BTreeMap<Text, u32> = graceful.map(|pool| (pool.name.clone(), 0)).collect();
    if counts.is_empty() {
        return counts;
    }
    for node in model.nodes.iter().filter(|node| node.is_past_expiry(model.snapshot.now)) {
        if let Some(count) = node.node_pool.and_then(|pool| counts.get_mut(&pool.name)) {
            *count += 1;
        }
    }
    counts
}
