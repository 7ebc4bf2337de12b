//! Balance over zones where a NodePool asks for it, and free addresses where an EC2NodeClass does.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::addresses::{AddressPolicy, FreeAddresses};
use domain::instance_type::CapacityType;
use domain::label;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::reason::{DisruptionReason, NodePoolUnfit};
use domain::zone_balance::ZoneBalance;

use crate::testing::{
    Cluster, cluster, daemon_set, disrupted_for, instance_type, is, near, node, offering, pod,
    unfit,
};

/// A type for one pod of 1.5 CPUs, whose prices differ by zone.
fn sold(prices: [f64; 3]) -> Cluster {
    let mut own = instance_type("m.large", 2, 0.0);
    own.offerings = ["a", "b", "c"]
        .into_iter()
        .zip(prices)
        .map(|(zone, price)| offering(zone, CapacityType::OnDemand, price))
        .collect();
    cluster().selling(vec![own])
}

fn balanced(world: Cluster, above_percent: u8, premium_percent: u8) -> Cluster {
    world.default_pool(|pool| {
        pool.options.zone_balance = Some(ZoneBalance { above_percent, premium_percent });
    })
}

/// The default pool's class with so many addresses in each zone, of which ten stay free.
fn with_addresses(world: Cluster, counts: &[(&str, u32)]) -> Cluster {
    let free = counts.iter().map(|(zone, count)| FreeAddresses {
        zone: (*zone).into(),
        subnet: format!("subnet-{zone}").into(),
        count: *count,
    });
    let mut class = testkit::node_class("class");
    class.addresses =
        Some(AddressPolicy { per_pod: 1, min_free: 10, daemon_pods: 0, free: free.collect() });
    let world = world.default_pool(|pool| {
        Arc::make_mut(&mut pool.template).node_class_ref = testkit::node_class_ref("class");
    });
    world.with(|snapshot| snapshot.objects.node_classes = vec![class])
}

/// New nodes by the zone that they are launched in.
fn by_zone<'p>(claims: impl IntoIterator<Item = &'p PlannedNodeClaim>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for claim in claims {
        assert!(
            claim.offerings.iter().all(|own| own.zone == claim.offering.zone),
            "EC2 has no choice of zones: {:?}",
            claim.offerings
        );
        *counts.entry(claim.offering.zone.to_string()).or_default() += 1;
    }
    counts
}

fn counts(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs.iter().map(|(zone, count)| ((*zone).to_owned(), *count)).collect()
}

fn launched(world: &Cluster) -> BTreeMap<String, usize> {
    let plan = world.plan();
    assert!(plan.unschedulable.is_empty(), "{:?}", plan.unschedulable);
    by_zone(&plan.node_claims)
}

#[test]
fn nodes_are_even_over_zones_where_that_costs_no_more_than_the_premium() {
    let world =
        |premium| balanced(sold([0.10, 0.102, 0.104]), 0, premium).pods(6, &pod("p").cpu(1500));
    assert_eq!(launched(&world(5)), counts(&[("a", 2), ("b", 2), ("c", 2)]));
    assert_eq!(launched(&world(3)), counts(&[("a", 3), ("b", 3)]), "c is four percent dearer");
    assert_eq!(launched(&world(0)), counts(&[("a", 6)]));
}

#[test]
fn a_zone_may_be_above_the_even_share_by_as_much_as_the_annotation_says() {
    let world =
        |above| balanced(sold([0.10, 0.101, 0.101]), above, 5).pods(10, &pod("p").cpu(1500));
    assert_eq!(launched(&world(50)), counts(&[("a", 5), ("b", 3), ("c", 2)]));
    assert_eq!(launched(&world(0)), counts(&[("a", 4), ("b", 3), ("c", 3)]));
}

#[test]
fn nodes_that_are_there_count_and_those_of_other_pools_do_not() {
    let world = balanced(sold([0.1; 3]), 0, 5)
        .node(node("n1").of_type("m.large").in_zone("a"))
        .node(node("n2").of_type("m.large").in_zone("a"))
        .node(node("n3").of_type("m.large").in_zone("b").of_pool("other"))
        .pod(pod("r1").cpu(1500).on("n1"))
        .pod(pod("r2").cpu(1500).on("n2"))
        .pod(pod("r3").cpu(1500).on("n3"));
    let world = world.pods(4, &pod("p").cpu(1500));
    assert_eq!(launched(&world), counts(&[("b", 2), ("c", 2)]));
}

