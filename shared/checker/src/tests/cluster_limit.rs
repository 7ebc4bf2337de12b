//! ClusterLimits: nodes of all NodePools together.

use domain::cluster_limit::ClusterLimit;
use domain::resource::{NODES, Resources, USD_PER_HOUR};
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

fn under(limit: ClusterLimit) -> ClusterSnapshot {
    let mut world = pooled([pod("p")]).with_nodes([node("e", "small", "a")]);
    world.objects.cluster_limits = vec![limit];
    world
}

fn limited(limits: Resources) -> ClusterSnapshot {
    under(ClusterLimit::new("all", limits))
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

#[test]
fn a_limit_that_cannot_be_read_allows_no_new_claim() {
    let world = under(ClusterLimit::unreadable("all", "spec.limits: it is missing"));
    breaks(&world, &plan([claim("n", &["p"])]), &[Rule::Limits]);
}
