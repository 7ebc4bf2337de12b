//! The offering that a claim is priced at: listed, available, at its price, and the cheapest.

use rustc_hash::FxHashMap;

use domain::Text;
use domain::instance_type::{CapacityType, Offering};
use domain::money::UsdPerHour;
use domain::plan::{LaunchOffering, PlannedNodeClaim};

use crate::claim_weight::ClaimWeights;
use crate::launch::{Launch, Prices};
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Prices that differ by a millionth of a dollar or less count as equal.
pub(crate) const PRICE_TOLERANCE: UsdPerHour = UsdPerHour::from_nanos(1_000);

/// Whether two prices are the same price.
pub(crate) fn is_same_price(a: UsdPerHour, b: UsdPerHour) -> bool {
    (a - b).max(b - a) <= PRICE_TOLERANCE
}

fn is_of(quoted: &LaunchOffering, offering: &Offering) -> bool {
    let reservation = offering.reservation.as_ref().map(|reservation| &reservation.id);
    offering.zone == quoted.zone
        && offering.capacity_type == quoted.capacity_type
        && quoted.reservation_id.as_ref().is_none_or(|id| reservation == Some(id))
}

/// `TYPE ZONE CAPACITY-TYPE`.
pub(crate) fn shown(quoted: &LaunchOffering) -> String {
    format!("{} {} {}", quoted.instance_type, quoted.zone, quoted.capacity_type)
}

/// Judges the offering that a claim is priced at.
pub(crate) fn check(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    report: &mut Report,
) {
    let quoted = &claim.offering;
    if let Some((rule, message)) = problem_of(index, claim, pool, launch, quoted) {
        report.add(rule, &claim.name, message);
        return;
    }
    // A reservation is paid for already: preferred at any price.
    if quoted.capacity_type != CapacityType::Reserved {
        check_cheapest(index, claim, pool, launch, report);
    }
}

/// What is wrong with an offering of a claim by itself: its type is not listed, the catalogue does
/// not sell it now, the requirements exclude it, or its price is another.
pub(crate) fn problem_of(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    quoted: &LaunchOffering,
) -> Option<(Rule, String)> {
    if !claim.instance_types.contains(&quoted.instance_type) {
        let message = format!("{} is not among its instance types", quoted.instance_type);
        return Some((Rule::OfferingType, message));
    }
    let known = index.cluster.pools[pool].catalogue.find(&quoted.instance_type);
    let mut in_catalogue = known
        .iter()
        .flat_map(|known| &known.offerings)
        .filter(|offering| is_of(quoted, offering))
        .peekable();
    if in_catalogue.peek().is_none() {
        let message = format!("the catalogue does not offer {}", shown(quoted));
        return Some((Rule::OfferingUnknown, message));
    }
    if !in_catalogue.any(Offering::is_usable) {
        return Some((Rule::OfferingUnavailable, format!("{} is not available", shown(quoted))));
    }
    let of_type =
        launch.types.iter().find(|of_type| of_type.of.instance_type.name == quoted.instance_type);
    let mut chosen = of_type
        .into_iter()
        .flat_map(|of_type| of_type.offers.iter().copied())
        .filter(|offer| is_of(quoted, offer.offering))
        .peekable();
    let Some(first) = chosen.peek().map(|offer| offer.lowest_price()) else {
        let message =
            format!("{} does not meet the claim's or the NodePool's requirements", shown(quoted));
        return Some((Rule::OfferingRequirements, message));
    };
    let mut prices = chosen.flat_map(|offer| &offer.prices);
    if prices.any(|price| is_same_price(*price, quoted.price)) {
        return None;
    }
    let message =
        format!("{} is quoted at {}, the catalogue says {first}", shown(quoted), quoted.price);
    Some((Rule::OfferingPrice, message))
}

