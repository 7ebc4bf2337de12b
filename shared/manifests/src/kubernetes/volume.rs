//! PersistentVolumeClaim, PersistentVolume and StorageClass.

use domain::Text;
use domain::label::{Labels, REGION, ZONE};
use domain::pod::NodeSelectorTerm;
use domain::pvc_spec::PvcSpec;
use domain::requirement::Requirement;
use domain::volume::{PersistentVolume, PersistentVolumeClaim, StorageClass};

use super::metadata::Metadata;
use super::selector::{node_label_key, node_selector_terms};
use crate::field::Field;

/// The CSI driver that took over in-tree EBS volumes.
///
/// Source: Kubernetes "CSI migration".
const EBS_DRIVER: &str = "ebs.csi.aws.com";
const EBS_IN_TREE: &str = "kubernetes.io/aws-ebs";

/// `spec` of a claim or of a claim template.
pub(super) fn claim_spec(spec: Field<'_>) -> PvcSpec {
    let modes = spec.get("accessModes").texts();
    PvcSpec {
        storage_class: spec.get("storageClassName").text(),
        volume_name: spec.get("volumeName").text().filter(|name| !name.is_empty()),
        one_pod_only: matches!(modes.as_slice(), [only] if &**only == "ReadWriteOncePod"),
    }
}

pub(super) fn read_claim(root: Field<'_>) -> PersistentVolumeClaim {
    let (metadata, key) = Metadata::namespaced(root);
    let spec = claim_spec(root.get("spec"));
    let phase = root.get("status").get("phase").str();
    let is_bound = metadata.annotations.contains_key("pv.kubernetes.io/bind-completed");
    PersistentVolumeClaim {
        key,
        is_deleting: metadata.deleted.is_some(),
        is_lost: phase == Some("Lost"),
        is_binding: spec.volume_name.is_some() && phase == Some("Pending") && !is_bound,
        spec,
    }
}

pub(super) fn read_volume(root: Field<'_>) -> PersistentVolume {
    let metadata = Metadata::of(root);
    let spec = root.get("spec");
    let required = spec.get("nodeAffinity").get("required");
    let (csi, in_tree) = (spec.get("csi"), spec.get("awsElasticBlockStore"));
    let in_tree_driver = in_tree.exists().then(|| root.reader().interner().text(EBS_DRIVER));
    PersistentVolume {
        name: metadata.name,
        is_deleting: metadata.deleted.is_some(),
        labels: topology_labels(&metadata.labels),
        node_terms: required
            .exists()
            .then(|| node_selector_terms(required.get("nodeSelectorTerms"))),
        is_host_bound: spec.get("local").exists() || spec.get("hostPath").exists(),
        csi_driver: csi.get("driver").text().or(in_tree_driver),
        csi_handle: csi.get("volumeHandle").own_text().or_else(|| ebs_handle(in_tree)),
    }
}

/// `vol-…` of an in-tree volume, which may be written as `aws://ZONE/vol-…`.
fn ebs_handle(in_tree: Field<'_>) -> Option<Text> {
    let id = in_tree.get("volumeID").str()?;
    Some(id.rsplit('/').next().unwrap_or(id).into())
}

/// The labels that say where an older volume is, under their current keys, which win.
fn topology_labels(labels: &Labels) -> Labels {
    const OLDER: [(&str, &str); 2] = [
        ("failure-domain.beta.kubernetes.io/zone", ZONE),
        ("failure-domain.beta.kubernetes.io/region", REGION),
    ];
    let current = [(ZONE, ZONE), (REGION, REGION)];
    OLDER
        .into_iter()
        .chain(current)
        .filter_map(|(key, meant)| Some((meant.into(), labels.get(key)?.clone())))
        .collect()
}

pub(super) fn read_storage_class(root: Field<'_>) -> Option<StorageClass> {
    let metadata = Metadata::of(root);
    let mode = root.get("volumeBindingMode");
    let default_class = metadata.annotations.get("storageclass.kubernetes.io/is-default-class");
    let provisioner = root.get("provisioner").required().text()?;
    Some(StorageClass {
        name: metadata.name,
        created: metadata.created,
        is_default: default_class.is_some_and(|value| &**value == "true"),
        provisioner: if &*provisioner == EBS_IN_TREE {
            root.reader().interner().text(EBS_DRIVER)
        } else {
            provisioner
        },
        binds_immediately: mode
            .choice(&[(true, "Immediate"), (false, "WaitForFirstConsumer")])
            .unwrap_or(true),
        allowed_topologies: root
            .get("allowedTopologies")
            .items()
            .map(topology_term)
            .filter(|term| !term.expressions.is_empty())
            .collect(),
    })
}

fn topology_term(field: Field<'_>) -> NodeSelectorTerm {
    let expressions = field.get("matchLabelExpressions").items().filter_map(|expression| {
        let key = node_label_key(expression.get("key").required())?;
        Some(Requirement::is_in(&key, expression.get("values").texts()))
    });
    NodeSelectorTerm { expressions: expressions.collect(), fields: Vec::new() }
}
