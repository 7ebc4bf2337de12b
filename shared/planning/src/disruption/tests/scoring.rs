//! Moves are judged by the scoring that the cluster's scheduler has.

use domain::reason::{DisruptionReason, NotDisruptable, Unconsolidatable};
use domain::scheduler::scoring::{ResourceWeight, ScoringStrategy, ScoringType, UtilizationPoint};
use domain::scheduler::{SchedulerConfig, SchedulerProfile};

use crate::testing::{Cluster, cluster, disrupted_for, instance_type, node, pod};

/// A node with a pod and two smaller ones, and two remaining nodes: one has room for the larger
/// pod and no other, the other for both of the smaller ones, or for the larger one alone.
fn beside_nodes_with_room() -> Cluster {
    cluster()
        .selling(vec![instance_type("m.xlarge", 4, 0.20)])
        .node(node("goes"))
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("larger").cpu(1100).on("goes"))
        .pod(pod("small").cpu(950).on("goes"))
        .pod(pod("smaller").cpu(950).on("goes"))
        .pod(pod("a").cpu(2100).on("n1"))
        .pod(pod("b").cpu(2900).on("n2"))
}

/// The nodes that are removed where every pod is scheduled by a strategy.
fn removed_with(kind: ScoringType) -> Vec<String> {
    let scoring = ScoringStrategy { kind, ..ScoringStrategy::default() };
    let plan = scored_by(None, scoring).plan();
    disrupted_for(&plan, DisruptionReason::Underutilized).into_iter().map(str::to_owned).collect()
}

fn scored_by(scheduler_name: Option<&str>, scoring: ScoringStrategy) -> Cluster {
    let scheduler_name = scheduler_name.map(Into::into);
    let profile = SchedulerProfile { scheduler_name, scoring, ..SchedulerProfile::default() };
    let config = SchedulerConfig { profiles: vec![profile] };
    beside_nodes_with_room().with(|snapshot| snapshot.objects.scheduler = config)
}

#[test]
fn a_scheduler_that_packs_puts_pods_where_a_move_plans_them() {
    // The larger pod goes to the fuller node, and leaves the emptier one to the others.
    assert_eq!(removed_with(ScoringType::MostAllocated), ["goes"]);
    assert_eq!(removed_with(ScoringType::LeastAllocated), Vec::<String>::new());
}

#[test]
fn a_function_of_utilization_decides_as_it_says() {
    let function = |scores: [i64; 2]| {
        let point = |utilization, score| UtilizationPoint { utilization, score };
        ScoringType::RequestedToCapacityRatio(vec![point(0, scores[0]), point(100, scores[1])])
    };
    assert_eq!(removed_with(function([0, 10])), ["goes"]);
    // Not down to zero: what scores nothing does not count.
    assert_eq!(removed_with(function([10, 1])), Vec::<String>::new());
}

#[test]
fn the_resources_that_count_decide() {
    // Of memory all nodes have as much left, so that nothing but balance and names decide.
    let weight = |name: &str| ResourceWeight { name: name.into(), weight: 1 };
    let memory_alone = ScoringStrategy {
        kind: ScoringType::MostAllocated,
        resources: vec![weight("memory"), weight("example.com/nobody-requests-it")],
    };
    let plan = scored_by(None, memory_alone).plan();
    assert!(disrupted_for(&plan, DisruptionReason::Underutilized).is_empty());
}

#[test]
fn pods_of_another_scheduler_go_where_that_puts_them() {
    let packing =
        ScoringStrategy { kind: ScoringType::MostAllocated, ..ScoringStrategy::default() };
    let world = scored_by(Some("packing"), packing);
    assert!(matches!(
        world.blocked("goes"),
        NotDisruptable::Unconsolidatable(Unconsolidatable::SchedulerDivergence { pods: 1, .. })
    ));
    let named = world.with(|snapshot| {
        for pod in &mut snapshot.objects.pods {
            std::sync::Arc::make_mut(&mut pod.spec).scheduler_name = Some("packing".into());
        }
    });
    assert_eq!(disrupted_for(&named.plan(), DisruptionReason::Underutilized), ["goes"]);
}