#[test]
fn pods_that_are_pinned_go_where_they_are_pinned_and_others_make_up_for_it() {
    let world = balanced(sold([0.1; 3]), 0, 5)
        .pods(3, &pod("pinned").cpu(1500).requiring(is(label::ZONE, "a")))
        .pods(3, &pod("free").cpu(1500));
    let spread = launched(&world);
    assert_eq!(spread["a"], 3, "{spread:?}");
    assert_eq!(spread.values().sum::<usize>(), 6);
    assert!(spread.values().all(|count| *count <= 3), "{spread:?}");
}

#[test]
fn a_zone_that_is_out_of_capacity_does_not_count() {
    let world = balanced(sold([0.1; 3]), 0, 5).pods(6, &pod("p").cpu(1500));
    let mut types = world.0.instance_types.default.to_vec();
    types[0].offerings.retain(|own| &*own.zone != "c");
    assert_eq!(launched(&world.selling(types)), counts(&[("a", 3), ("b", 3)]));
}

#[test]
fn a_replacement_goes_where_the_pool_has_fewest_nodes() {
    let drifted = |name: &str, zone: &str| {
        node(name).of_type("m.large").in_zone(zone).with_claim(|claim| {
            let since = "2026-01-05T09:00:00Z".into();
            claim.annotations.insert(label::REBALANCE_RECOMMENDED.into(), since);
        })
    };
    let mut world = balanced(sold([0.1, 0.101, 0.101]), 0, 5).default_pool(|pool| {
        pool.annotations.insert(label::ON_REBALANCE_RECOMMENDATION.into(), "replace".into());
    });
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        world = world.node(drifted(name, zone)).pod(pod(&format!("p-{name}")).cpu(1500).on(name));
    }
    let plan: Plan = world.plan();
    assert!(!disrupted_for(&plan, DisruptionReason::Drifted).is_empty(), "{:?}", plan.blocked);
    let replacements = plan.disruptions.iter().flat_map(|own| &own.replacements);
    let zones = by_zone(replacements);
    assert_eq!(zones.get("c"), Some(&1), "{zones:?}");
}

#[test]
fn static_nodes_are_even_too() {
    let world = balanced(sold([0.1; 3]), 0, 5).default_pool(|pool| pool.replicas = Some(6));
    assert_eq!(launched(&world), counts(&[("a", 2), ("b", 2), ("c", 2)]));
}

#[test]
fn without_the_annotation_nothing_changes() {
    let world = sold([0.10, 0.102, 0.104]).pods(6, &pod("p").cpu(1500));
    let plan = world.plan();
    assert!(plan.node_claims.iter().all(|own| &*own.offering.zone == "a"));
    assert!(plan.node_claims.iter().all(|own| own.offerings.len() == 3), "EC2 chooses");
}

#[test]
fn a_zone_whose_addresses_are_short_is_no_offering() {
    let world = with_addresses(sold([0.10, 0.11, 0.12]), &[("a", 5), ("b", 500), ("c", 11)]);
    assert_eq!(launched(&world.pods(3, &pod("p").cpu(1500))), counts(&[("b", 3)]));
}

#[test]
fn pods_for_which_no_zone_has_addresses_wait_with_the_count() {
    let world = with_addresses(sold([0.1; 3]), &[("a", 5), ("b", 11), ("c", 0)]);
    let plan = world.pod(pod("p").cpu(1500)).plan();
    assert_eq!(
        unfit(&plan, "p", "default"),
        NodePoolUnfit::NoAddresses {
            node_class: "class".into(),
            zone: "b".into(),
            free: 11,
            needed: 2,
            min_free: 10,
        }
    );
    let pinned = with_addresses(sold([0.1; 3]), &[("a", 5), ("b", 500), ("c", 500)])
        .pod(pod("p").cpu(1500).requiring(is(label::ZONE, "a")));
    let NodePoolUnfit::NoAddresses { zone, free, .. } = unfit(&pinned.plan(), "p", "default")
    else {
        panic!("{:?}", pinned.plan().unschedulable)
    };
    assert_eq!((&*zone, free), ("a", 5));
}

#[test]
fn nodes_of_one_plan_do_not_count_on_the_same_addresses() {
    // Room for three nodes with a pod each in a, for two in b.
    let world = with_addresses(sold([0.10, 0.11, 0.12]), &[("a", 16), ("b", 14), ("c", 10)]);
    assert_eq!(
        launched(&world.clone().pods(5, &pod("p").cpu(1500))),
        counts(&[("a", 3), ("b", 2)])
    );
    let plan = world.pods(7, &pod("p").cpu(1500)).plan();
    assert_eq!(by_zone(&plan.node_claims), counts(&[("a", 3), ("b", 2)]));
    assert_eq!(plan.unschedulable.len(), 2);
    let waiting = plan.unschedulable[0].pod.name.to_string();
    assert!(matches!(unfit(&plan, &waiting, "default"), NodePoolUnfit::NoAddresses { .. }));
}

