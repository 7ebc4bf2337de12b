//! Validation: whether a command that was proposed earlier is still valid in a fresh snapshot.
//!
//! It is a trial of exactly its nodes for exactly its reason, not a search for something better: a
//! fresh proposal may differ although the command is as good as ever.
//!
//! Source: Karpenter `pkg/controllers/disruption/validation.go`: all candidates still qualify,
//! budgets hold, as many new nodes as planned, and planned types among those computed anew.

mod replacements;

use domain::label;
use domain::plan::PlannedDisruption;
use domain::reason::{DisruptionReason, NotDisruptable};

use super::budget::Allowance;
use super::candidate::Candidate;
use super::candidates::{candidates, forced};
use super::drift_waves::Waves;
use super::evaluation::evaluate;
use super::host_order::prefer_remaining_nodes;
use super::score::Scores;
use super::static_capacity::drift::{Earlier, one_for_one, replaceable, with_pool_serving};
use super::static_capacity::is_static;
use super::trial::{Decision, Trial, Trials};
use crate::ids::NodeIx;
use crate::model::Model;
use crate::scheduling::Scheduling;

use replacements::same_replacements;

/// The command as it stands now, or what changed.
pub(super) fn validate(
    model: &Model,
    scheduling: &Scheduling,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    let now = model.snapshot.now;
    let candidates = candidates(model, scheduling, now);
    let mut nodes = Vec::with_capacity(disruption.nodes.len());
    let mut waves = Waves::of(model);
    for name in &disruption.nodes {
        let candidate = candidates
            .iter()
            .find(|candidate| model.nodes[candidate.node].name == name)
            .ok_or_else(|| changed(format!("node {name} is gone or already going")))?;
        still_due(model, candidate, disruption.reason)?;
        let drift = candidate.drifted.as_ref();
        if let Some(drift) = drift.filter(|_| disruption.reason == DisruptionReason::Drifted) {
            waves.check(model, candidate.node, drift)?;
            waves.count(model, candidate.node, drift);
        }
        nodes.push(candidate.node);
    }
    Allowance::of(model).check_many(model, &nodes, disruption.reason)?;
    let of_static_pool =
        |own: &&Candidate| nodes.contains(&own.node) && is_static(&model.nodes[own.node]);
    if disruption.reason == DisruptionReason::Drifted
        && let Some(candidate) = candidates.iter().find(of_static_pool)
    {
        let earlier = Earlier::of(scheduling, replaceable(model, &candidates));
        return still_one_for_one(model, &earlier, candidate, disruption);
    }
    let scores = Scores::of(model);
    let mut trials = Trials::of(model, scheduling, now);
    prefer_remaining_nodes(&mut trials, &candidates, &scores);
    remove_forced(&mut trials, &candidates, &nodes, disruption.reason);
    let trial = trial(&mut trials, &scores, &nodes, disruption.reason)?;
    let replacements = same_replacements(&trials, &nodes, &trial, disruption)?;
    let decision = Decision { reason: disruption.reason, nodes, trial, replacements };
    Ok(refreshed(&mut trials, decision, disruption))
}

/// The command with its nodes' current pods, the places that they get now, since those planned
/// earlier may be taken, and what it saves at current prices.
fn refreshed(
    trials: &mut Trials,
    decision: Decision,
    disruption: &PlannedDisruption,
) -> PlannedDisruption {
    let fresh = trials.decide(decision);
    PlannedDisruption { nodes: disruption.nodes.clone(), ..fresh }
}

