//! Drift of an instance from its node class: image, network, reservation, placement group; and of
//! templates that Karpenter stamped.

use std::sync::Arc;

use domain::drift::DriftReason;
use domain::label::{CAPACITY_TYPE, PLACEMENT_GROUP_ID, RESERVATION_ID};
use domain::node_claim::InstanceNetwork;
use domain::node_class::{
    Ec2NodeClass, Ec2NodeClassStatus, PlacementGroupSelector, ResolvedAmi,
    ResolvedCapacityReservation, ResolvedSubnet,
};
use domain::node_pool::NodePool;
use domain::requirement::{Operator, Requirement};
use domain::stamp::Stamp;

use crate::disruption::drifted;
use crate::testing::{
    Cluster, NodeMaker, cluster, instance_type, node, offering, requirement, reserved,
};

/// Why the first node of a cluster has drifted.
fn reason(world: &Cluster) -> Option<DriftReason> {
    let name = &world.0.node_claims[0].name;
    drifted(&world.0).remove(name)
}

/// A node whose class has the given status.
fn of_class(status: Ec2NodeClassStatus, node: NodeMaker) -> Cluster {
    let class = Ec2NodeClass { status, ..testkit::node_class("default") };
    cluster().with(|snapshot| snapshot.objects.node_classes.push(class)).node(node)
}

fn in_network(subnet: &str, groups: &[&str]) -> NodeMaker {
    let network = InstanceNetwork {
        subnet: subnet.into(),
        security_groups: groups.iter().copied().map(Into::into).collect(),
    };
    node("n1").with_claim(|claim| claim.status.network = Some(network))
}

#[test]
fn a_subnet_that_is_no_longer_selected_is_drift() {
    let subnet = |id: &str| ResolvedSubnet { id: id.into(), zone: "a".into(), zone_id: None };
    let status = Ec2NodeClassStatus {
        subnets: vec![subnet("subnet-1"), subnet("subnet-2")],
        ..Ec2NodeClassStatus::default()
    };
    let drift = |node| reason(&of_class(status.clone(), node));
    assert_eq!(drift(in_network("subnet-2", &[])), None);
    assert_eq!(drift(in_network("subnet-0", &[])), Some(DriftReason::SubnetDrift));
    // Of a node whose instance nobody has described, nothing is said.
    assert_eq!(drift(node("n1")), None);
}

#[test]
fn other_security_groups_than_those_selected_are_drift() {
    let status = Ec2NodeClassStatus {
        security_groups: vec!["sg-2".into(), "sg-1".into()],
        ..Ec2NodeClassStatus::default()
    };
    let drift = |groups: &[&str]| reason(&of_class(status.clone(), in_network("subnet-1", groups)));
    assert_eq!(drift(&["sg-1", "sg-2"]), None);
    for groups in [&["sg-1"][..], &["sg-1", "sg-2", "sg-3"]] {
        assert_eq!(drift(groups), Some(DriftReason::SecurityGroupDrift));
    }
}

#[test]
fn a_class_that_nothing_was_resolved_for_makes_no_node_drift() {
    let world = of_class(Ec2NodeClassStatus::default(), in_network("subnet-1", &["sg-1"]));
    assert_eq!(reason(&world), None);
}

#[test]
fn a_reservation_that_is_no_longer_selected_is_drift() {
    let reservation = |id: &str| ResolvedCapacityReservation {
        id: id.into(),
        instance_type: "m.xlarge".into(),
        zone: "a".into(),
        is_expiring: false,
        reservation_type: "default".into(),
        is_interruptible: false,
    };
    let status = Ec2NodeClassStatus {
        capacity_reservations: vec![reservation("cr-1")],
        ..Ec2NodeClassStatus::default()
    };
    let mut sold = instance_type("m.xlarge", 4, 0.20);
    sold.offerings.push(reserved("a", "cr-1", 1));
    let drift = |id: &str| {
        let bought = node("n1").label(CAPACITY_TYPE, "reserved").label(RESERVATION_ID, id);
        reason(&of_class(status.clone(), bought).selling(vec![sold.clone()]))
    };
    assert_eq!(drift("cr-1"), None);
    assert_eq!(drift("cr-0"), Some(DriftReason::CapacityReservationDrift));
}

#[test]
fn a_reservation_that_is_offered_to_a_class_that_names_none_is_selected() {
    let mut sold = instance_type("m.xlarge", 4, 0.20);
    sold.offerings.push(reserved("a", "cr-1", 1));
    let drift = |id: &str| {
        let bought = node("n1").label(CAPACITY_TYPE, "reserved").label(RESERVATION_ID, id);
        let world = of_class(Ec2NodeClassStatus::default(), bought);
        reason(&world.selling(vec![sold.clone()]))
    };
    assert_eq!(drift("cr-1"), None);
    assert_eq!(drift("cr-0"), Some(DriftReason::CapacityReservationDrift));
}

