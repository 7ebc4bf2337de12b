//! Which nodes the plan disrupts, and whether anything forbids that.

use domain::label::DO_NOT_DISRUPT;
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pod::Pod;
use domain::reason::DisruptionReason;
use rustc_hash::FxHashSet;

use crate::budget;
use crate::disruption_entry::{DisruptionEntry, Disruptions};
use crate::drift_waves;
use crate::eviction::Evictions;
use crate::expendable::is_expendable_on;
use crate::expiration;
use crate::moves;
use crate::off_hours;
use crate::place::{Place, PlaceId};
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::saving;
use crate::utilization;
use crate::violation::Rule;

/// Reads which nodes go, and where their pods go: replacements become places of the index.
pub(crate) fn read<'w>(index: &mut PlanIndex<'w>, report: &mut Report) -> Disruptions<'w> {
    let mut entries = Vec::new();
    let mut taken: FxHashSet<PlaceId> = FxHashSet::default();
    for planned in &index.plan.disruptions {
        let mut entry = DisruptionEntry { planned, places: Vec::new() };
        let subject = entry.subject();
        if planned.nodes.is_empty() {
            report.add(Rule::DisruptionEmpty, &subject, "names no node");
        }
        for name in &planned.nodes {
            let Some(place) = index.existing.get(name).copied() else {
                let message = format!("{name} is neither a node nor a claim in flight");
                report.add(Rule::DisruptionUnknown, &subject, message);
                continue;
            };
            if !taken.insert(place) {
                report.add(Rule::DisruptionTwice, &subject, format!("{name} is disrupted twice"));
            }
            entry.places.push(place);
        }
        entries.push(entry);
    }
    let mut disruptions = Disruptions { entries, disrupted: Vec::new() };
    disruptions.disrupted = index.place_ids().map(|id| taken.contains(&id)).collect();
    moves::read(index, &disruptions, report);
    disruptions.disrupted.resize(index.places.len(), false);
    disruptions
}

/// Judges who is disrupted, how many at once, and where their pods go.
pub(crate) fn check(index: &PlanIndex<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    let evictions = Evictions::new(index);
    for entry in &disruptions.entries {
        for place in &entry.places {
            check_node(index, entry, &index.places[*place], report);
            expiration::check(index, entry, &index.places[*place], report);
            off_hours::check_node(index, entry, &index.places[*place], report);
            utilization::check(index, entry, &index.places[*place], report);
            if entry.planned.reason.is_voluntary() {
                check_voluntary(index, entry, &index.places[*place], report);
                check_pods(index, entry, *place, &evictions, report);
            }
        }
        saving::check(index, entry, report);
    }
    budget::check(index, disruptions, report);
    drift_waves::check(index, disruptions, report);
    moves::check(index, disruptions, report);
}

fn check_node(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    place: &Place<'_>,
    report: &mut Report,
) {
    let name = &place.name;
    if !place.is_managed {
        let message = format!("{name} belongs to no NodePool");
        report.add(Rule::DisruptionUnmanaged, entry.subject(), message);
    }
    if place.is_deleting {
        let message = format!("{name} is already being deleted");
        report.add(Rule::DisruptionDeleting, entry.subject(), message);
    }
    for pod in &place.placed {
        let message = format!("is placed on {name}, which the plan disrupts");
        report.add(Rule::PlacedOnDisrupted, &index.pods().pod(*pod).key, message);
    }
}

/// What holds back a disruption by choice, of the node and its NodePool.
fn check_voluntary(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    place: &Place<'_>,
    report: &mut Report,
) {
    let name = &place.name;
    if place.is_managed && !place.is_initialized {
        let message = format!("{name} has not finished starting");
        report.add(Rule::DisruptionUninitialized, entry.subject(), message);
    }
    let of_node = place.node.map(|node| &node.annotations);
    let of_claim = place.claim.map(|claim| &claim.annotations);
    let refuses = of_node
        .into_iter()
        .chain(of_claim)
        .any(|annotations| annotations.get(DO_NOT_DISRUPT).is_some_and(|value| &**value == "true"));
    if refuses {
        let message = format!("node {name} has {DO_NOT_DISRUPT}");
        report.add(Rule::DoNotDisrupt, entry.subject(), message);
    }
    let Some(pool) = place.pool.map(|pool| index.cluster.pools[pool].spec) else { return };
    let reason = entry.planned.reason;
    if !matches!(reason, DisruptionReason::Empty | DisruptionReason::Underutilized) {
        return;
    }
    let never = pool.disruption.consolidate_after == NeverOr::Never || pool.replicas.is_some();
    let only_empty = pool.disruption.consolidation_policy == ConsolidationPolicy::WhenEmpty;
    if never {
        let message = format!("NodePool {} never consolidates", pool.name);
        report.add(Rule::ConsolidationPolicy, entry.subject(), message);
    } else if only_empty && reason == DisruptionReason::Underutilized {
        let message = format!("NodePool {} consolidates only empty nodes", pool.name);
        report.add(Rule::ConsolidationPolicy, entry.subject(), message);
    }
}

/// What holds back a disruption by choice, of the node's pods.
fn check_pods(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    id: PlaceId,
    evictions: &Evictions<'_>,
    report: &mut Report,
) {
    let place = &index.places[id];
    let grace = index.grace_period(id);
    // Drift goes ahead, once a node is sure to end, whatever its pods say.
    let is_forced = entry.planned.reason == DisruptionReason::Drifted && grace.is_some();
    for pod_id in &place.bound {
        let pod = index.pods().pod(*pod_id);
        let keeps =
            pod.is_reschedulable() && !costs_nothing(pod) && !is_expendable_on(index, id, *pod_id);
        if entry.planned.reason == DisruptionReason::Empty && keeps {
            let message = format!("pod {} is on {}", pod.key, place.name);
            report.add(Rule::NotEmpty, entry.subject(), message);
        }
        if is_forced || !pod.is_active() {
            continue;
        }
        if pod.refuses_disruption(index.cluster.snapshot.now) {
            let message = format!("pod {} on {} has {DO_NOT_DISRUPT}", pod.key, place.name);
            report.add(Rule::DoNotDisrupt, entry.subject(), message);
        } else if let Some(blocking) = evictions.blocking(*pod_id) {
            let message = format!(
                "PodDisruptionBudget {blocking} does not let pod {} on {} go",
                pod.key, place.name
            );
            report.add(Rule::PodDisruptionBudget, entry.subject(), message);
        }
    }
}

/// Whether evicting the pod costs nothing, so that it leaves a node empty: a low priority or a low
/// deletion cost outweighs the 1 that every eviction costs.
///
/// Source: Karpenter `pkg/utils/disruption`, `EvictionCost`: 1 + deletion cost / 2^27 + priority /
/// 2^25. Here in units of 2^-27.
fn costs_nothing(pod: &Pod) -> bool {
    let deletion = i64::from(pod.deletion_cost.unwrap_or(0));
    (1 << 27) + deletion + 4 * i64::from(pod.spec.priority) <= 0
}
