//! `outrigger.dev/consolidate-below`: nodes that are used well enough are not consolidated.

use domain::pod::{DoNotDisrupt, OwnerKind};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::resource::{CPU, MEMORY};

use crate::testing::{Cluster, cluster, disrupted_for, is_disrupted, node, pod};

/// A node `n1` of 4 CPUs with a pod of so many millicores, which has room on node `n2`.
fn used(millis: i64, threshold: Option<u8>) -> Cluster {
    let guarded = pod("b").cpu(100).on("n2");
    let guarded = guarded.having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
    cluster()
        .default_pool(|pool| pool.options.consolidate_below = threshold)
        .node(node("n1"))
        .node(node("n2").of_type("m.2xlarge"))
        .pod(pod("a").cpu(millis).on("n1"))
        .pod(guarded)
}

fn allocatable(world: &Cluster, resource: &str) -> i64 {
    world.0.objects.nodes[0].allocatable.get(resource)
}

#[test]
fn without_a_threshold_a_node_is_consolidated_however_well_it_is_used() {
    assert_eq!(disrupted_for(&used(3000, None).plan(), DisruptionReason::Underutilized), ["n1"]);
}

#[test]
fn a_node_at_its_threshold_stays_and_one_below_goes() {
    let half = allocatable(&used(1, None), CPU) / 2;
    assert_eq!(
        used(half, Some(50)).blocked("n1"),
        NotDisruptable::Utilized {
            node_pool: "default".into(),
            resource: CPU.into(),
            percent: 50,
            threshold: 50,
        }
    );
    assert!(is_disrupted(&used(half - 1, Some(50)).plan(), "n1"));
    assert!(is_disrupted(&used(half, Some(51)).plan(), "n1"));
}

#[test]
fn memory_counts_where_more_of_it_is_requested() {
    let most = allocatable(&used(1, None), MEMORY);
    let world = used(100, Some(50)).pod(pod("large").cpu(1).asking(MEMORY, most * 3 / 4).on("n1"));
    let blocked = world.blocked("n1");
    let NotDisruptable::Utilized { resource, percent, .. } = blocked else { panic!("{blocked:?}") };
    assert_eq!(&*resource, MEMORY);
    assert!((74..80).contains(&percent), "{percent}");
}

#[test]
fn pods_of_daemon_sets_are_left_out() {
    let most = allocatable(&used(1, None), CPU);
    // A quarter of the node is the DaemonSet's: of the rest, the pod has a third.
    let with_daemon = |threshold| {
        used(most / 4, Some(threshold))
            .pod(pod("agent").cpu(most / 4).on("n1").owned_by(OwnerKind::DaemonSet))
    };
    let plan = with_daemon(34).plan();
    assert!(is_disrupted(&plan, "n1"), "{:?}", plan.blocked);
    assert!(matches!(with_daemon(33).blocked("n1"), NotDisruptable::Utilized { percent: 33, .. }));
}

#[test]
fn an_empty_node_goes_whatever_the_threshold() {
    let world =
        cluster().default_pool(|pool| pool.options.consolidate_below = Some(1)).node(node("n1"));
    assert_eq!(disrupted_for(&world.plan(), DisruptionReason::Empty), ["n1"]);
}
