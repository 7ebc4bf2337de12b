//! Plans for so many pods that two threads make them.

use domain::resource::{CPU, Resources};

use crate::testing::{Cluster, cluster, instance_type, pod};
use crate::work::PODS_FOR_THREADS;

fn many() -> Cluster {
    let sold = (1..=40_i32)
        .map(|cpus| instance_type(&format!("m{cpus:02}"), cpus.into(), 0.05 * f64::from(cpus)));
    let pods = |own: Cluster, millis: i64| {
        own.pods(PODS_FOR_THREADS / 8, &pod(&format!("a{millis}")).cpu(millis))
    };
    (1..=12).map(|size| 310 + size * 170).fold(cluster().selling(sold.collect()), pods)
}

#[test]
fn such_a_plan_is_the_same_every_time() {
    let world = many();
    let plan = world.plan();
    assert!(plan.unschedulable.is_empty() && !plan.node_claims.is_empty());
    for _ in 0..8 {
        assert_eq!(world.plan(), plan);
    }
}

#[test]
fn its_bound_is_for_the_pods_that_find_a_place_not_for_all_that_wait() {
    let all = many().plan();
    let limit = Resources::new().with(CPU, 100_000);
    let some = many().default_pool(|pool| pool.limits = limit).plan();
    assert!(!some.unschedulable.is_empty() && !some.node_claims.is_empty());
    let (all, some) = (all.totals, some.totals);
    assert!(some.lower_bound.unwrap() <= some.hourly_after, "{some:?}");
    assert!(some.lower_bound.unwrap() < all.lower_bound.unwrap(), "{some:?} {all:?}");
}
