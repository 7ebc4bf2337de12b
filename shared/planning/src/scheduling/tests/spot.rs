//! Spot offerings by what is remembered of them.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{SPOT_INTERRUPTION_COST, SPOT_INTERRUPTIONS_MAX};
use domain::resource::{Resources, USD_PER_HOUR};
use domain::spot::{OfferingHistory, SpotHistory};

use crate::testing::{
    Cluster, claim_of, cluster, instance_type, now, offering, pod, usd, with_spot,
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
