//! Every pending pod exactly once, and nobody else.

use domain::SignedDuration;
use domain::buffer::{BufferSource, CapacityBuffer, ScaledObject};
use domain::label::INITIALIZED;
use domain::node::Node;
use domain::plan::Plan;
use domain::pod::{OwnerKind, PodPhase, VirtualPodSource};
use domain::resource::Resources;
use domain::taint::{Taint, TaintEffect};
use domain::workload::WorkloadKind;

use crate::Rule;
use crate::testing::*;

#[test]
fn a_pod_on_a_new_claim_breaks_nothing() {
    allows(&pooled([pod("p")]), &plan([claim("n", &["p"])]));
}

#[test]
fn an_unschedulable_pod_breaks_nothing() {
    let plan = Plan { unschedulable: vec![unschedulable("p")], ..Plan::default() };
    allows(&pooled([pod("p")]), &plan);
}

#[test]
fn a_pending_pod_must_be_mentioned() {
    breaks(&pooled([pod("p")]), &Plan::default(), &[Rule::PodMissing]);
}

#[test]
fn gated_and_nominated_pods_need_not_be_mentioned() {
    let gated = pod("g").with(|spec| spec.scheduling_gates = vec!["gate".into()]);
    let mut nominated = pod("p");
    nominated.pod.nominated_node_name = Some("e".into());
    allows(&pooled([gated.clone(), nominated]), &Plan::default());
    breaks(&pooled([gated]), &plan([claim("n", &["g"])]), &[Rule::PodGated]);
}

#[test]
fn a_pod_has_one_place() {
    let cluster = pooled([pod("p")]);
    let two_claims = plan([claim("n", &["p"]), claim("m", &["p"])]);
    breaks(&cluster, &two_claims, &[Rule::PodTwice]);
    let both = Plan { unschedulable: vec![unschedulable("p")], ..plan([claim("n", &["p"])]) };
    breaks(&cluster, &both, &[Rule::PodTwice]);
}

#[test]
fn pods_that_are_not_there_have_no_place() {
    breaks(&pooled([pod("p")]), &plan([claim("n", &["p", "q"])]), &[Rule::PodUnknown]);
}

#[test]
fn running_and_ended_pods_have_no_new_place() {
    let running = pod("r").on("e");
    let mut ended = pod("r");
    ended.pod.phase = PodPhase::Succeeded;
    for other in [running, ended] {
        let cluster = pooled([pod("p"), other]).with_nodes([node("e", "small", "a")]);
        breaks(&cluster, &plan([claim("n", &["p", "r"])]), &[Rule::PodNotPending]);
    }
}

#[test]
fn a_pod_of_a_node_that_goes_away_may_get_a_place() {
    let deleted = Node { deleted: Some(now()), ..node("e", "small", "a") };
    let tainted = Node { taints: vec![Taint::disrupted()], ..node("e", "small", "a") };
    for going in [deleted, tainted] {
        let cluster = pooled([pod("r").on("e")]).with_nodes([going]);
        allows(&cluster, &plan([claim("n", &["r"])]));
        allows(&cluster, &Plan::default());
    }
}

#[test]
fn of_pods_that_end_with_their_node_a_stateful_sets_may_get_a_place_for_its_successor() {
    let going = Node { deleted: Some(now()), ..node("e", "small", "a") };
    let ending = |kind| {
        let mut pod = pod("r").on("e").owned_by(kind);
        pod.pod.deleted = Some(now());
        pooled([pod]).with_nodes([going.clone()])
    };
    allows(&ending(OwnerKind::StatefulSet), &plan([claim("n", &["r"])]));
    let of_deployment = ending(OwnerKind::ReplicaSet);
    breaks(&of_deployment, &plan([claim("n", &["r"])]), &[Rule::PodNotPending]);
}

#[test]
fn a_placement_names_a_place_that_stays() {
    let cluster = pooled([pod("p")]).with_nodes([
        node("e", "small", "a"),
        Node { deleted: Some(now()), ..node("going", "small", "a") },
    ]);
    allows(&cluster, &placing("p", "e"));
    breaks(&cluster, &placing("p", "nowhere"), &[Rule::NodeUnknown]);
    breaks(&cluster, &placing("p", "going"), &[Rule::NodeDeleting]);
}

#[test]
fn virtual_pods_of_a_buffer_are_not_listed_but_their_claims_are() {
    let mut virtual_pod = pod("spare-0");
    virtual_pod.pod.virtual_of = Some(VirtualPodSource::CapacityBuffer(key("spare")));
    let buffer = CapacityBuffer {
        key: key("spare"),
        uid: "".into(),
        provisioning_strategy: "buffer.x-k8s.io/active-capacity".into(),
        source: BufferSource::PodTemplate("t".into()),
        replicas: Some(1),
        percentage: None,
        limits: Resources::new(),
    };
    let mut cluster = pooled([pod("p"), virtual_pod]).with_capacity_buffers([buffer]);
    let with_spare = plan([claim("n", &["p"]), claim("m", &[])]);
    allows(&cluster, &with_spare);
    breaks(&cluster, &plan([claim("n", &["p", "spare-0"])]), &[Rule::PodUnknown]);
    cluster.settings.feature_gates.capacity_buffer = false;
    breaks(&cluster, &with_spare, &[Rule::ClaimEmpty]);
}

#[test]
fn pods_that_a_schedule_will_add_go_by_its_name() {
    let scaled = ScaledObject {
        key: key("evening"),
        target: (WorkloadKind::Deployment, "web".into()),
        min_replicas: 0,
        max_replicas: 9,
        cooldown_period: SignedDuration::from_mins(5),
        triggers: Vec::new(),
        uid: "u".into(),
        lead_time: None,
    };
    let cluster = pooled([]).with_scaled_objects([scaled]);
    allows(&cluster, &plan([claim("n", &["web-7", "evening-1"])]));
    breaks(&cluster, &plan([claim("n", &["other-7"])]), &[Rule::PodUnknown]);
}

#[test]
fn a_starting_node_may_wear_its_passing_taints() {
    let not_ready = Taint {
        key: "node.kubernetes.io/not-ready".into(),
        value: "".into(),
        effect: TaintEffect::NoSchedule,
    };
    let running = Node { taints: vec![not_ready], ..node("e", "small", "a") };
    let mut starting = running.clone();
    starting.labels.remove(INITIALIZED);
    let cluster = |node| pooled([pod("p")]).with_nodes([node]);
    allows(&cluster(starting), &placing("p", "e"));
    breaks(&cluster(running), &placing("p", "e"), &[Rule::Taint]);
}
