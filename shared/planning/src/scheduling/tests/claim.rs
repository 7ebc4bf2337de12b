//! New claims: names, types, price and what they hold.

use std::collections::BTreeSet;

use domain::Text;
use domain::fargate::{FargateRate, FargateRates};
use domain::label::{CAPACITY_TYPE, COMPUTE_TYPE, FARGATE, INSTANCE_TYPE, NODE_POOL, ZONE};

use crate::testing::{
    claim_of, cluster, instance_type, listed, node, now, pod, texts, usd, with_spot,
};

#[test]
fn names_are_unique_and_the_same_each_time() {
    let world = cluster().pods(20, &pod("a").cpu(7000));
    let names = |plan: &domain::plan::Plan| -> Vec<Text> {
        plan.node_claims.iter().map(|claim| claim.name.clone()).collect()
    };
    let first = names(&world.plan());
    assert_eq!(first.len(), 20);
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 20);
    assert!(first.iter().all(|name| name.len() == "default-xxxxx".len()), "{first:?}");
    assert_eq!(first, names(&world.plan()));
}

#[test]
fn names_do_not_depend_on_the_order_of_the_snapshot() {
    let world = cluster().pods(5, &pod("a").cpu(7000));
    let reversed = world.clone().with(|snapshot| snapshot.objects.pods.reverse());
    assert_eq!(world.plan(), reversed.plan());
}

#[test]
fn names_differ_with_the_seed() {
    let world = cluster().pod(pod("a"));
    let other = world.clone().with(|snapshot| snapshot.seed = 7);
    assert_ne!(world.plan().node_claims[0].name, other.plan().node_claims[0].name);
}

#[test]
fn a_name_that_is_taken_is_not_drawn() {
    let world = cluster().pod(pod("a"));
    let drawn = world.plan().node_claims[0].name.clone();
    let leaving = node(&drawn).with(|node| node.deleted = Some(now()));
    let plan = world.node(leaving).plan();
    assert_ne!(plan.node_claims[0].name, drawn);
}

#[test]
fn types_are_listed_cheapest_first_up_to_half_more() {
    let sold = [("m1", 0.10), ("m2", 0.15), ("m3", 0.16)]
        .map(|(name, price)| instance_type(name, 2, price));
    let plan = cluster().selling(sold.into()).pod(pod("a")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.instance_types, texts(&["m1", "m2"]));
    assert_eq!(listed(claim, INSTANCE_TYPE), "m1 m2");
    assert_eq!(claim.offering.price, usd(0.10));
}

#[test]
fn every_listed_type_has_room_for_all_pods() {
    let plan = cluster().pods(3, &pod("a").cpu(1200)).plan();
    for claim in &plan.node_claims {
        let needed = claim.requests.get(domain::resource::CPU);
        assert!(claim.instance_types.iter().all(|name| match &**name {
            "m.large" => needed <= 2000,
            "m.xlarge" | "a.xlarge" => needed <= 4000,
            _ => needed <= 8000,
        }));
    }
}

#[test]
fn labels_say_what_is_settled() {
    let sold = vec![with_spot(instance_type("m.large", 2, 0.10), 0.03)];
    let plan = cluster().selling(sold).pod(pod("a").on_nodes_with(ZONE, "b")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(&*claim.labels[ZONE], "b");
    assert_eq!(&*claim.labels[NODE_POOL], "default");
    assert_eq!(listed(claim, CAPACITY_TYPE), "on-demand");
}

#[test]
fn prices_of_a_plan_add_up() {
    let plan = cluster().node(node("n1")).pod(pod("old").cpu(4000).on("n1")).pod(pod("a")).plan();
    assert_eq!(plan.totals.hourly_before, usd(0.20));
    assert_eq!(plan.totals.hourly_after, usd(0.30));
}

#[test]
fn nodes_of_fargate_cost_what_their_pods_come_to() {
    let rate = FargateRate { vcpu: usd(0.04), gb: usd(0.004) };
    let rates = FargateRates { amd64: rate, arm64: rate };
    let cluster = cluster().node(node("n1")).with(|snapshot| {
        snapshot.instance_types.fargate = Some(rates);
        let mut fargate = testkit::node("f").build();
        fargate.labels.insert(COMPUTE_TYPE.into(), FARGATE.into());
        snapshot.objects.nodes.push(fargate);
    });
    let cluster = cluster.pod(pod("old").cpu(4000).on("n1"));
    let without = cluster.clone().plan();
    assert_eq!(without.totals.hourly_before, usd(0.20), "no pod says its size");
    // The smallest size with 2 vCPU has 4 GB.
    let plan = cluster.pod(pod("alone").cpu(2000).on("f")).plan();
    assert_eq!(plan.totals.hourly_before, usd(0.296));
    assert_eq!(plan.totals.hourly_after, usd(0.296));
}

#[test]
fn a_claim_keeps_five_types_while_they_cost_at_most_half_more() {
    let sold: Vec<_> = (0..8)
        .map(|index| instance_type(&format!("m{index}"), 2, 0.10 + 0.01 * f64::from(index)))
        .collect();
    let plan = cluster().selling(sold).pod(pod("a").cpu(1500)).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.instance_types, texts(&["m0", "m1", "m2", "m3", "m4", "m5"]));
}

#[test]
fn a_claim_that_may_be_spot_keeps_fifteen_types() {
    let sold: Vec<_> = (10..40)
        .map(|index| {
            let dearer = f64::from(index - 10);
            with_spot(instance_type(&format!("m{index}"), 2, 0.50), 0.10 + 0.003 * dearer)
        })
        .collect();
    let plan =
        cluster().selling(sold).pod(pod("a").cpu(1500).on_nodes_with(CAPACITY_TYPE, "spot")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.instance_types.len(), 17, "up to 0.15");
}
