//! Spot offerings by what is remembered of them.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{
    CAPACITY_TYPE, SPOT_INTERRUPTION_COST, SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT,
    SPOT_INTERRUPTIONS_MAX, ZONE,
};
use domain::plan::{LaunchOffering, Plan};
use domain::pod::{DoNotDisrupt, GracePeriodSeconds};
use domain::resource::{Resources, USD_PER_HOUR};
use domain::spot::{InterruptionCost, OfferingHistory, SpotHistory};

use crate::testing::{
    Cluster, PodMaker, claim_of, cluster, instance_type, is, node, node_pool_of, now, offering,
    place_of, pod, usd, with_spot,
};

/// `m.large` in zones `a` and `b`; `b` is 10 % dearer. On demand it costs 0.10.
fn two_zones() -> Cluster {
    let mut sold = with_spot(instance_type("m.large", 2, 0.10), 0.030);
    sold.offerings.push(offering("b", CapacityType::Spot, 0.033));
    cluster().selling(vec![sold])
}

/// What was seen: zone, node-hours, interruptions.
fn seen(all: &'static [(&'static str, f64, f64)]) -> SpotHistory {
    let offerings = all.iter().map(|(zone, node_hours, interruptions)| {
        let last_interruption = (*interruptions > 0.0).then(now);
        let own = OfferingHistory {
            node_hours: *node_hours,
            interruptions: *interruptions,
            last_interruption,
            ..OfferingHistory::default()
        };
        (Text::from("m.large"), Text::from(*zone), own)
    });
    SpotHistory::new(now(), offerings)
}

fn annotated(world: Cluster, key: &str, value: &str) -> Cluster {
    world.default_pool(|pool| {
        pool.annotations.insert(key.into(), value.into());
    })
}

fn remembering(world: Cluster, history: SpotHistory) -> Cluster {
    world.with(|snapshot| snapshot.spot = history)
}

const A_IS_BAD: &[(&str, f64, f64)] = &[("a", 0.5, 3.0), ("b", 10.0, 0.0)];

#[test]
fn what_is_remembered_decides_nothing_but_the_order_of_equals_where_no_pool_asks() {
    let plan = remembering(two_zones(), seen(A_IS_BAD)).pod(pod("p")).plan();
    assert_eq!(&*claim_of(&plan, "p").offering.zone, "a");
    assert_eq!(claim_of(&plan, "p").offerings.len(), 2);
    let mut equal = with_spot(instance_type("m.large", 2, 0.10), 0.030);
    equal.offerings.push(offering("b", CapacityType::Spot, 0.030));
    let world = remembering(cluster().selling(vec![equal]), seen(A_IS_BAD));
    let plan = world.pod(pod("p")).plan();
    assert_eq!(&*claim_of(&plan, "p").offering.zone, "b");
}

#[test]
fn an_offering_is_chosen_at_its_price_and_what_its_interruptions_cost() {
    let world = annotated(two_zones(), SPOT_INTERRUPTION_COST, "15m");
    let plan = remembering(world, seen(A_IS_BAD)).pod(pod("p")).plan();
    let claim = claim_of(&plan, "p");
    assert_eq!(&*claim.offering.zone, "b");
    assert_eq!(claim.offering.price, usd(0.033), "a plan says what it costs");
    assert_eq!(plan.totals.hourly_after, usd(0.033));
    let zones: Vec<&str> = claim.offerings.iter().map(|own| &*own.zone).collect();
    assert_eq!(zones, ["b"], "EC2 would take the other for its price");
}

#[test]
fn the_lower_bound_is_one_of_what_nodes_cost() {
    let world = annotated(two_zones(), SPOT_INTERRUPTION_COST, "2h");
    let plan = remembering(world, seen(A_IS_BAD)).pods(8, &pod("p").cpu(900)).plan();
    let bound = plan.totals.lower_bound.unwrap();
    assert!(bound <= usd(0.030 * 4.0), "{bound}: four nodes in zone a cost no more");
    assert!(bound > usd(0.030 * 3.0), "{bound}");
}

#[test]
fn dollars_a_pod_count_more_on_a_node_with_many_pods() {
    let chosen = |cpu: i64| {
        let world = annotated(two_zones(), SPOT_INTERRUPTION_COST, "$0.0015");
        let plan = remembering(world, seen(A_IS_BAD)).pod(pod("p").cpu(cpu)).plan();
        claim_of(&plan, "p").offering.zone.to_string()
    };
    assert_eq!(chosen(2000), "a", "one pod");
    assert_eq!(chosen(100), "b", "room for twenty like it");
}

