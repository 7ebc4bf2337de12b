//! What a launch asks EC2 for.

use domain::instance_type::{CapacityType, InstanceTypes};
use domain::label::{CAPACITY_TYPE, INSTANCE_TYPE, SPOT_INTERRUPTIONS_MAX};
use domain::node_pool::NodePool;
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::pod::OwnerKind;
use domain::requirement::{Operator, Requirement};
use domain::resource::NVIDIA_GPU;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{InterruptionCost, OfferingHistory, SpotHistory, SpotOfferingShare};

use crate::Rule;
use crate::testing::*;

fn spot(types: &[&str]) -> PlannedNodeClaim {
    claim_in("n", &["p"], types, "a", CapacityType::Spot)
}

fn on_demand(types: &[&str]) -> PlannedNodeClaim {
    claim_in("n", &["p"], types, "a", CapacityType::OnDemand)
}

/// The claim, free to be bought in any way.
fn in_any_way(mut claim: PlannedNodeClaim) -> PlannedNodeClaim {
    claim.requirements.retain(|requirement| &*requirement.key != CAPACITY_TYPE);
    claim
}

fn asking(mut claim: PlannedNodeClaim, offerings: Vec<LaunchOffering>) -> PlannedNodeClaim {
    claim.offerings = offerings;
    claim
}

fn one_pod() -> ClusterSnapshot {
    pooled([pod("p")])
}

#[test]
fn a_launch_names_an_offering() {
    allows(&one_pod(), &plan([spot(&["small", "big"])]));
    breaks(&one_pod(), &plan([asking(spot(&["small"]), Vec::new())]), &[Rule::OfferingsEmpty]);
}

#[test]
fn every_offering_is_of_a_listed_type_sold_allowed_and_at_its_price() {
    let changed = |change: fn(&mut LaunchOffering)| {
        let mut claim = spot(&["small"]);
        change(&mut claim.offerings[0]);
        plan([claim])
    };
    let of_big = changed(|own| own.instance_type = "big".into());
    breaks(&one_pod(), &of_big, &[Rule::OfferingType]);
    breaks(&one_pod(), &changed(|own| own.zone = "c".into()), &[Rule::OfferingUnknown]);
    breaks(&one_pod(), &changed(|own| own.zone = "b".into()), &[Rule::OfferingRequirements]);
    breaks(&one_pod(), &changed(|own| own.price = usd(0.01)), &[Rule::OfferingPrice]);
}

#[test]
fn offerings_come_cheapest_first_and_once() {
    let mut reversed = spot(&["small", "big"]);
    reversed.offerings.reverse();
    breaks(&one_pod(), &plan([reversed]), &[Rule::OfferingsOrder]);
    let mut twice = spot(&["small"]);
    twice.offerings.push(twice.offerings[0].clone());
    breaks(&one_pod(), &plan([twice]), &[Rule::OfferingsTwice]);
}

#[test]
fn spot_that_ec2_skips_comes_after_what_it_launches_instead() {
    let plain = spot(&["small", "big"]);
    let mut cluster = one_pod();
    let mut types = cluster.instance_types.default.to_vec();
    for own in &mut types {
        own.offerings.retain(|own| own.capacity_type == CapacityType::Spot);
    }
    cluster.instance_types.default = types.into();
    let launched = LaunchOffering { price: usd(0.09), ..plain.offerings[1].clone() };
    cluster.skipped_spot.record(&plain.offerings[..1], &launched);
    let rules = [Rule::TypesOrder, Rule::OfferingNotCheapest, Rule::OfferingsOrder];
    breaks(&cluster, &plan([plain]), &rules);
    let last = spot(&["big", "small"]);
    let mut offerings = last.offerings.clone();
    offerings.sort_by_key(|own| own.instance_type != last.offering.instance_type);
    allows(&cluster, &plan([asking(last, offerings)]));
}

#[test]
fn a_launch_is_of_one_capacity_type() {
    let claim = in_any_way(spot(&["small"]));
    let both = [spot(&["small"]).offerings, on_demand(&["small"]).offerings].concat();
    let mixed = asking(claim, both);
    breaks(&one_pod(), &plan([mixed]), &[Rule::OfferingsMixed]);
}

#[test]
fn spot_goes_before_on_demand_while_it_is_cheaper() {
    let free = in_any_way(spot(&["small"]));
    allows(&one_pod(), &plan([free.clone()]));
    let late = asking(free, on_demand(&["small"]).offerings);
    breaks(&one_pod(), &plan([late]), &[Rule::OfferingsCapacityType]);
}

#[test]
fn spot_never_costs_more_than_on_demand_unless_min_values_need_it() {
    // Spot of big costs 0.08, on demand small costs 0.05.
    let dear = in_any_way(spot(&["small", "big"]));
    breaks(&one_pod(), &plan([dear.clone()]), &[Rule::OfferingsSpotPrice]);
    let two_types = Requirement {
        min_values: Some(2),
        ..requirement(INSTANCE_TYPE, Operator::In, &["small", "big"])
    };
    let mut wanted = dear;
    wanted.requirements.push(two_types.clone());
    let pool: NodePool = pool_requiring(vec![two_types]);
    let cluster = cluster([pod("p")]).with_node_pools([pool]);
    allows(&cluster, &plan([wanted]));
}

