//! What EC2 is asked for when a claim is launched: its offerings, narrowed as Karpenter narrows
//! them.
//!
//! CreateFleet picks among everything that it is given, so what a launch must not become is left
//! out here: a second capacity type, spot that costs more than on-demand, and metal or accelerated
//! types that nobody asked for. The plan carries the result, and whoever launches takes it as it
//! is.
//!
//! Source: `pkg/providers/instance/instance.go` and `filter` of karpenter-provider-aws.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes};
use domain::label;
use domain::money::UsdPerHour;
use domain::node_claim::NodeClaim;
use domain::plan::LaunchOffering;
use domain::requirement::Requirements;
use domain::resource::{AMD_GPU, AWS_NEURON, NVIDIA_GPU};

use crate::model::pool::{Pool, PricedType, TypeOffering};
use crate::work::NewNode;

/// Instance types that one CreateFleet request may name, as Karpenter limits it.
pub(super) const INSTANCE_TYPES_MAX: usize = 60;

/// Resources that make an instance type too dear to be launched by accident.
const ACCELERATORS: [&str; 4] = [NVIDIA_GPU, AMD_GPU, AWS_NEURON, "habana.ai/gaudi"];

/// Percent by which an offering may be chosen at more than another that costs no less: estimates
/// of interruptions are no more exact than that.
const LURE_PERCENT_MAX: i128 = 2;

/// An instance type, with the offerings of it that a launch may use.
struct Candidate<'a> {
    instance_type: &'a InstanceType,
    offerings: Vec<Ranked>,
}

/// An offering with what it is chosen by: by price, rank, and then what it is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    price: UsdPerHour,
    rank: u64,
    is_over: bool,
    offering: LaunchOffering,
}

impl Ranked {
    /// Chosen by what it costs.
    const fn at_cost(offering: LaunchOffering) -> Self {
        Self { price: offering.price, rank: 0, is_over: false, offering }
    }
}

/// The offerings of a planned claim: those of its listed types in its zones and ways of buying, at
/// planned prices (NodeOverlays applied). At least one, since each listed type has one.
pub(super) fn of_node(pool: &Pool, node: &NewNode, listed: &[PricedType]) -> Vec<LaunchOffering> {
    let compatible = &node.compatible;
    let candidates = listed.iter().map(|priced| {
        let own = &pool.types[priced.index];
        let offerings = own.launchable_in(compatible.zones, compatible.purchases).map(|offering| {
            let purchase = &pool.purchases[offering.purchase];
            let TypeOffering { price, cost, rank, is_over, .. } = *offering;
            let offering = LaunchOffering {
                price: cost,
                instance_type: own.instance_type.name.clone(),
                zone: pool.zone(offering.zone).clone(),
                capacity_type: purchase.capacity_type,
                reservation_id: purchase.reservation.as_ref().map(|own| own.id.clone()),
            };
            Ranked { price, rank, is_over, offering }
        });
        Candidate { instance_type: own.instance_type, offerings: offerings.collect() }
    });
    let is_flexible = pool.min_values.is_empty();
    let mut chosen = narrowed(candidates.collect(), is_flexible);
    if pool.is_weighted && is_flexible {
        chosen = without_lures(chosen);
    }
    chosen.into_iter().map(|ranked| ranked.offering).collect()
}

/// The offerings of a NodeClaim that no plan made, at catalogue prices: those of every instance
/// type that meets its requirements and has room for its requests. Empty where nothing can be
/// launched.
pub fn offerings_of_claim(claim: &NodeClaim, catalogue: &InstanceTypes) -> Vec<LaunchOffering> {
    let allowed = Requirements::of(claim.requirements.iter());
    let candidates = catalogue
        .of(&claim.node_class_ref.name)
        .iter()
        .filter(|candidate| hosts(candidate, claim, &allowed))
        .map(|candidate| Candidate {
            instance_type: candidate,
            offerings: usable_offerings(candidate, &allowed, catalogue),
        });
    let is_flexible = claim.requirements.iter().all(|own| own.min_values.is_none());
    let chosen = narrowed(candidates.collect(), is_flexible);
    chosen.into_iter().map(|ranked| ranked.offering).collect()
}

/// Whether a type has room for a claim's requests and meets what its requirements say of types.
fn hosts(candidate: &InstanceType, claim: &NodeClaim, allowed: &Requirements) -> bool {
    let decided_by_offering = [label::ZONE, label::ZONE_ID, label::CAPACITY_TYPE];
    claim.requests.iter().all(|(name, amount)| candidate.allocatable.get(name) >= amount)
        && allowed.iter().all(|(key, own)| {
            decided_by_offering.contains(&&**key)
                || label::OF_RESERVATION.contains(&&**key)
                || claim.labels.get(key).is_some_and(|value| own.values.contains(value))
                || match candidate.labels.get(key) {
                    Some(values) => values.iter().any(|value| own.values.contains(value)),
                    None => own.may_be_absent,
                }
        })
}