#[test]
fn an_offering_above_the_maximum_is_left_out_while_another_remains() {
    let world = |zones: &'static [(&'static str, f64, f64)]| {
        let world = annotated(two_zones(), SPOT_INTERRUPTIONS_MAX, "50");
        remembering(world, seen(zones)).pod(pod("p"))
    };
    let plan = world(A_IS_BAD).plan();
    assert_eq!(&*claim_of(&plan, "p").offering.zone, "b");
    let plan = world(&[("a", 0.5, 3.0), ("b", 0.5, 3.0)]).plan();
    assert_eq!(claim_of(&plan, "p").offering.capacity_type, CapacityType::OnDemand);
    let spot_only = world(&[("a", 0.5, 3.0), ("b", 0.5, 3.0)]).with(|snapshot| {
        let mut types = snapshot.instance_types.default.to_vec();
        types[0].offerings.retain(|own| own.capacity_type == CapacityType::Spot);
        snapshot.instance_types.default = types.into();
    });
    let plan = spot_only.plan();
    assert_eq!(&*claim_of(&plan, "p").offering.zone, "a", "nothing else remains");
}

#[test]
fn offerings_in_recent_shortage_come_later_and_not_never() {
    let mut equal = with_spot(instance_type("m.large", 2, 0.10), 0.030);
    equal.offerings.push(offering("b", CapacityType::Spot, 0.0301));
    let short = OfferingHistory { capacity_errors: 3.0, ..OfferingHistory::default() };
    let history = SpotHistory::new(now(), [("m.large".into(), "a".into(), short)]);
    let world = annotated(cluster().selling(vec![equal]), SPOT_INTERRUPTION_COST, "1m");
    let plan = remembering(world, history).pod(pod("p")).plan();
    let zones: Vec<&str> = claim_of(&plan, "p").offerings.iter().map(|own| &*own.zone).collect();
    assert_eq!(zones.first(), Some(&"b"));
}

#[test]
fn a_limit_in_dollars_counts_what_nodes_cost_and_not_what_their_interruptions_do() {
    let limit = usd(0.10).nanos();
    let world = annotated(two_zones(), SPOT_INTERRUPTION_COST, "24h")
        .default_pool(|pool| pool.limits = Resources::new().with(USD_PER_HOUR, limit));
    let plan = remembering(world, seen(A_IS_BAD)).pod(pod("p")).plan();
    assert!(plan.unschedulable.is_empty(), "{:?}", plan.unschedulable);
}

/// Spot is taken back about twice in 100 node-hours.
const SELDOM: &[(&str, f64, f64)] = &[("a", 200.0, 4.0), ("b", 200.0, 4.0)];

fn calm() -> Cluster {
    remembering(two_zones(), seen(SELDOM))
}

fn costing(pod: PodMaker, cost: &str) -> PodMaker {
    let cost = InterruptionCost::parse(cost).unwrap();
    pod.with(|spec| spec.spot_interruption_cost = Some(cost))
}

fn bought(plan: &Plan, pod: &str) -> CapacityType {
    claim_of(plan, pod).offering.capacity_type
}

#[test]
fn on_demand_is_bought_for_pods_whose_interruption_is_dear_and_spot_for_the_rest() {
    let world = calm().pod(costing(pod("dear").cpu(1500), "200h"));
    let plan = world.pods(3, &pod("web").cpu(1500)).plan();
    assert_eq!(bought(&plan, "dear"), CapacityType::OnDemand);
    for name in ["web-0", "web-1", "web-2"] {
        assert_eq!(bought(&plan, name), CapacityType::Spot);
    }
    assert_eq!(plan.totals.hourly_after, usd(0.10 + 3.0 * 0.030), "a plan says what it costs");
}

#[test]
fn a_pod_that_costs_a_little_stays_on_spot() {
    let plan = calm().pod(costing(pod("dear").cpu(1500), "10h")).pod(pod("web").cpu(1500)).plan();
    assert_eq!(bought(&plan, "dear"), CapacityType::Spot);
    assert_eq!(claim_of(&plan, "dear").offering.price, usd(0.030));
    let zones: Vec<&str> = claim_of(&plan, "web").offerings.iter().map(|own| &*own.zone).collect();
    assert_eq!(zones, ["a", "b"], "each offering is listed once");
}

#[test]
fn pods_that_the_notice_does_not_do_for_cost_what_the_pool_says_of_them() {
    let world = || annotated(calm(), SPOT_INTERRUPTION_COST_DO_NOT_DISRUPT, "$5");
    let held = pod("held").cpu(1500).having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
    let slow = pod("slow").cpu(1500).with(|spec| spec.termination_grace = GracePeriodSeconds(121));
    let quick =
        pod("quick").cpu(1500).with(|spec| spec.termination_grace = GracePeriodSeconds(120));
    let plan = world().pod(held.clone()).pod(slow).pod(quick).plan();
    assert_eq!(bought(&plan, "held"), CapacityType::OnDemand);
    assert_eq!(bought(&plan, "slow"), CapacityType::OnDemand);
    assert_eq!(bought(&plan, "quick"), CapacityType::Spot);
    let plan = world().pod(costing(held, "0s")).plan();
    assert_eq!(bought(&plan, "held"), CapacityType::Spot, "what it says itself comes first");
    let plan =
        calm().pod(pod("held").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always)));
    assert_eq!(bought(&plan.plan(), "held"), CapacityType::Spot, "nobody asked");
}

