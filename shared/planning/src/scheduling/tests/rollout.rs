//! Pods that a rollout replaces (`outrigger.dev/evict-by: rollout`).

use domain::label::PODS_ROLLING;

use crate::testing::{Cluster, cluster, node, now, pod};

/// Pod `a` on a node that goes, whose claim says which pods rollouts replace.
fn leaving(rolling: &str) -> Cluster {
    let rolling = rolling.into();
    let goes = node("n1").with_claim(|claim| {
        claim.deleted = Some(now());
        claim.annotations.insert(PODS_ROLLING.into(), rolling);
    });
    cluster().node(goes).pod(pod("a").cpu(3000).on("n1"))
}

#[test]
fn nothing_is_launched_for_a_pod_that_a_rollout_replaces() {
    let key = pod("a").make().key;
    assert_eq!(leaving("").plan().node_claims.len(), 1);
    assert!(leaving(&format!("{key},x/y")).plan().node_claims.is_empty());
}

#[test]
fn a_pod_of_a_node_that_stays_is_never_taken_for_one() {
    let world = leaving(&pod("a").make().key.to_string())
        .with(|snapshot| snapshot.node_claims[0].deleted = None);
    let plan = world.plan();
    // It would be empty, and go, without the pod.
    assert!(plan.disruptions.iter().all(|own| !own.pods.is_empty()), "{:?}", plan.disruptions);
}
