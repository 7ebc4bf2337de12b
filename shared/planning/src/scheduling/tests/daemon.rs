//! What DaemonSets take of new nodes.

use domain::label::{ARCH, ZONE};
use domain::reason::NodePoolUnfit;
use domain::requirement::Requirement;
use domain::resource::{CPU, MEMORY, NODES, Resources};
use domain::taint::TaintEffect;

use crate::testing::{
    claim_of, cluster, daemon_set, daemon_set_of, instance_type, listed, node, node_pool_with,
    place_of, pod, taint, texts, unfit,
};

#[test]
fn a_new_node_has_room_for_its_daemons_too() {
    let pods = cluster().pod(pod("a").cpu(2000));
    assert_eq!(&*claim_of(&pods.plan(), "a").instance_types[0], "m.large");
    let plan = pods.daemon_set(daemon_set("agent", 100)).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(&*claim.instance_types[0], "m.xlarge");
    assert_eq!(claim.requests.get(CPU), 2100);
}

#[test]
fn daemons_that_do_not_fit_on_a_type_leave_it_to_no_pod() {
    let only_memory = pod("a").cpu(0).asking(MEMORY, 1);
    let world = |millis| cluster().daemon_set(daemon_set("agent", millis)).pod(only_memory.clone());
    assert_eq!(&*claim_of(&world(3000).plan(), "a").instance_types[0], "m.xlarge");
    let reason = unfit(&world(9000).plan(), "a", "default");
    let NodePoolUnfit::TooSmall { resource, needed, largest, .. } = reason else {
        panic!("{reason:?}");
    };
    assert_eq!((&*resource, needed, largest), (CPU, 9000, 8000));
}

#[test]
fn daemons_that_wait_for_devices_take_nothing_of_a_new_node() {
    let waiting = pod("agent").cpu(3000).with(|spec| spec.resource_claims.push("gpu".into()));
    let world = cluster().daemon_set(daemon_set_of("agent", waiting)).pod(pod("a").cpu(2000));
    assert_eq!(&*claim_of(&world.plan(), "a").instance_types[0], "m.large");
}

#[test]
fn daemons_that_do_not_run_on_the_type_take_nothing_of_it() {
    let on_arm = daemon_set_of("agent", pod("agent").cpu(3000).on_nodes_with(ARCH, "arm64"));
    let plan = cluster().daemon_set(on_arm).pod(pod("a").cpu(2000)).plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "m.large");
}

#[test]
fn daemons_that_do_not_tolerate_the_pools_taint_take_nothing() {
    let tainted = node_pool_with("default", |template| {
        template.taints.push(taint("team", TaintEffect::NoSchedule));
    });
    let plan = cluster()
        .pool(tainted)
        .daemon_set(daemon_set("agent", 1000))
        .pod(pod("a").cpu(2000).tolerating("team"))
        .plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "m.large");
}

#[test]
fn room_is_kept_on_a_node_for_daemons_that_have_not_come() {
    let world = cluster().node(node("n1")).pod(pod("a").cpu(3500));
    assert_eq!(place_of(&world.plan(), "a"), Some("n1"));
    let with_daemon = world.daemon_set(daemon_set("agent", 600));
    assert_eq!(place_of(&with_daemon.clone().plan(), "a"), None);
    // Once its pod runs, what it asks for is not counted twice.
    let running = pod("agent-1").cpu(600).on("n1").owned_by(domain::pod::OwnerKind::DaemonSet);
    let plan = with_daemon.pod(running).pod(pod("b").cpu(3400)).plan();
    assert_eq!(place_of(&plan, "b"), Some("n1"));
}

#[test]
fn the_host_port_of_a_daemon_in_one_zone_keeps_the_pod_off_that_zone() {
    let agent = daemon_set_of("agent", pod("agent").host_port(9100).on_nodes_with(ZONE, "a"));
    let world = cluster().daemon_set(agent);
    let plan = world.clone().pod(pod("a").host_port(9100)).plan();
    let claim = claim_of(&plan, "a");
    let zones = claim.requirements.iter().find(|own| &*own.key == ZONE);
    assert_eq!(zones, Some(&Requirement::is_in(ZONE, ["b".into(), "c".into()])));
    let there = pod("a").host_port(9100).on_nodes_with(ZONE, "a");
    assert_eq!(unfit(&world.pod(there).plan(), "a", "default"), NodePoolUnfit::HostPort(9100));
}

#[test]
fn a_daemons_host_port_keeps_the_pod_off() {
    let agent = daemon_set_of("agent", pod("agent").host_port(9100));
    let plan = cluster().daemon_set(agent).pod(pod("a").host_port(9100)).plan();
    assert_eq!(unfit(&plan, "a", "default"), NodePoolUnfit::HostPort(9100));
}

#[test]
fn a_daemon_counts_where_it_might_run() {
    let in_zone = daemon_set_of("agent", pod("agent").cpu(100).on_nodes_with(ZONE, "b"));
    let plan = cluster().daemon_set(in_zone).pod(pod("a").cpu(2000)).plan();
    assert_ne!(claim_of(&plan, "a").instance_types, texts(&["m.large"]));
}

/// Four CPUs, of which a DaemonSet takes one in zone a, and one node may be launched.
#[test]
fn pods_that_a_limit_leaves_go_where_daemons_of_other_zones_take_nothing() {
    let in_zone_a = daemon_set_of("agent", pod("agent").cpu(1000).on_nodes_with(ZONE, "a"));
    let world = cluster()
        .selling(vec![instance_type("m.xlarge", 4, 0.2)])
        .default_pool(|pool| pool.limits = Resources::new().with(NODES, 1))
        .daemon_set(in_zone_a)
        .pods(2, &pod("web").cpu(1800));
    let plan = world.plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(listed(&plan.node_claims[0], ZONE), "b c");
    assert_eq!(plan.node_claims[0].requests.get(CPU), 3600);
}
