//! NodePools of a fixed size.

use domain::label::{self, Labels};
use domain::node_pool::NodePool;
use domain::requirement::{Operator, Requirement};
use domain::resource::{NODES, Resources};

use crate::testing::{
    Cluster, cluster, daemon_set, node, node_pool_of, node_pool_with, now, place_of, pod,
    requirement, texts,
};

fn fixed(replicas: u32) -> Cluster {
    cluster().default_pool(|pool| pool.replicas = Some(replicas))
}

#[test]
fn nodes_that_are_lacking_are_launched_though_no_pod_waits() {
    let plan = fixed(3).node(node("n1")).in_flight(node("n2")).plan();
    assert_eq!(plan.node_claims.len(), 1);
    assert_eq!(plan.node_claims[0].pods, []);
    assert_eq!(&*plan.node_claims[0].offering.instance_type, "m.large", "the cheapest");
}

#[test]
fn none_is_launched_where_there_are_enough() {
    assert_eq!(fixed(1).node(node("n1")).plan().node_claims, []);
    assert_eq!(fixed(0).plan().node_claims, []);
}

#[test]
fn a_node_that_is_being_deleted_is_lacking() {
    let deleted = node("n1").with(|node| node.deleted = Some(now()));
    assert_eq!(fixed(1).node(deleted).plan().node_claims.len(), 1);
}

#[test]
fn its_nodes_have_room_for_their_daemons_if_any_type_has() {
    let types = |millis| {
        let plan = fixed(1).daemon_set(daemon_set("agent", millis)).plan();
        plan.node_claims[0].instance_types.clone()
    };
    assert_eq!(types(100)[0], "m.large".into());
    assert_eq!(types(3000), texts(&["m.xlarge", "a.xlarge"]));
    assert_eq!(types(9000)[0], "m.large".into(), "daemons that fit on none keep none away");
}

#[test]
fn the_limit_on_nodes_holds() {
    let limited = fixed(5).default_pool(|pool| pool.limits = Resources::new().with(NODES, 2));
    assert_eq!(limited.plan().node_claims.len(), 2);
}

#[test]
fn min_values_that_its_types_cannot_meet_keep_a_pool_from_launching() {
    let asking = |count| {
        let own = requirement(label::INSTANCE_TYPE, Operator::Exists, &[]);
        let own = Requirement { min_values: Some(count), ..own };
        let pool = node_pool_of("default", &[own]);
        cluster().pool(NodePool { replicas: Some(1), ..pool })
    };
    assert_eq!(asking(2).plan().node_claims.len(), 1);
    assert_eq!(asking(50).plan().node_claims, []);
}

#[test]
fn a_pool_that_contradicts_itself_launches_nothing() {
    let fixed = |labels: Labels| {
        let pool = node_pool_with("default", |template| {
            template.requirements = vec![requirement("team", Operator::DoesNotExist, &[])];
            template.labels = labels;
        });
        cluster().pool(NodePool { replicas: Some(1), ..pool })
    };
    assert_eq!(fixed(Labels::new()).plan().node_claims.len(), 1);
    assert_eq!(fixed([("team".into(), "red".into())].into()).plan().node_claims, []);
}

#[test]
fn a_pool_that_may_launch_nothing_launches_nothing() {
    let not_ready = fixed(2).default_pool(|pool| pool.ready = Some(false));
    assert_eq!(not_ready.plan().node_claims, []);
    let gated = fixed(2).with(|snapshot| snapshot.settings.feature_gates.static_capacity = false);
    assert_eq!(gated.plan().node_claims, []);
}

#[test]
fn names_of_its_claims_differ() {
    let plan = fixed(3).plan();
    let mut names: Vec<_> = plan.node_claims.iter().map(|claim| claim.name.clone()).collect();
    names.dedup();
    assert_eq!(names.len(), 3);
}

#[test]
fn pods_use_nodes_that_are_there() {
    let plan = fixed(1).node(node("n1")).pod(pod("a")).plan();
    assert_eq!(place_of(&plan, "a"), Some("n1"));
}
