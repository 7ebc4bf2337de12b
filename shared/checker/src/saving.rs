//! What plans say about money: that consolidation saves it, how much, and what new capacity costs at least.

use domain::label::{CAPACITY_TYPE, INSTANCE_TYPE, ZONE};
use domain::money::UsdPerHour;
use domain::reason::DisruptionReason;

use crate::disruption::Entry;
use crate::offering::PRICE_TOLERANCE;
use crate::place::Place;
use crate::report::Report;
use crate::scene::Scene;
use crate::violation::Rule;

/// Savings may be told rounded to a tenth of a cent.
const SAVINGS_TOLERANCE: UsdPerHour = UsdPerHour::from_nanos(1_000_000);
/// A bound may be told rounded to a hundredth of a cent.
const BOUND_TOLERANCE: UsdPerHour = UsdPerHour::from_nanos(100_000);

/// Consolidation saves money, and as much as it says, where the catalogue prices every node involved.
///
/// NodeOverlays change what a node is taken to cost in ways that cannot be told from its labels: with them,
/// savings are not judged.
pub(crate) fn check(scene: &Scene<'_>, entry: &Entry<'_>, report: &mut Report) {
    let planned = entry.planned;
    let consolidates =
        matches!(planned.reason, DisruptionReason::Empty | DisruptionReason::Underutilized);
    if !consolidates || scene.world.has_overlays || entry.places.is_empty() {
        return;
    }
    let prices = entry.places.iter().map(|place| node_price(scene, &scene.places[*place]));
    let Some(before) = prices.sum::<Option<UsdPerHour>>() else { return };
    let after: UsdPerHour = planned.replacements.iter().map(|claim| claim.offering.price).sum();
    let saved = before - after;
    if !planned.replacements.is_empty() && saved <= PRICE_TOLERANCE {
        let message = format!("replacements cost as much as the nodes: it saves {saved}");
        report.add(Rule::NoSaving, entry.subject(), message);
    }
    let error = (planned.savings - saved).max(saved - planned.savings);
    if error > SAVINGS_TOLERANCE {
        let message = format!("says it saves {}, by the catalogue it is {saved}", planned.savings);
        report.add(Rule::Savings, entry.subject(), message);
    }
}

/// What an existing node costs by the catalogue, from its labels.
fn node_price(scene: &Scene<'_>, place: &Place<'_>) -> Option<UsdPerHour> {
    let labels = place.labels?;
    let of_pool = place.pool.map(|pool| &*scene.world.pools[pool].catalogue);
    let of_claim = || scene.world.catalogue_of_class(&place.claim?.node_class_ref.name);
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
pub(crate) fn check_lower_bound(scene: &Scene<'_>, report: &mut Report) {
    let plan = scene.plan;
    let Some(bound) = plan.totals.lower_bound.filter(|_| plan.unschedulable.is_empty()) else {
        return;
    };
    let cost: UsdPerHour = plan.node_claims.iter().map(|claim| claim.offering.price).sum();
    if bound > cost + BOUND_TOLERANCE {
        let message = format!("the lower bound is {bound}, the plan itself costs {cost}");
        report.add(Rule::LowerBound, "totals", message);
    }
}
