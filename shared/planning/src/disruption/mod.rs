//! Disruption: nodes to take away or replace, and why the others stay.
//!
//! Expired and unhealthy nodes go whatever budgets say, and so do those that a pool of a fixed size has too
//! many. Of the voluntary methods the first that finds something to do has the tick: empty nodes, drifted
//! nodes of pools of a fixed size, other drifted nodes, then consolidation. Budgets hold over all of them
//! together.

mod budget;
mod candidate;
mod consolidation;
mod drift;
mod evaluation;
mod fixed;
mod replacement;
mod score;
#[cfg(test)]
mod tests;
mod trial;
mod validation;

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::drift::DriftReason;
use domain::money::UsdPerHour;
use domain::plan::{BlockedNode, Plan, PlannedDisruption, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::snapshot::ClusterSnapshot;

use crate::ids::{IndexVec, NodeIx};
use crate::model::node::{NodeView, nodes};
use crate::model::{Model, ResourceNames};
use crate::scheduling::claim::Names;
use crate::scheduling::{Scheduling, SchedulingPurpose};
use budget::Allowance;
use candidate::{Candidate, candidates};
use fixed::is_of_fixed_pool;
use score::Scores;
use trial::{Trial, Trials};

/// What one tick would take away or replace, nothing else.
pub fn propose(snapshot: &ClusterSnapshot) -> Plan {
    let whole = crate::plan(snapshot);
    Plan { node_claims: Vec::new(), placements: Vec::new(), unschedulable: Vec::new(), ..whole }
}

/// Whether a disruption that was proposed earlier still stands in a fresh snapshot, as a whole: nothing
/// blocks any of its nodes, the reason holds for each, budgets allow all of them, their pods find places
/// with as many new nodes as planned, each planned instance type would do, and consolidation still saves.
///
/// Returns it with the pods that its nodes have now and the places that they get now: somebody else may have taken
/// those of a moment ago. The error says what blocks a node, or what changed.
pub fn validate(
    snapshot: &ClusterSnapshot,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let scheduling = Scheduling::of(&model, SchedulingPurpose::Disruption);
    validation::validate(&model, &scheduling, disruption)
}

/// NodeClaims that have drifted, by name, and how, whatever keeps their nodes.
pub fn drifted(snapshot: &ClusterSnapshot) -> BTreeMap<Text, DriftReason> {
    let nodes = nodes(snapshot, &ResourceNames::default());
    let drifted = nodes.iter().filter_map(|node| {
        let claim = node.claim.filter(|_| !node.is_deleting)?;
        Some((claim.name.clone(), drift::reason(snapshot, node)?))
    });
    drifted.collect()
}

/// Adds disruptions and what blocks them to a plan for pending pods.
pub(crate) fn add_disruptions(model: &Model, scheduling: Scheduling) -> Plan {
    let candidates = candidates(model, &scheduling);
    let scores = Scores::of(model);
    let mut trials = Trials::of(model, &scheduling);
    prefer_staying(&mut trials, &candidates, &scores);
    let mut planner = Disruptor {
        model,
        allowance: Allowance::of(model),
        scores,
        candidates,
        names: Names::of(model),
        disruptions: Vec::new(),
        blocked: Vec::new(),
    };
    for claim in &scheduling.plan.node_claims {
        planner.names.take(&claim.name);
    }
    planner.run(&mut trials, &scheduling);
    planner.finish(scheduling.plan)
}

/// Has pods try nodes that stay before those that may go next, and of these the ones first whose pods are
/// worth most of their price; empty ones last. Pods that move to a node that goes soon would move twice.
fn prefer_staying(trials: &mut Trials, candidates: &[Candidate], scores: &Scores) {
    let mut likely: IndexVec<NodeIx, (bool, f64)> =
        IndexVec::filled((false, f64::NEG_INFINITY), trials.model.nodes.len());
    for candidate in candidates.iter().filter(|candidate| candidate.is_graceful()) {
        let node = candidate.node;
        let goes_next = candidate.consolidatable.is_ok()
            && (candidate.is_empty || candidate.consolidates_underutilized);
        if goes_next {
            likely[node] = (candidate.is_empty, scores.rank(&[node], trials.waste(node)));
        }
    }
    let mut order: Vec<NodeIx> = likely.indices().collect();
    // The sort is stable: among equals, the model's order.
    order.sort_by(|a, b| {
        let (a, b) = (likely[*a], likely[*b]);
        a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1))
    });
    trials.prefer(order);
}

