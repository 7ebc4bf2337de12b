//! ClusterLimits: nodes of all NodePools together.

use domain::cluster_limit::ClusterLimit;
use domain::resource::{NODES, Resources, USD_PER_HOUR};
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

fn limited(limits: Resources) -> ClusterSnapshot {
    let mut world = pooled([pod("p")]).with_nodes([node("e", "small", "a")]);
    world.objects.cluster_limits = vec![ClusterLimit { name: "all".into(), limits }];
    world
}

#[test]
fn nodes_that_are_there_and_new_claims_stay_within_the_limit_together() {
    let launched = plan([claim("n", &["p"])]);
    allows(&limited(Resources::new().with(NODES, 2)), &launched);
    breaks(&limited(Resources::new().with(NODES, 1)), &launched, &[Rule::Limits]);
}

#[test]
fn so_do_the_dollars_that_they_cost() {
    let launched = plan([claim("n", &["p"])]);
    let price = launched.node_claims[0].offerings.iter().map(|own| own.price).max().unwrap();
    let world = |dollars: f64| limited(Resources::new().with(USD_PER_HOUR, usd(dollars).nanos()));
    // A small node costs five cents.
    allows(&world(price.to_f64() + 0.05), &launched);
    breaks(&world(price.to_f64() + 0.049), &launched, &[Rule::Limits]);
}
