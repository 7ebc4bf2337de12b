//! Expired and unhealthy nodes: nothing holds them.

use domain::SignedDuration;
use domain::label::DO_NOT_DISRUPT;
use domain::node::NodeCondition;
use domain::node_claim::ConditionStatus;
use domain::node_pool::NeverOr;
use domain::pdb::CountOrPercent;
use domain::reason::{DisruptionReason, NotDisruptable};

use crate::testing::{Cluster, NodeMaker, budget, cluster, disrupted_for, minutes_ago, node, pod};

/// Lives for so many hours; it is a day old.
fn expiring(name: &str, hours: i64) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(hours));
    })
}

fn holding_everything() -> Cluster {
    cluster().default_pool(|pool| {
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))];
        pool.disruption.consolidate_after = NeverOr::Never;
    })
}

#[test]
fn a_node_that_has_lived_its_time_is_replaced_whatever_holds_it() {
    let held = expiring("n1", 24)
        .with(|node| _ = node.annotations.insert(DO_NOT_DISRUPT.into(), "true".into()));
    let disruption = holding_everything().node(held).pod(pod("a").cpu(3000).on("n1")).disruption();
    assert_eq!(disruption.reason, DisruptionReason::Expired);
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(&*disruption.pods[0].name, "a");
}

#[test]
fn a_node_that_has_time_left_stays() {
    let plan = holding_everything().node(expiring("n1", 25)).plan();
    assert!(disrupted_for(&plan, DisruptionReason::Expired).is_empty());
    let never = node("n1").with_claim(|claim| claim.expire_after = NeverOr::Never);
    assert!(holding_everything().node(never).plan().disruptions.is_empty());
}

#[test]
fn pods_of_an_expired_node_move_to_nodes_that_stay() {
    let disruption = holding_everything()
        .node(expiring("n1", 24))
        .node(node("n2"))
        .pod(pod("a").on("n1"))
        .pod(pod("b").on("n2"))
        .disruption();
    assert!(disruption.replacements.is_empty());
    assert_eq!(&*disruption.moves[0].node, "n2");
}

#[test]
fn pods_of_an_expired_node_do_not_move_to_another_that_goes() {
    let plan = holding_everything()
        .node(expiring("n1", 24))
        .node(expiring("n2", 24))
        .pod(pod("a").on("n1"))
        .pod(pod("b").on("n2"))
        .plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Expired), ["n1", "n2"]);
    for disruption in &plan.disruptions {
        assert_eq!(disruption.moves, [], "neither has a place on the other");
        assert_eq!(disruption.replacements.len(), 1);
    }
}

/// Not ready for so many minutes.
fn sick(name: &str, minutes: i64) -> NodeMaker {
    node(name).with(|node| {
        node.conditions.push(NodeCondition {
            kind: "Ready".into(),
            status: ConditionStatus::False,
            changed: Some(minutes_ago(minutes)),
        });
    })
}

/// A pool with so many nodes that are well.
fn with_healthy(count: usize) -> Cluster {
    let world =
        holding_everything().with(|snapshot| snapshot.settings.feature_gates.node_repair = true);
    (0..count).fold(world, |world, index| world.node(node(&format!("healthy-{index}"))))
}

#[test]
fn a_node_that_is_not_ready_for_long_is_repaired() {
    let unhealthy = |minutes| {
        let plan = with_healthy(4).node(sick("sick", minutes)).plan();
        disrupted_for(&plan, DisruptionReason::Unhealthy).len()
    };
    assert_eq!(unhealthy(30), 1);
    assert_eq!(unhealthy(29), 0);
}

#[test]
fn where_more_than_a_fifth_is_unhealthy_none_is_repaired() {
    let repaired = |healthy| {
        let plan = with_healthy(healthy).node(sick("s1", 40)).node(sick("s2", 40)).plan();
        disrupted_for(&plan, DisruptionReason::Unhealthy).len()
    };
    // A fifth of six is two, rounded up; a fifth of five is one.
    assert_eq!(repaired(4), 2);
    assert_eq!(repaired(3), 0);
    let held = with_healthy(3).node(sick("s1", 40)).node(sick("s2", 40)).blocked("s1");
    assert_eq!(held, NotDisruptable::TooManyUnhealthy { unhealthy: 2, total: 5 });
}

#[test]
fn nothing_is_repaired_where_the_gate_is_off() {
    let plan = with_healthy(4)
        .with(|snapshot| snapshot.settings.feature_gates.node_repair = false)
        .node(sick("sick", 40))
        .plan();
    assert!(disrupted_for(&plan, DisruptionReason::Unhealthy).is_empty());
}
