//! At most a share of a workload's replicas on one spot offering, where pods or NodePools ask for
//! it.
//!
//! A claim for such pods leaves EC2 no choice, or it could put all of them on one offering. Of an
//! offering that gets more than the share, none is left that has room and costs hardly more.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, INSTANCE_TYPE, ZONE};
use domain::plan::LaunchOffering;
use domain::pod::{OwnerKind, Pod};
use domain::spot::SpotOfferingShare;

use crate::claim_weight::ClaimWeights;
use crate::offering::shown;
use crate::place::{Place, PlaceKind};
use crate::plan_index::{PlanIndex, PlannedPlace};
use crate::report::Report;
use crate::violation::Rule;

/// Pods of one owner: its namespace, kind and name.
type Owned<'w> = (&'w Text, OwnerKind, &'w Text);

/// Where replicas are on spot: by owner, instance type and zone.
type OnSpot<'w> = BTreeMap<(Owned<'w>, &'w Text, &'w Text), u32>;

/// A claim for pods that ask for a share.
struct Asking<'i, 'w> {
    planned: PlannedPlace<'w>,
    pool: usize,
    /// By owner, its pods on the claim, and the most that may be on one offering.
    counts: BTreeMap<Owned<'w>, (u32, u32)>,
    place: &'i Place<'w>,
}

/// Judges the new claims for pods that wait.
pub(crate) fn check(index: &PlanIndex<'_>, report: &mut Report) {
    let pods = &index.cluster.snapshot.objects.pods;
    let pools = &index.cluster.snapshot.objects.node_pools;
    let is_asked_for = pods.iter().any(|pod| pod.spec.spot_offering_share.is_some())
        || pools.iter().any(|pool| SpotOfferingShare::of(&pool.annotations).is_some());
    if !is_asked_for {
        return;
    }
    let mut replicas: BTreeMap<Owned<'_>, u32> = BTreeMap::new();
    for owned in pods.iter().filter_map(owner_of) {
        *replicas.entry(owned).or_default() += 1;
    }
    let all: Vec<Asking<'_, '_>> =
        index.new.iter().filter_map(|planned| asking(index, *planned, &replicas)).collect();
    let on_spot = on_spot(index);
    let mut by_offering: BTreeMap<(&Text, &Text), Vec<&Asking<'_, '_>>> = BTreeMap::new();
    for own in &all {
        let claim = own.planned.claim;
        if claim.offerings.len() > 1 {
            let message = format!("EC2 chooses among {} offerings", claim.offerings.len());
            report.add(Rule::SpotShareChoice, &claim.name, message);
        }
        let quoted = &claim.offering;
        by_offering.entry((&quoted.instance_type, &quoted.zone)).or_default().push(own);
    }
    for claims in by_offering.values() {
        check_room(index, claims, &on_spot, report);
    }
}

/// What a claim on spot, free of `minValues`, asks of shares; `None` where it does not.
fn asking<'i, 'w>(
    index: &'i PlanIndex<'w>,
    planned: PlannedPlace<'w>,
    replicas: &BTreeMap<Owned<'w>, u32>,
) -> Option<Asking<'i, 'w>> {
    let PlannedPlace { claim, place } = planned;
    let place = &index.places[place];
    let pool = place.pool?;
    let mut requirements = claim.requirements.iter();
    if claim.offering.capacity_type != CapacityType::Spot
        || requirements.any(|own| own.min_values.is_some())
    {
        return None;
    }
    let of_pool = SpotOfferingShare::of(&index.cluster.pools[pool].spec.annotations);
    let mut counts: BTreeMap<Owned<'_>, (u32, u32)> = BTreeMap::new();
    for id in &place.placed {
        let pod = index.pods().list[*id].pod;
        let share = pod.spec.spot_offering_share.or(of_pool);
        if let Some((owned, share)) = owner_of(pod).zip(share) {
            let most = share.most_of(replicas.get(&owned).copied().unwrap_or_default());
            let known = counts.entry(owned).or_insert((0, most));
            *known = (known.0 + 1, known.1.min(most));
        }
    }
    (!counts.is_empty()).then_some(Asking { planned, pool, counts, place })
}

