//! Pods that buy no node and hold none (`outrigger.dev/expendable-below`).

use domain::label::EXPENDABLE_BELOW;
use domain::reason::{DisruptionReason, NodePoolUnfit};

use crate::testing::{Cluster, cluster, disrupted_for, node, node_pool, place_of, pod, unfit};

fn expendable_below_zero() -> Cluster {
    cluster().default_pool(|pool| pool.options.expendable_below = Some(0))
}

#[test]
fn an_expendable_pod_buys_no_node() {
    let cheap = pod("cheap").cpu(900).priority(-1000);
    assert_eq!(cluster().pod(cheap.clone()).plan().node_claims.len(), 1);
    let plan = expendable_below_zero().pod(cheap).plan();
    assert_eq!(plan.node_claims.len(), 0);
    let reason = unfit(&plan, "cheap", "default");
    assert_eq!(reason, NodePoolUnfit::Expendable { priority: -1000, below: 0 });
    assert!(reason.to_string().contains(EXPENDABLE_BELOW));
    assert!(plan.unschedulable[0].is_expendable() && !plan.unschedulable[0].is_unhostable());
}

#[test]
fn it_is_placed_where_there_is_room() {
    let world = expendable_below_zero()
        .node(node("half"))
        .pod(pod("web").cpu(2000).on("half"))
        .pod(pod("cheap").cpu(900).priority(-1000));
    let plan = world.plan();
    assert_eq!(place_of(&plan, "cheap"), Some("half"));
    assert!(plan.node_claims.is_empty() && plan.unschedulable.is_empty());
}

#[test]
fn pods_of_the_priority_itself_and_above_buy_nodes() {
    let plan = expendable_below_zero().pod(pod("web").cpu(900).priority(0)).plan();
    assert_eq!(plan.node_claims.len(), 1);
}

#[test]
fn another_node_pool_may_buy_for_it() {
    let world = expendable_below_zero().pool(node_pool("batch"));
    let plan = world.pod(pod("cheap").cpu(900).priority(-1000)).plan();
    assert_eq!(&*plan.node_claims[0].node_pool, "batch");
}

#[test]
fn a_node_with_none_but_expendable_pods_is_empty() {
    let world = |below| {
        cluster()
            .default_pool(|pool| pool.options.expendable_below = below)
            .node(node("n"))
            .pod(pod("cheap").cpu(900).priority(-1).on("n"))
    };
    assert!(disrupted_for(&world(None).plan(), DisruptionReason::Empty).is_empty());
    let plan = world(Some(0)).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Empty), ["n"]);
    assert!(plan.disruptions[0].pods.is_empty() && plan.disruptions[0].moves.is_empty());
}

#[test]
fn the_room_of_expendable_pods_is_not_bought_again() {
    let world = |below| {
        cluster()
            .default_pool(|pool| pool.options.expendable_below = below)
            .node(node("large").of_type("m.2xlarge"))
            .pod(pod("web").cpu(900).on("large"))
            .pod(pod("cheap").cpu(6500).priority(-1).on("large"))
    };
    assert!(world(None).plan().disruptions.is_empty());
    let plan = world(Some(0)).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Underutilized), ["large"]);
    let replacement = &plan.disruptions[0].replacements[0];
    assert_eq!(replacement.pods.iter().map(|pod| &*pod.name).collect::<Vec<_>>(), ["web"]);
}
