//! EC2NodeClass (`karpenter.k8s.aws/v1`): how an instance is set up.
//!
//! Every field of the API is here, so that what plans (catalogue, drift) and what launches read one
//! type.

use std::collections::BTreeMap;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::Text;
use crate::addresses::AddressPolicy;
use crate::drift::NodeClassHashes;
use crate::image_age::ImageAge;
use crate::instance_overhead::InstanceOverhead;
use crate::label::Labels;
use crate::quantity::Quantity;
use crate::requirement::Requirement;
use crate::resource::Resources;

/// An EC2NodeClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ec2NodeClass {
    /// The name.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Text,
    /// Annotations (the drift hash among them).
    pub annotations: Labels,
    /// How old its images are at the least, by annotation.
    pub image_age: ImageAge,
    /// Addresses that its nodes take and leave free, by annotation; `None` where none says
    /// anything.
    pub addresses: Option<AddressPolicy>,
    /// What pods of its instances cannot use, by annotation.
    pub instance_overhead: InstanceOverhead,
    /// Being deleted.
    pub is_deleting: bool,
    /// The specification.
    pub spec: Ec2NodeClassSpec,
    /// What controllers found out about it.
    pub status: Ec2NodeClassStatus,
}

/// Why nothing is launched from an EC2NodeClass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum NodeClassFault {
    /// It is being deleted.
    #[error("is being deleted")]
    Deleting,
    /// Its condition Ready is False.
    #[error("is not ready")]
    NotReady,
}

impl Ec2NodeClass {
    /// Why nothing is launched from it, where that is so.
    pub const fn fault(&self) -> Option<NodeClassFault> {
        match (self.is_deleting, self.status.ready) {
            (true, _) => Some(NodeClassFault::Deleting),
            (false, Some(false)) => Some(NodeClassFault::NotReady),
            (false, _) => None,
        }
    }
}

/// `spec` of an EC2NodeClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ec2NodeClassSpec {
    /// Subnets to launch into; terms are alternatives.
    pub subnet_selector_terms: Vec<SelectorTerm>,
    /// Security groups to attach; terms are alternatives.
    pub security_group_selector_terms: Vec<SelectorTerm>,
    /// Capacity reservations to use; terms are alternatives.
    pub capacity_reservation_selector_terms: Vec<SelectorTerm>,
    /// Placement group by name or id.
    pub placement_group: Option<PlacementGroupSelector>,
    /// Public address or not; `None` follows the subnet.
    pub associate_public_ip_address: Option<bool>,
    /// IPv4 prefixes of each network interface.
    pub ip_prefix_count: Option<u32>,
    /// Machine images; terms are alternatives.
    pub ami_selector_terms: Vec<SelectorTerm>,
    /// The family of the images; from the alias where `amiFamily` is not given.
    pub ami_family: AmiFamily,
    /// User data as written.
    pub user_data: Option<Text>,
    /// IAM role of the nodes; an instance profile is made for it.
    pub role: Option<Text>,
    /// Instance profile of the nodes, instead of a role.
    pub instance_profile: Option<Text>,
    /// More tags.
    pub tags: Labels,
    /// Kubelet settings.
    pub kubelet: KubeletConfiguration,
    /// Volumes.
    pub block_device_mappings: Vec<BlockDeviceMapping>,
    /// `instanceStorePolicy: RAID0`: local disks hold pods' scratch space.
    pub instance_store_raid0: bool,
    /// Network interfaces.
    pub network_interfaces: Vec<NetworkInterface>,
    /// CloudWatch detailed monitoring.
    pub detailed_monitoring: bool,
    /// Instance metadata service.
    pub metadata_options: MetadataOptions,
    /// Connection tracking timeouts, in seconds.
    pub connection_tracking: Option<ConnectionTracking>,
    /// CreateFleet `Context`.
    pub context: Option<Text>,
    /// `cpuOptions.nestedVirtualization`.
    pub nested_virtualization: Option<bool>,
    /// Karpenter's hashes of the specification, where it was read from an object: what drift
    /// compares.
    pub hashes: NodeClassHashes,
}

/// A term of a selector: every field given must match; `*` as a tag's value matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectorTerm {
    /// By tags.
    pub tags: Labels,
    /// By id.
    pub id: Option<Text>,
    /// By name.
    pub name: Option<Text>,
    /// By owner (images and reservations).
    pub owner: Option<Text>,
    /// `family@version` (images).
    pub alias: Option<Text>,
    /// By SSM parameter (images).
    pub ssm_parameter: Option<Text>,
    /// `open` or `targeted` (reservations).
    pub instance_match_criteria: Option<Text>,
}

/// A placement group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementGroupSelector {
    /// By name.
    Name(Text),
    /// By id.
    Id(Text),
}

/// A family of machine images: decides user data, system overheads and default volumes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum AmiFamily {
    /// Amazon Linux 2.
    #[strum(serialize = "AL2")]
    Al2,
    /// Amazon Linux 2023.
    #[default]
    #[strum(serialize = "AL2023")]
    Al2023,
    /// Bottlerocket.
    Bottlerocket,
    /// The user's own.
    Custom,
    /// Windows Server 2019.
    Windows2019,
    /// Windows Server 2022.
    Windows2022,
    /// Windows Server 2025.
    Windows2025,
}

impl AmiFamily {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word of `amiFamily`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads `amiFamily`.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    /// Reads the family of an alias (`al2023` of `al2023@latest`).
    pub fn parse_alias(text: &str) -> Option<Self> {
        let is_alias =
            |family: &Self| *family != Self::Custom && family.as_str().to_lowercase() == text;
        Self::ALL.iter().copied().find(is_alias)
    }

