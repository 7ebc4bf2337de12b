//! Nodes on which room for a CapacityBuffer is kept: only the removal of empty nodes waits for it.

use domain::node_pool::ConsolidationPolicy;
use domain::reason::{DisruptionReason, NotDisruptable};

use crate::testing::{Cluster, cluster, node, node_pool_with, pod, usd};

/// Where room is kept once the plan is carried out.
fn kept(world: &Cluster) -> Vec<Option<String>> {
    let plan = world.plan();
    plan.virtual_pods.iter().map(|own| own.place.as_ref().map(ToString::to_string)).collect()
}

#[test]
fn a_node_that_is_too_large_for_its_pod_and_the_buffer_is_replaced_by_one_with_room_for_both() {
    let world = cluster()
        .node(node("n1").of_type("m.2xlarge"))
        .pod(pod("a").cpu(1500).on("n1"))
        .buffer(1, 1500);
    let disruption = world.disruption();
    assert_eq!(disruption.reason, DisruptionReason::Underutilized);
    let [replacement] = disruption.replacements.as_slice() else {
        panic!("{:?}", disruption.replacements)
    };
    assert_eq!(&*replacement.instance_types[0], "m.xlarge");
    assert_eq!(disruption.savings, usd(0.20));
    assert_eq!(disruption.pods.len(), 1, "no virtual pod is evicted");
    assert_eq!(kept(&world), [Some(replacement.name.to_string())]);
}

#[test]
fn a_node_whose_pod_and_buffer_fit_on_another_is_removed() {
    let world = cluster()
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("a").cpu(500).on("n1"))
        .pod(pod("b").cpu(1500).on("n2"))
        .buffer(1, 1500);
    let disruption = world.disruption();
    assert_eq!(disruption.moves.len(), 1, "virtual pods are in no list of moves");
    let left = if &*disruption.nodes[0] == "n1" { "n2" } else { "n1" };
    assert_eq!(kept(&world), [Some(left.to_owned())]);
}

#[test]
fn a_node_is_kept_where_the_buffer_would_cost_as_much_elsewhere() {
    let world = cluster().node(node("n1")).pod(pod("a").cpu(500).on("n1")).buffer(1, 3000);
    assert!(world.plan().disruptions.is_empty());
}

#[test]
fn an_empty_node_is_kept_for_the_buffer() {
    assert_eq!(cluster().node(node("n1")).buffer(1, 1000).blocked("n1"), NotDisruptable::Nominated);
}

/// Node `n1` has drifted, and a buffer's pod has its room there.
fn drifted() -> Cluster {
    let relabelled =
        node_pool_with("default", |template| _ = template.labels.insert("a".into(), "b".into()));
    cluster()
        .pool(relabelled)
        .default_pool(|pool| {
            pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty;
        })
        .node(node("n1"))
        .buffer(1, 1000)
}

#[test]
fn a_drifted_node_is_replaced_with_room_for_the_buffer() {
    for world in [drifted(), drifted().pod(pod("a").cpu(500).on("n1"))] {
        let disruption = world.disruption();
        assert_eq!(disruption.reason, DisruptionReason::Drifted);
        assert_eq!(kept(&world), [Some(disruption.replacements[0].name.to_string())]);
    }
}
