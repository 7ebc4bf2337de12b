use super::*;
use crate::seed::Seed;
use crate::testing::{GIB, node, pod, start};
use domain::label::{HOSTNAME, ZONE};
use domain::pod::{
    NodeSelectorTerm, PreferredNodeTerm, PreferredPodTerm, TopologySpreadConstraint,
    WhenUnsatisfiable,
};
use domain::requirement::Requirement;
use domain::resource::MEMORY;
use domain::scheduler::SchedulerProfile;
use domain::scheduler::scoring::ScoringType;
use domain::taint::TaintEffect;

/// `maxSkew` 1 over zones, counting pods of app `web`.
fn spread(when_unsatisfiable: WhenUnsatisfiable) -> TopologySpreadConstraint {
    TopologySpreadConstraint { when_unsatisfiable, ..testkit::spread(ZONE, ("app", "web")) }
}

fn cluster(
    nodes: impl IntoIterator<Item = Node>,
    pods: impl IntoIterator<Item = Pod>,
) -> ApiServer {
    let mut api = ApiServer::new(Seed::new(1));
    for node in nodes {
        api.create(node, start()).unwrap();
    }
    for pod in pods {
        api.create(pod, start()).unwrap();
    }
    api
}

/// `pod -> node` for each that is bound, by pod.
#[track_caller]
fn bound(api: &ApiServer) -> Vec<String> {
    bound_with(api, &SchedulerConfig::default())
}

/// Every pod goes to the node with the least room left.
fn packing() -> SchedulerConfig {
    let scoring =
        ScoringStrategy { kind: ScoringType::MostAllocated, ..ScoringStrategy::default() };
    let profile = SchedulerProfile { scoring, ..SchedulerProfile::default() };
    SchedulerConfig { profiles: vec![profile] }
}

fn bound_with(api: &ApiServer, config: &SchedulerConfig) -> Vec<String> {
    let mut bound: Vec<_> = cycle(api, config, |_| true)
        .bound
        .into_iter()
        .map(|(pod, node)| format!("{} -> {node}", pod.name))
        .collect();
    bound.sort();
    bound
}

fn why(api: &ApiServer) -> String {
    let cycle = cycle(api, &SchedulerConfig::default(), |_| true);
    assert!(cycle.bound.is_empty(), "{:?}", cycle.bound);
    cycle.unschedulable[0].1.to_string()
}

#[test]
fn least_allocated_spreads_and_most_allocated_packs() {
    let api = cluster(
        [node("a").build(), node("b").build()],
        [pod("there").on("a").build(), pod("new").build()],
    );
    assert_eq!(bound(&api), ["new -> b"]);
    assert_eq!(bound_with(&api, &packing()), ["new -> a"]);
}

#[test]
fn a_pod_that_fits_nowhere_says_why_for_each_node() {
    let api = cluster(
        [
            node("full").build(),
            node("cordoned").cordoned().build(),
            node("tainted").taint("gpu", TaintEffect::NoSchedule).build(),
        ],
        [pod("there").cpu(3500).on("full").build(), pod("new").build()],
    );
    assert_eq!(
        why(&api),
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: }, \
         1 node(s) were unschedulable."
    );
    assert_eq!(why(&cluster([], [pod("new").build()])), "no nodes available to schedule pods");
}

#[test]
fn higher_priority_is_bound_first_and_the_rest_waits() {
    let api = cluster(
        [node("a").cpu(1000).build()],
        [pod("early").build(), pod("late").priority(10).build()],
    );
    assert_eq!(bound(&api), ["late -> a"]);
}

#[test]
fn node_selectors_bind_and_preferences_weigh() {
    let preferred = PreferredNodeTerm {
        weight: 100,
        term: NodeSelectorTerm {
            expressions: vec![Requirement::is_in(ZONE, ["b".into()])],
            fields: vec![],
        },
    };
    let api = cluster(
        [node("a").build(), node("b").zone("b").build()],
        [
            pod("must").node_selector(ZONE, "a").build(),
            pod("would").with_spec(|spec| spec.preferred_node_terms.push(preferred)).build(),
        ],
    );
    assert_eq!(bound(&api), ["must -> a", "would -> b"]);
}