    /// Whether nodes run Windows.
    pub const fn is_windows(self) -> bool {
        matches!(self, Self::Windows2019 | Self::Windows2022 | Self::Windows2025)
    }
}

/// `spec.kubelet`: the fields that change what a node offers, and the rest as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletConfiguration {
    /// `maxPods`.
    pub max_pods: Option<u32>,
    /// `podsPerCore`.
    pub pods_per_core: Option<u32>,
    /// `kubeReserved`: cpu, memory, ephemeral-storage, pid.
    pub kube_reserved: Resources,
    /// `systemReserved`: the same keys.
    pub system_reserved: Resources,
    /// `evictionHard` by signal.
    pub eviction_hard: BTreeMap<Text, EvictionThreshold>,
    /// `evictionSoft` by signal.
    pub eviction_soft: BTreeMap<Text, EvictionThreshold>,
    /// `evictionSoftGracePeriod` by signal, seconds.
    pub eviction_soft_grace_period: BTreeMap<Text, i64>,
    /// `evictionMaxPodGracePeriod`, seconds.
    pub eviction_max_pod_grace_period: Option<i32>,
    /// `imageGCHighThresholdPercent`.
    pub image_gc_high_threshold_percent: Option<u32>,
    /// `imageGCLowThresholdPercent`.
    pub image_gc_low_threshold_percent: Option<u32>,
    /// `cpuCFSQuota`.
    pub cpu_cfs_quota: Option<bool>,
    /// `clusterDNS`.
    pub cluster_dns: Vec<Text>,
    /// Every other field, as canonical JSON by name.
    pub other: BTreeMap<Text, Text>,
}

/// A threshold of the kubelet's eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionThreshold {
    /// A share of the capacity, in thousandths of a percent.
    PercentMillis(u32),
    /// An amount.
    Amount(Quantity),
}

/// A volume of `blockDeviceMappings`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDeviceMapping {
    /// `deviceName`, such as `/dev/xvda`.
    pub device_name: Option<Text>,
    /// `rootVolume`: the kubelet's root filesystem is on it.
    pub root_volume: bool,
    /// `ebs.volumeSize`, in bytes.
    pub volume_size_bytes: Option<i64>,
    /// `ebs.volumeType`.
    pub volume_type: Option<Text>,
    /// `ebs.iops`.
    pub iops: Option<u32>,
    /// `ebs.throughput`, in MiB/s.
    pub throughput: Option<u32>,
    /// `ebs.encrypted`.
    pub encrypted: Option<bool>,
    /// `ebs.deleteOnTermination`.
    pub delete_on_termination: Option<bool>,
    /// `ebs.kmsKeyID`.
    pub kms_key_id: Option<Text>,
    /// `ebs.snapshotID`.
    pub snapshot_id: Option<Text>,
    /// `ebs.volumeInitializationRate`, in MiB/s.
    pub volume_initialization_rate: Option<u32>,
}

/// A network interface of `networkInterfaces`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    /// `networkCardIndex`.
    pub network_card_index: u32,
    /// `deviceIndex`.
    pub device_index: u32,
    /// `interfaceType: efa-only` rather than `interface`.
    pub is_efa_only: bool,
}

/// `metadataOptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataOptions {
    /// `httpEndpoint: enabled`.
    pub http_endpoint: bool,
    /// `httpProtocolIPv6: enabled`.
    pub http_protocol_ipv6: bool,
    /// `httpPutResponseHopLimit`, 1 to 64.
    pub hop_limit: u32,
    /// `httpTokens: required` (IMDSv2 only).
    pub tokens_required: bool,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        Self { http_endpoint: true, http_protocol_ipv6: false, hop_limit: 1, tokens_required: true }
    }
}

/// `connectionTracking`, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTracking {
    /// 60 to 432000.
    pub tcp_established_seconds: Option<u32>,
    /// 60 to 180.
    pub udp_stream_seconds: Option<u32>,
    /// 30 to 60.
    pub udp_seconds: Option<u32>,
}

/// `status` of an EC2NodeClass. Empty lists mean that nothing was resolved yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ec2NodeClassStatus {
    /// Resolved subnets.
    pub subnets: Vec<ResolvedSubnet>,
    /// Ids of resolved security groups.
    pub security_groups: Vec<Text>,
    /// Resolved images, in order of preference.
    pub amis: Vec<ResolvedAmi>,
    /// Resolved capacity reservations.
    pub capacity_reservations: Vec<ResolvedCapacityReservation>,
    /// The instance profile in use.
    pub instance_profile: Option<Text>,
    /// Condition Ready; `None` when not reported.
    pub ready: Option<bool>,
}

/// A subnet of a node class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSubnet {
    /// `subnet-…`.
    pub id: Text,
    /// The zone's name.
    pub zone: Text,
    /// The zone's id.
    pub zone_id: Option<Text>,
}

/// A machine image of a node class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedAmi {
    /// `ami-…`.
    pub id: Text,
    /// Its name.
    pub name: Option<Text>,
    /// Deprecated by its owner.
    pub is_deprecated: bool,
    /// Which instance types it is for.
    pub requirements: Vec<Requirement>,
}

/// A capacity reservation of a node class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCapacityReservation {
    /// `cr-…`.
    pub id: Text,
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// `expiring` rather than `active`.
    pub is_expiring: bool,
    /// `default` or `capacity-block`.
    pub reservation_type: Text,
    /// It may be taken back.
    pub is_interruptible: bool,
}
