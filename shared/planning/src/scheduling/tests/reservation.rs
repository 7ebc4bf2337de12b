//! Capacity reservations: paid for already, so they come first, and never more than there are.

use domain::instance_type::CapacityType;
use domain::resource::{NODES, Resources};
use domain::taint::TaintEffect;

use crate::testing::{
    Cluster, cluster, instance_type, node_pool, node_pool_with, pod, reserved, taint, with_spot,
};

fn reserving(count: u32) -> Cluster {
    let mut large = with_spot(instance_type("m.large", 2, 0.10), 0.03);
    large.offerings.push(reserved("b", "cr-1", count));
    cluster().selling(vec![large])
}

fn bought(world: &Cluster) -> Vec<CapacityType> {
    let plan = world.plan();
    let mut bought: Vec<_> =
        plan.node_claims.iter().map(|claim| claim.offering.capacity_type).collect();
    bought.sort();
    bought
}

#[test]
fn a_reservation_is_used_before_spot() {
    assert_eq!(bought(&reserving(1).pod(pod("a"))), [CapacityType::Reserved]);
}

#[test]
fn a_reservation_is_never_used_more_often_than_it_has_instances() {
    let bought = bought(&reserving(2).pods(3, &pod("a").cpu(1900)));
    assert_eq!(bought, [CapacityType::Reserved, CapacityType::Reserved, CapacityType::Spot]);
}

#[test]
fn a_reservation_that_is_used_up_is_not_listed() {
    assert_eq!(bought(&reserving(0).pod(pod("a"))), [CapacityType::Spot]);
}

#[test]
fn reservations_are_left_alone_where_the_gate_is_off() {
    let world =
        reserving(1).with(|snapshot| snapshot.settings.feature_gates.reserved_capacity = false);
    assert_eq!(bought(&world.pod(pod("a"))), [CapacityType::Spot]);
}

#[test]
fn two_pools_of_which_pods_avoid_one_share_a_reservation() {
    let mut first = node_pool("first");
    first.limits = Resources::new().with(NODES, 1);
    let avoided = node_pool_with("default", |template| {
        template.taints = vec![taint("rather-not", TaintEffect::PreferNoSchedule)];
    });
    let world = reserving(1).pool(first).pool(avoided).pods(2, &pod("a").cpu(1900));
    assert_eq!(bought(&world), [CapacityType::Reserved, CapacityType::Spot]);
}
