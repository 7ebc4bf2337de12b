//! Consolidation: nodes whose pods fit elsewhere, or on something cheaper.

use domain::SignedDuration;
use domain::instance_type::InstanceType;
use domain::label::{CAPACITY_TYPE, ZONE};
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pdb::CountOrPercent;
use domain::pod::DoNotDisrupt;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::taint::TaintEffect;

use crate::testing::{
    Cluster, NodeMaker, PodMaker, budget, cluster, instance_type, is_disrupted, minutes_ago, node,
    node_pool_with, pod, spread_over, taint, usd, with_spot,
};

fn do_not_disrupt(pod: PodMaker) -> PodMaker {
    pod.having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always))
}

#[test]
fn a_node_whose_pods_fit_on_others_is_removed_without_replacement() {
    let disruption = cluster()
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("a").cpu(500).on("n1"))
        .pod(pod("b").cpu(3000).on("n2"))
        .disruption();
    assert_eq!(disruption.reason, DisruptionReason::Underutilized);
    assert_eq!(&*disruption.nodes[0], "n1");
    assert_eq!((&*disruption.moves[0].pod.name, &*disruption.moves[0].node), ("a", "n2"));
    assert_eq!(disruption.savings, usd(0.20));
}

#[test]
fn a_node_that_is_too_large_is_replaced_by_a_cheaper_one() {
    let disruption = cluster().node(node("n1")).pod(pod("a").cpu(1500).on("n1")).disruption();
    assert_eq!(&*disruption.replacements[0].instance_types[0], "m.large");
    assert_eq!(disruption.savings, usd(0.10));
}

#[test]
fn a_well_used_node_is_kept() {
    let plan = cluster().node(node("n1")).pod(pod("a").cpu(3500).on("n1")).plan();
    assert!(plan.disruptions.is_empty());
}

#[test]
fn several_nodes_are_merged_into_one_cheaper_one() {
    let disruption = cluster()
        .node(node("n1").of_type("m.2xlarge"))
        .node(node("n2").of_type("m.2xlarge"))
        .pod(pod("a").cpu(1500).on("n1"))
        .pod(pod("b").cpu(1500).on("n2"))
        .disruption();
    assert_eq!(disruption.nodes.len(), 2);
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(disruption.savings, usd(0.60));
}

/// Two nodes that one could replace: one of a pool of the given weight, which admits only one of
/// their pods, and one of the default pool, which admits both.
fn apart_by_weight(weight: u32) -> Cluster {
    let taints = vec![taint("dedicated", TaintEffect::NoSchedule)];
    let mut dedicated = node_pool_with("dedicated", |template| template.taints = taints.clone());
    dedicated.weight = weight;
    let of_dedicated = node("n1").of_pool("dedicated");
    let both = |name| pod(name).cpu(1900).tolerating("dedicated");
    cluster()
        .selling(vec![instance_type("m.xlarge", 4, 0.20), instance_type("n.xlarge", 5, 0.25)])
        .pool(dedicated)
        .node(of_dedicated.with_claim(|claim| claim.taints = taints))
        .node(node("n2"))
        .pod(both("a").on("n1"))
        .pod(pod("b").cpu(2200).on("n2"))
}

#[test]
fn two_nodes_become_more_where_pods_are_spread_over_more_zones_than_that() {
    let web = |name: &str, node: &str| {
        pod(name).cpu(1500).label("app", "web").spread(spread_over(ZONE, ("app", "web"))).on(node)
    };
    let world = cluster()
        .node(node("n1").in_zone("a").of_type("m.2xlarge"))
        .pod(web("a1", "n1"))
        .pod(web("a2", "n1"));
    assert!(world.clone().plan().disruptions.is_empty(), "one node is not split");
    let disruption = world
        .node(node("n2").in_zone("b").of_type("m.2xlarge"))
        .pod(web("b1", "n2"))
        .pod(web("b2", "n2"))
        .disruption();
    assert_eq!(disruption.nodes.len(), 2);
    assert!(disruption.replacements.len() > 2, "{:?}", disruption.replacements);
    assert_eq!(disruption.savings, usd(0.40));
}

#[test]
fn a_replacement_does_not_undo_the_weight_of_a_pool() {
    let freely = apart_by_weight(0).disruption();
    assert_eq!((freely.reason, freely.nodes.len()), (DisruptionReason::Underutilized, 2));
    assert!(apart_by_weight(10).plan().disruptions.is_empty());
}

#[test]
fn a_pool_that_consolidates_only_empty_nodes_keeps_those_with_pods() {
    let world = cluster()
        .default_pool(|pool| {
            pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty;
        })
        .node(node("n1"))
        .pod(pod("a").on("n1"));
    let why = "it consolidates only empty nodes".into();
    assert_eq!(world.blocked("n1"), NotDisruptable::Policy("default".into(), why));
}

#[test]
fn pods_do_not_move_to_nodes_that_are_still_starting() {
    let world = cluster()
        .node(node("n1"))
        .node(node("n2").starting())
        .pod(pod("a").cpu(3500).on("n1"))
        .pod(pod("b").cpu(100).on("n2"));
    assert!(!is_disrupted(&world.plan(), "n1"));
}