#[test]
fn accelerated_types_go_while_another_would_do() {
    let mut cluster = one_pod();
    let mut types = cluster.instance_types.default.to_vec();
    let gpu = types.iter_mut().find(|own| &*own.name == "gpu").unwrap();
    gpu.capacity = gpu.capacity.clone().with(NVIDIA_GPU, 1);
    cluster.instance_types = InstanceTypes { default: types.into(), ..cluster.instance_types };
    let both = on_demand(&["small", "gpu"]);
    breaks(&cluster, &plan([both.clone()]), &[Rule::OfferingsExotic]);
    let plain = both.offerings[..1].to_vec();
    allows(&cluster, &plan([asking(both, plain)]));
    allows(&cluster, &plan([on_demand(&["gpu"])]));
}

#[test]
fn at_most_sixty_types_are_asked_for() {
    let names: Vec<String> = (0..61).map(|number| format!("small{number:02}")).collect();
    let mut cluster = one_pod();
    let small = cluster.instance_types.default.iter().find(|own| &*own.name == "small").unwrap();
    let types: Vec<_> = names
        .iter()
        .map(|name| {
            let mut copy = small.clone();
            copy.name = name.as_str().into();
            copy.labels.insert(INSTANCE_TYPE.into(), vec![copy.name.clone()]);
            copy
        })
        .collect();
    let launched = |count: usize| {
        let mut claim = spot(&["small"]);
        let offering = claim.offerings[0].clone();
        claim.instance_types = names[..count].iter().map(|name| name.as_str().into()).collect();
        let named = |name: &domain::Text| LaunchOffering {
            instance_type: name.clone(),
            ..offering.clone()
        };
        claim.offerings = claim.instance_types.iter().map(named).collect();
        claim.offering = claim.offerings[0].clone();
        plan([claim])
    };
    cluster.instance_types = InstanceTypes { default: types.into(), ..cluster.instance_types };
    allows(&cluster, &launched(60));
    breaks(&cluster, &launched(61), &[Rule::OfferingsMany]);
}

#[test]
fn spot_that_is_interrupted_too_often_is_asked_for_where_nothing_else_is_left() {
    let bad = OfferingHistory {
        node_hours: 1.0,
        interruptions: 8.0,
        last_interruption: Some(now()),
        ..OfferingHistory::default()
    };
    let history = SpotHistory::new(now(), [("small".into(), "a".into(), bad)]);
    let mut cluster = one_pod();
    cluster.spot = history;
    allows(&cluster, &plan([spot(&["small"])]));
    let pool = &mut cluster.objects.node_pools[0];
    pool.annotations.insert(SPOT_INTERRUPTIONS_MAX.into(), "50".into());
    allows(&cluster, &plan([spot(&["small"])]));
    let broken = in_any_way(spot(&["small"]));
    breaks(
        &cluster,
        &plan([broken]),
        &[Rule::OfferingNotCheapest, Rule::OfferingsInterrupted, Rule::OfferingsSpotPrice],
    );
    let mut calm = in_any_way(on_demand(&["small"]));
    calm.offering = calm.offerings[0].clone();
    allows(&cluster, &plan([calm]));
}

/// Spot is taken to be interrupted once in 100 node-hours where nothing is remembered.
fn costing(pod: PodMaker, cost: &str) -> PodMaker {
    let cost = InterruptionCost::parse(cost).unwrap();
    pod.with(|spec| spec.spot_interruption_cost = Some(cost))
}

#[test]
fn spot_is_not_asked_for_where_interruptions_of_its_pods_cost_more_than_it_saves() {
    let bought = |mut claim: PlannedNodeClaim| {
        claim = in_any_way(claim);
        claim.offering = claim.offerings[0].clone();
        plan([claim])
    };
    let dear = pooled([costing(pod("p"), "1000h")]);
    breaks(
        &dear,
        &bought(spot(&["small"])),
        &[Rule::OfferingNotCheapest, Rule::OfferingsSpotPrice],
    );
    allows(&dear, &bought(on_demand(&["small"])));
    let cheap = pooled([costing(pod("p"), "1h")]);
    allows(&cheap, &bought(spot(&["small"])));
    breaks(
        &cheap,
        &bought(on_demand(&["small"])),
        &[Rule::OfferingNotCheapest, Rule::OfferingsCapacityType],
    );
}

fn sharing(name: &str) -> PodMaker {
    let share = SpotOfferingShare::parse("50%").ok();
    pod(name).owned_by(OwnerKind::ReplicaSet).with(|spec| spec.spot_offering_share = share)
}

#[test]
fn pods_with_a_share_on_one_spot_offering_leave_ec2_no_choice() {
    let cluster = pooled([sharing("p"), sharing("q")]);
    let one = |name: &str, pod: &str| claim_in(name, &[pod], &["small"], "a", CapacityType::Spot);
    let two = claim_in("m", &["q"], &["small", "big"], "b", CapacityType::Spot);
    breaks(&cluster, &plan([one("n", "p"), two]), &[Rule::SpotShareChoice]);
    let other = claim_in("m", &["q"], &["small"], "b", CapacityType::Spot);
    allows(&cluster, &plan([one("n", "p"), other]));
    breaks(&cluster, &plan([one("n", "p"), one("m", "q")]), &[Rule::SpotShare]);
}

#[test]
fn a_share_is_exceeded_where_nothing_else_has_room() {
    let one = |name: &str, pod: &str, zone: &str| {
        claim_in(name, &[pod], &["small"], zone, CapacityType::Spot)
    };
    let cluster = pooled([sharing("p"), sharing("q"), sharing("r")]);
    // Of three, one may be on each of the two offerings that cost the same.
    allows(&cluster, &plan([one("n", "p", "a"), one("m", "q", "b"), one("o", "r", "a")]));
    let all = plan([one("n", "p", "a"), one("m", "q", "a"), one("o", "r", "a")]);
    breaks(&cluster, &all, &[Rule::SpotShare]);
}
