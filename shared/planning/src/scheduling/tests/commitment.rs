//! Commitments: what is paid for is filled first, and never makes a plan dearer.

use domain::commitment::{Commitment, Commitments, Instance, Usage};
use domain::instance_type::{CapacityType, InstanceType};
use domain::label::NODE_POOL;
use domain::money::UsdPerHour;
use domain::plan::Plan;
use domain::pod::NodeSelectorTerm;
use domain::resource::{NODES, Resources};

use crate::testing::{
    Cluster, cluster, instance_type, is, minutes_ago, node, node_pool, node_pool_of, now, pod,
    reserved_instances, savings_plan, usd, with_spot,
};

/// Instance types of family `m`, and of one that is cheaper: on spot at less than a third.
fn sold() -> Vec<InstanceType> {
    vec![
        with_spot(instance_type("m.large", 2, 0.10), 0.033),
        with_spot(instance_type("m.xlarge", 4, 0.20), 0.062),
        with_spot(instance_type("c.large", 2, 0.08), 0.027),
        with_spot(instance_type("c.xlarge", 4, 0.16), 0.051),
    ]
}

fn world(commitments: &[Commitment]) -> Cluster {
    cluster().selling(sold()).with(|snapshot| snapshot.objects.commitments = commitments.to_vec())
}

/// Names and capacity types of what a plan launches, sorted.
fn launched(plan: &Plan) -> Vec<String> {
    let name = |own: &domain::plan::PlannedNodeClaim| {
        format!("{} {}", own.offering.instance_type, own.offering.capacity_type)
    };
    let mut launched: Vec<String> = plan.node_claims.iter().map(name).collect();
    launched.sort();
    launched
}

/// What a plan adds beyond commitments.
fn added(plan: &Plan) -> UsdPerHour {
    let committed = plan.committed.as_ref().unwrap();
    let (before, after) = (plan.totals.hourly_before, plan.totals.hourly_after);
    (after - committed.after.covered) - (before - committed.before.covered)
}

/// What a plan that knew of no commitment adds beyond them, in a cluster without nodes.
fn added_unawares(plan: &Plan, commitments: &[Commitment]) -> UsdPerHour {
    let mut usage = Usage::new();
    let mut others = UsdPerHour::ZERO;
    for own in plan.node_claims.iter().map(|claim| &claim.offering) {
        let (instance_type, zone) = (own.instance_type.clone(), own.zone.clone());
        match own.capacity_type {
            CapacityType::OnDemand => usage.add(&Instance { instance_type, zone }, own.price),
            _ => others += own.price,
        }
    }
    let remaining = Commitments::of(commitments, now()).map(|own| own.remaining(&usage));
    others + remaining.unwrap_or_default()
}

#[test]
fn a_savings_plan_is_filled_before_spot_and_spot_is_bought_beyond_it() {
    // At $0.10 an hour each, two nodes of family m.
    let plan = world(&[savings_plan(0.20)]).pods(4, &pod("a").cpu(3900)).plan();
    let expected = ["c.xlarge spot", "c.xlarge spot", "m.xlarge on-demand", "m.xlarge on-demand"];
    assert_eq!(launched(&plan), expected);
    let committed = plan.committed.unwrap();
    assert_eq!(committed.before.commitments[0].per_mille(), 0);
    assert_eq!(committed.after.commitments[0].per_mille(), 1_000);
    assert_eq!(committed.after.covered, usd(0.40));
    assert_eq!(plan.totals.hourly_after, usd(0.40 + 2.0 * 0.051));
}

#[test]
fn a_claim_for_a_commitment_asks_for_what_it_holds_for() {
    let plan = world(&[savings_plan(1.0)]).pods(1, &pod("a").cpu(1500)).plan();
    let [claim] = &plan.node_claims[..] else { panic!("{plan:?}") };
    let asked: Vec<&str> = claim.offerings.iter().map(|own| &*own.instance_type).collect();
    assert!(asked.iter().all(|name| name.starts_with("m.")), "{asked:?}");
    assert!(claim.offerings.iter().all(|own| own.capacity_type == CapacityType::OnDemand));
}

#[test]
fn without_a_commitment_in_force_the_plan_is_the_same() {
    let pods = |world: Cluster| world.pods(4, &pod("a").cpu(3900));
    let without = pods(world(&[])).plan();
    assert_eq!(launched(&without), ["c.xlarge spot"; 4]);
    let ended = Commitment { end: Some(minutes_ago(1)), ..savings_plan(0.20) };
    assert_eq!(pods(world(&[ended])).plan(), without);
    let to_come = Commitment { start: Some(minutes_ago(-1)), ..savings_plan(0.20) };
    assert_eq!(pods(world(&[to_come])).plan(), without);
}

#[test]
fn a_share_leaves_the_rest_to_other_clusters() {
    let half = Commitment { share: 50, ..savings_plan(0.20) };
    let plan = world(&[half]).pods(4, &pod("a").cpu(3900)).plan();
    let on_demand = plan.node_claims.iter();
    let on_demand = on_demand.filter(|own| own.offering.capacity_type == CapacityType::OnDemand);
    assert_eq!(on_demand.count(), 1);
}

#[test]
fn what_runs_is_taken_off() {
    let world = world(&[savings_plan(0.20)]).node(node("n").of_type("m.xlarge"));
    let plan = world.pod(pod("here").cpu(3900).on("n")).pods(2, &pod("a").cpu(3900)).plan();
    assert_eq!(launched(&plan), ["c.xlarge spot", "m.xlarge on-demand"]);
}

