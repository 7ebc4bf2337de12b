//! What EC2 is asked for on behalf of a claim: the ordered list that a launch hands to CreateFleet.
//!
//! EC2 picks among all of it, so each entry must be right by itself, and the list as a whole must
//! hold what Karpenter promises of a launch: one capacity type, reserved before spot before
//! on-demand, at most 60 instance types, no metal or accelerated type beside ordinary ones, and no
//! spot that costs more than on-demand.

use std::collections::BTreeSet;

use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::resource::{AMD_GPU, AWS_NEURON, NVIDIA_GPU};

use crate::claim_weight::ClaimWeights;
use crate::launch::{Launch, TypeLaunch};
use crate::offering::{PRICE_TOLERANCE, problem_of, shown};
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Instance types that one launch may name.
const INSTANCE_TYPES_MAX: usize = 60;

/// Judges the offerings of one claim.
pub(crate) fn check(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    report: &mut Report,
) {
    if claim.offerings.is_empty() {
        report.add(Rule::OfferingsEmpty, &claim.name, "it names no offering to launch");
        return;
    }
    for offering in &claim.offerings {
        if let Some((rule, message)) = problem_of(index, claim, pool, launch, offering) {
            report.add(rule, &claim.name, message);
        }
    }
    let weights = ClaimWeights::of(index, claim, pool);
    check_list(claim, &weights, report);
    let of_pool = &index.cluster.pools[pool].spec.template.requirements;
    let mut requirements = claim.requirements.iter().chain(of_pool);
    if requirements.all(|own| own.min_values.is_none()) {
        check_choice(index, claim, launch, &weights, report);
    }
}

/// What holds of the list whatever the catalogue says.
fn check_list(claim: &PlannedNodeClaim, weights: &ClaimWeights<'_, '_>, report: &mut Report) {
    let offerings = &claim.offerings;
    let price = |offering: &LaunchOffering| weights.quoted(offering);
    let unordered = |pair: &&[LaunchOffering]| price(&pair[0]) > price(&pair[1]) + PRICE_TOLERANCE;
    if let Some([first, second]) = offerings.windows(2).find(unordered) {
        let message = format!(
            "{} at {} comes before {} at {}",
            shown(first),
            price(first),
            shown(second),
            price(second)
        );
        report.add(Rule::OfferingsOrder, &claim.name, message);
    }
    let mut known = BTreeSet::new();
    if let Some(twice) = offerings.iter().find(|offering| !known.insert(*offering)) {
        let message = format!("{} is listed twice", shown(twice));
        report.add(Rule::OfferingsTwice, &claim.name, message);
    }
    let capacity_types: BTreeSet<_> = offerings.iter().map(|own| own.capacity_type).collect();
    if capacity_types.len() > 1 {
        let message = format!("it asks for {} capacity types at once", capacity_types.len());
        report.add(Rule::OfferingsMixed, &claim.name, message);
    }
    let types: BTreeSet<_> = offerings.iter().map(|own| &own.instance_type).collect();
    if types.len() > INSTANCE_TYPES_MAX {
        let message =
            format!("it asks for {} instance types, more than {INSTANCE_TYPES_MAX}", types.len());
        report.add(Rule::OfferingsMany, &claim.name, message);
    }
}

