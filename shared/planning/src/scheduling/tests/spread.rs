//! Topology spread constraints.

use domain::instance_type::CapacityType;
use domain::label::{ARCH, CAPACITY_TYPE, HOSTNAME, NODE_POOL, ZONE};
use domain::plan::Plan;
use domain::pod::{NodeInclusionPolicy, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::requirement::Operator;
use domain::resource::{NODES, Resources};
use domain::settings::PreferencePolicy;
use domain::taint::TaintEffect;

use crate::testing::{
    Cluster, PodMaker, claim_of, cluster, instance_type, is, listed, node, node_pool_of,
    node_pool_with, offering, place_of, pod, pods_by_zone, requirement, spread_over, taint, unfit,
};

const WEB: (&str, &str) = ("app", "web");
const OTHER: (&str, &str) = ("app", "other");

fn web(key: &str) -> PodMaker {
    web_with(spread_over(key, WEB))
}

fn web_with(constraint: TopologySpreadConstraint) -> PodMaker {
    pod("web").label(WEB.0, WEB.1).spread(constraint)
}

#[test]
fn pods_are_spread_over_zones() {
    let plan = cluster().pods(6, &web(ZONE)).plan();
    assert_eq!(pods_by_zone(&plan), [2, 2, 2]);
}

/// The cheapest offerings first, six pods would use up the skew of zones `a` and `b` and of
/// on-demand, the only one that zone `c` has.
#[test]
fn pods_in_the_cheapest_domains_leave_others_a_place() {
    let mut only = instance_type("m.large", 2, 0.10);
    only.offerings = vec![
        offering("a", CapacityType::OnDemand, 0.10),
        offering("b", CapacityType::OnDemand, 0.11),
        offering("b", CapacityType::Spot, 0.30),
        offering("c", CapacityType::OnDemand, 0.20),
    ];
    let zones = TopologySpreadConstraint { max_skew: 3, ..spread_over(ZONE, WEB) };
    let purchases = TopologySpreadConstraint { max_skew: 2, ..spread_over(CAPACITY_TYPE, WEB) };
    let world =
        cluster().selling(vec![only]).pods(12, &web_with(zones).spread(purchases).cpu(1500));
    assert_eq!(pods_by_zone(&world.plan()).iter().sum::<usize>(), 12);
}

#[test]
fn nodes_that_a_limit_leaves_are_spread_too() {
    let limited = cluster().default_pool(|pool| pool.limits = Resources::new().with(NODES, 4));
    let plan = limited.pods(12, &web(ZONE).cpu(8000)).plan();
    assert_eq!(pods_by_zone(&plan), [2, 1, 1]);
}

#[test]
fn skew_allows_as_many_more_as_it_says() {
    let loose = TopologySpreadConstraint { max_skew: 6, ..spread_over(ZONE, WEB) };
    let plan = cluster().pods(6, &web_with(loose)).plan();
    let by_zone = pods_by_zone(&plan);
    assert_eq!(by_zone.iter().sum::<usize>(), 6);
}

#[test]
fn pods_that_are_there_count() {
    let world = cluster()
        .node(node("n1").in_zone("a"))
        .pods(2, &pod("old").label(WEB.0, WEB.1).cpu(1900).on("n1"));
    let plan = world.pods(4, &web(ZONE).cpu(500)).plan();
    assert_eq!(pods_by_zone(&plan), [2, 2]);
}

#[test]
fn pods_are_spread_over_hosts() {
    let plan = cluster().pods(3, &web(HOSTNAME)).plan();
    assert_eq!(plan.node_claims.len(), 3);
    let two = TopologySpreadConstraint { max_skew: 2, ..spread_over(HOSTNAME, WEB) };
    assert_eq!(cluster().pods(4, &web_with(two)).plan().node_claims.len(), 2);
}

#[test]
fn with_fewer_domains_than_wanted_the_emptiest_counts_as_empty() {
    let two_zones = node_pool_of("default", &[requirement(ZONE, Operator::In, &["a", "b"])]);
    let three = TopologySpreadConstraint { min_domains: Some(3), ..spread_over(ZONE, WEB) };
    let plan = cluster().pool(two_zones).pods(4, &web_with(three)).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1]);
    assert_eq!(plan.unschedulable.len(), 2);
    let name = plan.unschedulable[0].pod.name.clone();
    assert_eq!(
        unfit(&plan, &name, "default").to_string(),
        "one pod more in any topology.kubernetes.io/zone it launches in would break maxSkew 1: \
         a has 1, b has 1 (minDomains 3: so the emptiest counts as 0)"
    );
}

