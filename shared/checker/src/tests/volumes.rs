//! Volumes.

use domain::label::{HOSTNAME, Labels, ZONE};
use domain::node::Node;
use domain::pod::{NodeSelectorTerm, VolumeUse};
use domain::pvc_spec::PvcSpec;
use domain::requirement::Operator;
use domain::snapshot::ClusterSnapshot;
use domain::taint::Taint;
use domain::volume::{CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass};

use crate::Rule;
use crate::testing::*;

fn volume_claim(name: &str, spec: PvcSpec) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        key: key(name),
        is_deleting: false,
        is_lost: false,
        is_binding: false,
        spec,
    }
}

fn bound_to(volume: &str) -> PvcSpec {
    PvcSpec { volume_name: Some(volume.into()), ..PvcSpec::default() }
}

fn of_class(class: &str) -> PvcSpec {
    PvcSpec { storage_class: Some(class.into()), ..PvcSpec::default() }
}

fn in_zone_a() -> NodeSelectorTerm {
    NodeSelectorTerm { expressions: vec![requirement(ZONE, Operator::In, &["a"])], fields: vec![] }
}

fn volume(name: &str) -> PersistentVolume {
    PersistentVolume {
        name: name.into(),
        is_deleting: false,
        labels: Labels::new(),
        node_terms: Some(vec![in_zone_a()]),
        is_host_bound: false,
        csi_driver: Some("d".into()),
        csi_handle: None,
    }
}

fn class(binds_immediately: bool) -> StorageClass {
    StorageClass {
        name: "s".into(),
        created: None,
        is_default: false,
        provisioner: "d".into(),
        binds_immediately,
        allowed_topologies: vec![in_zone_a()],
    }
}

/// A pod that mounts claim `c`, in a cluster that has volume `v`.
fn mounting(claims: Vec<PersistentVolumeClaim>) -> ClusterSnapshot {
    pooled([pod("p").mounting("c")])
        .with_persistent_volume_claims(claims)
        .with_persistent_volumes([volume("v")])
}

fn in_b() -> domain::plan::Plan {
    let claim = claim_in("n", &["p"], &["small"], "b", domain::instance_type::CapacityType::Spot);
    plan([claim])
}

#[test]
fn a_volume_is_used_in_its_zone() {
    let cluster = mounting(vec![volume_claim("c", bound_to("v"))]);
    allows(&cluster, &plan([claim("n", &["p"])]));
    breaks(&cluster, &in_b(), &[Rule::VolumeTopology]);
    breaks(&cluster, &plan([in_any_zone(claim("n", &["p"]))]), &[Rule::VolumeTopology]);
}

#[test]
fn zone_labels_of_older_volumes_count() {
    let mut cluster = mounting(vec![volume_claim("c", bound_to("v"))]);
    cluster.objects.persistent_volumes[0].node_terms = None;
    cluster.objects.persistent_volumes[0].labels = labels(&[(ZONE, "a__c")]);
    allows(&cluster, &plan([claim("n", &["p"])]));
    breaks(&cluster, &in_b(), &[Rule::VolumeTopology]);
}

#[test]
fn a_volume_on_a_hosts_disk_stays_behind() {
    let mut cluster = mounting(vec![volume_claim("c", bound_to("v"))]);
    cluster.objects.persistent_volumes[0].node_terms = Some(vec![NodeSelectorTerm {
        expressions: vec![requirement(HOSTNAME, Operator::In, &["e"])],
        fields: vec![],
    }]);
    breaks(&cluster, &in_b(), &[Rule::VolumeTopology]);
    cluster.objects.persistent_volumes[0].is_host_bound = true;
    allows(&cluster, &in_b());
}

#[test]
fn a_claim_must_be_usable() {
    let plan = plan([claim("n", &["p"])]);
    let sound = volume_claim("c", bound_to("v"));
    allows(&mounting(vec![sound.clone()]), &plan);
    let unbound = volume_claim("c", PvcSpec::default());
    for wrong in [
        vec![],
        vec![PersistentVolumeClaim { is_deleting: true, ..sound.clone() }],
        vec![PersistentVolumeClaim { is_lost: true, ..sound.clone() }],
        vec![PersistentVolumeClaim { is_binding: true, ..sound }],
        vec![volume_claim("c", bound_to("elsewhere"))],
        vec![volume_claim("c", of_class("unknown"))],
        vec![unbound],
    ] {
        breaks(&mounting(wrong), &plan, &[Rule::Volume]);
    }
}