#[test]
fn a_hard_spread_stops_at_its_skew_and_a_soft_one_does_not() {
    let of = |name: &str, kind| pod(name).label("app", "web").spread(spread(kind)).build();
    let nodes = || [node("a").build(), node("b").zone("b").cpu(1000).build()];
    let hard: Vec<_> =
        ["p0", "p1", "p2", "p3"].map(|name| of(name, WhenUnsatisfiable::DoNotSchedule)).into();
    // b holds one; a may hold one more than b.
    assert_eq!(bound(&cluster(nodes(), hard)).len(), 3);
    let soft: Vec<_> =
        ["p0", "p1", "p2", "p3"].map(|name| of(name, WhenUnsatisfiable::ScheduleAnyway)).into();
    assert_eq!(bound(&cluster(nodes(), soft)).len(), 4);
}

#[test]
fn a_soft_spread_outweighs_room() {
    let of = |name: &str| {
        pod(name).label("app", "web").spread(spread(WhenUnsatisfiable::ScheduleAnyway))
    };
    let api = cluster(
        [node("a").cpu(16_000).build(), node("b").zone("b").build()],
        [of("there").on("a").build(), of("new").build()],
    );
    assert_eq!(bound(&api), ["new -> b"]);
}

#[test]
fn pods_gather_by_affinity_and_the_first_of_its_kind_may_start() {
    let web = |name: &str| pod(name).label("app", "web").near(("app", "web"), ZONE).build();
    let api = cluster(
        [node("a").build(), node("b").zone("b").build(), node("c").zone("c").build()],
        [web("w0"), web("w1"), web("w2")],
    );
    let bound = bound(&api);
    assert_eq!(bound, ["w0 -> a", "w1 -> a", "w2 -> a"]);
    let alone = cluster([node("a").build()], [pod("x").near(("app", "web"), ZONE).build()]);
    assert_eq!(why(&alone), "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.");
}

#[test]
fn anti_affinity_holds_both_ways() {
    let db = pod("db").label("app", "db").apart_from(("app", "web"), HOSTNAME);
    let running = cluster(
        [node("a").build()],
        [db.clone().on("a").build(), pod("web").label("app", "web").build()],
    );
    assert_eq!(
        why(&running),
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    );
    let arriving =
        cluster([node("a").build()], [pod("web").label("app", "web").on("a").build(), db.build()]);
    assert_eq!(
        why(&arriving),
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
    );
}

#[test]
fn preferred_anti_affinity_weighs_more_than_room() {
    let preferred = PreferredPodTerm {
        weight: 100,
        term: pod("x").near(("app", "web"), HOSTNAME).build().spec.pod_affinity[0].clone(),
    };
    let api = cluster(
        [node("a").cpu(8000).build(), node("b").build()],
        [
            pod("web").label("app", "web").cpu(100).on("a").build(),
            pod("new").with_spec(|spec| spec.preferred_pod_anti_affinity.push(preferred)).build(),
        ],
    );
    assert_eq!(bound(&api), ["new -> b"]);
}

#[test]
fn preferred_taints_repel_without_forbidding() {
    let nodes =
        || [node("a").taint("old", TaintEffect::PreferNoSchedule).build(), node("b").build()];
    assert_eq!(bound(&cluster(nodes(), [pod("new").build()])), ["new -> b"]);
    let only_a = nodes().into_iter().take(1);
    assert_eq!(bound(&cluster(only_a, [pod("new").build()])), ["new -> a"]);
}

#[test]
fn gated_pods_are_not_considered() {
    let gated = pod("new").with_spec(|spec| spec.scheduling_gates.push("wait".into())).build();
    assert_eq!(
        cycle(&cluster([node("a").build()], [gated]), &SchedulerConfig::default(), |_| true),
        Cycle::default()
    );
}

#[test]
fn two_thousand_pods_find_places_on_a_hundred_nodes() {
    let nodes = (0..100).map(|index| {
        node(&format!("n{index:03}")).zone(["a", "b", "c"][index % 3]).cpu(32_000).build()
    });
    let template =
        pod("x").label("app", "web").cpu(1500).spread(spread(WhenUnsatisfiable::DoNotSchedule));
    let template = template.with_spec(|spec| spec.requests.set(&MEMORY.into(), GIB / 2)).build();
    let pods = (0..2000).map(|index| Pod {
        key: ObjectKey::new("default", format!("p{index:04}")),
        ..template.clone()
    });
    let api = cluster(nodes, pods);
    assert_eq!(bound(&api).len(), 2000);
}
