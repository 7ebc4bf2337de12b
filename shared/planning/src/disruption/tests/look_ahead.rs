//! What is worked out beyond one run's disruptions.

use domain::pdb::CountOrPercent;
use domain::plan::Plan;
use domain::reason::DisruptionReason;
use domain::taint::Taint;

use crate::disruption::propose;
use crate::testing::{
    Cluster, NodeMaker, budget, cluster, disrupted_for, instance_type, node, pod,
};

/// Four nodes with a pod each that would all fit on one; one node may be disrupted at a time.
fn four_nodes() -> Cluster {
    let world = cluster()
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(1))]);
    ["n1", "n2", "n3", "n4"].into_iter().fold(world, |world, name| {
        world.node(node(name)).pod(pod(&format!("on-{name}")).cpu(900).on(name))
    })
}

fn removed(plan: &Plan) -> Vec<&str> {
    disrupted_for(plan, DisruptionReason::Underutilized)
}

fn candidates(plan: &Plan) -> Vec<&str> {
    plan.candidates.iter().map(|name| &**name).collect()
}

/// A node whose last pod came a moment ago, in a pool that waits for ten minutes.
fn busy(name: &str) -> NodeMaker {
    node(name).with_claim(|claim| claim.status.last_pod_event = Some(crate::testing::now()))
}

fn waiting_ten_minutes(world: Cluster) -> Cluster {
    let wait = domain::SignedDuration::from_mins(10);
    world.default_pool(|pool| {
        pool.disruption.consolidate_after = domain::node_pool::NeverOr::After(wait);
    })
}

#[test]
fn all_nodes_that_are_going_to_be_removed_are_named_though_budgets_allow_one_now() {
    let world = four_nodes();
    let plan = propose(&world.0);
    assert_eq!(removed(&plan).len(), 1);
    assert_eq!(candidates(&plan).len(), 3, "one of four stays: {:?}", plan.candidates);
    assert!(candidates(&plan).contains(&removed(&plan)[0]));
    assert!(world.plan().candidates.is_empty(), "a plan says what happens now");
}

#[test]
fn what_budgets_allow_next_is_proposed_while_a_disruption_is_under_way() {
    let world = four_nodes().node(node("n5").with(|own| own.taints.push(Taint::disrupted())));
    let plan = propose(&world.0);
    assert!(plan.disruptions.is_empty());
    let [next] = plan.awaiting_budget.as_slice() else { panic!("{:?}", plan.awaiting_budget) };
    assert_eq!(next.nodes.len(), 1);
    let none = cluster().default_pool(|pool| {
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))];
    });
    let none = none.node(node("n1")).pod(pod("a").cpu(900).on("n1")).node(node("n2"));
    assert!(propose(&none.0).awaiting_budget.is_empty(), "budgets will never allow it");
}

#[test]
fn pods_move_to_nodes_that_just_took_others_where_it_is_known_which_go_next() {
    let mark =
        |own: &mut domain::node::Node| own.taints.push(Taint::candidate(crate::testing::now()));
    let of = |next: NodeMaker| {
        let world = waiting_ten_minutes(cluster())
            .selling(vec![instance_type("m.xlarge", 4, 0.20)])
            .node(next)
            .node(busy("stays"))
            .pod(pod("a").cpu(900).on("next"))
            .pod(pod("b").cpu(900).on("stays"));
        removed(&propose(&world.0)).len()
    };
    assert_eq!(of(node("next")), 0, "the node could be removed next itself");
    assert_eq!(of(node("next").with(mark)), 1);
}

#[test]
fn a_node_is_proposed_so_early_that_its_validation_falls_past_its_window() {
    let since = |seconds: i64| {
        let event = crate::testing::now() - domain::SignedDuration::from_secs(600 - seconds);
        let world = waiting_ten_minutes(cluster())
            .node(node("n1").with_claim(|claim| claim.status.last_pod_event = Some(event)));
        propose(&world.0).disruptions.len()
    };
    assert_eq!((since(16), since(15)), (0, 1));
}

#[test]
fn nodes_whose_pods_would_go_to_a_node_that_has_just_become_empty_stay() {
    let world = waiting_ten_minutes(cluster())
        .node(busy("empty"))
        .node(node("full"))
        .pod(pod("a").cpu(3000).on("full"));
    let plan = propose(&world.0);
    assert!(candidates(&plan).is_empty(), "{:?}", plan.candidates);
    assert!(removed(&plan).is_empty());
}
