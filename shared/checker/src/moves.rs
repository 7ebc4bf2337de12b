//! Where the pods of disrupted nodes go: to replacements, or to nodes that stay.

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;
use domain::plan::{Placement, PlannedNodeClaim};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;

use crate::admission;
use crate::affinity;
use crate::claim;
use crate::disruption_entry::{DisruptionEntry, Disruptions};
use crate::eviction::Evictions;
use crate::expendable::is_expendable;
use crate::obligation::PlanObligation;
use crate::place::{PlaceId, PlaceKind};
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::spread;
use crate::state::State;
use crate::violation::Rule;
use crate::volume_rules;

/// Adds replacements to the index and puts pods where they go.
pub(crate) fn read(index: &mut PlanIndex<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    let evictions = Evictions::new(index);
    let mut moved: FxHashSet<PodId> = FxHashSet::default();
    let mut pods_of: Vec<FxHashSet<PodId>> = Vec::with_capacity(disruptions.entries.len());
    for entry in &disruptions.entries {
        let places = entry.places.iter().map(|place| &index.places[*place]);
        pods_of.push(places.flat_map(|place| place.bound.iter().copied()).collect());
    }
    for (number, pods) in pods_of.iter().enumerate() {
        for claim in &index.plan.disruptions[number].replacements {
            read_replacement(index, claim, pods, &mut moved, report);
        }
    }
    let planned: FxHashMap<Text, PlaceId> =
        index.planned().map(|planned| (planned.claim.name.clone(), planned.place)).collect();
    for (entry, pods) in disruptions.entries.iter().zip(&pods_of) {
        check_named(index, entry, pods, report);
        for placement in &entry.planned.moves {
            let pod = match pod_to_move(index, placement, pods, &mut moved) {
                Ok(pod) => pod,
                Err(message) => {
                    report.add(Rule::MovePods, entry.subject(), message);
                    continue;
                }
            };
            let stays = index.existing.get(&placement.node).copied();
            let stays =
                stays.filter(|id| !disruptions.disrupted[*id] && !index.places[*id].is_deleting);
            let Some(to) = stays.or_else(|| planned.get(&placement.node).copied()) else {
                let message =
                    format!("moves to {}, which is not there or goes away", placement.node);
                report.add(Rule::MoveUnknown, &placement.pod, message);
                continue;
            };
            index.places[to].moved_in.push(pod);
        }
        moved.extend(staying(index, entry, pods, &evictions));
        check_all_move(index, entry, pods, &moved, report);
    }
}

fn read_replacement<'w>(
    index: &mut PlanIndex<'w>,
    claim: &'w PlannedNodeClaim,
    pods: &FxHashSet<PodId>,
    moved: &mut FxHashSet<PodId>,
    report: &mut Report,
) {
    let place = index.add_claim(claim, PlaceKind::Replacement, report);
    for key in &claim.pods {
        let pod = index.pods().find(key);
        let Some(pod) = pod.filter(|pod| pods.contains(pod)) else {
            // A pending pod may be placed here too; where it goes is judged with the launch.
            if pod.is_none_or(|pod| index.obligations[pod] != PlanObligation::Required) {
                let message = format!("pod {key} is not on the nodes it replaces");
                report.add(Rule::ReplacementPods, &claim.name, message);
            }
            continue;
        };
        if moved.insert(pod) {
            index.places[place].placed.push(pod);
        } else {
            let message = format!("pod {key} is on two replacements");
            report.add(Rule::ReplacementPods, &claim.name, message);
        }
    }
}

/// The pod that a move names, added to `moved`; or what is wrong with the move.
///
/// `pods` are those on the nodes that the disruption takes away.
fn pod_to_move(
    index: &PlanIndex<'_>,
    placement: &Placement,
    pods: &FxHashSet<PodId>,
    moved: &mut FxHashSet<PodId>,
) -> Result<PodId, String> {
    let key = &placement.pod;
    let pod = index.pods().find(key).filter(|pod| pods.contains(pod));
    let pod = pod.ok_or_else(|| format!("pod {key} moves, but is not on these nodes"))?;
    if !moved.insert(pod) {
        return Err(format!("pod {key} is given two places to go to"));
    }
    Ok(pod)
}

