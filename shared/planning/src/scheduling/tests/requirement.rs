//! Requirements of pods and pools: each kind of label key narrows what may be launched.

use domain::instance_type::CapacityType;
use domain::label::{
    ARCH, CAPACITY_TYPE, HOSTNAME, INSTANCE_TYPE, NODE_POOL, OF_RESERVATION, OS, REGION,
    RESERVATION_ID, RESERVATION_INTERRUPTIBLE, RESERVATION_TYPE, ZONE, ZONE_ID,
};
use domain::plan::Plan;
use domain::reason::NodePoolUnfit;
use domain::requirement::Operator;

use crate::testing::{
    Cluster, claim_of, cluster, instance_type, is, listed, node_pool, node_pool_of, node_pool_with,
    pod, requirement, reserved, texts, unfit, with_spot,
};

#[test]
fn a_zone_narrows_the_offerings() {
    let plan = cluster().pod(pod("a").on_nodes_with(ZONE, "b")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(listed(claim, ZONE), "b");
    assert_eq!(&*claim.offering.zone, "b");
}

#[test]
fn a_zone_id_narrows_the_zones() {
    let plan = cluster().pod(pod("a").on_nodes_with(ZONE_ID, "id-c")).plan();
    assert_eq!(listed(claim_of(&plan, "a"), ZONE), "c");
}

#[test]
fn the_region_must_be_that_of_the_catalogue() {
    let plan = cluster().pod(pod("a").on_nodes_with(REGION, "region-1")).plan();
    assert_eq!(&*claim_of(&plan, "a").labels[REGION], "region-1");
    let plan = cluster().pod(pod("a").on_nodes_with(REGION, "region-2")).plan();
    assert!(matches!(unfit(&plan, "a", "default"), NodePoolUnfit::Label { .. }));
}

fn selling_spot() -> Cluster {
    cluster().selling(vec![with_spot(instance_type("m.large", 2, 0.10), 0.03)])
}

#[test]
fn the_capacity_type_narrows_how_it_is_bought() {
    let plan = selling_spot().pod(pod("a")).plan();
    assert_eq!(claim_of(&plan, "a").offering.capacity_type, CapacityType::Spot);
    let plan = selling_spot().pod(pod("a").on_nodes_with(CAPACITY_TYPE, "on-demand")).plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.offering.capacity_type, CapacityType::OnDemand);
    assert_eq!(listed(claim, CAPACITY_TYPE), "on-demand");
}

#[test]
fn a_reservation_is_chosen_by_its_id() {
    let mut large = instance_type("m.large", 2, 0.10);
    large.offerings.extend([reserved("a", "cr-1", 1), reserved("b", "cr-2", 1)]);
    let plan =
        cluster().selling(vec![large]).pod(pod("a").on_nodes_with(RESERVATION_ID, "cr-2")).plan();
    assert_eq!(claim_of(&plan, "a").offering.reservation_id.as_deref(), Some("cr-2"));
}

/// A type that is sold as usual, with a reservation, and with a capacity block.
fn selling_reservations() -> Cluster {
    let mut block = reserved("b", "cr-block", 1);
    let own = block.reservation.as_mut().unwrap();
    (own.reservation_type, own.is_interruptible) = ("capacity-block".into(), true);
    let mut large = instance_type("m.large", 2, 0.10);
    large.offerings.extend([reserved("a", "cr-1", 1), block]);
    cluster().selling(vec![large])
}

#[test]
fn a_reservation_is_chosen_by_its_type_and_by_whether_it_may_be_taken_back() {
    let reserves = |plan: &Plan| claim_of(plan, "a").offering.reservation_id.clone();
    for (key, value, expected) in [
        (RESERVATION_TYPE, "capacity-block", Some("cr-block")),
        (RESERVATION_TYPE, "default", Some("cr-1")),
        (RESERVATION_INTERRUPTIBLE, "true", Some("cr-block")),
        (RESERVATION_INTERRUPTIBLE, "false", Some("cr-1")),
    ] {
        let by_pod = selling_reservations().pod(pod("a").on_nodes_with(key, value)).plan();
        assert_eq!(reserves(&by_pod).as_deref(), expected, "{key} {value}");
        let pool = node_pool_of("default", &[is(key, value)]);
        let by_pool = selling_reservations().pool(pool).pod(pod("a")).plan();
        assert_eq!(reserves(&by_pool).as_deref(), expected, "{key} {value}");
    }
}

#[test]
fn without_a_reservation_nothing_is_bought_where_one_is_required() {
    for key in OF_RESERVATION {
        let pool = node_pool_of("default", &[is(key, "default")]);
        let plan = cluster().pool(pool).pod(pod("a")).plan();
        assert!(plan.node_claims.is_empty(), "{key}");
        let plan = cluster().pod(pod("a").on_nodes_with(key, "default")).plan();
        assert!(plan.node_claims.is_empty(), "{key}");
        let without = requirement(key, Operator::DoesNotExist, &[]);
        let plan = cluster().pool(node_pool_of("default", &[without])).pod(pod("a")).plan();
        assert_eq!(plan.node_claims.len(), 1, "{key}");
    }
}

#[test]
fn a_label_of_the_type_narrows_the_types() {
    let plan = cluster().pod(pod("a").on_nodes_with(ARCH, "arm64")).plan();
    assert_eq!(claim_of(&plan, "a").instance_types, texts(&["a.xlarge"]));
}

