//! Preferences: kept where they can be, given up where they cannot.

use domain::label::{ARCH, ZONE};
use domain::pod::{NodeSelectorTerm, PreferredPodTerm};
use domain::resource::{NODES, Resources};
use domain::settings::PreferencePolicy;
use domain::taint::TaintEffect;

use crate::testing::{
    claim_of, cluster, is, listed, near, node, node_pool, node_pool_of, node_pool_with, place_of,
    pod, taint,
};

#[test]
fn a_preferred_zone_is_chosen_where_it_costs_nothing() {
    let plan = cluster().pod(pod("a").preferring(10, is(ZONE, "c"))).plan();
    assert_eq!(listed(claim_of(&plan, "a"), ZONE), "c");
}

#[test]
fn a_preference_that_nothing_meets_is_given_up() {
    let plan = cluster().pod(pod("a").preferring(10, is(ZONE, "nowhere"))).plan();
    claim_of(&plan, "a");
}

#[test]
fn the_heavier_of_two_that_exclude_each_other_is_kept() {
    let torn = pod("a").preferring(1, is(ARCH, "amd64")).preferring(100, is(ARCH, "arm64"));
    let plan = cluster().pod(torn).plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "a.xlarge");
}

#[test]
fn preferences_are_left_out_where_settings_say_so() {
    let world = cluster().with(|snapshot| {
        snapshot.settings.preference_policy = PreferencePolicy::Ignore;
    });
    let plan = world.pod(pod("a").preferring(100, is(ARCH, "arm64"))).plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "m.large");
}

#[test]
fn of_existing_nodes_the_preferred_one_is_taken() {
    let world = cluster().node(node("n1").in_zone("a")).node(node("n2").in_zone("b"));
    let plan = world.pod(pod("a").preferring(1, is(ZONE, "b"))).plan();
    assert_eq!(place_of(&plan, "a"), Some("n2"));
}

#[test]
fn a_pool_that_would_rather_not_is_the_last_resort() {
    let reluctant = node_pool_with("reluctant", |template| {
        template.taints.push(taint("batch", TaintEffect::PreferNoSchedule));
    });
    let mut heavy = reluctant;
    heavy.weight = 100;
    let both = cluster().pool(heavy.clone()).pod(pod("a")).plan();
    assert_eq!(&*claim_of(&both, "a").node_pool, "default");
    let tolerated = cluster().pool(heavy.clone()).pod(pod("a").tolerating("batch")).plan();
    assert_eq!(&*claim_of(&tolerated, "a").node_pool, "reluctant");
    let mut gone = node_pool("default");
    gone.is_deleting = true;
    let alone = cluster().pool(heavy).pool(gone).pod(pod("a")).plan();
    assert_eq!(&*claim_of(&alone, "a").node_pool, "reluctant");
}

#[test]
fn a_preference_is_given_up_before_a_pool_that_would_rather_not() {
    let reluctant = node_pool_with("reluctant", |template| {
        template.taints.push(taint("batch", TaintEffect::PreferNoSchedule));
    });
    let far = node_pool_of("default", &[is(ZONE, "b")]);
    let both = cluster().pool(reluctant).pool(far);
    let near = pod("a").preferring(10, is(ZONE, "a"));
    assert_eq!(&*claim_of(&both.clone().pod(near).plan(), "a").node_pool, "default");
    let term = |zone| NodeSelectorTerm { expressions: vec![is(ZONE, zone)], fields: Vec::new() };
    let either = pod("a")
        .with(|spec| spec.required_node_terms = Some(vec![term("a"), term("b")]))
        .preferring(10, is(ZONE, "a"));
    assert_eq!(&*claim_of(&both.pod(either).plan(), "a").node_pool, "default");
}

#[test]
fn a_node_that_would_rather_not_is_tried_last() {
    let reluctant =
        node("n1").with(|node| node.taints.push(taint("batch", TaintEffect::PreferNoSchedule)));
    let plan = cluster().node(reluctant.clone()).node(node("n2")).pod(pod("a")).plan();
    assert_eq!(place_of(&plan, "a"), Some("n2"));
    assert_eq!(place_of(&cluster().node(reluctant).pod(pod("a")).plan(), "a"), Some("n1"));
}

#[test]
fn a_preference_that_a_limit_leaves_no_node_for_is_given_up() {
    let mut near = node_pool_of("near", &[is(ZONE, "a")]);
    near.limits = Resources::new().with(NODES, 1);
    let far = node_pool_of("default", &[is(ZONE, "b")]);
    let large = pod("a").cpu(6000).preferring(10, is(ZONE, "a"));
    let plan = cluster().pool(near).pool(far).pods(2, &large).plan();
    assert!(plan.unschedulable.is_empty());
}

#[test]
fn of_pods_of_one_size_those_come_last_that_prefer_something_of_others() {
    let preferred = || vec![PreferredPodTerm { weight: 1, term: near(ZONE, ("app", "target")) }];
    let target = pod("target").label("app", "target").cpu(1500);
    let near_it = pod("a").cpu(1500).with(|spec| spec.preferred_pod_affinity = preferred());
    let plan = cluster().pod(target.clone().on_nodes_with(ZONE, "b")).pod(near_it).plan();
    assert_eq!(listed(claim_of(&plan, "a"), ZONE), "b");
    let away = pod("a").cpu(1500).with(|spec| spec.preferred_pod_anti_affinity = preferred());
    let plan = cluster().pod(target.on_nodes_with(ZONE, "a")).pod(away).plan();
    assert_ne!(listed(claim_of(&plan, "a"), ZONE), "a");
}