fn must_move(index: &PlanIndex<'_>, pod: PodId) -> bool {
    if is_expendable(index, pod) {
        return false;
    }
    let pod = index.pods().pod(pod);
    pod.is_active() && !pod.is_daemon() && !pod.is_static()
}

fn by_name<'w>(index: &PlanIndex<'w>, pods: impl Iterator<Item = PodId>) -> Vec<&'w PodKey> {
    let mut keys: Vec<&'w PodKey> = pods.map(|pod| &index.pods().pod(pod).key).collect();
    keys.sort_unstable();
    keys
}

/// The entry names the pods that have to move, and none that are elsewhere.
fn check_named(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    pods: &FxHashSet<PodId>,
    report: &mut Report,
) {
    let named: FxHashSet<&PodKey> = entry.planned.pods.iter().collect();
    for key in &entry.planned.pods {
        if index.pods().find(key).is_none_or(|pod| !pods.contains(&pod)) {
            let message = format!("pod {key} is not on these nodes");
            report.add(Rule::DisruptionPods, entry.subject(), message);
        }
    }
    if entry.planned.reason == DisruptionReason::Empty {
        return;
    }
    let moving = pods.iter().copied().filter(|pod| must_move(index, *pod));
    for key in by_name(index, moving).into_iter().filter(|key| !named.contains(key)) {
        let message = format!("pod {key} has to move and is not named");
        report.add(Rule::DisruptionPods, entry.subject(), message);
    }
}

/// Pods that are never evicted: they stay until the grace period of a drifted node ends.
fn staying(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    pods: &FxHashSet<PodId>,
    evictions: &Evictions<'_>,
) -> Vec<PodId> {
    let ends = entry.planned.reason == DisruptionReason::Drifted
        && entry.places.iter().all(|place| index.grace_period(*place).is_some());
    let stays = |pod: &PodId| ends && evictions.is_refused_for_good(index, *pod);
    pods.iter().copied().filter(stays).collect()
}

/// Where nobody forces the node to go, each of its pods has a place to go to first.
fn check_all_move(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    pods: &FxHashSet<PodId>,
    moved: &FxHashSet<PodId>,
    report: &mut Report,
) {
    let reason = entry.planned.reason;
    if !matches!(reason, DisruptionReason::Underutilized | DisruptionReason::Drifted) {
        return;
    }
    let stuck = pods.iter().copied().filter(|pod| must_move(index, *pod) && !moved.contains(pod));
    for key in by_name(index, stuck) {
        let message = "its node is disrupted, and the plan names no other place for it";
        report.add(Rule::MoveMissing, key, message);
    }
}

/// Judges replacements like new claims, moves like placements, and all pods together once nodes are
/// gone.
pub(crate) fn check(index: &PlanIndex<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    for planned in &index.replacements {
        claim::check(index, *planned, report);
    }
    for id in index.place_ids() {
        let place = &index.places[id];
        if place.moved_in.is_empty() {
            continue;
        }
        if place.launch().is_some() {
            let pods = [place.placed.as_slice(), &place.moved_in].concat();
            admission::check_planned(index, id, &pods, report);
        } else {
            let stays = place.bound.iter().filter(|pod| !index.pods().pod(**pod).is_terminating());
            let mut residents: Vec<PodId> = stays.chain(&place.placed).copied().collect();
            residents.sort_unstable();
            residents.dedup();
            admission::check_existing(index, id, &residents, &place.moved_in, report);
        }
    }
    if disruptions.disrupted.contains(&true) {
        let state = State::after_disruption(index, &disruptions.disrupted);
        volume_rules::check_exclusive(index, &state, report);
        affinity::check_anti_affinity(index, &state, report);
        affinity::check_affinity(index, &state, report);
        spread::check(index, &state, report);
    }
}
