//! Nodes that are there, or on their way, come before new ones.

use domain::label::ZONE;
use domain::node::Node;
use domain::pod::VolumeUse;
use domain::taint::{Taint, TaintEffect};

use crate::testing::{claim_of, cluster, node, node_pool_with, now, place_of, pod, pod_key, taint};

#[test]
fn a_pod_goes_where_there_is_room() {
    let plan = cluster().node(node("n1")).pod(pod("a")).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
    assert!(plan.node_claims.is_empty());
}

#[test]
fn bound_pods_take_room() {
    let world = cluster().node(node("n1")).pod(pod("old").cpu(3000).on("n1"));
    let plan = world.pod(pod("a").cpu(1000)).pod(pod("b").cpu(1500)).plan();
    // The larger is placed first, and finds too little.
    assert_eq!(place_of(&plan, "a"), Some("n1"));
    claim_of(&plan, "b");
}

#[test]
fn a_claim_in_flight_is_as_good_as_a_node() {
    let plan = cluster().in_flight(node("n1")).pod(pod("a")).plan();
    assert_eq!(place_of(&plan, "a"), Some("claim-n1"));
    assert!(plan.node_claims.is_empty());
}

#[test]
fn a_pod_keeps_the_place_that_an_earlier_plan_gave_it() {
    let world = cluster().node(node("n1")).in_flight(node("n2")).pod(pod("a")).pod(pod("b"));
    let expected = world.with(|snapshot| {
        snapshot.nominations.insert("claim-n2".into(), vec![pod_key("a")]);
    });
    let plan = expected.plan();
    assert_eq!((place_of(&plan, "a"), place_of(&plan, "b")), (Some("claim-n2"), Some("n1")));
}

#[test]
fn a_pod_that_lost_its_place_gets_another() {
    let world = cluster().node(node("n1")).node(node("n2")).pod(pod("a").cpu(1000));
    let taken = world.pod(pod("old").cpu(3500).on("n2")).with(|snapshot| {
        snapshot.nominations.insert("n2".into(), vec![pod_key("a")]);
    });
    assert_eq!(place_of(&taken.plan(), "a"), Some("n1"));
}

#[test]
fn a_pod_of_a_higher_priority_takes_the_place_that_was_given_to_another() {
    let urgent = pod("urgent").cpu(3500).with(|spec| spec.priority = 1000);
    let world = cluster().node(node("n1")).pod(pod("a").cpu(1000)).pod(urgent);
    let expected = world.with(|snapshot| {
        snapshot.nominations.insert("n1".into(), vec![pod_key("a")]);
    });
    let plan = expected.plan();
    assert_eq!((place_of(&plan, "urgent"), place_of(&plan, "a")), (Some("n1"), None));
}

#[test]
fn a_pod_whose_volume_keeps_it_from_every_node_does_not_keep_its_place() {
    let stuck = pod("a").with(|spec| {
        spec.volumes.push(VolumeUse::Pvc { name: "missing".into(), template: None });
    });
    let world = cluster().node(node("n1")).pod(stuck).with(|snapshot| {
        snapshot.nominations.insert("n1".into(), vec![pod_key("a")]);
    });
    assert_eq!(place_of(&world.plan(), "a"), None);
}

#[test]
fn nodes_that_are_ready_come_before_those_that_start() {
    let world = cluster().node(node("n1").starting()).node(node("n2")).in_flight(node("n0"));
    assert_eq!(place_of(&world.pod(pod("a")).plan(), "a"), Some("n2"));
}

#[test]
fn a_startup_taint_keeps_nobody_off_while_the_node_starts() {
    let pool = node_pool_with("default", |template| {
        template.startup_taints.push(taint("network", TaintEffect::NoSchedule));
    });
    let tainted = |node: &mut Node| node.taints.push(taint("network", TaintEffect::NoSchedule));
    let world = cluster().pool(pool).pod(pod("a"));
    let plan = world.clone().node(node("n1").starting().with(tainted)).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
    let plan = world.node(node("n1").with(tainted)).plan();
    assert_eq!(place_of(&plan, "a"), None);
    assert_eq!(claim_of(&plan, "a").startup_taints.len(), 1);
}

#[test]
fn a_node_that_is_not_ready_yet_takes_pods_and_a_cordoned_one_does_not() {
    let not_ready = taint("node.kubernetes.io/not-ready", TaintEffect::NoSchedule);
    let starting = node("n1").starting().with(|node| node.taints.push(not_ready));
    assert_eq!(place_of(&cluster().node(starting).pod(pod("a")).plan(), "a"), Some("n1"));
    let cordoned = node("n1").with(|node| node.taints.push(Node::cordon()));
    claim_of(&cluster().node(cordoned).pod(pod("a")).plan(), "a");
}

#[test]
fn pods_of_a_node_that_leaves_get_a_place_ahead_of_its_end() {
    let leaving = node("n1").with(|node| node.taints.push(Taint::disrupted()));
    let plan = cluster().node(leaving).pod(pod("a").on("n1")).plan();
    claim_of(&plan, "a");
}

#[test]
fn pods_that_others_wait_for_are_left_alone() {
    let gated = pod("gated").with(|spec| spec.scheduling_gates.push("quota".into()));
    let nominated = pod("nominated").having(|pod| pod.nominated_node_name = Some("n1".into()));
    let ending = pod("ending").having(|pod| pod.deleted = Some(now()));
    let plan = cluster().pod(gated).pod(nominated).pod(ending).plan();
    assert!(plan.node_claims.is_empty() && plan.unschedulable.is_empty());
    assert_eq!(plan.totals.pending_pods, 0);
}

#[test]
fn open_host_ports_are_not_opened_twice() {
    let world = cluster().node(node("n1")).pod(pod("old").host_port(80).on("n1"));
    let plan = world.pod(pod("a").host_port(80)).pod(pod("b").host_port(81)).plan();
    assert_eq!(place_of(&plan, "a"), None);
    assert_eq!(place_of(&plan, "b"), Some("n1"));
}

#[test]
fn two_pods_with_one_host_port_get_two_new_nodes() {
    let plan = cluster().pods(2, &pod("a").host_port(80)).plan();
    assert_eq!(plan.node_claims.len(), 2);
}

#[test]
fn labels_of_existing_nodes_count() {
    let world = cluster().node(node("n1").in_zone("a")).node(node("n2").in_zone("b"));
    let plan = world.pod(pod("a").on_nodes_with(ZONE, "b")).plan();
    assert_eq!(place_of(&plan, "a"), Some("n2"));
}