#[test]
fn another_placement_group_is_drift() {
    let world = |own: &str| {
        of_class(Ec2NodeClassStatus::default(), node("n1").label(PLACEMENT_GROUP_ID, own)).with(
            |snapshot| {
                snapshot.objects.node_classes[0].spec.placement_group =
                    Some(PlacementGroupSelector::Id("pg-1".into()));
            },
        )
    };
    assert_eq!(reason(&world("pg-1")), None);
    assert_eq!(reason(&world("pg-0")), Some(DriftReason::PlacementGroupDrift));
}

#[test]
fn an_image_that_would_not_be_chosen_first_is_drift() {
    let ami = |id: &str, requirements: Vec<Requirement>| ResolvedAmi {
        id: id.into(),
        name: None,
        is_deprecated: false,
        requirements,
    };
    let arch = |value| vec![requirement(domain::label::ARCH, Operator::In, &[value])];
    let status = Ec2NodeClassStatus {
        amis: vec![
            ami("ami-arm", arch("arm64")),
            ami("ami-new", arch("amd64")),
            ami("ami-old", arch("amd64")),
        ],
        ..Ec2NodeClassStatus::default()
    };
    let drift = |image: &str| {
        let image = Some(image.into());
        reason(&of_class(status.clone(), node("n1").with_claim(|own| own.status.image_id = image)))
    };
    assert_eq!(drift("ami-new"), None);
    // It is selected still, but a new node would run the newer one.
    assert_eq!(drift("ami-old"), Some(DriftReason::AmiDrift));
}

#[test]
fn a_type_that_is_no_longer_sold_in_its_capacity_type_is_drift() {
    let spot = || node("n1").label(CAPACITY_TYPE, "spot");
    assert_eq!(reason(&cluster().node(spot())), Some(DriftReason::InstanceTypeNotFound));
    // What cannot be launched at the moment is sold still.
    let mut sold = instance_type("m.xlarge", 4, 0.20);
    let mut offered = offering("a", domain::instance_type::CapacityType::Spot, 0.05);
    offered.available = false;
    sold.offerings.push(offered);
    assert_eq!(reason(&cluster().selling(vec![sold]).node(spot())), None);
    // A reservation that has ended leaves its instances running on demand.
    let reserved = node("n1").label(CAPACITY_TYPE, "reserved");
    assert_eq!(reason(&cluster().node(reserved)), None);
}

/// A node that Karpenter stamped with hash `own`, of a pool whose template and annotation have the
/// given hashes.
fn stamped(own: &str, version: &str, template: Option<&str>, recorded: Option<&str>) -> Cluster {
    let stamp = |hash: &str, version: &str| {
        Stamp { hash: hash.into(), version: version.into() }.node_pool_annotations()
    };
    cluster()
        .default_pool(|pool| {
            Arc::make_mut(&mut pool.template).hash = template.map(Into::into);
            pool.annotations = recorded.map(|hash| stamp(hash, "v3")).unwrap_or_default();
        })
        .node(node("n1").with_claim(|claim| claim.annotations = stamp(own, version)))
}

#[test]
fn a_node_that_karpenter_stamped_with_the_templates_hash_has_not_drifted() {
    assert_eq!(reason(&stamped("1", "v3", Some("1"), Some("1"))), None);
    assert_eq!(reason(&stamped("1", "v3", Some("1"), None)), None);
    // The pool's annotation is what is out of date.
    assert_eq!(reason(&stamped("1", "v3", Some("1"), Some("0"))), None);
}

#[test]
fn a_node_that_karpenter_stamped_with_another_hash_has_drifted() {
    let drifted = Some(DriftReason::NodePoolDrifted);
    assert_eq!(reason(&stamped("0", "v3", Some("1"), Some("1"))), drifted);
    assert_eq!(reason(&stamped("0", "v3", Some("1"), None)), drifted);
    assert_eq!(reason(&stamped("0", "v3", None, Some("1"))), drifted);
}

#[test]
fn a_template_that_only_karpenter_can_hash_is_compared_field_by_field() {
    let unhashed = || stamped("1", "v3", None, Some("1"));
    assert_eq!(reason(&unhashed()), None);
    let labelled = |pool: &mut NodePool| {
        let template = Arc::make_mut(&mut pool.template);
        template.labels.insert("team".into(), "shop".into());
    };
    assert_eq!(reason(&unhashed().default_pool(labelled)), Some(DriftReason::NodePoolDrifted));
    assert_eq!(reason(&stamped("0", "v2", None, Some("1")).default_pool(labelled)), None);
}

#[test]
fn another_version_of_the_rules_is_no_drift() {
    assert_eq!(reason(&stamped("0", "v2", Some("1"), Some("1"))), None);
}
