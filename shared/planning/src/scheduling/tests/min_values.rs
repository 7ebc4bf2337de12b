//! `minValues`: a claim keeps so many distinct values of a key.

use domain::instance_type::{CapacityType, InstanceType};
use domain::label::{INSTANCE_TYPE, ZONE};
use domain::node_pool::NodePool;
use domain::reason::NodePoolUnfit;
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, Resources};
use domain::settings::MinValuesPolicy;

use crate::testing::{
    claim_of, cluster, instance_type, listed, node_pool, node_pool_of, pod, requirement, reserved,
    unfit, with_spot,
};

fn wanting(key: &str, count: u32) -> NodePool {
    let exists = requirement(key, Operator::Exists, &[]);
    node_pool_of("default", &[Requirement { min_values: Some(count), ..exists }])
}

#[test]
fn so_many_types_are_listed_however_dear() {
    let plan = cluster().pod(pod("a")).plan();
    assert!(claim_of(&plan, "a").instance_types.len() < 3);
    let plan = cluster().pool(wanting(INSTANCE_TYPE, 4)).pod(pod("a")).plan();
    assert_eq!(claim_of(&plan, "a").instance_types.len(), 4);
}

#[test]
fn strictly_a_pool_with_too_few_cannot_serve() {
    // Only one type has room for it.
    let plan = cluster().pool(wanting(INSTANCE_TYPE, 2)).pod(pod("a").cpu(6000)).plan();
    assert_eq!(
        unfit(&plan, "a", "default"),
        NodePoolUnfit::MinValues { key: INSTANCE_TYPE.into(), wanted: 2, found: 1 }
    );
}

#[test]
fn with_best_effort_as_many_as_there_are_will_do() {
    let world = cluster().pool(wanting(INSTANCE_TYPE, 2)).with(|snapshot| {
        snapshot.settings.min_values_policy = MinValuesPolicy::BestEffort;
    });
    let plan = world.pod(pod("a").cpu(6000)).plan();
    assert_eq!(claim_of(&plan, "a").instance_types.len(), 1);
}

#[test]
fn zones_are_counted_by_offerings() {
    let plan = cluster().pool(wanting(ZONE, 3)).pod(pod("a")).plan();
    assert_eq!(listed(claim_of(&plan, "a"), ZONE), "a b c");
    let pinned = pod("a").on_nodes_with(ZONE, "a");
    let plan = cluster().pool(wanting(ZONE, 3)).pod(pinned).plan();
    assert_eq!(
        unfit(&plan, "a", "default"),
        NodePoolUnfit::MinValues { key: ZONE.into(), wanted: 3, found: 1 }
    );
}

#[test]
fn what_limits_rule_out_does_not_count() {
    let limited = |cpus: i64| {
        let pool = wanting(INSTANCE_TYPE, 2);
        let limits = Resources::new().with(CPU, cpus * 1000);
        cluster().pool(NodePool { limits, ..pool }).pod(pod("a")).plan()
    };
    assert_eq!(claim_of(&limited(4), "a").instance_types.len(), 2);
    assert_eq!(
        unfit(&limited(2), "a", "default"),
        NodePoolUnfit::MinValues { key: INSTANCE_TYPE.into(), wanted: 2, found: 1 }
    );
}

/// Types of 2, 4 and 8 CPUs, the smaller two as spot too.
fn three_sizes() -> Vec<InstanceType> {
    vec![
        with_spot(instance_type("m.large", 2, 0.10), 0.04),
        with_spot(instance_type("m.xlarge", 4, 0.20), 0.07),
        instance_type("m.2xlarge", 8, 0.44),
    ]
}

#[test]
fn a_reservation_that_leaves_too_few_types_is_passed_over() {
    let mut types = three_sizes();
    types[2].offerings.push(reserved("b", "cr-1", 1));
    let plan = cluster().selling(types).pool(wanting(INSTANCE_TYPE, 2)).pod(pod("a")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.instance_types, ["m.large".into(), "m.xlarge".into()]);
    assert_eq!(claim.offering.capacity_type, CapacityType::Spot);
}

#[test]
fn limits_count_the_largest_type_that_has_to_be_listed() {
    let pool = wanting(INSTANCE_TYPE, 2);
    let limits = Resources::new().with(CPU, 8000);
    let world = cluster().selling(three_sizes()).pool(NodePool { limits, ..pool });
    let world = world.pods(6, &pod("a").cpu(900));
    let plan = world.clone().plan();
    let [waiting, _] = plan.unschedulable.as_slice() else { panic!("{:?}", plan.unschedulable) };
    let reason = unfit(&plan, &waiting.pod.name, "default");
    assert!(matches!(reason, NodePoolUnfit::Limit { .. }), "{reason}");
    let others = world.pool(node_pool("other")).plan();
    assert_eq!(others.unschedulable, []);
}
