//! Which offerings a launch asks EC2 for: those of a planned claim, narrowed as Karpenter narrows them.
//!
//! Source: reference E1.3 (filters), E1.4 (capacity type), 4.5 (at most 60 types).

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes};
use domain::label;
use domain::money::UsdPerHour;
use domain::requirement::{Requirement, Requirements};
use domain::resource::{AMD_GPU, AWS_NEURON, NVIDIA_GPU};

use crate::record::launch::LaunchOffering;

/// CreateFleet is offered at most so many instance types (reference 4.5).
pub const INSTANCE_TYPES_MAX: usize = 60;

/// Resources that make an instance type exotic: too dear to be had by accident (reference E1.3).
const EXOTIC_RESOURCES: [&str; 4] = [NVIDIA_GPU, AMD_GPU, AWS_NEURON, "habana.ai/gaudi"];

/// The offerings to ask for, cheapest first and all of one capacity type; empty where none can be had.
///
/// `names` are the instance types that the plan allows; an offering is taken if it is usable and the
/// requirements allow its zone, capacity type and reservation. Of the capacity types left the first of
/// reserved, spot, on-demand is asked for: a launch never mixes them. Unless a requirement has
/// `minValues`, metal and accelerated types go if any other is left, and spot offerings dearer than the
/// cheapest on-demand one go.
pub fn launch_offerings(
    names: &[Text],
    requirements: &[Requirement],
    types: &[InstanceType],
    catalogue: &InstanceTypes,
) -> Vec<LaunchOffering> {
    let names: BTreeSet<&Text> = names.iter().collect();
    let allowed = Requirements::of(requirements);
    let is_flexible = requirements.iter().all(|requirement| requirement.min_values.is_none());
    let mut candidates: Vec<&InstanceType> =
        types.iter().filter(|instance_type| names.contains(&instance_type.name)).collect();
    let usable =
        |instance_type: &InstanceType| usable_offerings(instance_type, &allowed, catalogue);
    candidates.retain(|instance_type| !usable(instance_type).is_empty());
    if is_flexible && candidates.iter().any(|instance_type| !is_exotic(instance_type)) {
        candidates.retain(|instance_type| !is_exotic(instance_type));
    }
    let all: Vec<LaunchOffering> =
        candidates.iter().flat_map(|instance_type| usable(instance_type)).collect();
    let Some(capacity_type) = CapacityType::ALL
        .into_iter()
        .find(|wanted| all.iter().any(|offering| offering.capacity_type == *wanted))
    else {
        return Vec::new();
    };
    let dearest = if capacity_type == CapacityType::Spot && is_flexible {
        cheapest_of(&all, CapacityType::OnDemand)
    } else {
        None
    };
    let within = |price: UsdPerHour| dearest.is_none_or(|dearest| price <= dearest);
    let mut chosen: Vec<LaunchOffering> = all
        .iter()
        .filter(|offering| offering.capacity_type == capacity_type && within(offering.price))
        .cloned()
        .collect();
    if chosen.is_empty() {
        // Every spot offering is dearer than on-demand: then on-demand it is.
        chosen = all
            .into_iter()
            .filter(|offering| offering.capacity_type == CapacityType::OnDemand)
            .collect();
    }
    truncated(chosen)
}

fn cheapest_of(offerings: &[LaunchOffering], capacity_type: CapacityType) -> Option<UsdPerHour> {
    offerings
        .iter()
        .filter(|offering| offering.capacity_type == capacity_type)
        .map(|offering| offering.price)
        .min()
}

fn usable_offerings(
    instance_type: &InstanceType,
    allowed: &Requirements,
    catalogue: &InstanceTypes,
) -> Vec<LaunchOffering> {
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
            let reservation = offering.reservation.as_ref().map(|reservation| &*reservation.id);
            admits(label::ZONE, Some(&offering.zone))
                && admits(label::CAPACITY_TYPE, Some(offering.capacity_type.as_str()))
                && admits(label::RESERVATION_ID, reservation)
                && zone_id.is_none_or(|id| admits(label::ZONE_ID, Some(id)))
        })
        .map(|offering| LaunchOffering {
            price: offering.price,
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            reservation_id: offering.reservation.as_ref().map(|reservation| reservation.id.clone()),
        })
        .collect()
}

