//! Disruption: nodes to remove or replace, and what blocks the others.
//!
//! Expired and unhealthy nodes are removed whatever budgets say, and so are surplus nodes of static
//! NodePools. Of the voluntary methods the first that finds something to do has the run: empty
//! nodes, drifted nodes of static NodePools, other drifted nodes, then consolidation. Budgets hold
//! over all of them together.

mod budget;
mod candidate;
mod candidates;
mod consolidate_after;
mod consolidation;
mod cost;
mod disruptor;
mod drift;
mod drift_waves;
mod evaluation;
mod evictable;
mod figures;
mod host_order;
mod look_ahead;
mod methods;
mod replacement;
mod resident;
mod score;
mod static_capacity;
#[cfg(test)]
mod tests;
mod trial;
mod utilization;
mod validation;

use std::collections::BTreeMap;

use domain::drift::DriftReason;
use domain::plan::{Plan, PlannedDisruption, VALIDATION_WAIT};
use domain::reason::NotDisruptable;
use domain::snapshot::ClusterSnapshot;
use domain::{Text, Timestamp};

use crate::model::Model;
use crate::model::node::empty_nodes;
use crate::scheduling::{Scheduling, SchedulingPurpose};
use candidates::candidates;
use disruptor::Disruptor;
pub use evictable::evictable;
use host_order::prefer_remaining_nodes;
pub use resident::{
    BudgetLine, Destination, Guard, ResidentExplanation, Situation, explain_resident,
};
use score::Scores;
use trial::Trials;

/// What one run would remove or replace once that is validated, and what later ones would, nothing
/// else: what places for pending pods cost at the least is not worked out.
pub fn propose(snapshot: &ClusterSnapshot) -> Plan {
    let acts_at = snapshot.now.checked_add(VALIDATION_WAIT).unwrap_or(snapshot.now);
    let whole = decide(snapshot, Horizon { acts_at, looks_ahead: true });
    Plan { node_claims: Vec::new(), placements: Vec::new(), unschedulable: Vec::new(), ..whole }
}

/// Whether a disruption that was proposed earlier is still valid in a fresh snapshot, as a whole:
/// nothing blocks any of its nodes, the reason holds for each, budgets allow all of them, their
/// pods find places with as many new nodes as planned, each planned instance type would do, and
/// consolidation still saves.
///
/// Returns it with the pods that its nodes have now and the places that they get now: others may
/// have taken those planned earlier. The error says what blocks a node, or what changed.
pub fn validate(
    snapshot: &ClusterSnapshot,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    let snapshot = &*snapshot.with_default_constraints();
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let scheduling = Scheduling::of(&model, SchedulingPurpose::Validation);
    validation::validate(&model, &scheduling, disruption)
}

/// NodeClaims that have drifted, by name, and why, whatever blocks their nodes.
pub fn drifted(snapshot: &ClusterSnapshot) -> BTreeMap<Text, DriftReason> {
    // What runs on a node makes no difference.
    let nodes = empty_nodes(snapshot);
    let drifted = nodes.iter().filter_map(|node| {
        let claim = node.claim.filter(|_| !node.is_deleting)?;
        Some((claim.name.clone(), drift::reason(snapshot, node)?))
    });
    drifted.collect()
}

/// Places for pending pods, then disruptions on top of that.
pub(crate) fn plan(snapshot: &ClusterSnapshot) -> Plan {
    decide(snapshot, Horizon { acts_at: snapshot.now, looks_ahead: false })
}

/// What a plan of disruptions is for.
#[derive(Clone, Copy)]
struct Horizon {
    /// When it is carried out.
    acts_at: Timestamp,
    /// Whether later disruptions are worked out too.
    looks_ahead: bool,
}

fn decide(snapshot: &ClusterSnapshot, horizon: Horizon) -> Plan {
    let snapshot = &*snapshot.with_default_constraints();
    let Horizon { acts_at, looks_ahead } = horizon;
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let purpose =
        if looks_ahead { SchedulingPurpose::Proposal } else { SchedulingPurpose::Disruption };
    let scheduling = Scheduling::of(&model, purpose);
    let candidates = candidates(&model, &scheduling, acts_at);
    let scores = Scores::of(&model);
    let mut trials = Trials::of(&model, &scheduling, acts_at);
    prefer_remaining_nodes(&mut trials, &candidates, &scores);
    let mut disruptor = Disruptor::new(&model, candidates, scores, &scheduling.plan);
    disruptor.run(&mut trials, &scheduling);
    if looks_ahead {
        disruptor.look_ahead(&scheduling, acts_at);
    }
    let relocated = std::mem::take(&mut trials.relocated);
    disruptor.finish(scheduling.plan, &relocated)
}

impl<'a> Disruptor<'_, 'a> {
    fn run(&mut self, trials: &mut Trials<'_, 'a>, scheduling: &Scheduling) {
        self.forced(trials);
        let forced = self.disruptions.len();
        self.empty(trials);
        let before_drift = self.disruptions.len();
        if self.disruptions.is_empty() {
            self.static_drift(scheduling);
        }
        if self.disruptions.len() == forced {
            self.drift(trials);
        }
        self.consolidation(trials, self.disruptions.len() == before_drift);
        self.report_blocked();
    }
}
