//! `spec.limits` of NodePools.

use domain::label::{HOSTNAME, INSTANCE_TYPE, NODE_POOL, ZONE};
use domain::money::UsdPerHour;
use domain::pod::NodeSelectorTerm;
use domain::reason::NodePoolUnfit;
use domain::requirement::Operator;
use domain::resource::{CPU, MEMORY, NODES, NVIDIA_GPU, Resources, USD_PER_HOUR};
use domain::taint::TaintEffect;

use crate::testing::{
    Cluster, PodMaker, claim_of, cluster, instance_type, is, near, node, node_pool, node_pool_with,
    pod, requirement, taint, unfit,
};

fn limited(resource: &str, amount: i64) -> Cluster {
    cluster().default_pool(|pool| pool.limits = Resources::new().with(resource, amount))
}

fn cpus(world: &Cluster) -> i64 {
    let plan = world.plan();
    let of = |name: &str| match name {
        "m.large" => 2000,
        "m.xlarge" | "a.xlarge" => 4000,
        _ => 8000,
    };
    // Whatever of the listed types is launched.
    plan.node_claims
        .iter()
        .map(|claim| claim.instance_types.iter().map(|name| of(name)).max().unwrap())
        .sum()
}

#[test]
fn a_pool_launches_no_more_than_its_limit() {
    let world = limited(CPU, 6000).pods(4, &pod("a").cpu(1900));
    assert!(cpus(&world) <= 6000);
    let plan = world.plan();
    assert_eq!(plan.unschedulable.len(), 1, "three fit in six CPUs");
    assert!(matches!(
        unfit(&plan, &plan.unschedulable[0].pod.name, "default"),
        NodePoolUnfit::Limit { .. }
    ));
}

#[test]
fn devices_that_a_starting_node_does_not_report_yet_count_towards_a_limit() {
    let mut with_gpus = instance_type("g.xlarge", 4, 0.50);
    for own in [&mut with_gpus.capacity, &mut with_gpus.allocatable] {
        own.set(&NVIDIA_GPU.into(), 2);
    }
    let mut world = limited(NVIDIA_GPU, 3).selling(vec![with_gpus]);
    world = world.node(node("n1").of_type("g.xlarge").starting());
    for node in &mut world.0.objects.nodes {
        for reported in [&mut node.capacity, &mut node.allocatable] {
            reported.set(&NVIDIA_GPU.into(), 0);
        }
    }
    let plan = world.pods(3, &pod("a").asking(NVIDIA_GPU, 1)).plan();
    assert_eq!((plan.placements.len(), plan.node_claims.len()), (2, 0));
    let NodePoolUnfit::Limit { used, .. } =
        unfit(&plan, &plan.unschedulable[0].pod.name, "default")
    else {
        panic!("{plan:?}")
    };
    assert_eq!(used, 2);
}

/// A pod that may run in either pool, each by a term of its own.
fn either_pool(pod: PodMaker) -> PodMaker {
    let of_pool = |name: &str| NodeSelectorTerm {
        expressions: vec![is(NODE_POOL, name)],
        fields: Vec::new(),
    };
    let either = vec![of_pool("default"), of_pool("other")];
    pod.with(|spec| spec.required_node_terms = Some(either))
}

#[test]
fn pods_beyond_a_limit_go_by_another_of_their_terms() {
    let full = either_pool(pod("full").cpu(6900));
    let world = limited(NODES, 1).pool(node_pool("other")).pods(3, &full);
    let plan = world.plan();
    assert_eq!(plan.unschedulable, []);
    let pools = plan.node_claims.iter().map(|claim| &*claim.node_pool);
    assert_eq!(pools.filter(|pool| *pool == "other").count(), 2);
}

#[test]
fn pods_beyond_a_limit_share_the_nodes_that_another_of_their_terms_allows() {
    let world = limited(NODES, 1).pool(node_pool("other"));
    let plan = world.pods(600, &either_pool(pod("small").cpu(1000))).plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(plan.node_claims.len(), 600 / 8, "nodes of eight CPUs");
}

#[test]
fn what_another_term_allows_goes_by_priority() {
    let urgent = either_pool(pod("urgent").cpu(6900).priority(10));
    let idle = either_pool(pod("idle").cpu(6900));
    let mut other = node_pool("other");
    other.limits = Resources::new().with(NODES, 1);
    let world = limited(NODES, 1).pool(other).pods(2, &idle).pods(2, &urgent);
    let left = world.plan().unschedulable;
    let left: Vec<&str> = left.iter().map(|own| &*own.pod.name).collect();
    assert_eq!(left, ["idle-0", "idle-1"], "whichever comes first by name");
}

