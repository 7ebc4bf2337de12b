//! What instance types depend on of a node class: classes alike in this see the same types.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::instance_overhead::InstanceOverhead;
use domain::node_class::{
    AmiFamily, BlockDeviceMapping, Ec2NodeClass, EvictionThreshold, NetworkInterface,
    ResolvedCapacityReservation,
};
use domain::requirement::Requirement;
use domain::resource::Resources;

use crate::options::CatalogOptions;

const GIB: i64 = 1 << 30;

/// The parts of a node class that decide labels, amounts and offerings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeClassView {
    pub(crate) ami_family: AmiFamily,
    pub(crate) max_pods: Option<u32>,
    pub(crate) pods_per_core: Option<u32>,
    pub(crate) kube_reserved: Resources,
    pub(crate) system_reserved: Resources,
    pub(crate) eviction_hard: BTreeMap<Text, EvictionThreshold>,
    /// The volume that holds pods' scratch space, in bytes, where local disks do not.
    pub(crate) volume_bytes: i64,
    pub(crate) is_raid0: bool,
    pub(crate) network_interfaces: Vec<NetworkInterface>,
    pub(crate) tracks_connections: bool,
    /// What the class says in place of the installation's settings.
    pub(crate) overhead: InstanceOverhead,
    pub(crate) nests_virtualization: bool,
    /// Zones with a subnet; `None` before subnets are resolved: every zone then.
    pub(crate) zones: Option<BTreeSet<Text>>,
    /// The requirements of each resolved image; empty before images are resolved.
    pub(crate) ami_requirements: Vec<Vec<Requirement>>,
    pub(crate) reservations: Vec<ResolvedCapacityReservation>,
    /// Observed memory by instance type, in bytes.
    pub(crate) discovered_memory: BTreeMap<Text, i64>,
}

impl NodeClassView {
    pub(crate) fn of(class: &Ec2NodeClass, options: &CatalogOptions) -> Self {
        let (spec, status) = (&class.spec, &class.status);
        let zones = status.subnets.iter().map(|subnet| subnet.zone.clone()).collect();
        let requirements = status.amis.iter().map(|ami| ami.requirements.clone()).collect();
        let discovered = options.discovered_memory.iter();
        Self {
            ami_family: spec.ami_family,
            max_pods: spec.kubelet.max_pods,
            pods_per_core: spec.kubelet.pods_per_core,
            kube_reserved: spec.kubelet.kube_reserved.clone(),
            system_reserved: spec.kubelet.system_reserved.clone(),
            eviction_hard: spec.kubelet.eviction_hard.clone(),
            volume_bytes: volume_bytes(spec.ami_family, &spec.block_device_mappings),
            is_raid0: spec.instance_store_raid0,
            network_interfaces: spec.network_interfaces.clone(),
            tracks_connections: spec.connection_tracking.is_some(),
            overhead: class.instance_overhead,
            nests_virtualization: spec.nested_virtualization == Some(true),
            zones: (!status.subnets.is_empty()).then_some(zones),
            ami_requirements: requirements,
            reservations: status.capacity_reservations.clone(),
            discovered_memory: discovered
                .filter(|((of_class, _), _)| *of_class == class.name)
                .map(|((_, instance_type), bytes)| (instance_type.clone(), *bytes))
                .collect(),
        }
    }

    /// What a node class without any setting sees.
    pub(crate) fn plain() -> Self {
        let ami_family = AmiFamily::default();
        Self { ami_family, volume_bytes: volume_bytes(ami_family, &[]), ..Self::default() }
    }
}

/// The size of the volume that the kubelet's root directory is on, in bytes.
///
/// The mapping marked as root volume; else, for one's own images, the last one listed; else the one
/// of the device that the family's images use; else the family's default. A mapping without a size
/// takes its snapshot's, which is not known here, so the default stands in for it.
fn volume_bytes(family: AmiFamily, mappings: &[BlockDeviceMapping]) -> i64 {
    let mapping = mappings.iter().find(|mapping| mapping.root_volume).or_else(|| {
        match ephemeral_device(family) {
            None => mappings.last(),
            Some(device) => {
                mappings.iter().find(|mapping| mapping.device_name.as_deref() == Some(device))
            }
        }
    });
    let default = if family.is_windows() { 50 * GIB } else { 20 * GIB };
    mapping.and_then(|mapping| mapping.volume_size_bytes).unwrap_or(default)
}

/// The device that the family's images keep pods' scratch space on; `None` where only the user
/// knows.
const fn ephemeral_device(family: AmiFamily) -> Option<&'static str> {
    match family {
        AmiFamily::Al2 | AmiFamily::Al2023 => Some("/dev/xvda"),
        AmiFamily::Bottlerocket => Some("/dev/xvdb"),
        AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => {
            Some("/dev/sda1")
        }
        AmiFamily::Custom => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(device: &str, gib: i64) -> BlockDeviceMapping {
        BlockDeviceMapping {
            device_name: Some(device.into()),
            volume_size_bytes: Some(gib * GIB),
            ..BlockDeviceMapping::default()
        }
    }

    #[track_caller]
    fn check(family: AmiFamily, mappings: &[BlockDeviceMapping], gib: i64) {
        assert_eq!(volume_bytes(family, mappings), gib * GIB);
    }

    #[test]
    fn each_family_has_its_own_volume_for_pods() {
        let mappings =
            [mapping("/dev/xvdb", 30), mapping("/dev/xvda", 40), mapping("/dev/sda1", 50)];
        check(AmiFamily::Al2, &mappings, 40);
        check(AmiFamily::Al2023, &mappings, 40);
        check(AmiFamily::Bottlerocket, &mappings, 30);
        check(AmiFamily::Windows2022, &mappings, 50);
    }

    #[test]
    fn own_images_use_the_last_volume() {
        check(AmiFamily::Custom, &[mapping("/dev/a", 30), mapping("/dev/b", 60)], 60);
        check(AmiFamily::Custom, &[], 20);
    }

    #[test]
    fn a_root_volume_comes_before_all() {
        let root = BlockDeviceMapping { root_volume: true, ..mapping("/dev/sdz", 70) };
        check(AmiFamily::Al2023, &[mapping("/dev/xvda", 40), root.clone()], 70);
        check(AmiFamily::Custom, &[root, mapping("/dev/b", 60)], 70);
    }

    #[test]
    fn without_a_mapping_the_default_of_the_family_holds() {
        check(AmiFamily::Al2023, &[mapping("/dev/xvdf", 500)], 20);
        check(AmiFamily::Bottlerocket, &[], 20);
        check(AmiFamily::Windows2019, &[], 50);
        let from_snapshot =
            BlockDeviceMapping { volume_size_bytes: None, ..mapping("/dev/xvda", 0) };
        check(AmiFamily::Al2023, &[from_snapshot], 20);
    }
}