#[test]
fn a_dear_pod_is_never_pending_for_want_of_on_demand() {
    let spot_only = calm().default_pool(|pool| {
        pool.template = node_pool_of("x", &[is(CAPACITY_TYPE, "spot")]).template;
    });
    let plan = spot_only.pod(costing(pod("dear"), "$100")).plan();
    assert_eq!(bought(&plan, "dear"), CapacityType::Spot);
}

#[test]
fn cheap_pods_fill_the_node_of_a_dear_one_where_that_is_cheapest() {
    let world = calm().pod(costing(pod("dear").cpu(1000), "200h"));
    let plan = world.pods(2, &pod("web").cpu(500)).plan();
    assert_eq!(plan.node_claims.len(), 1, "{:?}", plan.node_claims);
    assert_eq!(bought(&plan, "web-0"), CapacityType::OnDemand);
}

#[test]
fn the_lower_bound_holds_where_pods_differ_in_what_their_interruptions_cost() {
    let world = calm().pods(4, &costing(pod("dear").cpu(900), "200h"));
    let plan = world.pods(4, &pod("web").cpu(900)).plan();
    let bound = plan.totals.lower_bound.unwrap();
    assert!(bound <= usd(0.030 * 4.0), "{bound}: four spot nodes cost no more");
    assert!(bound > usd(0.030 * 3.0), "{bound}");
}

#[test]
fn dollars_of_dear_pods_count_as_many_of_them_as_a_node_holds() {
    // A tiny pod besides: the average of all pods would have room for more on each node.
    let world =
        |cost: &str| calm().pod(costing(pod("dear").cpu(2000), cost)).pods(20, &pod("web").cpu(20));
    assert_eq!(bought(&world("$3").plan(), "dear"), CapacityType::Spot, "2 % of $3 is $0.06");
    assert_eq!(bought(&world("$4").plan(), "dear"), CapacityType::OnDemand, "2 % of $4 is $0.08");
}

#[test]
fn pods_that_cost_time_and_pods_that_cost_dollars_are_told_apart() {
    let world = calm().pods(3, &costing(pod("train").cpu(1500), "$10"));
    let plan = world.pods(6, &costing(pod("web").cpu(1500), "15m")).plan();
    for index in 0..3 {
        assert_eq!(bought(&plan, &format!("train-{index}")), CapacityType::OnDemand);
    }
    for index in 0..6 {
        assert_eq!(bought(&plan, &format!("web-{index}")), CapacityType::Spot);
    }
}

#[test]
fn pods_find_the_nodes_that_were_launched_for_them() {
    let spot = |name: &str| node(name).label(CAPACITY_TYPE, "spot").of_type("m.large").starting();
    let world = calm().node(spot("n1")).node(node("n2").of_type("m.large").starting());
    let world = world.pod(costing(pod("dear").cpu(1500), "1000h"));
    let plan = world.node(spot("n3")).pods(2, &pod("web").cpu(1500)).plan();
    assert_eq!(place_of(&plan, "dear"), Some("n2"));
    assert_eq!(
        [0, 1].map(|index| place_of(&plan, &format!("web-{index}"))),
        [Some("n1"), Some("n3")]
    );
}

/// EC2 launched the offering in zone b where it was asked for that in zone a too.
fn skipping_a(world: Cluster) -> Cluster {
    let asked = [("a", 0.030), ("b", 0.033)].map(|(zone, price)| LaunchOffering {
        instance_type: "m.large".into(),
        zone: zone.into(),
        capacity_type: CapacityType::Spot,
        price: usd(price),
        reservation_id: None,
    });
    world.with(|snapshot| snapshot.skipped_spot.record(&asked, &asked[1]))
}

#[test]
fn what_ec2_skips_is_asked_for_after_what_it_launches_instead() {
    let plan = skipping_a(two_zones()).pod(pod("p")).plan();
    let claim = claim_of(&plan, "p");
    let zones: Vec<&str> = claim.offerings.iter().map(|own| &*own.zone).collect();
    assert_eq!(zones, ["b", "a"], "a launch that asks for it again tells when it is over");
    assert_eq!(claim.offering.price, usd(0.033));
    assert_eq!(plan.totals.hourly_after, usd(0.033));
    let bound = plan.totals.lower_bound.unwrap();
    assert!(bound <= usd(0.030), "{bound}: alone, the other could be had");
}

#[test]
fn what_ec2_skips_is_bought_where_nothing_else_will_do() {
    let plan = skipping_a(two_zones()).pod(pod("p").on_nodes_with(ZONE, "a")).plan();
    let claim = claim_of(&plan, "p");
    assert_eq!((&*claim.offering.zone, claim.offering.price), ("a", usd(0.030)));
    assert_eq!(claim.offering.capacity_type, CapacityType::Spot);
}
