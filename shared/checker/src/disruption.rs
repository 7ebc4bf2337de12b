//! Which nodes the plan disrupts, and whether anything forbids that.

use domain::label::DO_NOT_DISRUPT;
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::plan::PlannedDisruption;
use domain::reason::DisruptionReason;
use rustc_hash::FxHashSet;

use crate::budget;
use crate::eviction::Evictions;
use crate::moves;
use crate::place::{Place, PlaceId};
use crate::report::Report;
use crate::saving;
use crate::scene::Scene;
use crate::violation::Rule;

/// One disruption of the plan, with the places that it names as far as they are there.
pub(crate) struct Entry<'w> {
    pub(crate) planned: &'w PlannedDisruption,
    pub(crate) places: Vec<PlaceId>,
}

impl Entry<'_> {
    /// What messages call it.
    pub(crate) fn subject(&self) -> String {
        format!("{} {}", self.planned.reason, self.planned.nodes.join(","))
    }
}

/// All disruptions of the plan.
pub(crate) struct Disruptions<'w> {
    pub(crate) entries: Vec<Entry<'w>>,
    /// By place, whether it is disrupted; places that the plan launches are not.
    pub(crate) disrupted: Vec<bool>,
}

/// Reads which nodes go, and where their pods go: replacements become places of the scene.
pub(crate) fn read<'w>(scene: &mut Scene<'w>, report: &mut Report) -> Disruptions<'w> {
    let mut entries = Vec::new();
    let mut taken: FxHashSet<PlaceId> = FxHashSet::default();
    for planned in &scene.plan.disruptions {
        let mut entry = Entry { planned, places: Vec::new() };
        let subject = entry.subject();
        if planned.nodes.is_empty() {
            report.add(Rule::DisruptionEmpty, &subject, "names no node");
        }
        for name in &planned.nodes {
            let Some(place) = scene.existing.get(name).copied() else {
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
    disruptions.disrupted = scene.place_ids().map(|id| taken.contains(&id)).collect();
    moves::read(scene, &disruptions, report);
    disruptions.disrupted.resize(scene.places.len(), false);
    disruptions
}

/// Judges who is disrupted, how many at once, and where their pods go.
pub(crate) fn check(scene: &Scene<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    let evictions = Evictions::new(scene);
    for entry in &disruptions.entries {
        for place in &entry.places {
            check_node(scene, entry, &scene.places[*place], report);
            if entry.planned.reason.is_voluntary() {
                check_voluntary(scene, entry, &scene.places[*place], report);
                check_pods(scene, entry, *place, &evictions, report);
            }
        }
        saving::check(scene, entry, report);
    }
    budget::check(scene, disruptions, report);
    moves::check(scene, disruptions, report);
}

fn check_node(scene: &Scene<'_>, entry: &Entry<'_>, place: &Place<'_>, report: &mut Report) {
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
        report.add(Rule::PlacedOnDisrupted, &scene.pods().pod(*pod).key, message);
    }
}

/// What holds back a disruption by choice, of the node and its NodePool.
fn check_voluntary(scene: &Scene<'_>, entry: &Entry<'_>, place: &Place<'_>, report: &mut Report) {
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
    let Some(pool) = place.pool.map(|pool| scene.world.pools[pool].spec) else { return };
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
    scene: &Scene<'_>,
    entry: &Entry<'_>,
    id: PlaceId,
    evictions: &Evictions<'_>,
    report: &mut Report,
) {
    let place = &scene.places[id];
    let grace = match (place.claim, place.pool) {
        (Some(claim), _) => claim.termination_grace_period,
        (None, Some(pool)) => scene.world.pools[pool].spec.template.termination_grace_period,
        (None, None) => None,
    };
    // Drift goes ahead, once a node is sure to end, whatever its pods say.
    let is_forced = entry.planned.reason == DisruptionReason::Drifted && grace.is_some();
    for pod_id in &place.bound {
        let pod = scene.pods().pod(*pod_id);
        // Pods with a deletion cost may have been declared free to move; that is not held against the plan.
        let keeps = pod.is_reschedulable() && pod.deletion_cost.is_none();
        if entry.planned.reason == DisruptionReason::Empty && keeps {
            let message = format!("pod {} is on {}", pod.key, place.name);
            report.add(Rule::NotEmpty, entry.subject(), message);
        }
        if is_forced || !pod.is_active() {
            continue;
        }
        if pod.refuses_disruption(scene.world.snapshot.now) {
            let message = format!("pod {} on {} has {DO_NOT_DISRUPT}", pod.key, place.name);
            report.add(Rule::DoNotDisrupt, entry.subject(), message);
        } else if let Some(blocking) = evictions.blocking(*pod_id) {
            let message = format!(
                "PodDisruptionBudget {blocking} does not let pod {} on {} go",
                pod.key, place.name
            );
            report.add(Rule::Pdb, entry.subject(), message);
        }
    }
}
