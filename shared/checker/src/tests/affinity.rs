//! Required pod affinity and anti-affinity.

use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, HOSTNAME, ZONE};
use domain::node::Node;
use domain::plan::PlannedNodeClaim;
use domain::pod::DoNotDisrupt;
use domain::selector::LabelSelector;
use domain::snapshot::ClusterSnapshot;
use domain::taint::Taint;
use domain::workload::Namespace;

use crate::Rule;
use crate::testing::*;

fn in_b(name: &str, pods: &[&str]) -> PlannedNodeClaim {
    claim_in(name, pods, &["small"], "b", CapacityType::Spot)
}

fn with_node(node: Node, pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    pooled(pods).with_nodes([node])
}

fn leaving(node: Node) -> Node {
    Node { taints: vec![Taint::disrupted()], ..node }
}

#[test]
fn pods_that_avoid_each_other_are_apart() {
    let cluster = pooled(pods("p", 2, |pod| pod.app().avoiding(HOSTNAME)));
    allows(&cluster, &plan([claim("n", &["p0"]), claim("m", &["p1"])]));
    breaks(&cluster, &plan([claim("n", &["p0", "p1"])]), &[Rule::AntiAffinity]);
}

#[test]
fn one_side_is_enough_to_be_avoided() {
    let cluster = pooled([pod("p0").avoiding(HOSTNAME), pod("p1").app()]);
    breaks(&cluster, &plan([claim("n", &["p0", "p1"])]), &[Rule::AntiAffinity]);
    let bound =
        with_node(node("e", "small", "a"), [pod("r").on("e").avoiding(HOSTNAME), pod("p").app()]);
    breaks(&bound, &placing("p", "e"), &[Rule::AntiAffinity]);
    let bound = with_node(node("e", "small", "a"), [pod("r").on("e").avoiding(HOSTNAME), pod("p")]);
    allows(&bound, &placing("p", "e"));
}

#[test]
fn a_zone_that_is_open_may_be_the_one_to_avoid() {
    let cluster = pooled(pods("p", 2, |pod| pod.app().avoiding(ZONE)));
    allows(&cluster, &plan([claim("n", &["p0"]), in_b("m", &["p1"])]));
    let open = plan([claim("n", &["p0"]), in_any_zone(claim("m", &["p1"]))]);
    breaks(&cluster, &open, &[Rule::AntiAffinity]);
}

#[test]
fn pods_that_were_together_before_are_not_the_plans_doing() {
    let together = pods("r", 2, |pod| pod.app().avoiding(HOSTNAME).on("e"));
    let cluster = with_node(node("e", "small", "a"), together.into_iter().chain([pod("p")]));
    allows(&cluster, &placing("p", "e"));
}

#[test]
fn nobody_avoids_a_pod_that_is_going() {
    let staying = node("e", "small", "a");
    let going = leaving(staying.clone());
    let pods = || [pod("r").app().on("e"), pod("p").avoiding(ZONE)];
    breaks(&with_node(staying, pods()), &plan([claim("n", &["p"])]), &[Rule::AntiAffinity]);
    allows(&with_node(going, pods()), &plan([claim("n", &["p"])]));
}

#[test]
fn terms_reach_the_namespaces_that_they_name_or_select() {
    let together = plan([claim("n", &["p0", "z/p1"])]);
    let cluster = |change: &dyn Fn(&mut domain::pod::PodAffinityTerm)| {
        let avoiding = pod("p0").avoiding(HOSTNAME).with(|spec| {
            change(&mut spec.pod_anti_affinity[0]);
        });
        let team = labels(&[("team", "t"), ("kubernetes.io/metadata.name", "z")]);
        pooled([avoiding, pod("z/p1").app()]).with_namespaces([Namespace {
            name: "z".into(),
            labels: team,
            evict_by: None,
        }])
    };
    let by_label = |team: &str| Some(LabelSelector::of_labels([("team", team)]));
    allows(&cluster(&|_| {}), &together);
    allows(&cluster(&|term| term.namespace_selector = by_label("u")), &together);
    let broken = [Rule::AntiAffinity];
    breaks(&cluster(&|term| term.namespaces = vec!["z".into()]), &together, &broken);
    breaks(&cluster(&|term| term.namespace_selector = by_label("t")), &together, &broken);
}

#[test]
fn pods_that_seek_each_other_share_a_domain() {
    let cluster = pooled(pods("p", 2, |pod| pod.app().near(ZONE)));
    allows(&cluster, &plan([claim("n", &["p0"]), claim("m", &["p1"])]));
    breaks(&cluster, &plan([claim("n", &["p0"]), in_b("m", &["p1"])]), &[Rule::PodAffinity]);
    let open = |name: &str, pods: &[&str]| in_any_zone(claim(name, pods));
    allows(&cluster, &plan([open("n", &["p0", "p1"])]));
    breaks(&cluster, &plan([open("n", &["p0"]), open("m", &["p1"])]), &[Rule::PodAffinity]);
}

