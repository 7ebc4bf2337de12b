//! Room, DaemonSets and host ports.

use domain::instance_type::CapacityType;
use domain::label::{INSTANCE_TYPE, REGISTERED, ZONE};
use domain::node::Node;
use domain::node_pool::NodePool;
use domain::pod::PodPhase;
use domain::requirement::Operator;
use domain::resource::{CPU, MEMORY};
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

fn with_daemon(daemon: PodMaker, pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    pooled(pods).with_daemon_sets([daemon_set(daemon)])
}

#[test]
fn pods_fit_on_every_listed_type() {
    let one = plan([claim("n", &["p"])]);
    allows(&pooled([pod("p").cpu(2000)]), &one);
    breaks(&pooled([pod("p").cpu(2001)]), &one, &[Rule::Fit]);
    let two = claim_in("n", &["p"], &["small", "big"], "a", CapacityType::Spot);
    breaks(&pooled([pod("p").cpu(2001)]), &plan([two]), &[Rule::Fit]);
}

#[test]
fn pods_of_a_claim_fit_together() {
    let together = plan([claim("n", &["p0", "p1"])]);
    let asking = |bytes| pooled(pods("p", 2, |pod| pod.asking(MEMORY, bytes)));
    allows(&asking(2 << 30), &together);
    breaks(&asking(3 << 30), &together, &[Rule::Fit]);
    let nine: Vec<String> = (0..9).map(|index| format!("p{index}")).collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    let tiny = |count| pooled(pods("p", count, |pod| pod.cpu(1)));
    allows(&tiny(8), &plan([claim("n", &nine[..8])]));
    breaks(&tiny(9), &plan([claim("n", &nine)]), &[Rule::Fit]);
}

#[test]
fn a_resource_that_a_type_lacks_is_zero() {
    let cluster = pooled([pod("p").asking(GPU, 1)]);
    allows(&cluster, &plan([claim_in("n", &["p"], &["gpu"], "a", CapacityType::OnDemand)]));
    breaks(&cluster, &plan([claim("n", &["p"])]), &[Rule::Fit]);
}

#[test]
fn daemon_sets_have_room_on_new_nodes() {
    let one = plan([claim("n", &["p"])]);
    let daemon = || pod("d").cpu(600);
    allows(&with_daemon(daemon(), [pod("p").cpu(1400)]), &one);
    breaks(&with_daemon(daemon(), [pod("p").cpu(1401)]), &one, &[Rule::Fit]);
    let registered = daemon().selecting(REGISTERED, "true");
    breaks(&with_daemon(registered, [pod("p").cpu(1401)]), &one, &[Rule::Fit]);
}

#[test]
fn a_static_pool_launches_nodes_though_daemon_sets_fit_on_none_of_its_types() {
    let static_pool = |types: &[&str]| {
        let types = requirement(INSTANCE_TYPE, Operator::In, types);
        NodePool { replicas: Some(1), ..pool_requiring(vec![types]) }
    };
    let world = |pool: NodePool, pods: Vec<PodMaker>| {
        let daemon = daemon_set(pod("d").cpu(3000));
        cluster(pods).with_node_pools([pool]).with_daemon_sets([daemon])
    };
    let one = plan([claim("n", &[])]);
    allows(&world(static_pool(&["small"]), vec![]), &one);
    breaks(&world(static_pool(&["small", "big"]), vec![]), &one, &[Rule::Fit]);
}

#[test]
fn a_daemon_set_that_waits_for_devices_needs_no_room() {
    let mut waiting = pod("d").cpu(1900);
    waiting.spec.resource_claims.push("gpu".into());
    allows(&with_daemon(waiting, [pod("p").cpu(1900)]), &plan([claim("n", &["p"])]));
}

#[test]
fn a_daemon_set_counts_where_it_may_run() {
    let cluster = with_daemon(pod("d").cpu(600).selecting(ZONE, "b"), [pod("p").cpu(1500)]);
    allows(&cluster, &plan([claim("n", &["p"])]));
    breaks(&cluster, &plan([in_any_zone(claim("n", &["p"]))]), &[Rule::Fit]);
}