#[test]
fn where_addresses_are_plenty_ec2_chooses_the_zone() {
    let world = with_addresses(sold([0.1; 3]), &[("a", 500), ("b", 500), ("c", 500)]);
    let plan = world.pods(3, &pod("p").cpu(1500)).plan();
    assert!(plan.node_claims.iter().all(|own| own.offerings.len() == 3), "{:?}", plan.node_claims);
}

#[test]
fn a_node_gets_as_many_pods_as_there_are_addresses() {
    let mut large = instance_type("m.4xlarge", 16, 0.0);
    large.offerings = vec![offering("a", CapacityType::OnDemand, 0.8)];
    let world = with_addresses(cluster().selling(vec![large]), &[("a", 16)]);
    let plan = world.pods(10, &pod("p").cpu(1500)).plan();
    let pods: Vec<usize> = plan.node_claims.iter().map(|own| own.pods.len()).collect();
    assert_eq!((pods, plan.unschedulable.len()), (vec![5], 5));
}

#[test]
fn pods_beyond_the_addresses_of_one_zone_get_a_node_in_the_next() {
    let types = [("m.4xlarge", 16)].map(|(name, cpus)| {
        let mut own = instance_type(name, cpus, 0.0);
        own.offerings = vec![
            offering("a", CapacityType::OnDemand, 0.8),
            offering("b", CapacityType::OnDemand, 0.9),
        ];
        own
    });
    let world = with_addresses(cluster().selling(types.to_vec()), &[("a", 16), ("b", 13)]);
    let plan = world.pods(10, &pod("p").cpu(1500)).plan();
    let pods: Vec<(&str, usize)> =
        plan.node_claims.iter().map(|own| (&*own.offering.zone, own.pods.len())).collect();
    assert_eq!((pods, plan.unschedulable.len()), (vec![("a", 5), ("b", 2)], 3));
    let waiting = plan.unschedulable[0].pod.name.to_string();
    assert!(matches!(unfit(&plan, &waiting, "default"), NodePoolUnfit::NoAddresses { .. }));
}

#[test]
fn pods_that_have_to_share_a_node_wait_for_addresses_for_all_of_them() {
    let mut large = instance_type("m.4xlarge", 16, 0.0);
    large.offerings = vec![offering("a", CapacityType::OnDemand, 0.8)];
    let world = with_addresses(cluster().selling(vec![large]), &[("a", 13)]);
    let together =
        pod("p").cpu(1500).label("app", "p").affinity(near(label::HOSTNAME, ("app", "p")));
    let plan = world.pods(4, &together).plan();
    assert_eq!((plan.node_claims.len(), plan.unschedulable.len()), (0, 4), "{plan:?}");
    for pod in &plan.unschedulable {
        let NodePoolUnfit::NoAddresses { free, needed, .. } =
            unfit(&plan, &pod.pod.name, "default")
        else {
            panic!("{:?}", plan.unschedulable)
        };
        assert_eq!((free, needed), (13, 5));
    }
}

#[test]
fn the_next_plan_counts_nodes_that_are_still_starting() {
    let world = with_addresses(sold([0.10, 0.11, 0.12]), &[("a", 16), ("b", 100), ("c", 100)]);
    let starting = |name: &str| {
        node(name).of_type("m.large").in_zone("a").starting().with_claim(|claim| {
            claim.node_class_ref = testkit::node_class_ref("class");
        })
    };
    let world = world
        .node(starting("n1"))
        .node(starting("n2"))
        .pod(pod("r1").cpu(1500).on("n1"))
        .pod(pod("r2").cpu(1500).on("n2"))
        .pods(2, &pod("p").cpu(1500));
    assert_eq!(launched(&world), counts(&[("a", 1), ("b", 1)]));
}

#[test]
fn pods_of_daemon_sets_take_addresses_too_but_on_their_nodes_network() {
    let agents = |on_host_network| {
        let mut agents = ["logs", "metrics"].map(|name| daemon_set(name, 10)).to_vec();
        agents[1].is_on_host_network = on_host_network;
        agents
    };
    let world = |free: u32, on_host_network| {
        let world =
            with_addresses(sold([0.1; 3]).pod(pod("p")), &[("a", free), ("b", 0), ("c", 0)]);
        world.with(|snapshot| snapshot.objects.daemon_sets = agents(on_host_network))
    };
    // The node, its pod and one agent take three, and ten stay free.
    assert_eq!(launched(&world(13, true)), counts(&[("a", 1)]));
    let plan = world(12, true).plan();
    assert!(plan.node_claims.is_empty() && plan.unschedulable.len() == 1, "{plan:?}");
    assert!(world(13, false).plan().node_claims.is_empty());
    assert_eq!(launched(&world(14, false)), counts(&[("a", 1)]));
}