/// What must be left out, and which capacity type goes first, where no `minValues` says otherwise.
fn check_choice(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    launch: &Launch<'_>,
    weights: &ClaimWeights<'_, '_>,
    report: &mut Report,
) {
    let is_plain = |own: &&TypeLaunch<'_>| !is_exotic(own.of.instance_type);
    let types: Vec<&TypeLaunch<'_>> = launch.types.iter().map(|own| &**own).collect();
    let has_plain = types.iter().any(is_plain);
    let considered: Vec<&TypeLaunch<'_>> =
        types.into_iter().filter(|own| !has_plain || is_plain(own)).collect();
    let asked = |own: &&TypeLaunch<'_>| {
        claim.offerings.iter().any(|offering| offering.instance_type == own.of.instance_type.name)
    };
    let exotic = launch.types.iter().map(|own| &**own).filter(|own| !is_plain(own)).find(asked);
    if let (true, Some(exotic)) = (has_plain, exotic) {
        let name = &exotic.of.instance_type.name;
        let message = format!("it asks for {name} though types without accelerators would do");
        report.add(Rule::OfferingsExotic, &claim.name, message);
    }
    let offers = || considered.iter().flat_map(|own| own.offers.iter().copied());
    check_interruptions(
        index,
        claim,
        weights.pool,
        offers().any(|offer| !offer.is_unwanted),
        report,
    );
    if offers().any(|offer| offer.offering.capacity_type == CapacityType::Reserved) {
        // Which claim gets the last instances of a reservation is the planner's affair.
        return;
    }
    let of = |capacity_type: CapacityType| {
        considered.iter().flat_map(move |of_type| {
            let own = of_type.offers.iter().copied();
            let own = own.filter(move |own| own.offering.capacity_type == capacity_type);
            own.map(|offer| weights.range(of_type, offer))
        })
    };
    let dearest = of(CapacityType::OnDemand).map(|[_, highest]| highest).min();
    check_spot(claim, weights, dearest, report);
    let on_demand = of(CapacityType::OnDemand).map(|[lowest, _]| lowest).min();
    let spot = of(CapacityType::Spot).map(|[_, highest]| highest).min();
    if let (Some(on_demand), Some(spot), Some(first)) = (on_demand, spot, claim.offerings.first())
        && first.capacity_type == CapacityType::OnDemand
        && spot + PRICE_TOLERANCE < on_demand
    {
        let message = format!("it asks for on-demand at {on_demand}, spot costs {spot}");
        report.add(Rule::OfferingsCapacityType, &claim.name, message);
    }
}

/// Nothing is asked for that is interrupted more often than its NodePool wants, where another
/// offering is left.
fn check_interruptions(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    is_another_left: bool,
    report: &mut Report,
) {
    let own = &index.cluster.pools[pool];
    let is_unwanted = |offering: &&LaunchOffering| {
        let bought = (&*offering.zone, offering.capacity_type);
        let instance_type = own.catalogue.find(&offering.instance_type);
        instance_type
            .is_some_and(|known| index.cluster.weights.is_unwanted(own.spec, known, bought))
    };
    if let (true, Some(unwanted)) = (is_another_left, claim.offerings.iter().find(is_unwanted)) {
        let message = format!(
            "it asks for {}, which is interrupted more often than NodePool {} wants",
            shown(unwanted),
            own.spec.name
        );
        report.add(Rule::OfferingsInterrupted, &claim.name, message);
    }
}

/// No spot offering costs more than the cheapest on-demand one.
fn check_spot(
    claim: &PlannedNodeClaim,
    weights: &ClaimWeights<'_, '_>,
    on_demand: Option<UsdPerHour>,
    report: &mut Report,
) {
    let Some(on_demand) = on_demand else { return };
    let dear = claim.offerings.iter().find(|offering| {
        offering.capacity_type == CapacityType::Spot
            && weights.quoted(offering) > on_demand + PRICE_TOLERANCE
    });
    if let Some(dear) = dear {
        let message =
            format!("{} costs {}, more than on-demand at {on_demand}", shown(dear), dear.price);
        report.add(Rule::OfferingsSpotPrice, &claim.name, message);
    }
}

/// Metal, or with an accelerator: types that nobody gets who does not ask for them.
fn is_exotic(instance_type: &InstanceType) -> bool {
    let accelerators = [NVIDIA_GPU, AMD_GPU, AWS_NEURON, "habana.ai/gaudi"];
    instance_type.name.split('.').nth(1).is_some_and(|size| size.starts_with("metal"))
        || accelerators.iter().any(|name| instance_type.capacity.get(name) > 0)
}
