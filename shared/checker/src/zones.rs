//! Zones of new nodes: none gets more of a NodePool than its share where another has room at no
//! higher price, and none gets nodes whose addresses its subnets lack.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::addresses::AddressPolicy;
use domain::label::ZONE;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::pod::Pod;
use domain::spot::SpotOfferingShare;
use domain::zone_balance::ZoneBalance;

use crate::claim_weight::ClaimWeights;
use crate::offering::shown;
use crate::place::{Place, PlaceKind};
use crate::plan_index::{PlanIndex, PlannedPlace};
use crate::report::Report;
use crate::spot_share::names_no_zone;
use crate::violation::Rule;

/// Judges zones where NodePools or EC2NodeClasses ask about them.
pub(crate) fn check(index: &PlanIndex<'_>, report: &mut Report) {
    check_addresses(index, report);
    for (pool, own) in index.cluster.pools.iter().enumerate() {
        if let Some(balance) = own.spec.options.zone_balance {
            check_balance(index, pool, balance, report);
        }
    }
}

fn check_balance(index: &PlanIndex<'_>, pool: usize, balance: ZoneBalance, report: &mut Report) {
    let is_own = |own: &&PlannedPlace<'_>| index.places[own.place].pool == Some(pool);
    let is_free = |own: &&PlannedPlace<'_>| {
        own.claim.requirements.iter().all(|requirement| requirement.min_values.is_none())
    };
    let planned: Vec<&PlannedPlace<'_>> = index.planned().filter(is_own).filter(is_free).collect();
    for PlannedPlace { claim, .. } in &planned {
        let zones: BTreeSet<&Text> = claim.offerings.iter().map(|own| &own.zone).collect();
        if zones.len() > 1 {
            let message = format!("EC2 chooses among {} zones", zones.len());
            report.add(Rule::ZoneBalance, &claim.name, message);
        }
    }
    let disrupted: BTreeSet<&Text> =
        index.plan.disruptions.iter().flat_map(|own| &own.nodes).collect();
    let loses_nodes =
        index.places.iter().any(|own| own.pool == Some(pool) && disrupted.contains(&own.name));
    // What is decided node by node is judged by the whole only where none goes.
    if !loses_nodes {
        check_shares(index, pool, balance, &planned, report);
    }
}

/// Where new nodes put a zone above its share, no other that is below it would have taken one for
/// the price. (Where pods or shares on spot offerings decide some of the zones, others may have to
/// give way.)
fn check_shares(
    index: &PlanIndex<'_>,
    pool: usize,
    balance: ZoneBalance,
    planned: &[&PlannedPlace<'_>],
    report: &mut Report,
) {
    let own = &index.cluster.pools[pool];
    let Some(offer) = &index.cluster.offers[pool] else { return };
    let class = &own.spec.template.node_class_ref.name;
    let room = |zone: &Text, pods: usize| {
        index.cluster.addresses.as_ref().is_none_or(|own| own.has_room(class, zone, pods))
    };
    let offered = offer.types.iter().flatten().flat_map(|own| own.offers.iter());
    let zones: BTreeSet<&Text> = offered.map(|own| &own.offering.zone).collect();
    let mut counts: BTreeMap<&Text, u32> = BTreeMap::new();
    let stays = |place: &&Place<'_>| {
        matches!(place.kind, PlaceKind::Node | PlaceKind::InFlight)
            && place.pool == Some(pool)
            && place.is_managed
            && !place.is_deleting
            && !place.node.is_some_and(domain::node::Node::is_disrupted)
    };
    for place in index.places.iter().filter(stays) {
        if let Some(zone) = zone_of(place) {
            *counts.entry(zone).or_default() += 1;
        }
    }
    for PlannedPlace { claim, .. } in planned {
        *counts.entry(&claim.offering.zone).or_default() += 1;
    }
    let number = u32::try_from(zones.len()).unwrap_or(u32::MAX);
    let most = balance.most_in_zone(counts.values().sum(), number);
    let of = |zone: &Text| counts.get(zone).copied().unwrap_or_default();
    for (zone, _) in counts.iter().filter(|(_, count)| **count > most) {
        let here: Vec<_> = planned.iter().filter(|own| own.claim.offering.zone == **zone).collect();
        let is_open = |own: &&&&PlannedPlace<'_>| is_open(index, pool, own);
        let Some(first) = here.first().filter(|_| here.iter().all(|own| is_open(&own))) else {
            continue;
        };
        let claim = first.claim;
        let price = ClaimWeights::of(index, claim, pool).quoted(&claim.offering);
        let is_better = |other: &&LaunchOffering| {
            of(&other.zone) < most
                && zones.contains(&other.zone)
                // What other claims take of its addresses counts too.
                && room(&other.zone, pods_of_all(planned))
                && ClaimWeights::of(index, claim, pool).quoted(other) <= price
        };
        let others = elsewhere(index, first);
        if let Some(other) = others.iter().find(is_better) {
            let message = format!(
                "{} nodes are in {zone}, {most} are its share, and {} costs no more",
                of(zone),
                shown(other)
            );
            report.add(Rule::ZoneBalance, &claim.name, message);
        }
    }
}

