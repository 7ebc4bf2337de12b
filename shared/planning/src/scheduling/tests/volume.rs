//! Volumes: where they are, how many a node can attach, and what is wrong with them.

use domain::label::{CAPACITY_TYPE, Labels, ZONE};
use domain::plan::Plan;
use domain::pod::{NodeSelectorTerm, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::reason::{PodUnschedulable, VolumeProblem};
use domain::requirement::{Operator, Requirement};
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};

use crate::testing::{
    Cluster, PodMaker, claim_of, cluster, instance_type, is, listed, node, place_of, pod, pod_key,
    reasons, requirement, spread_over, with_spot,
};

const EBS: &str = "ebs.csi.aws.com";

fn using(claim: &str) -> PodMaker {
    pod("a").with(|spec| {
        spec.volumes.push(VolumeUse::Pvc { name: claim.into(), template: None });
    })
}

fn claim(name: &str, spec: PvcSpec) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        key: pod_key(name),
        is_deleting: false,
        is_lost: false,
        is_binding: false,
        spec,
    }
}

/// Makes volumes in one zone, for pods that are scheduled.
fn class(name: &str, zone: &str) -> StorageClass {
    StorageClass {
        name: name.into(),
        created: None,
        is_default: false,
        provisioner: EBS.into(),
        binds_immediately: false,
        allowed_topologies: vec![term(requirement(ZONE, Operator::In, &[zone]))],
    }
}

fn term(requirement: Requirement) -> NodeSelectorTerm {
    NodeSelectorTerm { expressions: vec![requirement], fields: Vec::new() }
}

/// A claim bound to a volume that can be used where one of the terms holds.
fn bound(world: Cluster, name: &str, terms: &[Requirement]) -> Cluster {
    let spec = PvcSpec { volume_name: Some(format!("v-{name}").into()), ..PvcSpec::default() };
    world.with(|snapshot| {
        snapshot.objects.persistent_volume_claims.push(claim(name, spec));
        snapshot.objects.persistent_volumes.push(PersistentVolume {
            name: format!("v-{name}").into(),
            is_deleting: false,
            labels: Labels::new(),
            node_terms: Some(terms.iter().cloned().map(term).collect()),
            is_host_bound: false,
            csi_driver: Some(EBS.into()),
            csi_handle: Some(name.into()),
        });
    })
}

#[test]
fn a_pod_goes_to_its_volume() {
    let world = bound(cluster(), "data", &[is(ZONE, "c")]);
    assert_eq!(listed(claim_of(&world.pod(using("data")).plan(), "a"), ZONE), "c");
}

#[test]
fn any_alternative_of_a_volume_will_do() {
    let world = bound(cluster(), "data", &[is(ZONE, "nowhere"), is(ZONE, "b")]);
    assert_eq!(listed(claim_of(&world.pod(using("data")).plan(), "a"), ZONE), "b");
}

#[test]
fn alternatives_of_several_volumes_must_hold_together() {
    let world = bound(cluster(), "data", &[is(ZONE, "a"), is(ZONE, "b")]);
    let world = bound(world, "logs", &[is(ZONE, "b"), is(ZONE, "c")]);
    let both = using("data").with(|spec| {
        spec.volumes.push(VolumeUse::Pvc { name: "logs".into(), template: None });
    });
    assert_eq!(listed(claim_of(&world.pod(both).plan(), "a"), ZONE), "b");
}

#[test]
fn volumes_that_no_zone_has_together_keep_the_pod_waiting() {
    let world = bound(cluster(), "data", &[is(ZONE, "a")]);
    let world = bound(world, "logs", &[is(ZONE, "b")]);
    let both = using("data").with(|spec| {
        spec.volumes.push(VolumeUse::Pvc { name: "logs".into(), template: None });
    });
    let found = reasons(&world.pod(both).plan(), "a");
    assert!(matches!(
        found.as_slice(),
        [PodUnschedulable::Volume { problem: VolumeProblem::Incompatible, .. }]
    ));
}

#[test]
fn a_class_says_where_it_can_make_volumes() {
    let spec = PvcSpec { storage_class: Some("fast".into()), ..PvcSpec::default() };
    let world = cluster().with(|snapshot| {
        snapshot.objects.persistent_volume_claims.push(claim("data", spec));
        snapshot.objects.storage_classes.push(class("fast", "c"));
    });
    assert_eq!(listed(claim_of(&world.pod(using("data")).plan(), "a"), ZONE), "c");
}

