//! SoftSpread to be spread over zones: kept for a few nodes, and by the choice of zones for many.

use std::collections::BTreeMap;

use domain::label::ZONE;
use domain::pod::WhenUnsatisfiable;

use crate::testing::{
    Cluster, PodMaker, cluster, instance_type, listed, pod, pods_by_zone, spread_over,
};

fn wishing(name: &str) -> PodMaker {
    let mut constraint = spread_over(ZONE, ("app", "web"));
    constraint.when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
    pod(name).label("app", "web").spread(constraint)
}

/// Sixty pods on nodes of three.
fn many() -> Cluster {
    cluster().selling(vec![instance_type("m", 4, 0.40)]).pods(60, &wishing("a").cpu(1300))
}

#[test]
fn a_few_pods_get_a_zone_each() {
    let plan = cluster().pods(3, &wishing("a").cpu(100)).plan();
    assert_eq!(pods_by_zone(&plan), [1, 1, 1]);
}

#[test]
fn many_nodes_are_spread_by_their_zones_at_no_cost() {
    let wished = many().plan();
    let plain =
        cluster().selling(vec![instance_type("m", 4, 0.40)]).pods(60, &pod("a").cpu(1300)).plan();
    assert_eq!(wished.totals.hourly_after, plain.totals.hourly_after);
    let mut zones: BTreeMap<String, usize> = BTreeMap::new();
    for claim in &wished.node_claims {
        *zones.entry(listed(claim, ZONE)).or_default() += claim.pods.len();
    }
    let (least, most) = (zones.values().min().unwrap(), zones.values().max().unwrap());
    assert!(zones.len() == 3 && most - least <= 3, "apart by more than one node: {zones:?}");
}
