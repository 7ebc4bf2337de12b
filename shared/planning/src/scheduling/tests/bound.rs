//! The lower bound: never above what a plan can cost, and near it.

use domain::label::{CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, ZONE};
use domain::money::UsdPerHour;
use domain::plan::Plan;
use domain::resource::{CPU, NODES, Resources};
use domain::settings::SearchEffort;
use domain::snapshot::ClusterSnapshot;
use domain::taint::TaintEffect;

use crate::testing::{
    cluster, daemon_set, instance_type, is, near, node, node_pool_of, pod, reserved, spread_over,
    taint, usd,
};

fn bound(plan: &Plan) -> UsdPerHour {
    plan.totals.lower_bound.unwrap()
}

fn price(plan: &Plan) -> UsdPerHour {
    plan.node_claims.iter().map(|claim| claim.offering.price).sum()
}

/// The bound is at most the price, and at least this many percent of it.
#[track_caller]
fn assert_near(plan: &Plan, percent: i64) {
    let (bound, price) = (bound(plan), price(plan));
    assert!(bound <= price, "{bound} is above {price}");
    assert!(bound * 100 >= price * percent, "{bound} is far below {price}");
}

#[test]
fn nothing_to_launch_has_nothing_to_cost() {
    assert_eq!(bound(&cluster().plan()), UsdPerHour::ZERO);
    let plan = cluster().node(node("n1")).pod(pod("a")).plan();
    assert_eq!(bound(&plan), UsdPerHour::ZERO);
}

#[test]
fn one_pod_costs_at_least_the_cheapest_node_that_hosts_it() {
    assert_near(&cluster().pod(pod("a").cpu(100)).plan(), 99);
    assert_near(&cluster().pod(pod("a").cpu(5000)).plan(), 99);
}

#[test]
fn pods_that_fill_nodes_cost_what_the_nodes_do() {
    assert_near(&cluster().pods(100, &pod("a").cpu(1000)).plan(), 97);
}

#[test]
fn pods_too_large_to_share_nodes_are_not_counted_in_parts() {
    // Two fifths of the largest node are left over by each, and nothing can use them.
    let sold = vec![instance_type("m", 5, 0.50)];
    let plan = cluster().selling(sold).pods(10, &pod("a").cpu(3000)).plan();
    assert_near(&plan, 99);
}

#[test]
fn pods_of_two_kinds_that_fill_a_node_together_are_counted_together() {
    let sold = vec![instance_type("m", 10, 1.0)];
    let plan =
        cluster().selling(sold).pods(6, &pod("a").cpu(6000)).pods(6, &pod("b").cpu(4000)).plan();
    assert_eq!(plan.node_claims.len(), 6);
    assert_near(&plan, 99);
}

#[test]
fn it_is_near_without_a_search_where_hundreds_of_types_give_as_much_for_their_price() {
    let sold = (1..=200_i32)
        .map(|cpus| instance_type(&format!("m{cpus:03}"), cpus.into(), 0.05 * f64::from(cpus)));
    let quick = |snapshot: &mut ClusterSnapshot| {
        snapshot.settings.search_effort = SearchEffort::Quick;
    };
    let mut world = cluster().selling(sold.collect()).with(quick);
    for kind in 0..80 {
        world = world.pods(3, &pod(&format!("kind-{kind}")).cpu(300 + kind * 37));
    }
    assert_near(&world.plan(), 95);
}

#[test]
fn pods_that_keep_off_each_other_need_a_node_each() {
    let shy = pod("a").cpu(100).label("app", "shy").anti_affinity(near(HOSTNAME, ("app", "shy")));
    assert_near(&cluster().pods(12, &shy).plan(), 99);
}

#[test]
fn pods_that_keep_off_each_other_need_as_many_nodes_beside_others_that_request_the_same() {
    let apart = pod("x").label("app", "x").cpu(100).anti_affinity(near(HOSTNAME, ("app", "x")));
    let sold = vec![instance_type("m", 8, 1.0)];
    let world = cluster().selling(sold).pods(4, &apart).pods(12, &pod("y").cpu(100));
    let plan = world.plan();
    assert_eq!(plan.node_claims.len(), 4);
    assert_near(&plan, 99);
}

#[test]
fn daemon_sets_take_their_part() {
    let world = cluster().selling(vec![instance_type("m", 4, 0.40)]);
    let without = world.clone().pods(30, &pod("a").cpu(2000)).plan();
    let with = world.daemon_set(daemon_set("agent", 500)).pods(30, &pod("a").cpu(2000)).plan();
    assert_near(&with, 99);
    assert!(bound(&with) > bound(&without));
}

#[test]
fn room_on_nodes_that_are_there_is_free() {
    let wanted = pod("a").cpu(2000);
    let without = cluster().pods(20, &wanted).plan();
    let with = cluster().node(node("n1")).pods(20, &wanted).plan();
    assert!(bound(&with) < bound(&without));
    assert_near(&with, 90);
}

#[test]
fn a_reservation_is_only_as_large_as_it_is() {
    let mut sold = instance_type("m", 4, 0.40);
    sold.offerings.push(reserved("a", "cr-1", 2));
    let plan = cluster().selling(vec![sold]).pods(10, &pod("a").cpu(4000)).plan();
    assert_near(&plan, 95);
    assert!(bound(&plan) > usd(3.0));
}