fn is_exotic(instance_type: &InstanceType) -> bool {
    let is_metal =
        instance_type.name.split_once('.').is_some_and(|(_, size)| size.starts_with("metal"));
    is_metal || EXOTIC_RESOURCES.iter().any(|name| instance_type.capacity.get(name) > 0)
}

/// Sorted by price, the types beyond the limit left out: those whose cheapest offering is dearest.
fn truncated(mut offerings: Vec<LaunchOffering>) -> Vec<LaunchOffering> {
    offerings.sort();
    let mut cheapest: BTreeMap<&Text, usize> = BTreeMap::new();
    for offering in &offerings {
        let rank = cheapest.len();
        cheapest.entry(&offering.instance_type).or_insert(rank);
    }
    let kept: BTreeSet<Text> = cheapest
        .into_iter()
        .filter(|(_, rank)| *rank < INSTANCE_TYPES_MAX)
        .map(|(name, _)| name.clone())
        .collect();
    offerings.retain(|offering| kept.contains(&offering.instance_type));
    offerings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{instance_type, offering};
    use domain::resource::Resources;

    fn chosen(types: &[InstanceType], requirements: &[Requirement]) -> Vec<String> {
        let names: Vec<Text> =
            types.iter().map(|instance_type| instance_type.name.clone()).collect();
        launch_offerings(&names, requirements, types, &InstanceTypes::default())
            .iter()
            .map(|o| format!("{} {} {}", o.instance_type, o.zone, o.capacity_type))
            .collect()
    }

    #[test]
    fn one_launch_asks_for_one_capacity_type_cheapest_first() {
        let types = [
            instance_type("m5.large", [offering("a", "spot", 40), offering("a", "on-demand", 90)]),
            instance_type("c5.large", [offering("b", "spot", 30)]),
        ];
        assert_eq!(chosen(&types, &[]), ["c5.large b spot", "m5.large a spot"]);
    }

    #[test]
    fn spot_dearer_than_on_demand_is_not_asked_for_unless_min_values_need_it() {
        let types = [instance_type(
            "m5.large",
            [offering("a", "spot", 40), offering("b", "spot", 95), offering("a", "on-demand", 90)],
        )];
        assert_eq!(chosen(&types, &[]), ["m5.large a spot"]);
        let min_values = Requirement {
            min_values: Some(1),
            ..Requirement::is_in(label::INSTANCE_TYPE, ["m5.large".into()])
        };
        assert_eq!(chosen(&types, &[min_values]), ["m5.large a spot", "m5.large b spot"]);
    }

    #[test]
    fn on_demand_is_asked_for_where_all_spot_is_dearer() {
        let types = [instance_type(
            "m5.large",
            [offering("a", "spot", 95), offering("a", "on-demand", 90)],
        )];
        assert_eq!(chosen(&types, &[]), ["m5.large a on-demand"]);
    }

    #[test]
    fn metal_and_accelerated_types_go_while_another_is_left() {
        let mut gpu = instance_type("g5.large", [offering("a", "spot", 1)]);
        gpu.capacity = Resources::new().with(NVIDIA_GPU, 1);
        let metal = instance_type("m5.metal", [offering("a", "spot", 2)]);
        let plain = instance_type("m5.large", [offering("a", "spot", 3)]);
        assert_eq!(chosen(&[gpu.clone(), metal, plain], &[]), ["m5.large a spot"]);
        assert_eq!(chosen(&[gpu], &[]), ["g5.large a spot"]);
    }

    #[test]
    fn requirements_and_availability_narrow_the_offerings() {
        let mut gone = offering("a", "spot", 1);
        gone.available = false;
        let types =
            [instance_type("m5.large", [gone, offering("b", "spot", 2), offering("c", "spot", 3)])];
        let zone = Requirement::is_in(label::ZONE, ["a".into(), "c".into()]);
        assert_eq!(chosen(&types, &[zone]), ["m5.large c spot"]);
        let nowhere = Requirement::is_in(label::ZONE, ["d".into()]);
        assert!(chosen(&types, &[nowhere]).is_empty());
    }

    #[test]
    fn at_most_sixty_types_are_asked_for() {
        let types: Vec<InstanceType> = (0..70)
            .map(|n| instance_type(&format!("t{n}.large"), [offering("a", "spot", 100 + n)]))
            .collect();
        let chosen = chosen(&types, &[]);
        assert_eq!(chosen.len(), INSTANCE_TYPES_MAX);
        assert_eq!(chosen.last().unwrap(), "t59.large a spot");
    }
}