#[test]
fn a_storage_class_says_where_and_when_a_volume_is_made() {
    let cluster =
        |class| mounting(vec![volume_claim("c", of_class("s"))]).with_storage_classes([class]);
    allows(&cluster(class(false)), &plan([claim("n", &["p"])]));
    breaks(&cluster(class(false)), &in_b(), &[Rule::VolumeTopology]);
    breaks(&cluster(class(true)), &plan([claim("n", &["p"])]), &[Rule::Volume]);
}

#[test]
fn the_default_class_serves_claims_that_name_none() {
    let mut cluster =
        mounting(vec![volume_claim("c", PvcSpec::default())]).with_storage_classes([class(false)]);
    breaks(&cluster, &plan([claim("n", &["p"])]), &[Rule::Volume]);
    cluster.objects.storage_classes[0].is_default = true;
    allows(&cluster, &plan([claim("n", &["p"])]));
}

#[test]
fn an_ephemeral_volume_is_made_with_its_pod() {
    let ephemeral = VolumeUse::Ephemeral { volume: "v".into(), template: of_class("s").into() };
    let cluster = pooled([pod("p").with(|spec| spec.volumes = vec![ephemeral])])
        .with_storage_classes([class(true)]);
    allows(&cluster, &plan([claim("n", &["p"])]));
    breaks(&cluster, &in_b(), &[Rule::VolumeTopology]);
}

#[test]
fn an_ephemeral_volume_without_a_class_is_never_made() {
    let ephemeral = VolumeUse::Ephemeral { volume: "v".into(), template: of_class("").into() };
    let cluster = pooled([pod("p").with(|spec| spec.volumes = vec![ephemeral])]);
    breaks(&cluster, &plan([claim("n", &["p"])]), &[Rule::Volume]);
}

#[test]
fn a_read_write_once_pod_claim_has_one_user() {
    let spec = |one_pod_only| PvcSpec { one_pod_only, ..bound_to("v") };
    let cluster = |one_pod_only| {
        pooled(pods("p", 2, |pod| pod.mounting("c")))
            .with_persistent_volume_claims([volume_claim("c", spec(one_pod_only))])
            .with_persistent_volumes([volume("v")])
    };
    let together = plan([claim("n", &["p0", "p1"])]);
    allows(&cluster(false), &together);
    breaks(&cluster(true), &together, &[Rule::VolumeExclusive]);
}

#[test]
fn a_pod_that_is_going_leaves_its_volume_to_another() {
    let staying = node("e", "small", "a");
    let going = Node { taints: vec![Taint::disrupted()], ..staying.clone() };
    let cluster = |node| {
        pooled([pod("r").mounting("c").on("e"), pod("p").mounting("c")])
            .with_nodes([node])
            .with_persistent_volume_claims([volume_claim(
                "c",
                PvcSpec { one_pod_only: true, ..bound_to("v") },
            )])
            .with_persistent_volumes([volume("v")])
    };
    let launching = plan([claim("n", &["p"])]);
    breaks(&cluster(staying), &launching, &[Rule::VolumeExclusive]);
    allows(&cluster(going), &launching);
}

#[test]
fn a_node_attaches_so_many_volumes() {
    let cluster = |limit| {
        pooled([pod("p").mounting("c"), pod("r").on("e").mounting("k")])
            .with_nodes([node("e", "small", "a")])
            .with_csi_nodes([CsiNode { name: "e".into(), limits: vec![("d".into(), limit)] }])
            .with_persistent_volume_claims([
                volume_claim("c", bound_to("v")),
                volume_claim("k", bound_to("w")),
            ])
            .with_persistent_volumes([volume("v"), volume("w")])
    };
    allows(&cluster(2), &placing("p", "e"));
    breaks(&cluster(1), &placing("p", "e"), &[Rule::VolumeLimit]);
}