#[test]
fn what_a_limited_pool_cannot_take_is_paid_for_where_it_goes() {
    let sold = vec![instance_type("cheap", 4, 0.10), instance_type("dear", 4, 0.40)];
    let mut limited = node_pool_of("limited", &[is(INSTANCE_TYPE, "cheap")]);
    limited.limits = Resources::new().with(NODES, 3);
    let world = cluster()
        .selling(sold)
        .pool(node_pool_of("default", &[is(INSTANCE_TYPE, "dear")]))
        .pool(limited)
        .pods(10, &pod("a").cpu(4000));
    let plan = world.plan();
    assert_eq!(price(&plan), usd(3.10));
    assert_near(&plan, 99);
}

#[test]
fn a_limit_that_leaves_enough_does_not_raise_it() {
    let world = cluster().pods(8, &pod("a").cpu(2000));
    let limited = world.clone().default_pool(|pool| {
        pool.limits = Resources::new().with(CPU, 16_000);
    });
    assert!(bound(&limited.plan()) <= bound(&world.plan()));
}

#[test]
fn pods_of_two_kinds_that_keep_off_each_other_need_a_node_each() {
    let shy = |name: &str, cpu: i64| {
        let near = near(HOSTNAME, ("app", "shy"));
        pod(name).cpu(cpu).label("app", "shy").anti_affinity(near)
    };
    assert_near(&cluster().pods(12, &shy("a", 100)).pods(12, &shy("b", 200)).plan(), 99);
}

#[test]
fn a_spread_over_hosts_counts_by_its_skew() {
    let spread = |skew: i32| {
        let mut constraint = spread_over(HOSTNAME, ("app", "web"));
        constraint.max_skew = skew;
        cluster().pods(12, &pod("a").cpu(100).label("app", "web").spread(constraint)).plan()
    };
    assert_near(&spread(1), 99);
    assert_near(&spread(3), 99);
    assert!(bound(&spread(1)) > bound(&spread(3)));
}

#[test]
fn pods_that_open_the_same_port_need_a_node_each() {
    let plan = cluster()
        .pods(8, &pod("a").cpu(100).host_port(80))
        .pods(8, &pod("b").cpu(200).host_port(80))
        .plan();
    assert_near(&plan, 99);
}

#[test]
fn a_spread_over_zones_is_paid_for_in_each_of_them() {
    let mut sold = instance_type("m", 4, 0.40);
    for (offering, price) in sold.offerings.iter_mut().zip([0.20, 0.40, 0.60]) {
        offering.price = usd(price);
    }
    let web = pod("a").cpu(4000).label("app", "web");
    let world = cluster().selling(vec![sold]);
    let spread = world.clone().pods(30, &web.clone().spread(spread_over(ZONE, ("app", "web"))));
    let plan = spread.plan();
    assert_near(&plan, 95);
    assert!(bound(&plan) > bound(&world.pods(30, &web).plan()));
}

#[test]
fn a_spread_that_selects_others_too_does_not_raise_it() {
    // Whoever is selected and does not carry the spread may come later.
    let mut sold = instance_type("m", 4, 0.40);
    sold.offerings[0].price = usd(0.20);
    let web = |name: &str| pod(name).cpu(4000).label("app", "web");
    let spread = web("a").spread(spread_over(ZONE, ("app", "web")));
    let plan = cluster().selling(vec![sold]).pods(6, &spread).pods(6, &web("b")).plan();
    assert!(bound(&plan) <= usd(2.40), "{}", bound(&plan));
}

#[test]
fn room_that_only_some_of_the_pods_tolerate_is_free_for_these() {
    let wanted = |name: &str| pod(name).cpu(2000);
    let tainted = node("n1").with(|node| node.taints.push(taint("team", TaintEffect::NoSchedule)));
    let plan = cluster()
        .node(tainted)
        .pods(2, &wanted("a"))
        .pods(2, &wanted("b").tolerating("team"))
        .plan();
    assert!(bound(&plan) <= price(&plan), "{} is above {}", bound(&plan), price(&plan));
}

#[test]
fn pods_without_a_place_are_left_out_of_it() {
    let plan = cluster().pod(pod("a").cpu(1000)).pod(pod("huge").cpu(1_000_000)).plan();
    assert_eq!(plan.unschedulable.len(), 1);
    assert_near(&plan, 99);
}

#[test]
fn a_pod_without_a_place_takes_nothing_off_what_others_cost() {
    let others = cluster().pods(20, &pod("a").cpu(2000));
    let with = others.clone().pod(pod("huge").cpu(1_000_000)).plan();
    assert_eq!(bound(&with), bound(&others.plan()));
    assert_near(&with, 97);
}

#[test]
fn a_spread_that_need_not_hold_does_not_raise_it() {
    let wish = || {
        let mut constraint = spread_over(ZONE, ("app", "web"));
        constraint.when_unsatisfiable = domain::pod::WhenUnsatisfiable::ScheduleAnyway;
        constraint
    };
    let wishing = cluster().pods(3, &pod("a").label("app", "web").spread(wish())).plan();
    let plain = cluster().pods(3, &pod("a").label("app", "web")).plan();
    assert_eq!(bound(&wishing), bound(&plain));
}

#[test]
fn what_is_sold_cheaper_elsewhere_counts_only_where_pods_may_go() {
    let sold = vec![crate::testing::with_spot(instance_type("m", 4, 0.40), 0.04)];
    let plan = cluster()
        .selling(sold)
        .pods(10, &pod("a").cpu(4000).on_nodes_with(CAPACITY_TYPE, "on-demand"))
        .plan();
    assert_near(&plan, 99);
}
