//! Consolidation of pods that differ in what their interruption costs.

use domain::instance_type::CapacityType;
use domain::label::CAPACITY_TYPE;
use domain::reason::{NotDisruptable, Unconsolidatable};
use domain::spot::InterruptionCost;

use crate::testing::{
    Cluster, NodeMaker, PodMaker, cluster, instance_type, is_disrupted, node, pod, usd, with_spot,
};

/// Sold on demand, and on spot for less than a third. Nothing is remembered of spot, so that it is
/// taken to be interrupted once in 100 node-hours.
fn sold() -> Cluster {
    cluster().selling(vec![
        with_spot(instance_type("m.large", 2, 0.10), 0.03),
        with_spot(instance_type("m.xlarge", 4, 0.20), 0.06),
        with_spot(instance_type("m.2xlarge", 8, 0.40), 0.12),
    ])
}

fn on_spot(name: &str) -> NodeMaker {
    node(name).label(CAPACITY_TYPE, "spot")
}

fn costing(pod: PodMaker, cost: &str) -> PodMaker {
    let cost = InterruptionCost::parse(cost).unwrap();
    pod.with(|spec| spec.spot_interruption_cost = Some(cost))
}

/// A dear pod on demand, which would fit beside another on spot.
fn beside(cost: &str) -> Cluster {
    let dear = costing(pod("dear").cpu(1000), cost);
    let world = sold().node(node("n1")).pod(dear.on("n1"));
    world.node(on_spot("n2").of_type("m.2xlarge")).pod(pod("web").cpu(6500).on("n2"))
}

#[test]
fn a_dear_pod_goes_to_a_smaller_node_on_demand_and_not_to_spot() {
    let dear = costing(pod("dear").cpu(1000), "1000h");
    let world = sold().node(node("n1")).pod(dear.on("n1"));
    let disruption = world.disruption();
    assert_eq!(disruption.replacements[0].offering.capacity_type, CapacityType::OnDemand);
    assert_eq!(disruption.savings, usd(0.10));
    let again = world.after(&world.plan());
    assert!(again.plan().disruptions.is_empty(), "{:?}", again.plan().disruptions);
}

#[test]
fn a_node_whose_pods_would_cost_more_on_spot_says_so() {
    let world = beside("1000h");
    let NotDisruptable::Unconsolidatable(Unconsolidatable::DearInterruptions { saving, weight }) =
        world.blocked("n1")
    else {
        panic!("{:?}", world.blocked("n1"))
    };
    assert_eq!(saving, usd(0.20));
    assert_eq!(weight, usd(1.20), "a thousand hours of $0.12 once in 100 hours");
}

#[test]
fn a_pod_that_costs_little_moves_to_spot_as_without_an_annotation() {
    for cost in ["0s", "1h"] {
        let plan = beside(cost).plan();
        assert!(is_disrupted(&plan, "n1"));
        assert_eq!(plan.disruptions[0].moves.len(), 1, "{cost}: {:?}", plan.disruptions);
    }
}

#[test]
fn a_dear_pod_on_spot_stays_where_moving_it_would_cost_money() {
    let world = sold().node(on_spot("n1").of_type("m.large"));
    let world = world.pod(costing(pod("dear").cpu(1500), "1000h").on("n1"));
    assert!(!is_disrupted(&world.plan(), "n1"), "interruptions alone move no pod");
}