#[test]
fn nodes_and_claims_in_flight_count() {
    let world = limited(CPU, 9000)
        .node(node("n1"))
        .in_flight(node("n2"))
        .pods(2, &pod("full").cpu(4000).on("n1").having(|pod| pod.node_name = Some("n1".into())))
        .pod(pod("in").cpu(4000));
    let plan = world.pod(pod("a").cpu(3900)).plan();
    assert_eq!(
        unfit(&plan, "a", "default"),
        NodePoolUnfit::Limit { resource: CPU.into(), limit: 9000, used: 8000 }
    );
}

#[test]
fn of_the_types_that_a_node_may_turn_out_to_be_one_counts() {
    let sold = [("a", 2, 0.10), ("b", 4, 0.11), ("c", 4, 0.12), ("d", 8, 0.90)];
    let world = limited(CPU, 12_000)
        .selling(sold.map(|(name, cpus, price)| instance_type(name, cpus, price)).into());
    let plan = world.pod(pod("small").cpu(1500)).pods(2, &pod("large").cpu(7500)).plan();
    assert_eq!(claim_of(&plan, "small").instance_types.len(), 3);
    assert_eq!(
        unfit(&plan, &plan.unschedulable[0].pod.name, "default"),
        NodePoolUnfit::Limit { resource: CPU.into(), limit: 12_000, used: 12_000 }
    );
}

#[test]
fn nodes_are_counted_too() {
    let world = limited(NODES, 2).node(node("n1")).pod(pod("full").cpu(4000).on("n1"));
    let plan = world.pods(2, &pod("a").cpu(7000)).plan();
    assert_eq!(plan.node_claims.len(), 1);
    assert_eq!(
        unfit(&plan, &plan.unschedulable[0].pod.name, "default"),
        NodePoolUnfit::Limit { resource: NODES.into(), limit: 2, used: 2 }
    );
}

#[test]
fn types_beyond_the_limit_are_not_listed() {
    let plan = limited(CPU, 2000).pod(pod("a")).plan();
    assert_eq!(claim_of(&plan, "a").instance_types.len(), 1);
}

#[test]
fn a_node_that_is_being_deleted_does_not_count() {
    let deleted = node("n1").with(|node| node.deleted = Some(crate::testing::now()));
    let plan = limited(CPU, 4000).node(deleted).pod(pod("a").cpu(3000)).plan();
    claim_of(&plan, "a");
}

#[test]
fn past_the_limit_of_a_pool_pods_take_one_that_they_would_rather_avoid() {
    let mut first = node_pool("first");
    first.limits = Resources::new().with(NODES, 1);
    let avoided = node_pool_with("default", |template| {
        template.taints = vec![taint("rather-not", TaintEffect::PreferNoSchedule)];
    });
    let plan = cluster().pool(first).pool(avoided).pods(2, &pod("a").cpu(6000)).plan();
    assert!(plan.unschedulable.is_empty());
    let mut pools: Vec<&str> = plan.node_claims.iter().map(|own| &*own.node_pool).collect();
    pools.sort_unstable();
    assert_eq!(pools, ["default", "first"]);
}

#[test]
fn under_a_limit_on_nodes_pods_get_larger_ones_rather_than_none() {
    let types = vec![instance_type("m.large", 2, 0.05), instance_type("m.2xlarge", 8, 0.40)];
    let plan = limited(NODES, 2).selling(types).pods(24, &pod("a").cpu(500)).plan();
    assert!(plan.unschedulable.is_empty());
    assert_eq!(plan.node_claims.len(), 2);
}

#[test]
fn a_limited_pool_is_left_to_pods_that_no_other_hosts() {
    let world = limited(NODES, 1).pool(node_pool("other")).pods(3, &pod("any").cpu(7000));
    let plan = world.pod(pod("only").cpu(6900).on_nodes_with(NODE_POOL, "default")).plan();
    assert!(plan.unschedulable.is_empty());
    assert_eq!(&*claim_of(&plan, "only").node_pool, "default");
}

