//! Pods that wait while nodes are disrupted: their new nodes count for pods that have to move.

use domain::SignedDuration;
use domain::label::ZONE;
use domain::node_pool::NeverOr;
use domain::reason::DisruptionReason;

use crate::testing::{Cluster, cluster, disrupted_for, listed, near, node, pod, spread_over};

/// Node `n1` in zone `c` expires. A waiting pod with label `app: web`, which carries no constraint
/// of its own, gets a node in zone `a`.
fn expiring_beside_a_launch() -> Cluster {
    let n1 = node("n1").in_zone("c").with_claim(|claim| {
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(24));
    });
    let waiting = pod("waiting").cpu(3000).label("app", "web").on_nodes_with(ZONE, "a");
    cluster().node(n1).pod(waiting)
}

/// The zone of the only new node that replaces another.
#[track_caller]
fn zone_of_replacement(world: &Cluster) -> String {
    let disruption = world.disruption();
    assert_eq!(disruption.replacements.len(), 1);
    listed(&disruption.replacements[0], ZONE)
}

#[test]
fn a_moved_pod_is_spread_from_a_pod_that_gets_a_new_node() {
    let moved =
        pod("moved").cpu(2000).label("app", "web").spread(spread_over(ZONE, ("app", "web")));
    let zone = zone_of_replacement(&expiring_beside_a_launch().pod(moved.on("n1")));
    assert_ne!(zone, "a");
}

#[test]
fn a_moved_pod_joins_a_pod_that_gets_a_new_node() {
    let moved = pod("moved").cpu(2000).affinity(near(ZONE, ("app", "web")));
    let zone = zone_of_replacement(&expiring_beside_a_launch().pod(moved.on("n1")));
    assert_eq!(zone, "a");
}

#[test]
fn a_moved_pod_goes_to_a_node_in_another_zone_than_a_pod_that_gets_a_new_node() {
    let moved =
        pod("moved").cpu(2000).label("app", "web").spread(spread_over(ZONE, ("app", "web")));
    let world = expiring_beside_a_launch()
        .default_pool(|pool| pool.disruption.consolidate_after = NeverOr::Never)
        .node(node("n2"))
        .node(node("n3").in_zone("b"))
        .pod(pod("k2").cpu(1500).on("n2"))
        .pod(pod("k3").cpu(1500).on("n3"))
        .pod(moved.on("n1"));
    let plan = world.plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Expired), ["n1"]);
    assert_eq!(&*plan.disruptions[0].moves[0].node, "n3");
}
