//! Balance over zones (`outrigger.dev/zone-balance`) and free addresses
//! (`outrigger.dev/min-free-addresses`).

use domain::addresses::{AddressPolicy, FreeAddresses};
use domain::instance_type::CapacityType;
use domain::plan::PlannedNodeClaim;
use domain::snapshot::ClusterSnapshot;
use domain::zone_balance::ZoneBalance;

use crate::Rule;
use crate::testing::*;

fn balanced(pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    let mut pool = pool();
    pool.options.zone_balance = Some(ZoneBalance { above_percent: 0, premium_percent: 5 });
    cluster(pods).with_node_pools([pool])
}

fn one(name: &str, pod: &str, zone: &str) -> PlannedNodeClaim {
    claim_in(name, &[pod], &["small"], zone, CapacityType::OnDemand)
}

#[test]
fn no_zone_gets_more_than_its_share_while_another_has_room_for_no_more_money() {
    let world = balanced([pod("p"), pod("q")]);
    allows(&world, &plan([one("n", "p", "a"), one("m", "q", "b")]));
    breaks(&world, &plan([one("n", "p", "a"), one("m", "q", "a")]), &[Rule::ZoneBalance]);
    let plain = pooled([pod("p"), pod("q")]);
    allows(&plain, &plan([one("n", "p", "a"), one("m", "q", "a")]));
}

#[test]
fn nodes_that_are_there_count_in_their_zones() {
    let world = balanced([pod("p")]).with_nodes([node("x", "small", "a")]);
    breaks(&world, &plan([one("n", "p", "a")]), &[Rule::ZoneBalance]);
    allows(&world, &plan([one("n", "p", "c")]));
}

#[test]
fn pods_that_are_pinned_to_a_zone_may_exceed_its_share() {
    let pinned = |name: &str| pod(name).selecting(domain::label::ZONE, "a");
    let world = balanced([pinned("p"), pinned("q")]);
    allows(&world, &plan([one("n", "p", "a"), one("m", "q", "a")]));
}

#[test]
fn ec2_is_left_no_choice_of_zones() {
    let world = balanced([pod("p")]);
    let mut open = one("n", "p", "a");
    let mut other = open.offerings[0].clone();
    other.zone = "b".into();
    open.offerings.push(other);
    open.requirements[1] =
        requirement(domain::label::ZONE, domain::requirement::Operator::In, &["a", "b"]);
    breaks(&world, &plan([open]), &[Rule::ZoneBalance]);
}

#[test]
fn a_zone_has_addresses_for_all_nodes_that_are_launched_there() {
    let world = |count: u32| {
        let mut class = testkit::node_class("default");
        let free = ["a", "b"].map(|zone| FreeAddresses {
            zone: zone.into(),
            subnet: format!("subnet-{zone}").into(),
            count,
        });
        class.addresses =
            Some(AddressPolicy { per_pod: 1, min_free: 10, daemon_pods: 0, free: free.into() });
        let mut world = pooled([pod("p"), pod("q")]);
        world.objects.node_classes = vec![class];
        world
    };
    let both = plan([one("n", "p", "a"), one("m", "q", "a")]);
    allows(&world(14), &both);
    breaks(&world(13), &both, &[Rule::Addresses]);
    allows(&world(12), &plan([one("n", "p", "a"), one("m", "q", "b")]));
    allows(&world(0), &plan([one("n", "p", "c"), one("m", "q", "c")]));
    let with_agent = |count| {
        let mut world = world(count);
        world.objects.daemon_sets = vec![daemon_set(pod("agent"))];
        world
    };
    breaks(&with_agent(15), &both, &[Rule::Addresses]);
    allows(&with_agent(16), &both);
}
