//! Empty nodes, and `consolidateAfter`.

use domain::SignedDuration;
use domain::node_pool::NeverOr;
use domain::pod::OwnerKind;
use domain::reason::{DisruptionReason, NotDisruptable};

use crate::testing::{cluster, disrupted_for, minutes_ago, node, pod, usd};

#[test]
fn empty_nodes_are_removed_together() {
    let world = cluster().node(node("n1")).node(node("n2")).node(node("n3"));
    let disruption = world.pod(pod("a").cpu(3900).on("n3")).disruption();
    assert_eq!(disruption.reason, DisruptionReason::Empty);
    assert_eq!(disruption.nodes.iter().map(|name| &**name).collect::<Vec<_>>(), ["n1", "n2"]);
    assert_eq!(disruption.savings, usd(0.40));
    assert!(disruption.replacements.is_empty() && disruption.pods.is_empty());
}

#[test]
fn a_node_with_daemons_only_is_empty() {
    let daemon = pod("agent").on("n1").owned_by(OwnerKind::DaemonSet);
    let plan = cluster().node(node("n1")).pod(daemon).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Empty), ["n1"]);
}

#[test]
fn a_node_that_pods_are_nominated_to_is_kept() {
    let world = cluster().node(node("n1"));
    assert_eq!(world.clone().pod(pod("a")).blocked("n1"), NotDisruptable::Nominated);
    let nominated = world.with(|snapshot| {
        snapshot.nominations.insert("n1".into(), Vec::new());
    });
    assert_eq!(nominated.blocked("n1"), NotDisruptable::Nominated);
}

#[test]
fn consolidate_after_counts_from_the_last_pod_that_came_or_went() {
    let world = cluster().default_pool(|pool| {
        pool.disruption.consolidate_after = NeverOr::After(SignedDuration::from_mins(10));
    });
    let unchanged_for = |minutes| {
        world.clone().node(
            node("n1").with_claim(|claim| claim.status.last_pod_event = Some(minutes_ago(minutes))),
        )
    };
    assert_eq!(disrupted_for(&unchanged_for(10).plan(), DisruptionReason::Empty), ["n1"]);
    assert!(disrupted_for(&unchanged_for(9).plan(), DisruptionReason::Empty).is_empty());
}

#[test]
fn a_pool_that_never_consolidates_keeps_its_empty_nodes() {
    let never = cluster().default_pool(|pool| pool.disruption.consolidate_after = NeverOr::Never);
    assert!(never.node(node("n1")).plan().disruptions.is_empty());
}

#[test]
fn a_starting_node_is_kept() {
    let world = cluster().node(node("n1").starting());
    assert_eq!(world.blocked("n1"), NotDisruptable::NotInitialized);
}

#[test]
fn unmanaged_nodes_are_left_alone() {
    let mut world = cluster().node(node("n1").with(|node| {
        node.labels.remove(domain::label::NODE_POOL);
    }));
    world.0.node_claims.clear();
    let plan = world.plan();
    assert!(plan.disruptions.is_empty() && plan.blocked.is_empty());
}
