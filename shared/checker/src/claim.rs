//! What concerns one claim of the plan alone.

use rustc_hash::FxHashSet;

use domain::plan::PlannedNodeClaim;
use domain::resource::ShownAmount;
use domain::settings::MinValuesPolicy;
use domain::taint::Taint;

use crate::admission;
use crate::launch::Launch;
use crate::offering;
use crate::offerings;
use crate::place::PlaceId;
use crate::plan_index::{PlanIndex, PlannedPlace};
use crate::report::Report;
use crate::resource::{requests, shortfalls};
use crate::violation::Rule;

/// Judges every new claim.
pub(crate) fn check_new(index: &PlanIndex<'_>, report: &mut Report) {
    for planned in &index.new {
        check(index, *planned, report);
        check_is_wanted(index, planned.claim, report);
    }
}

/// Judges one claim, new or a replacement.
pub(crate) fn check(index: &PlanIndex<'_>, planned: PlannedPlace<'_>, report: &mut Report) {
    let PlannedPlace { claim, place } = planned;
    let Some(pool) = index.places[place].pool else { return };
    check_pool(index, claim, pool, report);
    check_types(claim, report);
    check_requests(index, claim, place, report);
    let Some(launch) = index.places[place].launch() else { return };
    if launch.types.is_empty() {
        return;
    }
    offering::check(index, claim, pool, launch, report);
    offering::check_type_order(index, claim, pool, launch, report);
    offerings::check(index, claim, pool, launch, report);
    check_min_values(index, claim, pool, launch, report);
    admission::check_planned(index, place, &index.places[place].placed, report);
}

fn check_pool(index: &PlanIndex<'_>, claim: &PlannedNodeClaim, pool: usize, report: &mut Report) {
    let spec = index.cluster.pools[pool].spec;
    if spec.is_deleting || spec.ready == Some(false) {
        let why = if spec.is_deleting { "being deleted" } else { "not ready" };
        report.add(Rule::NodePoolUnusable, &claim.name, format!("NodePool {} is {why}", spec.name));
    }
    let class = &spec.template.node_class_ref.name;
    if !claim.node_class.is_empty() && !class.is_empty() && claim.node_class != *class {
        let message = format!(
            "its node class is {}, NodePool {} refers to {class}",
            claim.node_class, spec.name
        );
        report.add(Rule::NodeClass, &claim.name, message);
    }
    let is_missing = |taint: &&Taint| !claim.taints.contains(taint);
    let is_missing_at_start = |taint: &&Taint| !claim.startup_taints.contains(taint);
    let lasting = spec.template.taints.iter().filter(is_missing);
    for taint in lasting.chain(spec.template.startup_taints.iter().filter(is_missing_at_start)) {
        let message = format!("lacks taint {taint} of NodePool {}", spec.name);
        report.add(Rule::ClaimTaints, &claim.name, message);
    }
}

fn check_types(claim: &PlannedNodeClaim, report: &mut Report) {
    if claim.instance_types.is_empty() {
        report.add(Rule::TypesEmpty, &claim.name, "lists no instance type");
    }
    let distinct: FxHashSet<_> = claim.instance_types.iter().collect();
    if distinct.len() != claim.instance_types.len() {
        report.add(Rule::TypesTwice, &claim.name, "lists an instance type more than once");
    }
}

/// The claim requests what its pods request; more where virtual pods and DaemonSets take their
/// share.
fn check_requests(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    place: PlaceId,
    report: &mut Report,
) {
    let asked = requests(index, &index.places[place].placed);
    for (name, needed, claimed) in shortfalls(&asked, &claim.requests) {
        let show = |amount| ShownAmount { name, amount };
        let message = format!("asks for {name} {}, its pods for {}", show(claimed), show(needed));
        report.add(Rule::ClaimRequests, &claim.name, message);
    }
}

fn check_min_values(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    report: &mut Report,
) {
    if index.cluster.snapshot.settings.min_values_policy == MinValuesPolicy::BestEffort {
        return;
    }
    let spec = index.cluster.pools[pool].spec;
    for requirement in &spec.template.requirements {
        let Some(least) = requirement.min_values else { continue };
        let found = launch.label_values(&requirement.key);
        if found < least as usize {
            let message = format!(
                "its types have {found} values of {}, NodePool {} asks for {least}",
                requirement.key, spec.name
            );
            report.add(Rule::MinValues, &claim.name, message);
        }
    }
}

/// A claim is for pods, unless its pool is static or virtual pods may be behind it.
fn check_is_wanted(index: &PlanIndex<'_>, claim: &PlannedNodeClaim, report: &mut Report) {
    let snapshot = index.cluster.snapshot;
    let buffers = snapshot.settings.feature_gates.capacity_buffer
        && !snapshot.objects.capacity_buffers.is_empty();
    let schedules = !snapshot.objects.scaled_objects.is_empty()
        || !snapshot.objects.prewarm_schedules.is_empty();
    let pool = index.cluster.pool(&claim.node_pool);
    let is_static = pool.is_none_or(|pool| index.cluster.pools[pool].spec.replicas.is_some());
    if claim.pods.is_empty() && !is_static && !buffers && !schedules {
        report.add(Rule::ClaimEmpty, &claim.name, "a new claim for no pod");
    }
}

/// Pods that the plan places on what exists.
pub(crate) fn check_placements(index: &PlanIndex<'_>, report: &mut Report) {
    for id in index.place_ids() {
        let place = &index.places[id];
        if place.launch().is_some() || place.placed.is_empty() {
            continue;
        }
        if place.is_deleting {
            for pod in &place.placed {
                let message = format!("is placed on {place}, which is being deleted");
                report.add(Rule::NodeDeleting, &index.pods().pod(*pod).key, message);
            }
        }
        let placed: FxHashSet<_> = place.placed.iter().collect();
        let residents: Vec<_> =
            place.bound.iter().copied().filter(|pod| !placed.contains(pod)).collect();
        admission::check_existing(index, id, &residents, &place.placed, report);
    }
}