fn check_cheapest(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    report: &mut Report,
) {
    let weights = ClaimWeights::of(index, claim, pool);
    let own = weights.quoted(&claim.offering);
    let cheapest = launch
        .types
        .iter()
        .filter_map(|own| weights.prices(own).cheapest_for_sure.map(|price| (price, own)))
        .min_by_key(|(price, _)| *price);
    if let Some((price, of_type)) = cheapest
        && price < own - PRICE_TOLERANCE
    {
        let message = format!(
            "{} costs {own}, but {} costs {price}",
            shown(&claim.offering),
            of_type.of.instance_type.name,
        );
        report.add(Rule::OfferingNotCheapest, &claim.name, message);
    }
}

/// Instance types come cheapest first, by the cheapest offering that meets the requirements.
///
/// Another claim may use a reservation up first, so an order with or without reserved offerings
/// will do.
pub(crate) fn check_type_order(
    index: &PlanIndex<'_>,
    claim: &PlannedNodeClaim,
    pool: usize,
    launch: &Launch<'_>,
    report: &mut Report,
) {
    let weights = ClaimWeights::of(index, claim, pool);
    let prices: Vec<Prices> = launch.types.iter().map(|own| weights.prices(own)).collect();
    if prices.iter().any(|own| own.are_disputed) {
        return;
    }
    let (Some([(price, first), (next_price, second)]), Some(_)) = (
        first_out_of_order(launch, prices.iter().map(|own| own.lowest)),
        first_out_of_order(launch, prices.iter().map(|own| own.lowest_unreserved)),
    ) else {
        return;
    };
    let message = format!("{first} at {price} comes before {second} at {next_price}");
    report.add(Rule::TypesOrder, &claim.name, message);
}

/// The first two neighbours of which the earlier is dearer; types without a price are passed over.
fn first_out_of_order<'l>(
    launch: &'l Launch<'_>,
    prices: impl Iterator<Item = Option<UsdPerHour>>,
) -> Option<[(UsdPerHour, &'l Text); 2]> {
    let mut priced = launch
        .types
        .iter()
        .zip(prices)
        .filter_map(|(of_type, price)| Some((price?, &of_type.of.instance_type.name)));
    let mut before = priced.next()?;
    for next in priced {
        if before.0 > next.0 + PRICE_TOLERANCE {
            return Some([before, next]);
        }
        before = next;
    }
    None
}

/// No capacity reservation is used by more claims than it has instances.
pub(crate) fn check_reservations(index: &PlanIndex<'_>, report: &mut Report) {
    let mut used: FxHashMap<_, (u64, u64)> = FxHashMap::default();
    for planned in index.planned() {
        let quoted = &planned.claim.offering;
        if quoted.capacity_type != CapacityType::Reserved {
            continue;
        }
        let key = (&quoted.instance_type, &quoted.zone, &quoted.reservation_id);
        let (count, _) =
            used.entry(key).or_insert_with(|| (0, instances_left(index, planned.claim)));
        *count += 1;
    }
    let mut overused: Vec<_> = used.into_iter().filter(|(_, (count, room))| count > room).collect();
    overused.sort_unstable();
    for ((instance_type, zone, _), (count, room)) in overused {
        let message = format!("{count} claims use a reservation of {room} instances");
        report.add(Rule::Reservation, format!("{instance_type} {zone}"), message);
    }
}

/// How many instances the reservations behind a quoted offering still have.
fn instances_left(index: &PlanIndex<'_>, claim: &PlannedNodeClaim) -> u64 {
    let quoted = &claim.offering;
    let pool = index.cluster.pool(&claim.node_pool);
    let catalogue = pool.map(|pool| &index.cluster.pools[pool].catalogue);
    let known = catalogue.and_then(|catalogue| catalogue.find(&quoted.instance_type));
    let offerings = known.iter().flat_map(|known| &known.offerings);
    offerings
        .filter(|offering| is_of(quoted, offering))
        .map(|offering| {
            let left = offering.reservation.as_ref().and_then(|reservation| reservation.remaining);
            left.map_or(u64::from(u32::MAX), u64::from)
        })
        .sum()
}