#[test]
fn nodes_that_no_node_pool_manages_use_commitments_too() {
    let mut unmanaged = node("n").of_type("m.xlarge");
    unmanaged.node.labels.remove(domain::label::NODE_POOL);
    let world = world(&[savings_plan(0.10)]).node(unmanaged).with(|own| own.node_claims.clear());
    let plan = world.pod(pod("here").cpu(3900).on("n")).pods(1, &pod("a").cpu(3900)).plan();
    assert_eq!(launched(&plan), ["c.xlarge spot"]);
}

#[test]
fn regional_reserved_instances_are_filled_in_any_size_of_their_family() {
    let plan = world(&[reserved_instances("m.2xlarge", 1, None)])
        .pods(2, &pod("a").cpu(3900))
        .pods(1, &pod("b").cpu(3000))
        .plan();
    let expected = ["c.xlarge spot", "m.xlarge on-demand", "m.xlarge on-demand"];
    assert_eq!(launched(&plan), expected);
}

#[test]
fn zonal_reserved_instances_are_filled_in_their_zone() {
    let plan =
        world(&[reserved_instances("m.xlarge", 1, Some("c"))]).pods(2, &pod("a").cpu(3900)).plan();
    assert_eq!(launched(&plan), ["c.xlarge spot", "m.xlarge on-demand"]);
    let zones: Vec<&str> = plan
        .node_claims
        .iter()
        .filter(|own| own.offering.capacity_type == CapacityType::OnDemand)
        .flat_map(|own| own.offerings.iter().map(|own| &*own.zone))
        .collect();
    assert_eq!(zones, ["c"]);
}

#[test]
fn a_commitment_too_small_for_any_node_changes_no_launch() {
    let pods = |world: Cluster| world.pods(4, &pod("a").cpu(3900)).plan();
    let plan = pods(world(&[savings_plan(0.01)]));
    assert_eq!(plan.node_claims, pods(world(&[])).node_claims);
}

#[test]
fn a_node_pool_that_allows_only_spot_fills_nothing() {
    let spot = crate::testing::requirement(
        domain::label::CAPACITY_TYPE,
        domain::requirement::Operator::In,
        &["spot"],
    );
    let world = world(&[savings_plan(1.0)]).pool(node_pool_of("default", &[spot]));
    assert_eq!(launched(&world.pods(2, &pod("a").cpu(3900)).plan()), ["c.xlarge spot"; 2]);
}

#[test]
fn a_heavier_node_pool_is_not_passed_over_for_a_commitment() {
    let of_family = |name: &str, instance_type: &str| {
        let own = crate::testing::requirement(
            domain::label::INSTANCE_TYPE,
            domain::requirement::Operator::In,
            &[instance_type],
        );
        node_pool_of(name, &[own])
    };
    let mut heavy = of_family("heavy", "c.xlarge");
    heavy.weight = 10;
    let world = world(&[savings_plan(1.0)]).pool(heavy).pool(of_family("default", "m.xlarge"));
    assert_eq!(launched(&world.pods(2, &pod("a").cpu(3900)).plan()), ["c.xlarge spot"; 2]);
}

#[test]
fn a_plan_is_never_dearer_for_commitments_and_its_bound_never_above_what_it_adds() {
    for cents in 0..40_u32 {
        let hourly = f64::from(cents) / 100.0 + 0.003;
        let reserved = reserved_instances("c.large", cents % 4 + 1, None);
        for commitments in [
            vec![savings_plan(hourly)],
            vec![reserved.clone()],
            vec![savings_plan(hourly), reserved],
        ] {
            let pods = |world: Cluster| {
                world
                    .pods(cents as usize % 7 + 1, &pod("a").cpu(700 + i64::from(cents) * 60))
                    .pods(3, &pod("b").cpu(1900))
                    .plan()
            };
            let plan = pods(world(&commitments));
            let unaware = added_unawares(&pods(world(&[])), &commitments);
            assert!(plan.unschedulable.is_empty(), "{cents}");
            assert!(added(&plan) <= unaware, "{cents}: {} above {unaware}", added(&plan));
            let bound = plan.totals.lower_bound.unwrap();
            assert!(bound <= added(&plan), "{cents}: {bound} above {}", added(&plan));
        }
    }
}

#[test]
fn the_bound_knows_what_commitments_cannot_cover() {
    let plan = world(&[savings_plan(0.20)]).pods(20, &pod("a").cpu(3900)).plan();
    let bound = plan.totals.lower_bound.unwrap();
    assert!(bound > usd(0.5), "18 pods need spot nodes at $0.051: {bound}");
    assert!(bound <= added(&plan), "{bound} above {}", added(&plan));
}

#[test]
fn a_pod_that_a_limit_sends_to_another_pool_is_packed_onto_commitments_once() {
    let of_pool = |name: &str| NodeSelectorTerm {
        expressions: vec![is(NODE_POOL, name)],
        fields: Vec::new(),
    };
    let either = vec![of_pool("default"), of_pool("other")];
    let full = pod("full").cpu(3900).with(|spec| spec.required_node_terms = Some(either));
    let world = world(&[savings_plan(1.0)])
        .default_pool(|pool| pool.limits = Resources::new().with(NODES, 1))
        .pool(node_pool("other"));
    let plan = world.pods(3, &full).plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(launched(&plan), ["m.xlarge on-demand"; 3]);
}