#[test]
fn a_label_of_which_a_launch_settles_the_value_gets_one() {
    let mut both = instance_type("m.large", 2, 0.10);
    both.labels.insert(OS.into(), texts(&["linux", "windows"]));
    let plan = cluster().selling(vec![both]).pod(pod("a").on_nodes_with(OS, "windows")).plan();
    assert_eq!(listed(claim_of(&plan, "a"), OS), "windows");
}

#[test]
fn pods_that_need_different_values_of_such_a_label_do_not_share_a_node() {
    let mut both = instance_type("m.large", 2, 0.10);
    both.labels.insert(OS.into(), texts(&["linux", "windows"]));
    let plan = cluster()
        .selling(vec![both])
        .pod(pod("a").on_nodes_with(OS, "windows"))
        .pod(pod("b").on_nodes_with(OS, "linux"))
        .plan();
    assert_ne!(claim_of(&plan, "a").name, claim_of(&plan, "b").name);
}

#[test]
fn nobody_can_ask_for_the_host_name_of_a_new_node_but_anybody_can_exclude_one() {
    let plan = cluster().pod(pod("a").on_nodes_with(HOSTNAME, "n1")).plan();
    assert!(matches!(unfit(&plan, "a", "default"), NodePoolUnfit::Label { .. }));
    let excluded = pod("a").requiring(requirement(HOSTNAME, Operator::NotIn, &["n1"]));
    claim_of(&cluster().pod(excluded).plan(), "a");
}

#[test]
fn a_label_of_the_pool_is_as_good_as_a_label_of_the_node() {
    let pool =
        node_pool_with("blue", |template| _ = template.labels.insert("team".into(), "blue".into()));
    let plan = cluster().pool(pool).pod(pod("a").on_nodes_with("team", "blue")).plan();
    assert_eq!(&*claim_of(&plan, "a").node_pool, "blue");
}

#[test]
fn a_custom_label_gets_the_value_that_the_pod_asks_for() {
    let pool = node_pool_of("default", &[requirement("team", Operator::Exists, &[])]);
    let plan = cluster().pool(pool).pod(pod("a").on_nodes_with("team", "blue")).plan();
    assert_eq!(&*claim_of(&plan, "a").labels["team"], "blue");
}

#[test]
fn a_custom_label_that_no_pool_names_keeps_the_pod_waiting() {
    let plan = cluster().pod(pod("a").on_nodes_with("team", "blue")).plan();
    assert_eq!(
        unfit(&plan, "a", "default"),
        NodePoolUnfit::UndefinedLabel { key: "team".into(), pod: "In blue".into() }
    );
}

#[test]
fn what_a_pod_excludes_may_be_missing() {
    let plan = cluster().pod(pod("a").requiring(requirement("team", Operator::NotIn, &["red"])));
    claim_of(&plan.plan(), "a");
}

#[test]
fn the_pool_is_chosen_by_name() {
    let plan = cluster().pool(node_pool("other")).pod(pod("a").on_nodes_with(NODE_POOL, "other"));
    assert_eq!(&*claim_of(&plan.plan(), "a").node_pool, "other");
}

#[test]
fn numbers_are_compared_as_numbers() {
    let sold = [("m.large", "9"), ("m.xlarge", "10")].map(|(name, generation)| {
        let mut own = instance_type(name, 4, 0.20);
        own.labels.insert("generation".into(), texts(&[generation]));
        own
    });
    let plan = cluster()
        .selling(sold.into())
        .pod(pod("a").requiring(requirement("generation", Operator::Gt, &["9"])))
        .plan();
    assert_eq!(claim_of(&plan, "a").instance_types, texts(&["m.xlarge"]));
}

#[test]
fn what_pool_and_pod_require_holds_together() {
    let pool = node_pool_of("default", &[requirement(ZONE, Operator::In, &["a", "b"])]);
    let cluster = cluster().pool(pool);
    let plan = cluster
        .clone()
        .pod(pod("a").requiring(requirement(ZONE, Operator::In, &["b", "c"])))
        .plan();
    assert_eq!(listed(claim_of(&plan, "a"), ZONE), "b");
    let plan = cluster.pod(pod("a").requiring(is(ZONE, "c"))).plan();
    let NodePoolUnfit::Label { pool, .. } = unfit(&plan, "a", "default") else { panic!() };
    assert_eq!(&*pool, "In [a b]");
}

#[test]
fn every_listed_type_is_one_the_pool_allows() {
    let pool = node_pool_of(
        "default",
        &[requirement(INSTANCE_TYPE, Operator::NotIn, &["m.large", "a.xlarge"])],
    );
    let plan = cluster().pool(pool).pod(pod("a")).plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "m.xlarge");
}

#[test]
fn a_node_lacks_a_label_that_its_pods_forbid_and_its_pool_only_restricts() {
    let restricts = |operator, values: &[&str]| {
        let pool = node_pool_of("default", &[requirement("team", operator, values)]);
        let forbids = pod("a").requiring(requirement("team", Operator::DoesNotExist, &[]));
        let blue = pod("blue").on_nodes_with("team", "blue");
        cluster().pool(pool).pod(forbids).pod(pod("b")).pod(blue).plan()
    };
    let plan = restricts(Operator::NotIn, &["red"]);
    let claim = claim_of(&plan, "a");
    assert_eq!(claim.labels.get("team"), None);
    assert!(claim.requirements.contains(&requirement("team", Operator::DoesNotExist, &[])));
    assert_eq!(&*claim_of(&plan, "blue").labels["team"], "blue");
    claim_of(&plan, "b");
    let plan = restricts(Operator::Exists, &[]);
    assert!(matches!(unfit(&plan, "a", "default"), NodePoolUnfit::Label { .. }));
}
