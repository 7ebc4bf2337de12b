//! ClusterLimits: all NodePools together stay within them.

use domain::cluster_limit::ClusterLimit;
use domain::money::UsdPerHour;
use domain::reason::NodePoolUnfit;
use domain::resource::{CPU, NODES, Resources, USD_PER_HOUR};

use crate::testing::{Cluster, cluster, node, node_pool_of, pod, unfit};

fn under(limit: ClusterLimit) -> Cluster {
    cluster().with(|snapshot| snapshot.objects.cluster_limits.push(limit))
}

fn limited(limits: Resources) -> Cluster {
    under(ClusterLimit::new("all", limits))
}

fn full(name: &str, pool: &str) -> crate::testing::PodMaker {
    pod(name).cpu(3900).on_nodes_with("karpenter.sh/nodepool", pool)
}

#[test]
fn nodes_of_all_pools_count_together() {
    let world = |nodes| {
        limited(Resources::new().with(NODES, nodes))
            .pool(node_pool_of("other", &[]))
            .node(node("n"))
            .pods(2, &full("a", "default"))
            .pods(2, &full("b", "other"))
    };
    // One pod has room on the node that is there.
    let plan = world(2).plan();
    assert_eq!((plan.node_claims.len(), plan.unschedulable.len()), (1, 1), "{plan:?}");
    assert!(world(3).plan().unschedulable.is_empty());
    let left = &plan.unschedulable[0].pod.name;
    let pool = if left.starts_with('a') { "default" } else { "other" };
    let reason = unfit(&plan, left, pool);
    let NodePoolUnfit::ClusterLimit { name, reason } = reason else { panic!("{reason:?}") };
    let within = NodePoolUnfit::Limit { resource: NODES.into(), limit: 2, used: 2 };
    assert_eq!((&*name, *reason), ("all", within));
}

#[test]
fn the_limit_of_a_pool_holds_beside_that_of_the_cluster() {
    let world = limited(Resources::new().with(CPU, 100_000))
        .default_pool(|pool| pool.limits = Resources::new().with(CPU, 4000))
        .pods(2, &pod("a").cpu(3900));
    let plan = world.plan();
    assert_eq!((plan.node_claims.len(), plan.unschedulable.len()), (1, 1));
}

#[test]
fn dollars_of_all_pools_count_together() {
    let limit = UsdPerHour::from_nanos(300_000_000);
    let world = limited(Resources::new().with(USD_PER_HOUR, limit.nanos()))
        .pool(node_pool_of("other", &[]))
        .pods(8, &full("a", "default"))
        .pods(8, &full("b", "other"));
    let plan = world.plan();
    let most = |claim: &domain::plan::PlannedNodeClaim| {
        claim.offerings.iter().map(|offering| offering.price).max().unwrap()
    };
    let cost: UsdPerHour = plan.node_claims.iter().map(most).sum();
    assert!(!plan.node_claims.is_empty() && cost <= limit, "{cost}");
    let left = &plan.unschedulable[0].pod.name;
    let pool = if left.starts_with('a') { "default" } else { "other" };
    let NodePoolUnfit::ClusterLimit { reason, .. } = unfit(&plan, left, pool) else {
        panic!("{plan:?}")
    };
    assert!(matches!(*reason, NodePoolUnfit::UsdLimit { .. }), "{reason:?}");
}

#[test]
fn a_replacement_may_stand_beside_what_it_replaces() {
    let plan = limited(Resources::new().with(NODES, 1))
        .node(node("large").of_type("m.2xlarge"))
        .pod(pod("web").cpu(900).on("large"))
        .plan();
    assert_eq!(plan.disruptions.len(), 1, "{plan:?}");
    assert_eq!(plan.disruptions[0].replacements.len(), 1);
}

#[test]
fn nothing_new_is_launched_while_a_limit_cannot_be_read() {
    let unreadable = || ClusterLimit::unreadable("all", "spec.limits.cpu: \"lots\"");
    let plan = under(unreadable()).node(node("n")).pods(2, &pod("a").cpu(2500)).plan();
    // The room that is there is used.
    assert_eq!((plan.placements.len(), plan.node_claims.len()), (1, 0), "{plan:?}");
    let reason = unfit(&plan, &plan.unschedulable[0].pod.name, "default");
    let NodePoolUnfit::ClusterLimitUnreadable { name, problem } = reason else {
        panic!("{reason:?}")
    };
    assert_eq!((&*name, &*problem), ("all", "spec.limits.cpu: \"lots\""));
    let without = cluster().node(node("n")).pods(2, &pod("a").cpu(2500)).plan();
    assert_eq!((without.placements.len(), without.node_claims.len()), (1, 1), "{without:?}");
}

#[test]
fn while_a_limit_cannot_be_read_no_node_is_replaced_and_empty_ones_go() {
    let world = |limit| {
        under(limit)
            .node(node("large").of_type("m.2xlarge"))
            .pod(pod("web").cpu(900).on("large"))
            .node(node("empty"))
    };
    let gone = |plan: &domain::plan::Plan| {
        plan.disruptions.iter().flat_map(|own| own.nodes.clone()).collect::<Vec<_>>()
    };
    let plan = world(ClusterLimit::unreadable("all", "wrong")).plan();
    assert_eq!(gone(&plan), ["empty".into()], "{plan:?}");
    assert!(plan.disruptions.iter().all(|own| own.replacements.is_empty()), "{plan:?}");
}
