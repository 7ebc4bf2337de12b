//! Expired and unhealthy nodes: nothing blocks their disruption.

use domain::SignedDuration;
use domain::label::DO_NOT_DISRUPT;
use domain::node::NodeCondition;
use domain::node_claim::ConditionStatus;
use domain::node_pool::NeverOr;
use domain::pdb::CountOrPercent;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::requirement::Operator;

use crate::testing::{
    Cluster, NodeMaker, budget, cluster, disrupted_for, minutes_ago, node, node_pool_of, pod,
    requirement,
};

/// A node a day old that expires after `hours`.
fn expiring(name: &str, hours: i64) -> NodeMaker {
    node(name).with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(hours));
    })
}

fn blocking_everything() -> Cluster {
    cluster().default_pool(|pool| {
        pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))];
        pool.disruption.consolidate_after = NeverOr::Never;
    })
}

#[test]
fn an_expired_node_is_replaced_whatever_blocks_it() {
    let held = expiring("n1", 24)
        .with(|node| _ = node.annotations.insert(DO_NOT_DISRUPT.into(), "true".into()));
    let disruption = blocking_everything().node(held).pod(pod("a").cpu(3000).on("n1")).disruption();
    assert_eq!(disruption.reason, DisruptionReason::Expired);
    assert_eq!(disruption.replacements.len(), 1);
    assert_eq!(&*disruption.pods[0].name, "a");
}

#[test]
fn a_node_that_has_not_expired_is_kept() {
    let plan = blocking_everything().node(expiring("n1", 25)).plan();
    assert!(disrupted_for(&plan, DisruptionReason::Expired).is_empty());
    let never = node("n1").with_claim(|claim| claim.expire_after = NeverOr::Never);
    assert!(blocking_everything().node(never).plan().disruptions.is_empty());
}

#[test]
fn pods_of_an_expired_node_move_to_remaining_nodes() {
    let disruption = blocking_everything()
        .node(expiring("n1", 24))
        .node(node("n2"))
        .pod(pod("a").on("n1"))
        .pod(pod("b").on("n2"))
        .disruption();
    assert!(disruption.replacements.is_empty());
    assert_eq!(&*disruption.moves[0].node, "n2");
}

#[test]
fn pods_of_an_expired_node_do_not_move_to_another_expired_one() {
    let plan = blocking_everything()
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

/// Node `n1` expires, and its pod fits on `n2`.
fn expiring_beside(n2: NodeMaker) -> Cluster {
    cluster().node(expiring("n1", 24)).node(n2).pod(pod("a").cpu(1000).on("n1"))
}

/// Asserts that `n1` goes, and that `n2` takes its pod and stays.
#[track_caller]
fn assert_stays(world: &Cluster) {
    let plan = world.plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Expired), ["n1"]);
    assert_eq!(&*plan.disruptions[0].moves[0].node, "n2");
    assert_eq!(world.blocked("n2"), NotDisruptable::Nominated);
}

#[test]
fn an_empty_node_stays_that_pods_of_an_expired_one_move_to() {
    assert_stays(&expiring_beside(node("n2")));
}

#[test]
fn a_drifted_node_stays_that_pods_of_an_expired_one_move_to() {
    let drifted = node("n2").label("team", "old");
    let wanted = requirement("team", Operator::NotIn, &["old"]);
    let world = expiring_beside(drifted).pool(node_pool_of("default", &[wanted]));
    assert_stays(&world.pod(pod("b").cpu(1000).on("n2")));
}

#[test]
fn an_underutilized_node_stays_that_pods_of_an_expired_one_move_to() {
    let full = node("n3").of_type("m.2xlarge");
    let world = expiring_beside(node("n2")).pod(pod("b").cpu(500).on("n2"));
    assert_stays(&world.node(full).pod(pod("c").cpu(7400).on("n3")));
}

/// A node that has not been ready for `minutes`.
fn unhealthy(name: &str, minutes: i64) -> NodeMaker {
    node(name).with(|node| {
        node.conditions.push(NodeCondition {
            kind: "Ready".into(),
            status: ConditionStatus::False,
            changed: Some(minutes_ago(minutes)),
        });
    })
}

/// A pool with `count` healthy nodes.
fn with_healthy(count: usize) -> Cluster {
    let world =
        blocking_everything().with(|snapshot| snapshot.settings.feature_gates.node_repair = true);
    (0..count).fold(world, |world, index| world.node(node(&format!("healthy-{index}"))))
}

#[test]
fn a_node_that_is_not_ready_for_long_is_repaired() {
    let unhealthy = |minutes| {
        let plan = with_healthy(4).node(unhealthy("sick", minutes)).plan();
        disrupted_for(&plan, DisruptionReason::Unhealthy).len()
    };
    assert_eq!(unhealthy(30), 1);
    assert_eq!(unhealthy(29), 0);
}

#[test]
fn if_more_than_a_fifth_is_unhealthy_none_is_repaired() {
    let repaired = |healthy| {
        let plan = with_healthy(healthy).node(unhealthy("s1", 40)).node(unhealthy("s2", 40)).plan();
        disrupted_for(&plan, DisruptionReason::Unhealthy).len()
    };
    // A fifth of six is two, rounded up; a fifth of five is one.
    assert_eq!(repaired(4), 2);
    assert_eq!(repaired(3), 0);
    let held = with_healthy(3).node(unhealthy("s1", 40)).node(unhealthy("s2", 40)).blocked("s1");
    assert_eq!(held, NotDisruptable::TooManyUnhealthy { unhealthy: 2, total: 5 });
}

#[test]
fn an_outage_that_spreads_is_not_repaired_node_by_node() {
    let sick = |world: Cluster, minutes| world.node(unhealthy(&format!("s{minutes}"), minutes));
    let world = [31, 25, 20].into_iter().fold(with_healthy(2), sick);
    let held = NotDisruptable::TooManyUnhealthy { unhealthy: 3, total: 5 };
    assert_eq!(world.blocked("s31"), held);
}

#[test]
fn nothing_is_repaired_if_the_gate_is_off() {
    let plan = with_healthy(4)
        .with(|snapshot| snapshot.settings.feature_gates.node_repair = false)
        .node(unhealthy("sick", 40))
        .plan();
    assert!(disrupted_for(&plan, DisruptionReason::Unhealthy).is_empty());
}

#[test]
fn a_pod_that_waits_goes_to_no_node_that_expires() {
    let world = blocking_everything().node(expiring("n1", 24)).pod(pod("new"));
    let plan = world.plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Expired), ["n1"]);
    assert!(plan.placements.is_empty(), "it fits on n1, which goes");
    assert_eq!(plan.node_claims.len(), 1);
}
