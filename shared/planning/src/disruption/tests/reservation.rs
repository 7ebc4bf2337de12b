//! Capacity reservations: what a plan launches uses no more of one than it has, whatever it is
//! launched for.

use domain::SignedDuration;
use domain::label::{NODE_POOL, ZONE};
use domain::node_pool::NeverOr;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::requirement::Operator;

use crate::testing::{
    Cluster, NodeMaker, cluster, instance_type, node, node_pool_of, pod, requirement, reserved,
};

/// A cluster whose new nodes can use a reservation of as many instances.
fn reserving(instances: u32) -> Cluster {
    let mut sold = instance_type("m.xlarge", 4, 0.20);
    sold.offerings.push(reserved("a", "cr-1", instances));
    cluster().selling(vec![sold])
}

/// A node that has expired.
fn expired(name: &str) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(24));
    })
}

fn replacements(plan: &Plan) -> impl Iterator<Item = &PlannedNodeClaim> {
    plan.disruptions.iter().flat_map(|own| &own.replacements)
}

/// Of all that the plan launches, how many use a reservation.
fn uses(plan: &Plan) -> usize {
    let launched = plan.node_claims.iter().chain(replacements(plan));
    launched.filter(|claim| claim.offering.reservation_id.is_some()).count()
}

#[test]
fn replacements_of_several_nodes_share_a_reservation() {
    let both = |instances| {
        let world = reserving(instances).node(expired("n1")).node(expired("n2"));
        world.pod(pod("a").cpu(3000).on("n1")).pod(pod("b").cpu(3000).on("n2")).plan()
    };
    assert_eq!([1, 2].map(|instances| uses(&both(instances))), [1, 2]);
    assert_eq!(replacements(&both(1)).count(), 2, "the other one is bought on demand");
}

#[test]
fn a_replacement_leaves_the_reservation_that_a_pending_pod_is_launched_in() {
    let beside = |instances| {
        let world = reserving(instances).node(expired("n1")).pod(pod("a").cpu(3000).on("n1"));
        uses(&world.pod(pod("waits").cpu(3000)).plan())
    };
    assert_eq!([1, 2].map(beside), [1, 2]);
}

#[test]
fn consolidation_does_not_count_on_a_reservation_that_a_pending_pod_is_launched_in() {
    let beside = |instances| {
        let world = reserving(instances).node(node("n1")).pod(pod("a").cpu(1000).on("n1"));
        let plan = world.pod(pod("waits").cpu(3500)).plan();
        (uses(&plan), plan.disruptions.len())
    };
    assert_eq!([1, 2].map(beside), [(1, 0), (2, 1)]);
}

#[test]
fn nodes_of_a_static_pool_share_a_reservation() {
    let launched = |instances| {
        let world = reserving(instances).default_pool(|pool| pool.replicas = Some(3));
        let plan = world.plan();
        (uses(&plan), plan.node_claims.len())
    };
    assert_eq!([1, 2].map(launched), [(1, 3), (2, 3)], "the others are bought on demand");
}

#[test]
fn a_drifted_node_of_a_static_pool_leaves_the_reservation_that_a_pending_pod_is_launched_in() {
    let beside = |instances| {
        let mut fixed = node_pool_of("fixed", &[requirement(ZONE, Operator::In, &["a"])]);
        fixed.replicas = Some(1);
        let drifted = node("n1").label(NODE_POOL, "fixed").label(ZONE, "b");
        let world = reserving(instances).pool(fixed).node(drifted).pod(pod("waits").cpu(3500));
        let plan = world.pod(pod("a").cpu(3000).on("n1")).plan();
        (uses(&plan), replacements(&plan).count())
    };
    assert_eq!([1, 2].map(beside), [(1, 1), (2, 1)]);
}