#[test]
fn a_wish_to_spread_is_kept_while_it_can_be() {
    let soft = TopologySpreadConstraint {
        when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
        ..spread_over(ZONE, WEB)
    };
    let plan = cluster().pods(3, &web_with(soft.clone())).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1, 1]);
    let one_zone = node_pool_of("default", &[requirement(ZONE, Operator::In, &["a"])]);
    let plan = cluster().pool(one_zone).pods(3, &web_with(soft.clone())).plan();
    assert_eq!(pods_by_zone(&plan), [3]);
    let ignoring = cluster().with(|snapshot| {
        snapshot.settings.preference_policy = PreferencePolicy::Ignore;
    });
    assert_eq!(ignoring.pods(3, &web_with(soft)).plan().node_claims.len(), 1);
}

#[test]
fn zones_that_the_pod_excludes_do_not_count() {
    let web = web(ZONE).requiring(requirement(ZONE, Operator::In, &["a", "b"]));
    assert_eq!(pods_by_zone(&cluster().pods(4, &web).plan()), [2, 2]);
}

#[test]
fn zones_that_the_pod_excludes_count_where_affinity_is_ignored() {
    let constraint = TopologySpreadConstraint {
        node_affinity_policy: NodeInclusionPolicy::Ignore,
        ..spread_over(ZONE, WEB)
    };
    // Zone c holds none and can get none: so no zone may hold two.
    let world = cluster().node(node("n1").in_zone("c").of_pool("other"));
    let web = web_with(constraint).requiring(requirement(ZONE, Operator::In, &["a", "b"]));
    let plan = world.pods(4, &web).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1]);
}

#[test]
fn tainted_nodes_count_unless_taints_are_honored() {
    let tainted = node("n1")
        .in_zone("c")
        .with(|node| node.taints.push(taint("team", TaintEffect::NoSchedule)));
    let two_zones = node_pool_of("default", &[requirement(ZONE, Operator::In, &["a", "b"])]);
    let world = cluster().pool(two_zones).node(tainted);
    let plan = world.clone().pods(4, &web(ZONE)).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1]);
    let honoring = TopologySpreadConstraint {
        node_taints_policy: NodeInclusionPolicy::Honor,
        ..spread_over(ZONE, WEB)
    };
    assert_eq!(pods_by_zone(&world.pods(4, &web_with(honoring)).plan()), [2, 2]);
}

#[test]
fn the_emptiest_existing_domain_is_filled_first() {
    let world = cluster()
        .node(node("n1").in_zone("a"))
        .node(node("n2").in_zone("b"))
        .pod(pod("old").label(WEB.0, WEB.1).on("n1"));
    let three = node_pool_with("default", |template| {
        template.requirements = vec![requirement(ZONE, Operator::In, &["a", "b"])];
    });
    let plan = world.pool(three).pod(web(ZONE)).plan();
    assert_eq!(place_of(&plan, "web"), Some("n2"));
}

/// A pool for zone `a`, and a lighter one for the others whose taint keeps away who can go
/// elsewhere.
fn zone_a_and_avoided_others() -> crate::testing::Cluster {
    let mut near = node_pool_of("near", &[requirement(ZONE, Operator::In, &["a"])]);
    near.weight = 10;
    let far = node_pool_with("default", |template| {
        template.requirements = vec![requirement(ZONE, Operator::In, &["b", "c"])];
        template.taints = vec![taint("rather-not", TaintEffect::PreferNoSchedule)];
    });
    cluster().pool(near).pool(far)
}

#[test]
fn zones_of_a_pool_that_pods_would_rather_avoid_count_and_are_used() {
    let plan = zone_a_and_avoided_others().pods(6, &web(ZONE)).plan();
    assert_eq!(pods_by_zone(&plan), [2, 2, 2]);
    let plan = zone_a_and_avoided_others().pods(6, &pod("web")).plan();
    assert_eq!(pods_by_zone(&plan), [6], "nothing asks for the others");
}

