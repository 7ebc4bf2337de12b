//! `outrigger.dev/ami-min-age`: images that are too young are neither launched nor drifted to.

use domain::drift::DriftReason;
use domain::image_age::HeldBackImage;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassStatus, ResolvedAmi};
use domain::reason::NodePoolUnfit;
use domain::{SignedDuration, Timestamp};

use crate::disruption::drifted;
use crate::testing::{Cluster, NodeMaker, cluster, node, now, pod, unfit};

fn in_five_days() -> Timestamp {
    now() + SignedDuration::from_hours(120)
}

/// A class that holds images back for a week, of which one is two days old.
fn with_images(images: &[&str]) -> Cluster {
    let image = |id: &&str| ResolvedAmi {
        id: (*id).into(),
        name: None,
        is_deprecated: false,
        requirements: Vec::new(),
    };
    let status = Ec2NodeClassStatus {
        amis: images.iter().map(image).collect(),
        ..Ec2NodeClassStatus::default()
    };
    let mut class = Ec2NodeClass { status, ..testkit::node_class("default") };
    class.image_age.min = Some(SignedDuration::from_hours(168));
    let young = HeldBackImage { id: "ami-of-2-days".into(), until: in_five_days() };
    class.image_age.held_back = vec![young];
    cluster().with(|snapshot| snapshot.objects.node_classes.push(class))
}

fn running(name: &str, image: &str) -> NodeMaker {
    let image = image.into();
    node(name).with_claim(|claim| claim.status.image_id = Some(image))
}

#[test]
fn a_node_drifts_to_the_newest_image_that_is_old_enough_and_never_back_from_a_younger_one() {
    let world = with_images(&["ami-of-9-days"])
        .node(running("old", "ami-of-20-days"))
        .node(running("right", "ami-of-9-days"))
        .node(running("young", "ami-of-2-days"));
    let drifted = drifted(&world.0);
    assert_eq!(drifted.len(), 1, "{drifted:?}");
    assert_eq!(drifted[&world.0.node_claims[0].name], DriftReason::AmiDrift);
}

#[test]
fn a_pod_waits_for_the_first_image_that_is_old_enough_and_is_told_until_when() {
    let plan = with_images(&[]).pod(pod("a")).plan();
    assert!(plan.node_claims.is_empty());
    let expected =
        NodePoolUnfit::ImagesTooYoung { node_class: "default".into(), until: in_five_days() };
    assert_eq!(unfit(&plan, "a", "default"), expected);
    assert!(!with_images(&["ami-of-9-days"]).pod(pod("a")).plan().node_claims.is_empty());
}
