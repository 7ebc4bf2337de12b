//! What is easily got wrong beside Karpenter's rules: combinations that no other subject has.

use domain::label::{ARCH, INITIALIZED, ZONE};
use domain::node_claim::NodeClaim;
use domain::pod::{NodeSelectorTerm, Owner, OwnerKind, PreferredPodTerm, TopologySpreadConstraint};
use domain::resource::{CPU, MEMORY, NVIDIA_GPU, Resources};
use domain::taint::Taint;

use crate::testing::{
    claim_of, cluster, daemon_set, is, listed, near, node, now, place_of, pod, pods_by_zone,
    spread_over,
};

const WEB: (&str, &str) = ("app", "web");

/// A term of one requirement `key In [value]`.
fn term(key: &str, value: &str) -> NodeSelectorTerm {
    NodeSelectorTerm { expressions: vec![is(key, value)], fields: Vec::new() }
}

#[test]
fn an_over_committed_node_takes_nobody_whatever_it_is_short_of() {
    let world = cluster().node(node("n1")).pod(pod("old").cpu(4500).on("n1"));
    let plan = world.pod(pod("a").cpu(0)).plan();
    assert_eq!(place_of(&plan, "a"), None);
    claim_of(&plan, "a");
}

#[test]
fn a_daemon_that_asks_for_what_a_node_does_not_have_keeps_nobody_off() {
    let mut daemon = daemon_set("driver", 0);
    let spec = std::sync::Arc::make_mut(&mut daemon.template.spec);
    spec.requests = Resources::new().with(NVIDIA_GPU, 1);
    let plan = cluster().daemon_set(daemon).node(node("n1")).pod(pod("a")).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
}

#[test]
fn another_alternative_is_tried_before_a_preference_is_given_up() {
    let either = pod("a")
        .with(|spec| spec.required_node_terms = Some(vec![term(ZONE, "a"), term(ZONE, "b")]))
        .preferring(1, is(ZONE, "b"));
    assert_eq!(listed(claim_of(&cluster().pod(either).plan(), "a"), ZONE), "b");
}

#[test]
fn a_preference_holds_beside_an_alternative_that_was_not_the_first() {
    let either = pod("a")
        .with(|spec| spec.required_node_terms = Some(vec![term(ZONE, "nowhere"), term(ZONE, "b")]))
        .preferring(1, is(ARCH, "arm64"));
    let plan = cluster().pod(either).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!((listed(claim, ZONE).as_str(), &*claim.labels[ARCH]), ("b", "arm64"));
}

#[test]
fn preferences_that_do_not_exclude_each_other_are_all_kept() {
    let both = pod("a").preferring(1, is(ZONE, "c")).preferring(100, is(ARCH, "arm64"));
    let plan = cluster().pod(both).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!((listed(claim, ZONE).as_str(), &*claim.labels[ARCH]), ("c", "arm64"));
}

#[test]
fn a_node_without_a_well_known_label_does_not_stand_for_one_that_has_it() {
    let bare = node("n1").with(|node| {
        node.labels.remove(ARCH);
    });
    let plan = cluster().node(bare).pod(pod("a").on_nodes_with(ARCH, "amd64")).plan();
    assert_eq!(place_of(&plan, "a"), None);
    claim_of(&plan, "a");
}

#[test]
fn a_pod_of_a_stateful_set_that_is_ending_on_a_leaving_node_gets_a_place() {
    let of = |kind| {
        let ending = pod("a").cpu(3000).on("n1").having(|pod| {
            pod.deleted = Some(now());
            pod.owner = Some(Owner { kind, name: "db".into(), uid: "".into() });
        });
        let leaving = node("n1").with(|node| node.taints.push(Taint::disrupted()));
        cluster().node(leaving).pod(ending).plan()
    };
    claim_of(&of(OwnerKind::StatefulSet), "a");
    assert_eq!(of(OwnerKind::ReplicaSet).node_claims, []);
}

#[test]
fn two_constraints_that_differ_in_min_domains_only_are_two() {
    let strict = TopologySpreadConstraint { min_domains: Some(4), ..spread_over(ZONE, WEB) };
    let world = cluster()
        .pods(4, &pod("strict").label(WEB.0, WEB.1).spread(strict))
        .pods(3, &pod("loose").label(WEB.0, WEB.1).cpu(50).spread(spread_over(ZONE, WEB)));
    let plan = world.plan();
    // With three zones of four wanted, one a zone is all that the strict ones may have.
    let waiting: Vec<_> = plan.unschedulable.iter().map(|waiting| &*waiting.pod.name).collect();
    assert_eq!(waiting, ["strict-3"]);
    assert_eq!(pods_by_zone(&plan), [2, 2, 2]);
}

#[test]
fn a_wish_of_a_running_pod_to_be_alone_repels_nobody() {
    let alone = pod("old").on("n1").with(|spec| {
        let term = near(domain::label::HOSTNAME, WEB);
        spec.preferred_pod_anti_affinity.push(PreferredPodTerm { weight: 100, term });
    });
    let plan = cluster().node(node("n1")).pod(alone).pod(pod("a").label(WEB.0, WEB.1)).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
}

#[test]
fn what_a_starting_node_does_not_report_yet_is_as_its_claim_promises() {
    let promised = |claim: &mut NodeClaim| {
        claim.status.allocatable = Resources::new().with(CPU, 4000).with(MEMORY, 1 << 30);
    };
    let silent = |ready: bool| {
        let mut world = cluster().node(node("n1").starting().with_claim(promised));
        for node in &mut world.0.objects.nodes {
            node.allocatable.set(&MEMORY.into(), 0);
            if ready {
                node.labels.insert(INITIALIZED.into(), "true".into());
            }
        }
        world.pod(pod("a").asking(MEMORY, 1 << 20)).plan()
    };
    assert_eq!(place_of(&silent(false), "a"), Some("n1"));
    assert_eq!(place_of(&silent(true), "a"), None);
}
