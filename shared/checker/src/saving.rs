//! What plans say about money: that consolidation saves it, how much, and what new capacity costs
//! at least.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, INSTANCE_TYPE, ZONE};
use domain::money::UsdPerHour;
use domain::reason::DisruptionReason;

use crate::claim_weight::ClaimWeights;
use crate::commitment::{Committed, is_on_demand};
use crate::disruption_entry::DisruptionEntry;
use crate::offering::PRICE_TOLERANCE;
use crate::place::{Place, PlaceId};
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::violation::Rule;
use crate::weight::Priced;

/// Savings may be rounded to a tenth of a cent.
const SAVINGS_TOLERANCE: UsdPerHour = UsdPerHour::from_nanos(1_000_000);
/// A bound may be rounded to a hundredth of a cent.
const BOUND_TOLERANCE: UsdPerHour = UsdPerHour::from_nanos(100_000);

/// Consolidation saves money, and as much as it says, where the catalogue prices every node
/// involved.
///
/// NodeOverlays change what a node is taken to cost in ways that its labels do not show:
/// with them, savings are not judged.
pub(crate) fn check(index: &PlanIndex<'_>, entry: &DisruptionEntry<'_>, report: &mut Report) {
    let planned = entry.planned;
    let consolidates =
        matches!(planned.reason, DisruptionReason::Empty | DisruptionReason::Underutilized);
    if !consolidates || index.cluster.has_overlays || entry.places.is_empty() {
        return;
    }
    let Some(saved) = saved_by(index, entry) else { return };
    if !planned.replacements.is_empty() && saved <= PRICE_TOLERANCE {
        let message = format!("replacements cost as much as the nodes: it saves {saved}");
        report.add(Rule::NoSaving, entry.subject(), message);
    }
    check_interruptions(index, entry, report);
    let error = (planned.savings - saved).max(saved - planned.savings);
    if error > SAVINGS_TOLERANCE {
        let message = format!("says it saves {}, by the catalogue it is {saved}", planned.savings);
        report.add(Rule::Savings, entry.subject(), message);
    }
}

/// What a disruption saves; `None` where that is not known. Where commitments hold, that depends on
/// what the plan does besides: one disruption is judged, of several none.
fn saved_by(index: &PlanIndex<'_>, entry: &DisruptionEntry<'_>) -> Option<UsdPerHour> {
    let place = |place: &PlaceId| &index.places[*place];
    let Some(committed) = Committed::of(index) else {
        let before = entry.places.iter().map(|own| node_price(index, place(own)));
        let claims = entry.planned.replacements.iter();
        let after: UsdPerHour = claims.map(|claim| claim.offering.price).sum();
        return Some(before.sum::<Option<UsdPerHour>>()? - after);
    };
    if !committed.is_exact || index.plan.disruptions.len() > 1 {
        return None;
    }
    let others = entry.places.iter().map(place).filter(|own| !is_on_demand(own));
    let others = others.map(|own| node_price(index, own)).sum::<Option<UsdPerHour>>()?;
    Some(committed.saved_by(index, entry, others))
}

/// What is saved is more than what interruptions of the pods cost where they go, beyond what they
/// cost where they are.
fn check_interruptions(index: &PlanIndex<'_>, entry: &DisruptionEntry<'_>, report: &mut Report) {
    // What nodes cost beyond commitments depends on all that run beside them.
    if !index.cluster.weights.is_any() || Committed::of(index).is_some() {
        return;
    }
    let weighed = |id: PlaceId, more: &[PodId]| {
        let place = &index.places[id];
        let own = || place.bound.iter().chain(more).copied();
        node_price(index, place).unwrap_or_default() + interruptions(index, place, own())
    };
    let before: UsdPerHour = entry.places.iter().map(|place| weighed(*place, &[])).sum();
    let mut moved: BTreeMap<PlaceId, Vec<PodId>> = BTreeMap::new();
    for own in &entry.planned.moves {
        let place = index.existing.get(&own.node).copied();
        if let Some((place, pod)) = place.zip(index.pods().find(&own.pod)) {
            moved.entry(place).or_default().push(pod);
        }
    }
    let dearer = |(place, pods): (&PlaceId, &Vec<PodId>)| {
        (weighed(*place, pods) - weighed(*place, &[])).max(UsdPerHour::ZERO)
    };
    let of_hosts: UsdPerHour = moved.iter().map(dearer).sum();
    let of_new = entry.planned.replacements.iter().filter_map(|claim| {
        let pool = index.cluster.pool(&claim.node_pool)?;
        Some(ClaimWeights::of(index, claim, pool).quoted(&claim.offering))
    });
    let after = of_hosts + of_new.sum();
    if after >= before + PRICE_TOLERANCE {
        let message = format!("with interruptions it comes to {after}, and what goes to {before}");
        report.add(Rule::DearInterruptions, entry.subject(), message);
    }
}

/// What interruptions of an existing node with these pods cost an hour.
fn interruptions(
    index: &PlanIndex<'_>,
    place: &Place<'_>,
    pods: impl Iterator<Item = PodId>,
) -> UsdPerHour {
    let known = || {
        let (labels, pool) = (place.labels?, &index.cluster.pools[place.pool?]);
        let instance_type = pool.catalogue.find(labels.get(INSTANCE_TYPE)?)?;
        let capacity_type = CapacityType::Spot;
        let is_spot = &**labels.get(CAPACITY_TYPE)? == capacity_type.as_str();
        let (zone, price) = (labels.get(ZONE)?, node_price(index, place)?);
        is_spot.then_some((pool.spec, Priced { instance_type, zone, capacity_type, price }))
    };
    let Some((pool, priced)) = known() else { return UsdPerHour::ZERO };
    let cluster = index.cluster;
    let pods = pods.map(|pod| cluster.pods.list[pod].pod);
    let now = cluster.snapshot.now;
    cluster.weights.of_node(pool, priced, pods, now)
}

/// What an existing node costs by the catalogue, from its labels.
pub(crate) fn node_price(index: &PlanIndex<'_>, place: &Place<'_>) -> Option<UsdPerHour> {
    let labels = place.labels?;
    let of_pool = place.pool.map(|pool| &*index.cluster.pools[pool].catalogue);
    let of_claim = || index.cluster.catalogue_of_class(&place.claim?.node_class_ref.name);
    let catalogue = of_pool.or_else(of_claim)?;
    let instance_type = catalogue.find(labels.get(INSTANCE_TYPE)?)?;
    let (zone, capacity_type) = (labels.get(ZONE)?, labels.get(CAPACITY_TYPE)?);
    instance_type
        .offerings
        .iter()
        .find(|offering| {
            offering.zone == *zone && offering.capacity_type.as_str() == &**capacity_type
        })
        .map(|offering| offering.price)
}

/// A lower bound on new capacity cannot exceed what this very plan pays for it.
pub(crate) fn check_lower_bound(index: &PlanIndex<'_>, report: &mut Report) {
    let plan = index.plan;
    let Some(bound) = plan.totals.lower_bound.filter(|_| plan.unschedulable.is_empty()) else {
        return;
    };
    let cost = match Committed::of(index).filter(|own| own.is_exact) {
        Some(committed) => committed.cost_of(&plan.node_claims),
        None => plan.node_claims.iter().map(|claim| claim.offering.price).sum(),
    };
    if bound > cost + BOUND_TOLERANCE {
        let message = format!("the lower bound is {bound}, the plan itself costs {cost}");
        report.add(Rule::LowerBound, "totals", message);
    }
}