#[test]
fn empty_nodes_come_before_consolidation_which_gets_what_budgets_have_left() {
    let reasons = |most: u32| {
        let world = cluster().default_pool(|pool| {
            pool.disruption.budgets = vec![budget(CountOrPercent::Count(most))];
        });
        let plan = world.node(node("n1")).node(node("n2")).pod(pod("a").cpu(1500).on("n1")).plan();
        plan.disruptions.iter().map(|own| own.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(1), [DisruptionReason::Empty]);
    assert_eq!(reasons(2), [DisruptionReason::Empty, DisruptionReason::Underutilized]);
}

#[test]
fn one_command_takes_as_many_nodes_as_budgets_allow() {
    let world = cluster()
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(2))])
        .node(node("dear").of_type("m.2xlarge"))
        .node(node("cheap").of_type("m.large"))
        .node(node("stays").of_type("m.2xlarge"))
        .pod(pod("a").cpu(500).on("dear"))
        .pods(4, &pod("b").cpu(100).on("cheap"))
        .pod(do_not_disrupt(pod("c").cpu(7000).on("stays")));
    // The second node saves a quarter as much for twice the evictions.
    assert_eq!(world.disruption().nodes, ["cheap", "dear"].map(Into::into));
}

/// A node whose room of 4.4 CPUs takes the pod of `first`, or the pods of the other two, which save
/// more together.
fn room_for_one_or_two(other: NodeMaker) -> Cluster {
    let sold = [("m.2xlarge", 8, 0.40), ("m.xlarge", 4, 0.20), ("n.xlarge", 4, 0.15)];
    cluster()
        .selling(sold.map(|(name, cpus, price)| instance_type(name, cpus, price)).into())
        .node(node("stays").of_type("m.2xlarge"))
        .node(node("first"))
        .node(node("second").of_type("n.xlarge"))
        .node(other.of_type("n.xlarge"))
        .pod(do_not_disrupt(pod("a").cpu(3600).on("stays")))
        .pod(pod("b").cpu(4000).on("first"))
        .pods(2, &pod("c").cpu(1100).on("second"))
        .pods(2, &pod("d").cpu(1100).on("third"))
}

#[test]
fn the_nodes_that_save_most_together_are_removed_not_the_first_that_fits() {
    let disruption = room_for_one_or_two(node("third")).disruption();
    assert_eq!(disruption.nodes, ["second", "third"].map(Into::into));
}

#[test]
fn a_node_that_waits_for_its_window_counts_where_it_is_decided_which_nodes_stay() {
    let busy = node("third").with_claim(|claim| {
        claim.status.last_pod_event = Some(minutes_ago(40));
    });
    let world = room_for_one_or_two(busy).default_pool(|pool| {
        pool.disruption.consolidate_after = NeverOr::After(SignedDuration::from_hours(1));
    });
    assert_eq!(world.disruption().nodes, ["second"].map(Into::into), "the third one follows");
}

/// One spot node that any of `cheaper` cheaper spot types could replace.
fn on_spot(cheaper: usize, gate: bool) -> Cluster {
    let mut sold: Vec<InstanceType> = (0..cheaper)
        .map(|index| with_spot(instance_type(&format!("s{index:02}"), 2, 0.10), 0.03))
        .collect();
    sold.push(with_spot(instance_type("m.xlarge", 4, 0.20), 0.06));
    cluster()
        .selling(sold)
        .with(|snapshot| snapshot.settings.feature_gates.spot_to_spot_consolidation = gate)
        .node(node("n1").label(CAPACITY_TYPE, "spot"))
        .pod(pod("a").cpu(1500).on("n1"))
}

#[test]
fn spot_is_replaced_by_spot_only_where_the_gate_is_on() {
    assert!(!is_disrupted(&on_spot(20, false).plan(), "n1"));
    assert!(is_disrupted(&on_spot(20, true).plan(), "n1"));
}

#[test]
fn spot_is_replaced_by_spot_only_with_fifteen_types_to_choose_from() {
    assert!(!is_disrupted(&on_spot(14, true).plan(), "n1"));
    assert!(is_disrupted(&on_spot(15, true).plan(), "n1"));
}

#[test]
fn spot_is_replaced_by_the_fifteen_cheapest_spot_types_whatever_they_cost() {
    let sold = (0..20_u8).map(|index| {
        let price = if index == 0 { 0.001 } else { 0.03 + f64::from(index) / 1000.0 };
        with_spot(instance_type(&format!("s{index:02}"), 2, 0.10), price)
    });
    let own = with_spot(instance_type("m.xlarge", 4, 0.20), 0.06);
    let disruption = on_spot(0, true).selling(sold.chain([own]).collect()).disruption();
    let listed: Vec<&str> =
        disruption.replacements[0].instance_types.iter().map(|own| &**own).collect();
    let cheapest: Vec<String> = (0..15).map(|index| format!("s{index:02}")).collect();
    assert_eq!(listed, cheapest);
}

#[test]
fn a_node_of_unknown_price_is_kept() {
    // Young enough not to have drifted for a type that is not sold as spot.
    let young = node("n1")
        .label(CAPACITY_TYPE, "spot")
        .with_claim(|claim| claim.created = Some(minutes_ago(59)));
    let world = cluster().node(young).pod(pod("a").on("n1"));
    assert_eq!(world.blocked("n1"), NotDisruptable::UnknownPrice);
}