#[test]
fn pods_fit_beside_those_that_are_bound() {
    let cluster = |bound: PodMaker, cpu| {
        pooled([bound.on("e"), pod("p").cpu(cpu)]).with_nodes([node("e", "small", "a")])
    };
    let placed = placing("p", "e");
    allows(&cluster(pod("r").cpu(1000), 1000), &placed);
    breaks(&cluster(pod("r").cpu(1000), 1001), &placed, &[Rule::Fit]);
    let mut ended = pod("r").cpu(1000).on("e");
    ended.pod.phase = PodPhase::Failed;
    let mut cluster = cluster(pod("other").cpu(1), 1900);
    cluster.objects.pods.extend(pooled([ended]).objects.pods);
    allows(&cluster, &placed);
}

#[test]
fn a_claim_in_flight_has_room_for_its_daemon_sets_too() {
    let cluster = |cpu| {
        with_daemon(pod("d").cpu(600), [pod("p").cpu(cpu)]).with_node_claims([claim_object("f")])
    };
    allows(&cluster(1400), &placing("p", "f"));
    breaks(&cluster(1401), &placing("p", "f"), &[Rule::Fit]);
}

#[test]
fn a_claim_belongs_to_the_node_of_its_provider_id_or_name() {
    let mut by_name = claim_object("f");
    by_name.status.node_name = Some("e".into());
    let mut by_id = claim_object("f");
    by_id.status.provider_id = Some("aws:///a/i-1".into());
    let known = Node { provider_id: by_id.status.provider_id.clone(), ..node("e", "small", "a") };
    for claim in [by_name, by_id] {
        let cluster = pooled([pod("p")]).with_nodes([known.clone()]).with_node_claims([claim]);
        allows(&cluster, &placing("p", "e"));
        breaks(&cluster, &placing("p", "f"), &[Rule::NodeUnknown]);
    }
}

#[test]
fn a_starting_node_will_have_what_its_claim_promises() {
    let mut starting = node("e", "small", "a");
    starting.labels.remove(domain::label::INITIALIZED);
    let mut promising = claim_object("f");
    promising.status.node_name = Some("e".into());
    promising.status.allocatable = size(2, 4, 8).with(GPU, 1);
    let cluster = |claims| {
        pooled([pod("p").asking(GPU, 1)]).with_nodes([starting.clone()]).with_node_claims(claims)
    };
    allows(&cluster(vec![promising]), &placing("p", "e"));
    breaks(&cluster(vec![]), &placing("p", "e"), &[Rule::Fit]);
}

#[test]
fn a_cordoned_node_takes_no_pod() {
    let cordoned = Node { taints: vec![Node::cordon()], ..node("e", "small", "a") };
    let cluster = pooled([pod("p")]).with_nodes([cordoned]);
    breaks(&cluster, &placing("p", "e"), &[Rule::Taint]);
}

#[test]
fn a_host_port_is_opened_once_on_a_node() {
    let together = plan([claim("n", &["p0", "p1"])]);
    let opening = |first: &str, second: &str| {
        pooled([pod("p0").opening(first, 80), pod("p1").opening(second, 80)])
    };
    allows(&opening("10.0.0.1", "10.0.0.2"), &together);
    breaks(&opening("10.0.0.1", "0.0.0.0"), &together, &[Rule::HostPort]);
}

#[test]
fn host_ports_of_bound_pods_and_daemon_sets_are_taken() {
    let open = |name: &str, port| pod(name).opening("0.0.0.0", port);
    let bound = |port| {
        pooled([open("r", port).on("e"), open("p", 80)]).with_nodes([node("e", "small", "a")])
    };
    allows(&bound(81), &placing("p", "e"));
    breaks(&bound(80), &placing("p", "e"), &[Rule::HostPort]);
    let daemon = |port| with_daemon(open("d", port), [open("p", 80)]);
    allows(&daemon(81), &plan([claim("n", &["p"])]));
    breaks(&daemon(80), &plan([claim("n", &["p"])]), &[Rule::HostPort]);
}

#[test]
fn misfits_name_the_resource_and_the_figures() {
    let violations = crate::check(&pooled([pod("p").cpu(2500)]), &plan([claim("n", &["p"])]));
    assert_eq!(
        violations[0].to_string(),
        format!("fit: n: small has {CPU} 2, its pods and DaemonSets ask for 2500m")
    );
}
