use domain::volume::{PersistentVolume, PersistentVolumeClaim, StorageClass};

use super::{problems, read_as};
use crate::object::Object;

fn claim(rest: &str) -> PersistentVolumeClaim {
    let text = format!("kind: PersistentVolumeClaim\nmetadata: {{name: data}}\n{rest}\n");
    read_as!(&text, Object::PersistentVolumeClaim)
}

fn volume(spec: &str) -> PersistentVolume {
    let text = format!(
        "kind: PersistentVolume\nmetadata: {{name: pv, labels: {{failure-domain.beta.kubernetes.io/zone: z1__z2, other: x}}}}\nspec: {spec}\n"
    );
    read_as!(&text, Object::PersistentVolume)
}

fn class(rest: &str) -> StorageClass {
    let text = format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: gp3, creationTimestamp: \"2026-01-01T00:00:00Z\", annotations: {{storageclass.kubernetes.io/is-default-class: \"true\"}}}}\n{rest}\n"
    );
    read_as!(&text, Object::StorageClass)
}

#[test]
fn a_claim_tells_no_class_from_the_default_class() {
    assert_eq!(claim("spec: {}").spec.storage_class, None);
    assert_eq!(claim("spec: {storageClassName: \"\"}").spec.storage_class.as_deref(), Some(""));
}

#[test]
fn a_claim_is_binding_while_it_names_a_volume_and_binding_is_not_complete() {
    assert!(claim("spec: {volumeName: pv}\nstatus: {phase: Pending}").is_binding);
    assert!(!claim("spec: {volumeName: pv}\nstatus: {phase: Bound}").is_binding);
    assert!(!claim("spec: {volumeName: pv}").is_binding);
    assert!(!claim("spec: {}\nstatus: {phase: Pending}").is_binding);
    assert!(claim("status: {phase: Lost}").is_lost);
}

#[test]
fn a_volume_says_where_it_can_be_used() {
    let volume = volume(
        "{local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: In, values: [z1]}]}]}}}",
    );
    assert_eq!(
        volume.node_terms.unwrap()[0].expressions[0].to_string(),
        "topology.kubernetes.io/zone In z1"
    );
    assert!(volume.is_host_bound);
    let labels: Vec<_> =
        volume.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["topology.kubernetes.io/zone=z1__z2"]);
}

#[test]
fn in_tree_ebs_is_the_ebs_driver() {
    let in_tree = volume("{awsElasticBlockStore: {volumeID: aws://us-east-1a/vol-1}}");
    assert_eq!(
        (in_tree.csi_driver.as_deref(), in_tree.csi_handle.as_deref()),
        (Some("ebs.csi.aws.com"), Some("vol-1"))
    );
    let csi = volume("{csi: {driver: ebs.csi.aws.com, volumeHandle: vol-2}}");
    assert_eq!(
        (csi.csi_driver.as_deref(), csi.csi_handle.as_deref()),
        (Some("ebs.csi.aws.com"), Some("vol-2"))
    );
    assert_eq!(&*class("provisioner: kubernetes.io/aws-ebs").provisioner, "ebs.csi.aws.com");
}

#[test]
fn a_storage_class_binds_at_once_unless_it_waits() {
    assert!(class("provisioner: p").binds_immediately);
    assert!(!class("provisioner: p\nvolumeBindingMode: WaitForFirstConsumer").binds_immediately);
}

#[test]
fn a_storage_class_may_be_the_default_since_some_time() {
    let class = class("provisioner: p");
    assert!(class.is_default);
    assert_eq!(class.created, Some("2026-01-01T00:00:00Z".parse().unwrap()));
}

#[test]
fn allowed_topologies_are_alternatives_and_empty_ones_say_nothing() {
    let class = class(
        "provisioner: p\nallowedTopologies: [{}, {matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [z1, z2]}]}]",
    );
    assert_eq!(class.allowed_topologies.len(), 1);
    assert_eq!(
        class.allowed_topologies[0].expressions[0].to_string(),
        "topology.kubernetes.io/zone In [z1 z2]"
    );
}

#[test]
fn a_storage_class_needs_a_provisioner() {
    assert_eq!(problems("kind: StorageClass\nmetadata: {name: a}\n"), ["the field is missing"]);
}
