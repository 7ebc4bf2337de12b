//! Where Outrigger does better than Karpenter on purpose; each is a row of the differences in
//! README.md.

use domain::label::{HOSTNAME, ZONE};
use domain::reason::NodePoolUnfit;
use domain::resource::{CPU, NODES, Resources};

use crate::testing::{
    PodMaker, claim_of, cluster, is, near, node, node_pool_of, place_of, pod, pods_by_zone, unfit,
};

const DB: (&str, &str) = ("app", "db");

#[test]
fn priority_decides_who_gets_the_last_room_under_a_limit() {
    let world = cluster()
        .default_pool(|pool| pool.limits = Resources::new().with(CPU, 2000))
        .pod(pod("large").cpu(1900))
        .pod(pod("urgent").cpu(200).with(|spec| spec.priority = 1000));
    let plan = world.plan();
    claim_of(&plan, "urgent");
    assert!(matches!(unfit(&plan, "large", "default"), NodePoolUnfit::Limit { .. }));
}

#[test]
fn priority_decides_who_gets_the_last_node() {
    let world = cluster()
        .default_pool(|pool| pool.limits = Resources::new().with(NODES, 1))
        .pods(3, &pod("large").cpu(7000))
        .pod(pod("urgent").cpu(6000).with(|spec| spec.priority = 1000));
    let plan = world.plan();
    claim_of(&plan, "urgent");
    assert_eq!(plan.unschedulable.len(), 3);
}

#[test]
fn no_pod_starves_behind_others_however_many_are_hopeless() {
    let mut world = cluster().pod(pod("small").with(|spec| spec.priority = -10));
    for size in 0..400 {
        let hopeless = pod(&format!("hopeless-{size:03}")).cpu(100_000 + size);
        world = world.pod(hopeless.with(|spec| spec.priority = 1000));
    }
    let plan = world.plan();
    claim_of(&plan, "small");
    assert_eq!(plan.unschedulable.len(), 400, "and each of them has a reason");
}

#[test]
fn several_launches_may_be_in_flight_at_once() {
    let unlaunched = |name: &str| {
        node(name).with_claim(|claim| {
            claim.status.provider_id = None;
            claim.status.conditions.clear();
        })
    };
    let world = cluster().in_flight(unlaunched("n1")).in_flight(unlaunched("n2"));
    let plan = world.pods(3, &pod("a").cpu(3000)).plan();
    assert_eq!(plan.placements.len(), 2, "claims that are not launched yet are planned onto");
    assert_eq!(plan.node_claims.len(), 1, "and what they do not hold is launched beside them");
}

#[test]
fn pods_that_avoid_each_other_by_zone_are_placed_in_one_pass() {
    let plan = cluster().pods(3, &pod("db").label(DB.0, DB.1).anti_affinity(near(ZONE, DB))).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1, 1]);
    assert_eq!(plan.unschedulable, []);
}

#[test]
fn zones_that_running_pods_have_are_left_to_them() {
    let apart = pod("db").label(DB.0, DB.1).anti_affinity(near(ZONE, DB));
    let world = cluster().node(node("n1")).pod(apart.clone().cpu(3900).on("n1"));
    let plan = world.pods(2, &apart).plan();
    assert_eq!(place_of(&plan, "db-0"), None);
    assert_eq!(pods_by_zone(&plan), [1, 1]);
}

#[test]
fn a_pod_that_could_have_a_node_of_its_own_leaves_room_to_one_that_could_not() {
    let in_b = |maker: PodMaker| maker.requiring(is(ZONE, "b"));
    let plan = cluster()
        .pool(node_pool_of("default", &[is(ZONE, "a")]))
        .node(node("n1").in_zone("b"))
        .pod(pod("large").cpu(3000))
        .pod(in_b(pod("small")).cpu(2000))
        .plan();
    assert_eq!(place_of(&plan, "small"), Some("n1"));
    claim_of(&plan, "large");
}

#[test]
fn pods_that_must_share_a_host_do_not_take_what_room_a_node_has_for_one_of_them() {
    let together = pod("db").label(DB.0, DB.1).cpu(1500).affinity(near(HOSTNAME, DB));
    let world = cluster().node(node("n1")).pod(pod("old").cpu(2000).on("n1"));
    let plan = world.pods(3, &together).plan();
    assert!(plan.unschedulable.is_empty());
    assert_eq!(claim_of(&plan, "db-0").pods.len(), 3);
}

#[test]
fn where_all_room_is_taken_more_small_pods_are_placed_rather_than_fewer_large_ones() {
    let limited = cluster().default_pool(|pool| pool.limits = Resources::new().with(NODES, 1));
    let plan =
        limited.node(node("n1")).pod(pod("large").cpu(3000)).pods(3, &pod("small").cpu(1200));
    let plan = plan.plan();
    assert_eq!(plan.placements.len(), 3);
    assert_eq!(plan.unschedulable.len(), 1);
}