#[test]
fn a_claim_without_a_class_gets_the_newest_default() {
    let default = |name, zone, created: &str| StorageClass {
        is_default: true,
        created: Some(created.parse().unwrap()),
        ..class(name, zone)
    };
    let world = cluster().with(|snapshot| {
        snapshot.objects.persistent_volume_claims.push(claim("data", PvcSpec::default()));
        snapshot.objects.storage_classes = vec![
            default("a-former", "a", "2025-01-01T00:00:00Z"),
            default("newer", "b", "2025-06-01T00:00:00Z"),
        ];
    });
    assert_eq!(listed(claim_of(&world.pod(using("data")).plan(), "a"), ZONE), "b");
}

#[test]
fn an_ephemeral_volume_that_rules_out_every_class_keeps_its_pod_waiting() {
    let plan = |class: Option<&str>| {
        let spec = PvcSpec { storage_class: class.map(Into::into), ..PvcSpec::default() };
        let volume = VolumeUse::Ephemeral { volume: "tmp".into(), template: spec.into() };
        cluster().pod(pod("a").with(|own| own.volumes.push(volume))).plan()
    };
    let problem = VolumeProblem::NoStorageClass;
    assert_eq!(
        reasons(&plan(Some("")), "a"),
        [PodUnschedulable::Volume { claim: "a-tmp".into(), problem }]
    );
    // Without a word about it, a default class may be there and only not in the input.
    claim_of(&plan(None), "a");
}

#[test]
fn a_claim_that_is_not_there_keeps_the_pod_off_every_node() {
    let plan = cluster().node(node("n1")).pod(using("data")).plan();
    assert_eq!(
        reasons(&plan, "a"),
        [PodUnschedulable::Volume { claim: "data".into(), problem: VolumeProblem::Missing }]
    );
}

#[test]
fn a_node_attaches_no_more_volumes_than_it_can() {
    let world = bound(cluster(), "data", &[is(ZONE, "a")]);
    let world = bound(world, "logs", &[is(ZONE, "a")]).node(node("n1")).with(|snapshot| {
        snapshot
            .objects
            .csi_nodes
            .push(CsiNode { name: "n1".into(), limits: vec![(EBS.into(), 1)] });
    });
    let alone = world.clone().pod(using("data")).plan();
    assert_eq!(place_of(&alone, "a"), Some("n1"));
    let busy = world.pod(using("logs").having(|pod| pod.key = pod_key("old")).on("n1"));
    claim_of(&busy.clone().pod(using("data")).plan(), "a");
    // The same volume is attached once.
    let same = busy.pod(using("logs")).plan();
    assert_eq!(place_of(&same, "a"), Some("n1"));
}

#[test]
fn a_claim_for_one_pod_at_a_time_serves_one() {
    let spec =
        PvcSpec { volume_name: Some("v-data".into()), one_pod_only: true, ..PvcSpec::default() };
    let world = bound(cluster(), "data", &[is(ZONE, "a")])
        .with(|snapshot| snapshot.objects.persistent_volume_claims[0] = claim("data", spec));
    let in_use = [PodUnschedulable::Volume { claim: "data".into(), problem: VolumeProblem::InUse }];
    let waiting = |plan: &Plan| {
        assert_eq!(plan.unschedulable.len(), 1);
        assert_eq!(plan.unschedulable[0].reasons, in_use);
    };
    let plan = world.clone().pods(2, &using("data")).plan();
    assert_eq!((plan.node_claims.len(), plan.placements.len()), (1, 0));
    waiting(&plan);
    let plan = world.node(node("n1")).pods(2, &using("data")).plan();
    assert_eq!((plan.node_claims.len(), plan.placements.len()), (0, 1));
    waiting(&plan);
}

#[test]
fn pods_whose_volumes_leave_them_one_capacity_type_have_it_before_others_of_their_spread() {
    let spread = spread_over(CAPACITY_TYPE, ("app", "web"));
    // Spot is sold in zone a only.
    let mut world = cluster().selling(vec![with_spot(instance_type("m", 2, 0.40), 0.04)]);
    for (name, zone) in
        [("p0", "a"), ("p1", "a"), ("p2", "a"), ("p3", "b"), ("p4", "b"), ("p5", "b")]
    {
        let pod = using(name).having(|pod| pod.key = pod_key(name)).label("app", "web");
        world = bound(world, name, &[is(ZONE, zone)]).pod(pod.spread(spread.clone()));
    }
    assert_eq!(world.plan().unschedulable, []);
}
