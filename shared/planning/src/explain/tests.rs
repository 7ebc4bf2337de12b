//! Explanations of one pod or one claim.

use domain::label::{ARCH, ZONE};
use domain::reason::{NodePoolUnfit, NodeUnfit};
use domain::requirement::Operator;
use domain::resource::{CPU, Resources};
use domain::taint::TaintEffect;

use super::{Filter, PodExplanation, Step, explain_claim, explain_pod};
use crate::testing::{
    Cluster, claim_of, cluster, node, node_pool, node_pool_of, node_pool_with, pod, pod_key,
    requirement, spread_over, taint,
};

#[track_caller]
fn explained(world: &Cluster, name: &str) -> PodExplanation {
    explain_pod(&world.0, &pod_key(name)).unwrap()
}

/// Filters that dropped types, with the number left and the first type dropped.
fn dropping(steps: &[Step]) -> Vec<String> {
    steps
        .iter()
        .filter(|step| !step.dropped.is_empty())
        .map(|step| format!("{}: {} left, not {}", step.filter, step.left, step.dropped[0]))
        .collect()
}

#[test]
fn instance_types_are_explained_filter_by_filter() {
    let amd64 = node_pool_of("default", &[requirement(ARCH, Operator::In, &["amd64"])]);
    let world = cluster().pool(amd64).pod(pod("a").cpu(3000).on_nodes_with(ZONE, "a"));
    let explanation = explained(&world, "a");
    let [pool] = explanation.pools.as_slice() else { panic!("{explanation:?}") };
    assert_eq!(pool.steps[0].filter, Filter::Catalogue("default".into()));
    assert_eq!(
        dropping(&pool.steps),
        [
            "the NodePool requires kubernetes.io/arch In amd64: 3 left, not a.xlarge",
            "room for cpu 3 beside DaemonSets: 2 left, not m.large",
        ]
    );
    assert_eq!(pool.unfit, None);
    assert_eq!(&*pool.cheapest.as_ref().unwrap().instance_type, "m.xlarge");
}

#[test]
fn a_pool_that_a_taint_closes_shows_no_types() {
    let tainted = node_pool_with("other", |template| {
        template.taints.push(taint("team", TaintEffect::NoSchedule));
    });
    let explanation = explained(&cluster().pool(tainted).pod(pod("a")), "a");
    let closed = explanation.pools.iter().find(|pool| &*pool.node_pool == "other").unwrap();
    assert!(matches!(closed.unfit, Some(NodePoolUnfit::Taint(_))), "{closed:?}");
    assert_eq!(closed.steps, []);
}

#[test]
fn limits_are_explained_with_what_the_plan_takes_of_them() {
    let limited = cluster().default_pool(|pool| pool.limits = Resources::new().with(CPU, 2000));
    let world = limited.pods(2, &pod("a").cpu(1500));
    let waiting = world.plan().unschedulable[0].pod.name.clone();
    let explanation = explained(&world, &waiting);
    let last = explanation.pools[0].steps.last().unwrap();
    assert_eq!((&last.filter, last.left), (&Filter::Limits, 0));
    assert!(matches!(explanation.pools[0].unfit, Some(NodePoolUnfit::Limit { .. })));
}

#[test]
fn nodes_with_one_kind_of_reason_are_grouped_nearest_first() {
    let full = |name: &str, cpu| pod(&format!("on-{name}")).cpu(cpu).on(name);
    let world = cluster()
        .node(node("n1"))
        .node(node("n2"))
        .node(node("n3").with(|node| node.taints.push(taint("team", TaintEffect::NoSchedule))))
        .pod(full("n1", 3900))
        .pod(full("n2", 3500))
        .pod(pod("a").cpu(1000));
    let explanation = explained(&world, "a");
    let groups: Vec<String> = explanation
        .nodes
        .iter()
        .map(|group| format!("{}: {}", group.nodes.join(" "), group.unfit))
        .collect();
    assert_eq!(
        groups,
        ["n2 n1: cpu 500m of 1 are free", "n3: the pod does not tolerate taint team:NoSchedule"]
    );
    assert_eq!(explanation.accepting, [] as [domain::Text; 0]);
}

#[test]
fn each_reason_of_a_node_is_explained() {
    let spread = pod("a").label("app", "web").spread(spread_over(ZONE, ("app", "web")));
    let world = cluster()
        .default_pool(|pool| pool.limits = Resources::new().with(CPU, 0))
        .node(node("n1").in_zone("a"))
        .node(node("n2").in_zone("b"))
        .pod(pod("there").label("app", "web").on("n1"))
        .pod(pod("full").cpu(4000).on("n2"))
        .pod(spread);
    let explanation = explained(&world, "a");
    let kept_off = |name: &str| {
        let group = explanation.nodes.iter().find(|group| &*group.nodes[0] == name);
        group.unwrap().unfit.clone()
    };
    assert_eq!(
        kept_off("n1"),
        NodeUnfit::TopologySpread { key: ZONE.into(), max_skew: 1, here: 1, least: 0 }
    );
    assert_eq!(kept_off("n2"), NodeUnfit::Room { resource: CPU.into(), needed: 100, free: 0 });
}

#[test]
fn nodes_that_would_do_as_well_are_named() {
    let world = cluster().node(node("n1")).node(node("n2")).pod(pod("a"));
    assert_eq!(explained(&world, "a").accepting, ["n2".into()] as [domain::Text; 1]);
}

#[test]
fn a_pod_that_needs_no_place_is_not_explained() {
    let world = cluster().node(node("n1")).pod(pod("a").on("n1"));
    assert_eq!(explain_pod(&world.0, &pod_key("a")), None);
    assert_eq!(explain_pod(&world.0, &pod_key("nobody")), None);
}

#[test]
fn a_claim_explains_what_dropped_the_types_it_does_not_list() {
    let world = cluster().pool(node_pool("default")).pod(pod("a").cpu(3000));
    let plan = world.plan();
    let claim = claim_of(&plan, "a");
    let explanation = explain_claim(&world.0, claim).unwrap();
    assert!(
        dropping(&explanation.steps)
            .contains(&"room for cpu 3 beside DaemonSets: 3 left, not m.large".to_owned()),
        "{:?}",
        dropping(&explanation.steps)
    );
    let names: Vec<_> =
        explanation.offers.iter().map(|offer| offer.instance_type.clone()).collect();
    assert_eq!(names, claim.instance_types);
    assert_eq!(explanation.offers[0].price, claim.offering.price);
    let last = explanation.steps.last().unwrap();
    assert_eq!((&last.filter, last.left), (&Filter::Price, claim.instance_types.len()));
}