#[test]
fn many_small_pods_have_the_last_room_rather_than_few_that_take_more_of_what_is_scarce() {
    let asking = |name: &str, millis: i64, mebibytes: i64| {
        pod(name).cpu(millis).asking(MEMORY, mebibytes << 20)
    };
    // Each kind takes nearly all of one resource, and in the order of CPUs, whichever way, few come
    // first.
    let world = limited(NODES, 1)
        .node(node("last"))
        .pod(asking("cpus", 4000, 1024))
        .pods(2, &asking("large", 600, 7 * 1024))
        .pods(6, &asking("small", 500, 2560))
        .pods(2, &asking("memory", 50, 8 * 1024));
    let left = world.plan().unschedulable;
    let left: Vec<&str> = left.iter().map(|own| &*own.pod.name).collect();
    assert_eq!(left, ["cpus", "large-0", "large-1", "memory-0", "memory-1"]);
}

#[test]
fn pods_that_must_share_a_host_do_not_take_what_serves_more_of_the_others() {
    let together = pod("db").label("app", "db").cpu(2000);
    let together = together.affinity(near(HOSTNAME, ("app", "db")));
    let plan = limited(CPU, 8000).pods(2, &together).pods(6, &pod("web").cpu(1000)).plan();
    // One of the two has what the six leave.
    assert_eq!(plan.unschedulable.len(), 1);
}

/// The most that what a plan launches may come to, by what EC2 is asked for.
fn dearest(world: &Cluster) -> UsdPerHour {
    let plan = world.plan();
    let most = |claim: &domain::plan::PlannedNodeClaim| {
        claim.offerings.iter().map(|offering| offering.price).max().unwrap()
    };
    plan.node_claims.iter().map(most).sum()
}

#[test]
fn a_pool_launches_no_more_than_its_limit_in_dollars() {
    let limit = UsdPerHour::from_nanos(300_000_000);
    let without = cluster().pods(16, &pod("a").cpu(900));
    assert!(dearest(&without) > limit);
    let world = limited(USD_PER_HOUR, limit.nanos()).pods(16, &pod("a").cpu(900));
    let (plan, cost) = (world.plan(), dearest(&world));
    assert!(!plan.node_claims.is_empty() && cost <= limit, "{cost}");
    let left = &plan.unschedulable[0].pod.name;
    let NodePoolUnfit::UsdLimit { limit: said, used, cheapest } = unfit(&plan, left, "default")
    else {
        panic!("{plan:?}")
    };
    assert!(said == limit && used <= limit && used + cheapest > limit, "{used} and {cheapest}");
    assert!(plan.totals.lower_bound.unwrap() <= cost);
}

#[test]
fn nodes_and_claims_in_flight_count_at_their_price() {
    let world = |limit: f64| {
        limited(USD_PER_HOUR, crate::testing::usd(limit).nanos())
            .node(node("n"))
            .in_flight(node("m"))
            .pods(2, &pod("full").cpu(3900))
            .pods(3, &pod("a").cpu(3900))
    };
    let price = world(1000.0).plan().totals.hourly_before.to_f64();
    let open = world(price + 10.0).plan();
    assert!(!open.node_claims.is_empty() && open.unschedulable.is_empty(), "{open:?}");
    let spent = world(price).plan();
    assert!(spent.node_claims.is_empty(), "{spent:?}");
    let gone = spent.unschedulable.first().unwrap();
    let reason = unfit(&spent, &gone.pod.name, "default");
    assert!(matches!(reason, NodePoolUnfit::UsdLimit { limit, used, .. } if limit == used));
}

#[test]
fn a_replacement_may_stand_beside_what_it_replaces() {
    let world = |limit| {
        cluster()
            .default_pool(|pool| pool.limits = Resources::new().with(USD_PER_HOUR, limit))
            .node(node("large").of_type("m.2xlarge"))
            .pod(pod("web").cpu(900).on("large"))
    };
    let price = world(i64::MAX).plan().totals.hourly_before.nanos();
    let plan = world(price).plan();
    assert_eq!(plan.disruptions.len(), 1, "{plan:?}");
    assert_eq!(plan.disruptions[0].replacements.len(), 1);
}

/// The first of their terms leaves out the largest type, and costs as little.
#[test]
fn pods_that_a_limit_leaves_go_by_the_term_that_allows_larger_nodes() {
    let small = requirement(INSTANCE_TYPE, Operator::NotIn, &["m.2xlarge"]);
    let terms = [small, is(ZONE, "a")];
    let terms = terms.map(|own| NodeSelectorTerm { expressions: vec![own], fields: Vec::new() });
    let either = pod("a").cpu(1800).with(|spec| spec.required_node_terms = Some(terms.into()));
    let plan = limited(NODES, 2).pods(8, &either).plan();
    assert_eq!(plan.unschedulable, []);
}