/// Nodes that go whatever budgets and pods say, and why, in the model's order.
fn forced(candidates: &[Candidate]) -> Vec<(NodeIx, DisruptionReason)> {
    candidates.iter().filter_map(|own| Some((own.node, own.forced?))).collect()
}

/// A drifted node that may be replaced.
struct Drifted {
    node: NodeIx,
    drift: DriftReason,
    /// No pod of its needs another place.
    is_empty: bool,
}

struct Disruptor<'m, 'a> {
    model: &'m Model<'a>,
    allowance: Allowance,
    scores: Scores<'a>,
    candidates: Vec<Candidate>,
    names: Names,
    disruptions: Vec<PlannedDisruption>,
    blocked: Vec<BlockedNode>,
}

impl<'a> Disruptor<'_, 'a> {
    fn run(&mut self, trials: &mut Trials<'_, 'a>, scheduling: &Scheduling) {
        self.forced(trials);
        let done = self.disruptions.len();
        self.empty(trials);
        if self.disruptions.is_empty() {
            self.drifted_of_fixed_pools(scheduling);
        }
        if self.disruptions.len() == done {
            self.drifted(trials);
        }
        self.underutilized(trials, self.disruptions.len() == done);
        self.report_blocked();
    }

    /// Nodes that go in any case: replacements first, but nothing holds them.
    fn forced(&mut self, trials: &mut Trials) {
        let forced = forced(&self.candidates);
        // None of them is where the pods of another go.
        trials.close(forced.iter().map(|(node, _)| *node));
        for (node, reason) in forced {
            let trial = trials.rehome(&[node]);
            let launch = trials.launch_what_can_be(&[node], &trial, &mut self.names);
            self.push(trials, reason, node, trial, launch.claims);
        }
    }

    /// A drifted node whose pods find a place on nodes that stay or on any number of replacements. Returns
    /// whether it goes.
    fn replace_drifted(&mut self, trials: &mut Trials, node: NodeIx, drift: &DriftReason) -> bool {
        let trial = trials.rehome(&[node]);
        if let Some(pod) = trial.failed.first() {
            let pod = self.model.pod(*pod).key.clone();
            self.block(node, NotDisruptable::DriftWithoutPlace { drift: drift.clone(), pod });
            return false;
        }
        match trials.launch(&[node], &trial, &mut self.names) {
            Ok(claims) => {
                self.push(trials, DisruptionReason::Drifted, node, trial, claims);
                true
            }
            Err(unfit) => {
                let drift = drift.clone();
                self.block(node, NotDisruptable::DriftWithoutReplacement { drift, unfit });
                false
            }
        }
    }

    fn push(
        &mut self,
        trials: &mut Trials,
        reason: DisruptionReason,
        node: NodeIx,
        trial: Trial,
        replacements: Vec<PlannedNodeClaim>,
    ) {
        self.disruptions.push(trials.disruption(reason, &[node], &trial, replacements));
        trials.commit(&[node], trial);
    }

    fn empty(&mut self, trials: &mut Trials) {
        let chosen: Vec<NodeIx> = self
            .candidates
            .iter()
            .filter(|candidate| {
                candidate.is_empty && candidate.is_graceful() && candidate.consolidatable.is_ok()
            })
            .map(|candidate| candidate.node)
            .collect();
        let mut going = Vec::new();
        for node in chosen {
            if let Err(blocked) = self.allowance.take(self.model, node, DisruptionReason::Empty) {
                self.block(node, blocked);
                continue;
            }
            going.push(node);
        }
        if going.is_empty() {
            return;
        }
        let trial = trials.rehome(&[]);
        self.disruptions.push(trials.disruption(
            DisruptionReason::Empty,
            &going,
            &trial,
            Vec::new(),
        ));
        trials.commit(&going, trial);
    }

    /// Empty drifted nodes together, else the one that drifted first among those whose pods find a place.
    fn drifted(&mut self, trials: &mut Trials) {
        let drifted = self.drifted_in_order(|node| !is_of_fixed_pool(node));
        let (empty, in_use): (Vec<Drifted>, Vec<Drifted>) =
            drifted.into_iter().partition(|own| own.is_empty);
        let mut going = Vec::new();
        for Drifted { node, .. } in empty {
            match self.allowance.take(self.model, node, DisruptionReason::Drifted) {
                Ok(()) => going.push(node),
                Err(blocked) => self.block(node, blocked),
            }
        }
        if !going.is_empty() {
            for node in going {
                let trial = trials.rehome(&[]);
                self.push(trials, DisruptionReason::Drifted, node, trial, Vec::new());
            }
            return;
        }
        for Drifted { node, drift, .. } in in_use {
            if let Err(blocked) = self.allowance.check(self.model, node, DisruptionReason::Drifted)
            {
                self.block(node, blocked);
                continue;
            }
            if self.replace_drifted(trials, node, &drift) {
                // One command a tick: the next is found on a cluster that shows what this one did.
                self.allowance.count(self.model, node);
                return;
            }
        }
    }

    /// Drifted nodes that nothing keeps, those first that drifted first.
    fn drifted_in_order(&self, is_meant: impl Fn(&NodeView) -> bool) -> Vec<Drifted> {
        let is_meant =
            |own: &&Candidate| own.is_eventual() && is_meant(&self.model.nodes[own.node]);
        let mut order: Vec<&Candidate> = self.candidates.iter().filter(is_meant).collect();
        order.sort_by_key(|candidate| (candidate.drifted_since, candidate.node));
        let drifted = |candidate: &Candidate| {
            let drift = candidate.drifted.clone()?;
            Some(Drifted { node: candidate.node, drift, is_empty: candidate.pods_to_move == 0 })
        };
        order.into_iter().filter_map(drifted).collect()
    }

    fn block(&mut self, node: NodeIx, reason: NotDisruptable) {
        let node = self.model.nodes[node].name.clone();
        self.blocked.push(BlockedNode { node, reason });
    }

    /// What keeps each node that is not disrupted: the first thing found.
    fn report_blocked(&mut self) {
        let mut told: BTreeSet<Text> =
            self.blocked.iter().map(|blocked| blocked.node.clone()).collect();
        told.extend(self.disruptions.iter().flat_map(|own| own.nodes.iter().cloned()));
        for index in 0..self.candidates.len() {
            let candidate = &self.candidates[index];
            if told.contains(self.model.nodes[candidate.node].name) {
                continue;
            }
            if let Some(reason) = candidate.kept_by() {
                self.block(candidate.node, reason);
            }
        }
    }

    fn finish(mut self, mut plan: Plan) -> Plan {
        self.disruptions.sort_by(|a, b| (a.reason, &a.nodes).cmp(&(b.reason, &b.nodes)));
        self.blocked.sort_by(|a, b| a.node.cmp(&b.node));
        let saved: UsdPerHour =
            self.disruptions.iter().fold(UsdPerHour::ZERO, |sum, one| sum + one.savings);
        plan.totals.hourly_after = plan.totals.hourly_after - saved;
        plan.disruptions = self.disruptions;
        plan.blocked = self.blocked;
        plan
    }
}
