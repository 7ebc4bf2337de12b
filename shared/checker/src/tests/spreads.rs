//! Topology spread.

use domain::instance_type::CapacityType;
use domain::label::{ARCH, HOSTNAME, NODE_POOL, ZONE};
use domain::node::Node;
use domain::node_pool::NodePool;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::{NodeInclusionPolicy, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::requirement::Operator;
use domain::resource::{NODES, Resources};
use domain::selector::LabelSelector;

use crate::Rule;
use crate::testing::*;

/// On-demand claims with so many of the pods `p0`, `p1`, … in zones a, b and c.
fn zones(counts: [usize; 3], types: &[&str]) -> Plan {
    let mut next = 0;
    let claims = ["a", "b", "c"].into_iter().zip(counts).filter(|(_, count)| *count > 0);
    plan(claims.map(|(zone, count)| {
        let names: Vec<String> = (next..next + count).map(|index| format!("p{index}")).collect();
        next += count;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        claim_in(&format!("n{zone}"), &names, types, zone, CapacityType::OnDemand)
    }))
}

fn small(counts: [usize; 3]) -> Plan {
    zones(counts, &["small"])
}

fn spreading(count: usize, change: impl Fn(&mut TopologySpreadConstraint)) -> Vec<PodMaker> {
    pods("p", count, |pod| {
        pod.app().spreading(ZONE).with(|spec| change(&mut spec.topology_spread[0]))
    })
}

fn plain(count: usize) -> Vec<PodMaker> {
    spreading(count, |_| {})
}

fn without_zone_c() -> NodePool {
    pool_requiring(vec![requirement(ZONE, Operator::In, &["a", "b"])])
}

#[test]
fn pods_differ_by_max_skew_at_most() {
    allows(&pooled(plain(3)), &small([1, 1, 1]));
    allows(&pooled(plain(2)), &small([1, 1, 0]));
    breaks(&pooled(plain(4)), &small([2, 2, 0]), &[Rule::Spread]);
    allows(&pooled(spreading(4, |spread| spread.max_skew = 2)), &small([2, 2, 0]));
}

#[test]
fn a_preference_is_no_rule() {
    let soft = |spread: &mut TopologySpreadConstraint| {
        spread.when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
    };
    allows(&pooled(spreading(4, soft)), &small([4, 0, 0]));
}

#[test]
fn a_zone_where_nothing_can_be_launched_is_no_domain() {
    let by_pool = cluster(plain(4)).with_node_pools([without_zone_c()]);
    allows(&by_pool, &small([2, 2, 0]));
    let not_c = vec![vec![requirement(ZONE, Operator::NotIn, &["c"])]];
    let by_pod = plain(4).into_iter().map(|pod| pod.requiring(not_c.clone()));
    allows(&pooled(by_pod), &small([2, 2, 0]));
    let by_type = plain(4).into_iter().map(|pod| pod.selecting(ARCH, "arm64"));
    allows(&pooled(by_type), &zones([2, 2, 0], &["arm"]));
}

#[test]
fn a_node_in_a_zone_makes_it_a_domain() {
    let mut alone = node("e", "small", "c");
    alone.labels.remove(NODE_POOL);
    let cluster = cluster(plain(4)).with_node_pools([without_zone_c()]).with_nodes([alone]);
    breaks(&cluster, &small([2, 2, 0]), &[Rule::Spread]);
}

#[test]
fn pods_that_are_there_count_in_their_namespace() {
    let bound = |prefix: &str| {
        let bound = pods(prefix, 2, |pod| pod.app().cpu(1).on("e"));
        pooled(bound.into_iter().chain(plain(1))).with_nodes([node("e", "small", "a")])
    };
    breaks(&bound("r"), &small([1, 0, 0]), &[Rule::Spread]);
    allows(&bound("z/r"), &small([1, 0, 0]));
}

#[test]
fn an_old_skew_is_not_the_plans() {
    let bound = pods("r", 3, |pod| pod.app().cpu(1).on("e"));
    let cluster = pooled(bound.into_iter().chain(plain(2))).with_nodes([node("e", "small", "a")]);
    allows(&cluster, &small([0, 1, 1]));
}

#[test]
fn policies_say_which_nodes_are_looked_at() {
    let tainted = Node { taints: vec![taint()], ..node("e", "small", "c") };
    let cluster = |policy| {
        cluster(spreading(4, |spread| spread.node_taints_policy = policy))
            .with_node_pools([without_zone_c()])
            .with_nodes([tainted.clone()])
    };
    allows(&cluster(NodeInclusionPolicy::Honor), &small([2, 2, 0]));
    breaks(&cluster(NodeInclusionPolicy::Ignore), &small([2, 2, 0]), &[Rule::Spread]);
    let not_c = || vec![vec![requirement(ZONE, Operator::NotIn, &["c"])]];
    let cluster = |policy| {
        pooled(
            spreading(4, |spread| spread.node_affinity_policy = policy)
                .into_iter()
                .map(|pod| pod.requiring(not_c())),
        )
        .with_nodes([node("e", "small", "c")])
    };
    allows(&cluster(NodeInclusionPolicy::Honor), &small([2, 2, 0]));
    breaks(&cluster(NodeInclusionPolicy::Ignore), &small([2, 2, 0]), &[Rule::Spread]);
}

#[test]
fn with_fewer_domains_than_min_domains_the_emptiest_counts_as_empty() {
    let cluster = |least| {
        cluster(spreading(4, |spread| spread.min_domains = Some(least)))
            .with_node_pools([without_zone_c()])
    };
    allows(&cluster(2), &small([2, 2, 0]));
    breaks(&cluster(3), &small([2, 2, 0]), &[Rule::Spread]);
}

#[test]
fn a_new_host_can_be_had_unless_limits_are_reached() {
    let two = || pods("p", 2, |pod| pod.app().spreading(HOSTNAME));
    allows(&pooled(two()), &plan([claim("n", &["p0"]), claim("m", &["p1"])]));
    let together = plan([claim("n", &["p0", "p1"])]);
    breaks(&pooled(two()), &together, &[Rule::Spread]);
    let limited = NodePool { limits: Resources::new().with(NODES, 1), ..pool() };
    allows(&cluster(two()).with_node_pools([limited]), &together);
}

#[test]
fn a_claim_with_an_open_zone_must_do_in_each() {
    let open = |name: &str, pods: &[&str]| {
        let claim = claim_in(name, pods, &["small"], "a", CapacityType::OnDemand);
        in_any_zone(claim)
    };
    allows(&pooled(plain(1)), &plan([open("n", &["p0"])]));
    breaks(&pooled(plain(3)), &plan([open("n", &["p0", "p1", "p2"])]), &[Rule::Spread]);
    // b has one already: should the open claim land there too, a and c would be two behind.
    let in_b: PlannedNodeClaim = claim_in("m", &["p1"], &["small"], "b", CapacityType::OnDemand);
    breaks(&pooled(plain(2)), &plan([open("n", &["p0"]), in_b]), &[Rule::Spread]);
}

#[test]
fn a_node_has_the_topology_key() {
    let racks = pods("p", 1, |pod| pod.app().spreading("rack"));
    breaks(&pooled(racks), &small([1, 0, 0]), &[Rule::SpreadKey]);
}

/// A pod that is spread over a second key sees no node that lacks it.
#[test]
fn pods_with_further_spreads_look_at_fewer_nodes() {
    let further = pod("p1").app().spreading(ZONE).spreading(NODE_POOL);
    let cluster = pooled([pod("p0").app().spreading(ZONE), further]);
    let mut unmanaged = node("e", "small", "a");
    unmanaged.labels.remove(NODE_POOL);
    let cluster = cluster.with_nodes([unmanaged]);
    let placed = Plan { placements: vec![placement("p0", "e")], ..plan([claim("n", &["p1"])]) };
    allows(&cluster, &placed);
}

#[test]
fn what_the_selector_leaves_out_does_not_count() {
    let other = |spread: &mut TopologySpreadConstraint| {
        spread.selector = Some(LabelSelector::of_labels([("app", "other")]));
    };
    allows(&pooled(spreading(4, other)), &small([4, 0, 0]));
    allows(&pooled(spreading(4, |spread| spread.selector = None)), &small([4, 0, 0]));
}