fn usable_offerings(
    instance_type: &InstanceType,
    allowed: &Requirements,
    catalogue: &InstanceTypes,
) -> Vec<Ranked> {
    let admits = |key: &str, value: Option<&str>| {
        allowed.get(key).is_none_or(|own| match value {
            Some(value) => own.values.contains(value),
            None => own.may_be_absent,
        })
    };
    instance_type
        .offerings
        .iter()
        .filter(|offering| offering.is_usable())
        .filter(|offering| {
            let zone_id = catalogue.zone_ids.get(&offering.zone);
            let reserved = |key: &str| offering.reservation.as_ref().and_then(|own| own.label(key));
            admits(label::ZONE, Some(&offering.zone))
                && admits(label::CAPACITY_TYPE, Some(offering.capacity_type.as_str()))
                && label::OF_RESERVATION.into_iter().all(|key| admits(key, reserved(key)))
                && zone_id.is_none_or(|id| admits(label::ZONE_ID, Some(id)))
        })
        .map(|offering| LaunchOffering {
            price: offering.price,
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            reservation_id: offering.reservation.as_ref().map(|reservation| reservation.id.clone()),
        })
        .map(Ranked::at_cost)
        .collect()
}

/// The offerings to ask for, cheapest first and all of one capacity type.
///
/// Of the capacity types on offer the first of reserved, spot, on-demand is asked for. A claim
/// without
/// `minValues` is flexible: metal and accelerated types go if any other type is left, and spot
/// offerings dearer than the cheapest on-demand one go, so that on-demand is asked for where all
/// are. Of spot offerings that are interrupted too often none is asked for while another offering
/// is left.
fn narrowed(mut candidates: Vec<Candidate<'_>>, is_flexible: bool) -> Vec<Ranked> {
    candidates.retain(|candidate| !candidate.offerings.is_empty());
    if is_flexible && candidates.iter().any(|own| !is_exotic(own.instance_type)) {
        candidates.retain(|candidate| !is_exotic(candidate.instance_type));
    }
    let mut all: Vec<Ranked> =
        candidates.into_iter().flat_map(|candidate| candidate.offerings).collect();
    if is_flexible && all.iter().any(|own| !own.is_over) {
        all.retain(|own| !own.is_over);
    }
    let has = |wanted| all.iter().any(|own| own.offering.capacity_type == wanted);
    let Some(first) = CapacityType::ALL.into_iter().find(|wanted| has(*wanted)) else {
        return Vec::new();
    };
    let spot_price_max =
        if first == CapacityType::Spot && is_flexible { cheapest_on_demand(&all) } else { None };
    let is_asked_for = |own: &Ranked| {
        own.offering.capacity_type == first && spot_price_max.is_none_or(|max| own.price <= max)
    };
    let capacity_type = if all.iter().any(is_asked_for) { first } else { CapacityType::OnDemand };
    let mut chosen = all;
    chosen.retain(|own| {
        own.offering.capacity_type == capacity_type && (capacity_type != first || is_asked_for(own))
    });
    chosen.sort();
    truncated(chosen)
}

fn cheapest_on_demand(offerings: &[Ranked]) -> Option<UsdPerHour> {
    let is_on_demand = |own: &&Ranked| own.offering.capacity_type == CapacityType::OnDemand;
    offerings.iter().filter(is_on_demand).map(|own| own.price).min()
}

/// Leaves out what EC2, which knows prices and no interruptions, would take for its price though
/// another that costs no less is chosen before it. Takes and gives offerings by what they are
/// chosen at.
fn without_lures(offerings: Vec<Ranked>) -> Vec<Ranked> {
    // Of those kept, the first of which `passed` are chosen at clearly less than the next.
    let (mut kept, mut passed): (Vec<Ranked>, usize) = (Vec::new(), 0);
    let mut dearest = UsdPerHour::ZERO;
    for own in offerings {
        let is_clearly_less = |other: &Ranked| {
            i128::from(other.price.nanos()) * (100 + LURE_PERCENT_MAX)
                < i128::from(own.price.nanos()) * 100
        };
        while let Some(other) = kept.get(passed).filter(|other| is_clearly_less(other)) {
            dearest = dearest.max(other.offering.price);
            passed += 1;
        }
        if passed == 0 || own.offering.price > dearest {
            kept.push(own);
        }
    }
    kept
}

fn is_exotic(instance_type: &InstanceType) -> bool {
    let is_metal =
        instance_type.name.split_once('.').is_some_and(|(_, size)| size.starts_with("metal"));
    is_metal || ACCELERATORS.iter().any(|name| instance_type.capacity.get(name) > 0)
}

/// Leaves out types beyond the limit: those whose cheapest offering is dearest. Takes and gives
/// offerings by price.
fn truncated(mut offerings: Vec<Ranked>) -> Vec<Ranked> {
    let mut ranks: BTreeMap<&Text, usize> = BTreeMap::new();
    for own in &offerings {
        let rank = ranks.len();
        ranks.entry(&own.offering.instance_type).or_insert(rank);
    }
    if ranks.len() <= INSTANCE_TYPES_MAX {
        return offerings;
    }
    let kept: BTreeSet<Text> = ranks
        .into_iter()
        .filter(|(_, rank)| *rank < INSTANCE_TYPES_MAX)
        .map(|(name, _)| name.clone())
        .collect();
    offerings.retain(|own| kept.contains(&own.offering.instance_type));
    offerings
}