/// Whether one new node would still replace a drifted node of a static NodePool.
fn still_one_for_one(
    model: &Model,
    earlier: &Earlier,
    candidate: &Candidate,
    disruption: &PlannedDisruption,
) -> Result<PlannedDisruption, NotDisruptable> {
    let Candidate { node, drifted: Some(drift), .. } = candidate else {
        return Err(changed("it has not drifted any more".to_owned()));
    };
    let pool = model.nodes[*node].labels.get(label::NODE_POOL).cloned().unwrap_or_default();
    with_pool_serving(model, earlier, &pool, |trials| {
        let trial = one_for_one(trials, *node)
            .map_err(|irreplaceable| irreplaceable.reason(trials, drift))?;
        let replacements = same_replacements(trials, &[*node], &trial, disruption)?;
        let nodes = vec![*node];
        let decision = Decision { reason: disruption.reason, nodes, trial, replacements };
        Ok(refreshed(trials, decision, disruption))
    })
}

fn changed(what: String) -> NotDisruptable {
    NotDisruptable::NotWorthIt(what.into())
}

/// Whether the reason still holds for the node, and nothing blocks it.
fn still_due(
    model: &Model,
    candidate: &Candidate,
    reason: DisruptionReason,
) -> Result<(), NotDisruptable> {
    let name = model.nodes[candidate.node].name;
    let no_longer = |what: &str| Err(changed(format!("node {name} {what} any more")));
    if !reason.is_voluntary() {
        // Nothing in a snapshot takes an interruption back.
        let holds = reason == DisruptionReason::Interrupted || candidate.forced.is_some();
        return if holds { Ok(()) } else { no_longer(&format!("is not {reason}")) };
    }
    if let Some(forced) = candidate.forced {
        return Err(changed(format!("node {name} goes as {forced} now")));
    }
    if let Some(blocked) = &candidate.blocked {
        return Err(blocked.clone());
    }
    let pods_may_wait = reason == DisruptionReason::Drifted && candidate.has_grace_period;
    if let Some(pod_block) = candidate.pod_block.as_ref().filter(|_| !pods_may_wait) {
        return Err(pod_block.clone());
    }
    if reason == DisruptionReason::Drifted {
        return if candidate.drifted.is_some() { Ok(()) } else { no_longer("has not drifted") };
    }
    if reason == DisruptionReason::Empty && !candidate.is_empty {
        return no_longer("is not empty");
    }
    candidate.consolidatable()?;
    if reason == DisruptionReason::Empty && candidate.keeps_virtual_pods {
        return Err(NotDisruptable::Nominated);
    }
    if reason == DisruptionReason::Underutilized && model.nodes[candidate.node].price().is_none() {
        return Err(NotDisruptable::UnknownPrice);
    }
    Ok(())
}

/// Removes nodes that are removed before the command whatever budgets say: their pods come first.
fn remove_forced(
    trials: &mut Trials,
    candidates: &[Candidate],
    nodes: &[NodeIx],
    reason: DisruptionReason,
) {
    let comes_first = |node: NodeIx| {
        !nodes.contains(&node) && (reason.is_voluntary() || nodes.iter().all(|own| node < *own))
    };
    let forced = forced(candidates);
    trials.close(forced.iter().map(|(node, _)| *node));
    for (node, _) in forced.into_iter().filter(|(node, _)| comes_first(*node)) {
        let trial = trials.reschedule(&[node]);
        trials.commit(&[node], trial);
    }
}

/// Where the pods of exactly these nodes would go now.
fn trial(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
    reason: DisruptionReason,
) -> Result<Trial, NotDisruptable> {
    match reason {
        DisruptionReason::Empty => Ok(trials.reschedule(&[])),
        DisruptionReason::Underutilized => Ok(evaluate(trials, scores, nodes)?.trial),
        DisruptionReason::Drifted => {
            let trial = trials.reschedule(nodes);
            match trial.first_left(trials.model) {
                Some(pod) => {
                    let pod = &trials.model.pod(pod).key;
                    Err(changed(format!("pod {pod} finds no other place")))
                }
                None => Ok(trial),
            }
        }
        DisruptionReason::Expired
        | DisruptionReason::Unhealthy
        | DisruptionReason::Interrupted
        | DisruptionReason::OffHours
        | DisruptionReason::ScaledDown => Ok(trials.reschedule(nodes)),
    }
}