const TEAM: &str = "team";

#[test]
fn a_node_that_may_have_any_value_of_a_label_opens_no_empty_domain() {
    let open = node_pool_of("default", &[requirement(TEAM, Operator::Exists, &[])]);
    let teams = node_pool_of("teams", &[requirement(TEAM, Operator::In, &["blue", "red"])]);
    let other = pod("other").on_nodes_with(NODE_POOL, "default");
    let plan = cluster().pool(open).pool(teams).pods(4, &web(TEAM)).pod(other).plan();
    assert!(plan.unschedulable.is_empty());
    assert_eq!(listed(claim_of(&plan, "other"), TEAM), "blue");
}

#[test]
fn a_spread_over_a_label_that_may_have_any_value_takes_those_that_nodes_have() {
    let open = node_pool_of("default", &[requirement(TEAM, Operator::Exists, &[])]);
    let world = cluster()
        .pool(open)
        .node(node("n1").label(TEAM, "blue"))
        .node(node("n2").label(TEAM, "red"))
        .pod(pod("a").cpu(3800).on("n1"))
        .pod(pod("b").cpu(3800).on("n2"));
    let plan = world.pods(2, &web(TEAM).cpu(1000)).plan();
    let mut teams: Vec<String> = plan.node_claims.iter().map(|own| listed(own, TEAM)).collect();
    teams.sort_unstable();
    assert_eq!(teams, ["blue", "red"]);
}

#[test]
fn zones_that_others_nodes_could_be_in_count_where_affinity_is_ignored() {
    let constraint = TopologySpreadConstraint {
        node_affinity_policy: NodeInclusionPolicy::Ignore,
        ..spread_over(ZONE, WEB)
    };
    let web = web_with(constraint).requiring(requirement(ZONE, Operator::In, &["a"]));
    // A node of the other, in zone b or c, would be one that has none.
    let other = pod("other").requiring(requirement(ZONE, Operator::NotIn, &["a"]));
    let plan = cluster().pods(3, &web).pod(other).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1]);
    assert_eq!(plan.unschedulable.len(), 2);
}

#[test]
fn pods_count_in_a_zone_only_once_they_have_a_node_there() {
    let limited = node_pool_with("default", |template| {
        template.requirements = vec![requirement(ZONE, Operator::In, &["a", "b"])];
    });
    let both = web(ZONE).spread(spread_over(CAPACITY_TYPE, WEB)).cpu(1500);
    let plan = cluster()
        .pool(limited)
        .default_pool(|pool| pool.limits = Resources::new().with(NODES, 1))
        .node(node("n1").in_zone("b"))
        .pods(20, &both)
        .plan();
    // The pool has no node left for zone a.
    assert_eq!(plan.node_claims.len(), 0);
    assert_eq!(plan.placements.len(), 1);
}

#[test]
fn pods_that_a_spread_only_counts_come_last_and_go_where_nodes_are_cheapest() {
    let mut cheap_in_a = instance_type("m.large", 2, 0.10);
    cheap_in_a.offerings[0] = offering("a", CapacityType::OnDemand, 0.05);
    let counted = pod("counted").label(WEB.0, WEB.1).cpu(1500);
    let world = cluster().selling(vec![cheap_in_a]).pods(3, &web(ZONE).cpu(1500));
    let plan = world.pods(6, &counted).plan();
    let in_a = plan.node_claims.iter().filter(|claim| &*claim.offering.zone == "a").count();
    assert_eq!((in_a, plan.node_claims.len()), (7, 9));
}

#[test]
fn pods_of_a_higher_priority_than_those_that_carry_a_spread_keep_it_even() {
    let mut cheap_in_a = instance_type("m.large", 2, 0.10);
    cheap_in_a.offerings[0] = offering("a", CapacityType::OnDemand, 0.05);
    let first = pod("first").label(WEB.0, WEB.1).cpu(1500).with(|spec| spec.priority = 10);
    let world = cluster().selling(vec![cheap_in_a]).pods(3, &web(ZONE).cpu(1500));
    let plan = world.pods(2, &first).plan();
    assert!(plan.unschedulable.is_empty(), "{:?}", plan.unschedulable);
    assert!(pods_by_zone(&plan)[0] <= 3, "{:?}", pods_by_zone(&plan));
}

