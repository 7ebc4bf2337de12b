//! The `Balanced` policy: the saving must be worth the disruption.

use domain::node_pool::ConsolidationPolicy;

use crate::testing::{Cluster, cluster, is_disrupted, node, pod};

/// A node with `pods` small pods beside nine full nodes with one pod each.
fn crowded(policy: ConsolidationPolicy, pods: usize) -> Cluster {
    let world = cluster()
        .default_pool(|pool| pool.disruption.consolidation_policy = policy)
        .node(node("n0"))
        .pods(pods, &pod("small").cpu(40).on("n0"));
    (1..10).fold(world, |world, index| {
        let name = format!("n{index}");
        world.pod(pod(&format!("full-{index}")).cpu(3990).on(&name)).node(node(&name))
    })
}

#[test]
fn savings_that_are_small_for_their_disruption_are_not_taken() {
    // Half of one node's price of ten, against the moves of most of the pool's pods.
    let many = |policy| crowded(policy, 40).plan();
    assert!(is_disrupted(&many(ConsolidationPolicy::WhenEmptyOrUnderutilized), "n0"));
    assert!(!is_disrupted(&many(ConsolidationPolicy::Balanced), "n0"));
}

#[test]
fn savings_that_are_worth_their_disruption_are_taken() {
    assert!(is_disrupted(&crowded(ConsolidationPolicy::Balanced, 1).plan(), "n0"));
}

#[test]
fn a_move_that_is_approved_shows_its_score() {
    let approved = crowded(ConsolidationPolicy::Balanced, 1).plan().figures.approved;
    let [only] = approved.as_slice() else { panic!("{approved:?}") };
    assert_eq!((&*only.node_pool, only.nodes.as_slice()), ("default", &["n0".into()][..]));
    // Half of one node's price of ten, for one node and pod of ten.
    assert_eq!(&*only.score, "score 0.50 >= threshold 0.50 (savings 5.0%, disruption 10.0%)");
    let without = crowded(ConsolidationPolicy::WhenEmptyOrUnderutilized, 1).plan().figures;
    assert_eq!(without.approved, [], "other policies score nothing");
}
