//! At most a share of a workload's replicas on one spot offering.

use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, SPOT_OFFERING_SHARE};
use domain::plan::Plan;
use domain::pod::OwnerKind;
use domain::reason::{NotDisruptable, Unconsolidatable};
use domain::resource::{NODES, Resources};
use domain::spot::SpotOfferingShare;

use crate::testing::{
    Cluster, NodeMaker, PodMaker, claim_of, cluster, instance_type, node, offering, pod, usd,
};

/// Three types in two zones, within ten percent of each other, and one that costs twice as much.
fn sold() -> Cluster {
    let of = |name: &str, cpus: i64, price: f64| {
        let mut own = instance_type(name, cpus, price * 4.0);
        own.offerings.push(offering("a", CapacityType::Spot, price));
        own.offerings.push(offering("b", CapacityType::Spot, price * 1.01));
        own
    };
    cluster().selling(vec![
        of("m.large", 2, 0.030),
        of("n.large", 2, 0.031),
        of("o.large", 2, 0.032),
        of("p.large", 2, 0.060),
        of("m.4xlarge", 16, 0.240),
        of("n.4xlarge", 16, 0.245),
    ])
}

/// Replicas of one Deployment's ReplicaSet, which asks for a share.
fn replica(name: &str, share: Option<&str>) -> PodMaker {
    let share = share.map(|share| SpotOfferingShare::parse(share).unwrap());
    let own = pod(name).owned_by(OwnerKind::ReplicaSet);
    own.with(|spec| spec.spot_offering_share = share)
}

/// Replicas by spot offering, of those that the plan launches nodes for.
fn by_offering(plan: &Plan) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for claim in &plan.node_claims {
        assert_eq!(claim.offerings.len(), 1, "EC2 has no choice: {:?}", claim.offerings);
        assert_eq!(claim.offering.capacity_type, CapacityType::Spot);
        let name = format!("{} {}", claim.offering.instance_type, claim.offering.zone);
        *counts.entry(name).or_default() += claim.pods.len();
    }
    counts
}

#[test]
fn at_most_a_share_of_the_replicas_is_on_one_spot_offering() {
    let world = sold().pods(10, &replica("web", Some("30%")).cpu(1500));
    let counts = by_offering(&world.plan());
    assert_eq!(counts.values().sum::<usize>(), 10);
    assert!(counts.values().all(|count| *count <= 3), "{counts:?}");
    assert_eq!(counts["m.large a"], 3, "the cheapest has its share: {counts:?}");
}

#[test]
fn a_node_that_would_hold_more_than_the_share_becomes_several() {
    let world = |share| sold().pods(20, &replica("web", share).cpu(790));
    assert_eq!(world(None).plan().node_claims.iter().map(|own| own.pods.len()).max(), Some(20));
    let plan = world(Some("30%")).plan();
    let counts = by_offering(&plan);
    assert!(counts.values().all(|count| *count <= 6), "{counts:?}");
    assert!(plan.totals.hourly_after < usd(0.240 * 1.5), "{}", plan.totals.hourly_after);
}

#[test]
fn a_node_pool_asks_for_its_pods() {
    let world = sold().default_pool(|pool| {
        pool.annotations.insert(SPOT_OFFERING_SHARE.into(), "50%".into());
    });
    let counts = by_offering(&world.pods(4, &replica("web", None).cpu(1500)).plan());
    assert!(counts.values().all(|count| *count <= 2), "{counts:?}");
}

fn on_spot(name: &str) -> NodeMaker {
    node(name).label(CAPACITY_TYPE, "spot").of_type("m.large")
}

#[test]
fn replicas_that_run_count_and_pods_of_others_do_not() {
    let own = replica("web", Some("50%")).cpu(1500);
    let world = sold().node(on_spot("n1")).pod(replica("old", Some("50%")).cpu(1500).on("n1"));
    let plan = world.clone().pod(own.clone()).plan();
    assert_ne!(
        (&*claim_of(&plan, "web").offering.instance_type, &*claim_of(&plan, "web").offering.zone),
        ("m.large", "a"),
        "one of two is there already"
    );
    let other = own.having(|pod| pod.owner.as_mut().unwrap().name = "other".into());
    let plan = world.pod(other).plan();
    assert_eq!(&*claim_of(&plan, "web").offering.instance_type, "m.large");
}

#[test]
fn no_pod_waits_where_the_share_cannot_hold() {
    let mut one = instance_type("m.large", 2, 0.120);
    one.offerings.push(offering("a", CapacityType::Spot, 0.030));
    let world = cluster().selling(vec![one]);
    let plan = world.pods(5, &replica("web", Some("20%")).cpu(1500)).plan();
    assert!(plan.unschedulable.is_empty());
    assert_eq!(by_offering(&plan)["m.large a"], 5);
    // A node for one pod each would exceed the limit.
    let limited = sold().default_pool(|pool| pool.limits = Resources::new().with(NODES, 2));
    let plan = limited.pods(10, &replica("web", Some("30%")).cpu(700)).plan();
    assert!(plan.unschedulable.is_empty(), "{:?}", plan.unschedulable);
}

#[test]
fn an_offering_that_costs_more_than_half_more_is_not_taken_for_a_share() {
    let world = sold().pods(40, &replica("web", Some("10%")).cpu(1500));
    let counts = by_offering(&world.plan());
    assert!(counts.keys().all(|name| !name.starts_with('p')), "{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), 40);
}

#[test]
fn consolidation_does_not_put_more_than_the_share_on_one_offering() {
    let web = |name: &str, share| replica(name, share).cpu(900);
    let world = |share| {
        let world = sold().node(on_spot("n1")).pod(web("one", share).on("n1"));
        world.node(on_spot("n2").in_zone("b")).pod(web("two", share).on("n2"))
    };
    assert_eq!(world(None).plan().disruptions.len(), 1);
    let held = world(Some("50%"));
    let NotDisruptable::Unconsolidatable(Unconsolidatable::SpotShare { workload, .. }) =
        held.blocked("n2")
    else {
        panic!("{:?}", held.blocked("n2"))
    };
    assert!(workload.starts_with("default/"), "{workload}");
}