#[test]
fn pods_that_a_spread_over_hosts_only_counts_share_a_host_with_those_that_carry_it() {
    let carrier = pod("carrier").spread(spread_over(HOSTNAME, WEB));
    let counted = pod("counted").label(WEB.0, WEB.1);
    assert_eq!(cluster().pod(carrier).pods(5, &counted).plan().node_claims.len(), 1);
}

/// Zone `a`, and `b`, where the same costs twice as much.
fn a_cheap_and_a_dear_zone() -> Cluster {
    let kinds = [("m.large", 2, 0.10), ("m.xlarge", 4, 0.20), ("m.2xlarge", 8, 0.40)];
    let selling = kinds.map(|(name, cpus, price)| {
        let mut kind = instance_type(name, cpus, price);
        kind.offerings = vec![
            offering("a", CapacityType::OnDemand, price),
            offering("b", CapacityType::OnDemand, price * 2.0),
        ];
        kind
    });
    cluster().selling(selling.into())
}

/// On the first node a pod would leave only zone `c` with spot to the second, which no node has.
#[test]
fn pods_on_the_nodes_that_are_there_leave_others_a_place() {
    let node_in = |name: &str, zone: &str, capacity_type: &str| {
        node(name).in_zone(zone).label(CAPACITY_TYPE, capacity_type).label(TEAM, "blue")
    };
    let world = cluster()
        .node(node_in("1", "b", "on-demand"))
        .node(node_in("2", "c", "on-demand"))
        .node(node_in("3", "b", "spot"));
    let spread = web(ZONE).spread(spread_over(CAPACITY_TYPE, WEB)).cpu(100);
    let plan = world.pods(4, &spread.on_nodes_with(TEAM, "blue")).plan();
    assert_eq!(plan.unschedulable.len(), 0, "{:?}", plan.unschedulable);
}

/// kube-scheduler sees no pod on a Node that lacks the key of any spread of the pod to place.
#[test]
fn nodes_without_the_key_of_another_spread_do_not_count() {
    let teams = node_pool_of("default", &[requirement(TEAM, Operator::In, &["blue"])]);
    let old = |node: &str| pod(node).label(WEB.0, WEB.1).cpu(4000).on(node);
    let world = cluster()
        .pool(teams)
        .node(node("b").in_zone("b"))
        .node(node("c").in_zone("c"))
        .pod(old("b"))
        .pod(old("c"));
    let plan = world.pods(2, &web(ZONE).spread(spread_over(TEAM, WEB))).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1]);
}

/// The pod `other` is counted with those of `web`, but not on a new node that lacks the key of
/// their second spread: in its zone it leaves the emptiest as empty as it was.
#[test]
fn new_nodes_without_the_key_of_another_spread_do_not_count() {
    let mut plain = node_pool_of("plain", &[requirement(ZONE, Operator::In, &["b"])]);
    plain.weight = 10;
    let world = cluster()
        .pool(plain)
        .pool(node_pool_of("teams", &[requirement(TEAM, Operator::In, &["blue"])]))
        .pods(
            3,
            &web(ZONE).spread(TopologySpreadConstraint { max_skew: 3, ..spread_over(TEAM, WEB) }),
        )
        .pod(pod("other").label(WEB.0, WEB.1).spread(spread_over(ZONE, WEB)));
    let plan = world.plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(zones_of(&plan, &["web-0", "web-1", "web-2"]), "a b c");
}

fn in_zone<'p>(plan: &'p Plan, zone: &str) -> Vec<&'p str> {
    let claims = plan.node_claims.iter().filter(|claim| &*claim.offering.zone == zone);
    let mut pods: Vec<&str> = claims.flat_map(|own| &own.pods).map(|pod| &*pod.name).collect();
    pods.sort_unstable();
    pods
}