#[cfg(test)]
mod tests {
    use super::*;

    use domain::instance_type::Offering;
    use domain::requirement::Requirement;
    use domain::resource::{CPU, Resources};

    use crate::testing::{instance_type, node, offering};

    fn sold(name: &str, offerings: impl IntoIterator<Item = Offering>) -> InstanceType {
        InstanceType { offerings: offerings.into_iter().collect(), ..instance_type(name, 2, 0.0) }
    }

    fn spot(zone: &str, price: f64) -> Offering {
        offering(zone, CapacityType::Spot, price)
    }

    fn on_demand(zone: &str, price: f64) -> Offering {
        offering(zone, CapacityType::OnDemand, price)
    }

    fn claim_requiring(requirements: &[Requirement]) -> NodeClaim {
        let mut of_node = node("n");
        of_node = of_node.with_claim(|claim| claim.requirements = requirements.to_vec().into());
        of_node.claim
    }

    fn chosen(types: &[InstanceType], requirements: &[Requirement]) -> Vec<String> {
        let claim = claim_requiring(requirements);
        let catalogue =
            InstanceTypes { default: types.to_vec().into(), ..InstanceTypes::default() };
        offerings_of_claim(&claim, &catalogue)
            .iter()
            .map(|own| format!("{} {} {}", own.instance_type, own.zone, own.capacity_type))
            .collect()
    }

    #[test]
    fn a_launch_asks_for_one_capacity_type_cheapest_first() {
        let types = [
            sold("m5.large", [spot("a", 0.04), on_demand("a", 0.09)]),
            sold("c5.large", [spot("b", 0.03)]),
        ];
        assert_eq!(chosen(&types, &[]), ["c5.large b spot", "m5.large a spot"]);
    }

    #[test]
    fn spot_dearer_than_on_demand_is_left_out_unless_min_values_need_it() {
        let types = [sold("m5.large", [spot("a", 0.04), spot("b", 0.095), on_demand("a", 0.09)])];
        assert_eq!(chosen(&types, &[]), ["m5.large a spot"]);
        let min_values = Requirement {
            min_values: Some(1),
            ..Requirement::is_in(label::INSTANCE_TYPE, ["m5.large".into()])
        };
        assert_eq!(chosen(&types, &[min_values]), ["m5.large a spot", "m5.large b spot"]);
    }

    #[test]
    fn on_demand_is_asked_for_where_all_spot_is_dearer() {
        let types = [sold("m5.large", [spot("a", 0.095), on_demand("a", 0.09)])];
        assert_eq!(chosen(&types, &[]), ["m5.large a on-demand"]);
    }

    #[test]
    fn metal_and_accelerated_types_go_while_another_is_left() {
        let mut gpu = sold("g5.large", [spot("a", 0.001)]);
        gpu.capacity = Resources::new().with(NVIDIA_GPU, 1);
        let metal = sold("m5.metal", [spot("a", 0.002)]);
        let plain = sold("m5.large", [spot("a", 0.003)]);
        assert_eq!(chosen(&[gpu.clone(), metal, plain], &[]), ["m5.large a spot"]);
        assert_eq!(chosen(&[gpu], &[]), ["g5.large a spot"]);
    }

    #[test]
    fn requirements_and_availability_narrow_the_offerings() {
        let mut gone = spot("a", 0.001);
        gone.available = false;
        let types = [sold("m5.large", [gone, spot("b", 0.002), spot("c", 0.003)])];
        let zone = Requirement::is_in(label::ZONE, ["a".into(), "c".into()]);
        assert_eq!(chosen(&types, &[zone]), ["m5.large c spot"]);
        let nowhere = Requirement::is_in(label::ZONE, ["d".into()]);
        assert!(chosen(&types, &[nowhere]).is_empty());
    }

    #[test]
    fn a_claim_is_launched_from_types_that_meet_its_requirements_and_have_room() {
        let types =
            [sold("m5.large", [on_demand("a", 0.09)]), sold("c5.large", [on_demand("a", 0.08)])];
        let only = Requirement::is_in(label::INSTANCE_TYPE, ["m5.large".into()]);
        assert_eq!(chosen(&types, std::slice::from_ref(&only)), ["m5.large a on-demand"]);
        let mut claim = claim_requiring(&[only]);
        claim.requests = claim.requests.with(CPU, 640_000);
        let catalogue =
            InstanceTypes { default: types.to_vec().into(), ..InstanceTypes::default() };
        assert!(offerings_of_claim(&claim, &catalogue).is_empty());
    }

    #[test]
    fn at_most_sixty_types_are_asked_for() {
        let types: Vec<InstanceType> = (0..70)
            .map(|n| sold(&format!("t{n}.large"), [spot("a", 0.1 + f64::from(n) / 1000.0)]))
            .collect();
        let chosen = chosen(&types, &[]);
        assert_eq!(chosen.len(), INSTANCE_TYPES_MAX);
        assert_eq!(chosen.last().unwrap(), "t59.large a spot");
    }
}