#[test]
fn a_group_starts_once() {
    let cluster = pooled(pods("p", 4, |pod| pod.app().near(ZONE)));
    let two_zones = plan([claim("n", &["p0", "p1"]), in_b("m", &["p2", "p3"])]);
    breaks(&cluster, &two_zones, &[Rule::PodAffinity]);
}

#[test]
fn a_bound_pod_is_joined_where_it_is() {
    let bound =
        |other: PodMaker| with_node(node("e", "small", "b"), [pod("r").app().on("e"), other]);
    allows(&bound(pod("p").near(ZONE)), &plan([in_b("n", &["p"])]));
    breaks(&bound(pod("p").near(ZONE)), &plan([claim("n", &["p"])]), &[Rule::PodAffinity]);
    // Nobody may start a group of which a member is there.
    breaks(&bound(pod("p").app().near(ZONE)), &plan([claim("n", &["p"])]), &[Rule::PodAffinity]);
}

#[test]
fn a_group_whose_only_member_is_going_may_start_anew() {
    let going = leaving(node("e", "small", "b"));
    let cluster = with_node(going, [pod("r").app().on("e"), pod("p").app().near(ZONE)]);
    allows(&cluster, &plan([claim("n", &["p"])]));
}

#[test]
fn a_pod_that_may_not_be_evicted_counts_until_its_node_is_gone() {
    let mut held = pod("r").app().on("e");
    held.pod.do_not_disrupt = Some(DoNotDisrupt::Always);
    let beside =
        |other: PodMaker| with_node(leaving(node("e", "small", "a")), [held.clone(), other]);
    let starting = beside(pod("p").app().near(HOSTNAME));
    breaks(&starting, &plan([claim("n", &["p"])]), &[Rule::PodAffinity]);
    let avoiding = beside(pod("p").avoiding(ZONE));
    breaks(&avoiding, &plan([claim("n", &["p"])]), &[Rule::AntiAffinity]);
    allows(&avoiding, &plan([in_b("n", &["p"])]));
}

#[test]
fn pods_may_follow_one_another_in_a_chain() {
    let link = |name: &str, own: &str, after: &str| {
        pod(name).labelled(&[("app", own)]).near(ZONE).with(|spec| {
            spec.pod_affinity[0].selector = Some(LabelSelector::of_labels([("app", after)]));
        })
    };
    let chain = [link("p0", "c", "b"), link("p1", "b", "a"), pod("p2").labelled(&[("app", "a")])];
    let apart = |last| plan([claim("n", &["p0"]), claim("m", &["p1"]), last]);
    allows(&pooled(chain.clone()), &apart(claim("o", &["p2"])));
    breaks(&pooled(chain), &apart(in_b("o", &["p2"])), &[Rule::PodAffinity]);
}

/// The first of two pods that each need another on their host is the one beside which nobody is.
#[test]
fn a_group_starts_where_nobody_else_would_be() {
    let together = pods("p", 2, |pod| pod.app().near(HOSTNAME));
    let cluster = pooled(together.into_iter().chain([pod("q").app().near(ZONE)]));
    allows(&cluster, &plan([claim("n", &["p0", "q"]), claim("m", &["p1"])]));
    allows(&cluster, &plan([claim("n", &["p0"]), claim("m", &["p1", "q"])]));
    let three = plan([claim("n", &["p0"]), claim("m", &["p1"]), claim("o", &["q"])]);
    breaks(&cluster, &three, &[Rule::PodAffinity]);
}

/// On the host of `q` a pod needs another in its capacity type only, alone it needs one on its host
/// too.
#[test]
fn a_group_starts_where_a_term_is_met_by_nobody() {
    let together = pods("p", 2, |pod| {
        pod.app().near(HOSTNAME).near(CAPACITY_TYPE).with(|spec| {
            spec.pod_affinity[0].namespace_selector = Some(LabelSelector::of_labels([]));
        })
    });
    let cluster = pooled(together.into_iter().chain([pod("z/q").app()]));
    allows(&cluster, &plan([claim("n", &["p0", "z/q"]), claim("m", &["p1"])]));
    allows(&cluster, &plan([claim("n", &["p0"]), claim("m", &["p1", "z/q"])]));
}

#[test]
fn a_pod_on_a_node_without_the_key_is_nobody_to_join() {
    let mut elsewhere = node("e", "small", "a");
    elsewhere.labels.remove(ZONE);
    let cluster = with_node(elsewhere, [pod("r").app().on("e"), pod("p").app().near(ZONE)]);
    allows(&cluster, &plan([claim("n", &["p"])]));
}

#[test]
fn affinity_to_nobody_is_not_met() {
    let cluster = pooled([pod("p").near(ZONE)]);
    breaks(&cluster, &plan([claim("n", &["p"])]), &[Rule::PodAffinity]);
}
