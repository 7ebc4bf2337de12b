//! Limits of NodePools in dollars an hour.

use domain::node_pool::NodePool;
use domain::resource::{Resources, USD_PER_HOUR};

use crate::Rule;
use crate::testing::*;

/// A NodePool of at most so many dollars an hour.
fn limited(dollars: f64) -> NodePool {
    NodePool { limits: Resources::new().with(USD_PER_HOUR, usd(dollars).nanos()), ..pool() }
}

#[test]
fn a_limit_in_dollars_is_kept() {
    let launched = plan([claim("n", &["p"])]);
    let price = launched.node_claims[0].offerings.iter().map(|own| own.price).max().unwrap();
    let world = |limit: f64| cluster([pod("p")]).with_node_pools([limited(limit)]);
    allows(&world(price.to_f64()), &launched);
    breaks(&world(price.to_f64() - 0.001), &launched, &[Rule::Limits]);
}

#[test]
fn nodes_that_are_there_count_at_their_price() {
    let launched = plan([claim("n", &["p"])]);
    let price = launched.node_claims[0].offerings.iter().map(|own| own.price).max().unwrap();
    let world = |limit: f64| {
        let nodes = [node("e", "small", "a")];
        cluster([pod("p")]).with_node_pools([limited(limit)]).with_nodes(nodes)
    };
    // A small node costs five cents.
    allows(&world(price.to_f64() + 0.05), &launched);
    breaks(&world(price.to_f64() + 0.049), &launched, &[Rule::Limits]);
}
