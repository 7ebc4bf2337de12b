//! Pods that buy no node (`outrigger.dev/expendable-below`).

use domain::node_pool::NodePool;
use domain::node_pool_options::NodePoolOptions;
use domain::plan::PlannedDisruption;
use domain::reason::DisruptionReason;

use crate::Rule;
use crate::testing::*;

fn cheap() -> PodMaker {
    let mut cheap = pod("p");
    cheap.spec.priority = -1;
    cheap
}

fn expendable_below_zero() -> NodePool {
    let options = NodePoolOptions { expendable_below: Some(0), ..NodePoolOptions::default() };
    let disruption = domain::node_pool::Disruption { budgets: Vec::new(), ..pool().disruption };
    NodePool { options, disruption, ..pool() }
}

#[test]
fn no_node_is_launched_for_an_expendable_pod() {
    let launched = plan([claim("n", &["p"])]);
    let world = |pod| cluster([pod]).with_node_pools([expendable_below_zero()]);
    allows(&pooled([cheap()]), &launched);
    breaks(&world(cheap()), &launched, &[Rule::Expendable]);
    allows(&world(pod("p")), &launched);
}

#[test]
fn a_node_of_expendable_pods_is_empty_and_they_need_no_place() {
    let world = |pool: NodePool| {
        cluster([cheap().on("e")]).with_node_pools([pool]).with_nodes([node("e", "small", "a")])
    };
    let empty = disrupting([PlannedDisruption {
        savings: usd(0.05),
        ..disruption(DisruptionReason::Empty, &["e"])
    }]);
    let plain = NodePool { options: NodePoolOptions::default(), ..expendable_below_zero() };
    breaks(&world(plain), &empty, &[Rule::NotEmpty]);
    allows(&world(expendable_below_zero()), &empty);
}
