//! Weights of NodePools.

use domain::label::ARCH;
use domain::resource::{CPU, Resources};

use crate::testing::{claim_of, cluster, is, node_pool, node_pool_of, pod};

#[test]
fn the_heavier_pool_is_tried_first_however_dear() {
    let mut dear = node_pool_of("dear", &[is(ARCH, "arm64")]);
    dear.weight = 10;
    let plan = cluster().pool(dear).pod(pod("a")).plan();
    assert_eq!(&*claim_of(&plan, "a").node_pool, "dear");
}

#[test]
fn what_the_heavier_pool_cannot_take_goes_to_the_next() {
    let mut small = node_pool("small");
    small.weight = 10;
    small.limits = Resources::new().with(CPU, 2000);
    let plan = cluster().pool(small).pods(2, &pod("a").cpu(1500)).plan();
    let mut pools: Vec<&str> = plan.node_claims.iter().map(|claim| &*claim.node_pool).collect();
    pools.sort_unstable();
    assert_eq!(pools, ["default", "small"]);
}

#[test]
fn among_equals_the_cheaper_pool_is_taken() {
    let dear = node_pool_of("another", &[is(ARCH, "arm64")]);
    let plan = cluster().pool(dear).pod(pod("a")).plan();
    assert_eq!(&*claim_of(&plan, "a").node_pool, "default");
}