/// Where claims of one owner's pods put more than the share on their offering, no other zone has
/// room for any of them at the price. (Where several owners share claims, one may have to give
/// way.)
fn check_room(
    index: &PlanIndex<'_>,
    claims: &[&Asking<'_, '_>],
    on_spot: &OnSpot<'_>,
    report: &mut Report,
) {
    let Some(first) = claims.first() else { return };
    let Some((owned, (_, most))) = first.counts.first_key_value() else { return };
    let is_alike = |own: &&Asking<'_, '_>| {
        let mut pods = own.place.placed.iter().map(|id| index.pods().list[*id].pod);
        own.pool == first.pool && own.counts.keys().eq([owned]) && pods.all(names_no_zone)
    };
    let quoted = &first.planned.claim.offering;
    let there = |zone: &Text| {
        let known = on_spot.iter().find(|((own, instance_type, in_zone), _)| {
            own == owned && **instance_type == quoted.instance_type && *in_zone == zone
        });
        known.map_or(0, |(_, count)| *count)
    };
    if !claims.iter().all(is_alike) || there(&quoted.zone) <= *most {
        return;
    }
    let counts = claims.iter().filter_map(|own| own.counts.get(owned));
    let largest = counts.map(|(count, _)| *count).max().unwrap_or_default();
    let weights = ClaimWeights::of(index, first.planned.claim, first.pool);
    let price = weights.quoted(quoted);
    let Some(launch) = first.place.launch() else { return };
    let sold = launch.types.iter().flat_map(|own| own.of.offers.iter());
    let others = sold.filter(|other| {
        other.offering.capacity_type == CapacityType::Spot
            && other.offering.zone != quoted.zone
            && !other.is_unwanted
    });
    let mut room = others.filter(|other| {
        let zone = &other.offering.zone;
        let price_there = other.lowest_price();
        let there = there(zone);
        let other = LaunchOffering { zone: zone.clone(), price: price_there, ..quoted.clone() };
        weights.quoted(&other) <= price && there + largest <= *most
    });
    if let Some(other) = room.next() {
        let message =
            format!("{} is over its share, zone {} has room", shown(quoted), other.offering.zone);
        report.add(Rule::SpotShare, &first.planned.claim.name, message);
    }
}

/// Whether nothing of a pod decides in which zone its node is.
pub(crate) fn names_no_zone(pod: &Pod) -> bool {
    let spec = &pod.spec;
    spec.node_selector.is_empty()
        && spec.required_node_terms.is_none()
        && spec.preferred_node_terms.is_empty()
        && spec.topology_spread.is_empty()
        && spec.pod_affinity.is_empty()
        && spec.preferred_pod_affinity.is_empty()
        && spec.pod_anti_affinity.is_empty()
        && spec.preferred_pod_anti_affinity.is_empty()
        && spec.volumes.is_empty()
}

fn owner_of(pod: &Pod) -> Option<Owned<'_>> {
    let owner = pod.owner.as_ref().filter(|_| pod.is_active())?;
    Some((&pod.key.namespace, owner.kind, &owner.name))
}

/// Replicas on spot once the plan's launches and placements are done.
fn on_spot<'w>(index: &PlanIndex<'w>) -> OnSpot<'w> {
    let mut counts = OnSpot::new();
    let mut add = |pod: &'w Pod, instance_type: &'w Text, zone: &'w Text| {
        if let Some(owned) = owner_of(pod) {
            *counts.entry((owned, instance_type, zone)).or_default() += 1;
        }
    };
    let pods = index.pods();
    for place in index.places.iter().filter(|own| !own.is_deleting) {
        let Some((instance_type, zone)) = spot_offering_of(place) else { continue };
        for id in place.bound.iter().chain(&place.placed) {
            add(pods.list[*id].pod, instance_type, zone);
        }
    }
    for planned in &index.new {
        let quoted = &planned.claim.offering;
        if quoted.capacity_type == CapacityType::Spot {
            for id in &index.places[planned.place].placed {
                add(pods.list[*id].pod, &quoted.instance_type, &quoted.zone);
            }
        }
    }
    counts
}

/// The spot offering of what exists.
fn spot_offering_of<'w>(place: &Place<'w>) -> Option<(&'w Text, &'w Text)> {
    let exists = matches!(place.kind, PlaceKind::Node | PlaceKind::InFlight);
    let of_claim = place.claim.map(|claim| &*claim.labels);
    let label = |key: &str| {
        place.labels.and_then(|own| own.get(key)).or_else(|| of_claim.and_then(|own| own.get(key)))
    };
    let is_spot = &**label(CAPACITY_TYPE)? == CapacityType::Spot.as_str();
    (exists && is_spot).then_some((label(INSTANCE_TYPE)?, label(ZONE)?))
}