fn pods_of_all(planned: &[&PlannedPlace<'_>]) -> usize {
    // A node's own address counts as much as a pod's, at the least.
    planned.iter().map(|own| own.claim.pods.len() + 1).sum()
}

/// Whether nothing but balance decides in which zone a claim is.
fn is_open(index: &PlanIndex<'_>, pool: usize, own: &PlannedPlace<'_>) -> bool {
    let annotations = &index.cluster.pools[pool].spec.annotations;
    let pods = index.places[own.place].placed.iter().map(|id| index.pods().list[*id].pod);
    let is_free = |pod: &Pod| names_no_zone(pod) && pod.spec.spot_offering_share.is_none();
    SpotOfferingShare::of(annotations).is_none()
        && !index.plan.virtual_pods.iter().any(|pod| pod.place.as_ref() == Some(&own.claim.name))
        && pods.into_iter().all(is_free)
}

/// The claim's listed types in other zones, bought in the same way.
fn elsewhere(index: &PlanIndex<'_>, own: &PlannedPlace<'_>) -> Vec<LaunchOffering> {
    let quoted = &own.claim.offering;
    let Some(launch) = index.places[own.place].launch() else { return Vec::new() };
    let mut others = Vec::new();
    for one in &launch.types {
        let same = one.of.offers.iter().filter(|other| {
            other.offering.capacity_type == quoted.capacity_type
                && other.offering.zone != quoted.zone
                && other.offering.reservation.is_none()
                && !other.is_unwanted
        });
        others.extend(same.map(|other| LaunchOffering {
            instance_type: one.of.instance_type.name.clone(),
            zone: other.offering.zone.clone(),
            price: other.lowest_price(),
            ..quoted.clone()
        }));
    }
    others
}

/// The zone of what exists.
fn zone_of<'w>(place: &Place<'w>) -> Option<&'w Text> {
    let of_claim = || place.claim?.labels.get(ZONE);
    place.labels.and_then(|own| own.get(ZONE)).or_else(of_claim)
}

fn needed(policy: &AddressPolicy, pods: usize) -> i64 {
    i64::try_from(policy.needed(pods)).unwrap_or(i64::MAX)
}

/// Subnets of a class have addresses for all nodes that the plan may launch in their zone.
fn check_addresses(index: &PlanIndex<'_>, report: &mut Report) {
    let Some(ledger) = &index.cluster.addresses else { return };
    for class in &index.cluster.snapshot.objects.node_classes {
        let Some(policy) = ledger.policy(&class.name) else { continue };
        let own: Vec<&PlannedNodeClaim> = index
            .planned()
            .map(|own| own.claim)
            .filter(|own| own.node_class == class.name)
            .collect();
        for zone in policy.zones() {
            let Some(mut left) = ledger.left(&class.name, zone) else { continue };
            for claim in &own {
                if claim.offerings.iter().any(|own| own.zone == *zone) {
                    left -= needed(policy, claim.pods.len());
                    if left < 0 {
                        let message = format!(
                            "subnets of EC2NodeClass {} in {zone} lack {} addresses",
                            class.name, -left
                        );
                        report.add(Rule::Addresses, &claim.name, message);
                    }
                }
            }
        }
    }
}
