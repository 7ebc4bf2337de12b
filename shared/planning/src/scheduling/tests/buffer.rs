//! CapacityBuffers: room for pods that are not there yet.

use domain::pod::VirtualPodSource;
use domain::reason::NotDisruptable;

use crate::testing::{Cluster, cluster, node, place_of, pod, pod_key};

#[test]
fn capacity_is_launched_for_a_buffer_though_no_pod_waits() {
    let plan = cluster().buffer(2, 1000).plan();
    let [claim] = plan.node_claims.as_slice() else { panic!("{:?}", plan.node_claims) };
    assert!(claim.pods.is_empty());
    assert_eq!(plan.totals.pending_pods, 0);
}

#[test]
fn free_room_serves_a_buffer() {
    let plan = cluster().node(node("n1")).buffer(2, 1000).plan();
    assert!(plan.node_claims.is_empty() && plan.placements.is_empty());
}

/// Where room is kept for the buffer's pods.
fn kept(world: &Cluster) -> Vec<Option<String>> {
    let plan = world.plan();
    for planned in &plan.virtual_pods {
        assert_eq!(planned.source, VirtualPodSource::CapacityBuffer(pod_key("headroom")));
    }
    plan.virtual_pods.iter().map(|own| own.place.as_ref().map(ToString::to_string)).collect()
}

#[test]
fn a_plan_says_where_room_is_kept() {
    let here = Some("n1".to_owned());
    let on_node = cluster().node(node("n1")).buffer(2, 1000);
    assert_eq!(kept(&on_node), [here.clone(), here]);
    let on_new = cluster().buffer(1, 1000);
    assert_eq!(kept(&on_new), [Some(on_new.plan().node_claims[0].name.to_string())]);
    let nowhere = cluster().buffer(1, 100_000);
    assert_eq!(kept(&nowhere), [None]);
    assert!(nowhere.plan().unschedulable.is_empty(), "no pod waits");
}

#[test]
fn real_pods_come_first() {
    let plan = cluster().node(node("n1")).buffer(1, 3000).pod(pod("a").cpu(2000)).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
    assert_eq!(plan.node_claims.len(), 1);
}

#[test]
fn a_node_that_holds_a_buffer_is_not_taken_away_as_empty() {
    assert_eq!(cluster().node(node("n1")).buffer(1, 1000).blocked("n1"), NotDisruptable::Nominated);
}

#[test]
fn a_buffer_asks_for_nothing_where_the_gate_is_off() {
    let world = cluster()
        .buffer(2, 1000)
        .with(|snapshot| snapshot.settings.feature_gates.capacity_buffer = false);
    assert!(world.plan().node_claims.is_empty());
}
