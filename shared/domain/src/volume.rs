//! Volumes, as far as they decide where a pod can run.

use std::cmp::Reverse;

use crate::label::Labels;
use crate::pod::{NodeSelectorTerm, ObjectKey};
use crate::pvc_spec::PvcSpec;
use crate::{Text, Timestamp};

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentVolumeClaim {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Being deleted.
    pub is_deleting: bool,
    /// `status.phase` is Lost: its volume is gone.
    pub is_lost: bool,
    /// It names a volume, but binding is not complete: phase Pending without the annotation
    /// `pv.kubernetes.io/bind-completed`.
    pub is_binding: bool,
    /// `spec`.
    pub spec: PvcSpec,
}

/// A PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentVolume {
    /// The name.
    pub name: Text,
    /// Being deleted.
    pub is_deleting: bool,
    /// Zone and region labels of older volumes; several values joined by `__`.
    pub labels: Labels,
    /// `nodeAffinity.required`: one of the terms must hold. `None` when absent.
    pub node_terms: Option<Vec<NodeSelectorTerm>>,
    /// A local or hostPath volume: the host it names goes away with its node.
    pub is_host_bound: bool,
    /// The CSI driver, if it is a CSI volume (in-tree EBS volumes count as `ebs.csi.aws.com`).
    pub csi_driver: Option<Text>,
    /// The handle that tells volumes of a driver apart.
    pub csi_handle: Option<Text>,
}

/// A StorageClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClass {
    /// The name.
    pub name: Text,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// Marked `storageclass.kubernetes.io/is-default-class`.
    pub is_default: bool,
    /// `provisioner`, in-tree EBS translated to `ebs.csi.aws.com`.
    pub provisioner: Text,
    /// `volumeBindingMode: Immediate` (the default) rather than WaitForFirstConsumer.
    pub binds_immediately: bool,
    /// `allowedTopologies`: one of the terms must hold, if there are any.
    pub allowed_topologies: Vec<NodeSelectorTerm>,
}

/// The class of claims that name none: of several defaults the newest, as Kubernetes has it, and
/// of equally old ones the first by name.
pub fn default_class<'a>(
    classes: impl IntoIterator<Item = &'a StorageClass>,
) -> Option<&'a StorageClass> {
    let defaults = classes.into_iter().filter(|class| class.is_default);
    defaults.max_by_key(|class| (class.created, Reverse(&class.name)))
}

/// A CSINode: how many volumes of each driver a node can attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// The Node's name.
    pub name: Text,
    /// Driver and `allocatable.count`, where the driver reports one.
    pub limits: Vec<(Text, u32)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, created: Option<&str>) -> StorageClass {
        StorageClass {
            name: name.into(),
            created: created.map(|time| time.parse().unwrap()),
            is_default: true,
            provisioner: "d".into(),
            binds_immediately: false,
            allowed_topologies: Vec::new(),
        }
    }

    #[test]
    fn the_newest_default_class_counts() {
        let day = |name, day: &str| class(name, Some(&format!("2026-01-{day}T00:00:00Z")));
        let other = StorageClass { is_default: false, ..day("a", "09") };
        for (classes, expected) in [
            (vec![day("a", "01"), day("b", "02"), other], Some("b")),
            (vec![day("b", "01"), day("a", "01")], Some("a")),
            (vec![class("a", None), day("b", "01")], Some("b")),
            (Vec::new(), None),
        ] {
            assert_eq!(default_class(&classes).map(|class| &*class.name), expected);
        }
    }
}