#[test]
fn of_pods_that_are_spread_together_the_small_ones_go_where_nodes_are_dear() {
    let of_size = |name: &str, cpu: i64| {
        pod(name).label(WEB.0, WEB.1).spread(spread_over(ZONE, WEB)).cpu(cpu)
    };
    let world =
        a_cheap_and_a_dear_zone().pods(2, &of_size("large", 7000)).pods(2, &of_size("small", 900));
    let plan = world.plan();
    assert_eq!(in_zone(&plan, "a"), ["large-0", "large-1"]);
    assert_eq!(in_zone(&plan, "b"), ["small-0", "small-1"]);
}

#[test]
fn pods_that_only_some_spread_counts_keep_their_zones() {
    // The small ones are counted by a constraint that the large ones are not counted by.
    let large = web(ZONE).cpu(7000);
    let small = pod("small").label("app", "other").cpu(900).spread(spread_over(ZONE, OTHER));
    let plan = a_cheap_and_a_dear_zone().pods(2, &large).pods(2, &small).plan();
    assert_eq!(in_zone(&plan, "a"), ["small-0", "web-0"]);
    assert_eq!(in_zone(&plan, "b"), ["small-1", "web-1"]);
}

fn zones_of(plan: &Plan, pods: &[&str]) -> String {
    let mut zones: Vec<String> = pods.iter().map(|pod| listed(claim_of(plan, pod), ZONE)).collect();
    zones.sort();
    zones.join(" ")
}

#[test]
fn new_nodes_that_a_spread_may_not_use_hold_none_of_its_pods() {
    let other = pod("other").label(WEB.0, WEB.1).cpu(1500).priority(1);
    let plan = cluster().pods(3, &other).pods(3, &web(ZONE).on_nodes_with(ARCH, "arm64")).plan();
    assert_eq!(zones_of(&plan, &["web-0", "web-1", "web-2"]), "a b c");
}

#[test]
fn new_nodes_that_a_spread_may_use_hold_its_pods_whoever_they_are_for() {
    let other = pod("other").label(WEB.0, WEB.1).cpu(1500).priority(1);
    let own = web(ZONE).on_nodes_with(ARCH, "amd64").cpu(1500);
    let plan = cluster().pod(other).pods(2, &own).plan();
    assert_eq!(zones_of(&plan, &["other", "web-0", "web-1"]), "a b c");
}

#[test]
fn values_that_pods_prefer_or_get_as_they_want_no_other_are_domains_of_a_label() {
    let open = |operator, values: &[&str]| {
        let pool = node_pool_of("default", &[requirement("example.com/cell", operator, values)]);
        cluster().pool(pool).pods(3, &web("example.com/cell").cpu(900))
    };
    let cells = |plan: &Plan| {
        let cell = |pod| claim_of(plan, pod).labels["example.com/cell"].to_string();
        let mut cells: Vec<String> = ["web-0", "web-1", "web-2"].map(cell).into();
        cells.push(cell("first"));
        cells.sort();
        cells.dedup();
        cells.join(" ")
    };
    let first = pod("first").cpu(3500).priority(5);
    let prefers = first.clone().preferring(1, is("example.com/cell", "b"));
    assert_eq!(cells(&open(Operator::Exists, &[]).pod(prefers.clone()).plan()), "b");
    assert_eq!(cells(&open(Operator::NotIn, &["a"]).pod(prefers).plan()), "b");
    let avoids = first.requiring(requirement("example.com/cell", Operator::NotIn, &["0"]));
    assert_eq!(cells(&open(Operator::Exists, &[]).pod(avoids).plan()), "0 1");
}

/// Only the small pod has room in zone a, and while that is empty no zone may hold two.
#[test]
fn a_pod_that_a_spread_only_counts_goes_where_those_that_carry_it_cannot_be() {
    let carrying = web(ZONE).cpu(3000);
    let in_zone = |name: &str, zone| node(name).in_zone(zone);
    let plan = cluster()
        .default_pool(|pool| pool.limits = Resources::new().with(NODES, 3))
        .node(in_zone("n3", "a"))
        .node(in_zone("n1", "b").of_type("m.2xlarge"))
        .node(in_zone("n2", "c").of_type("m.2xlarge"))
        .pod(pod("there").cpu(3500).on("n3"))
        .pods(3, &carrying)
        .pod(pod("small").label("app", "web").cpu(100))
        .plan();
    assert_eq!(plan.unschedulable, []);
    assert_eq!(place_of(&plan, "small"), Some("n3"));
}
