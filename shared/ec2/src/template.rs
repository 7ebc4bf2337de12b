//! The content of a launch template: everything of a launch that claims have in common.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/>.

use aws::cluster::IpFamily;
use aws_sdk_ec2::types::{
    CapacityReservationPreference, CapacityReservationTarget,
    ConnectionTrackingSpecificationRequest, LaunchTemplateBlockDeviceMappingRequest,
    LaunchTemplateCapacityReservationSpecificationRequest, LaunchTemplateCpuOptionsRequest,
    LaunchTemplateEbsBlockDeviceRequest, LaunchTemplateEnclaveOptionsRequest,
    LaunchTemplateHttpTokensState, LaunchTemplateIamInstanceProfileSpecificationRequest,
    LaunchTemplateInstanceMarketOptionsRequest, LaunchTemplateInstanceMetadataEndpointState,
    LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateInstanceMetadataProtocolIpv6,
    LaunchTemplateInstanceMetadataTagsState,
    LaunchTemplateInstanceNetworkInterfaceSpecificationRequest as InterfaceRequest,
    LaunchTemplatePlacementRequest, LaunchTemplatesMonitoringRequest, MarketType,
    NestedVirtualizationSpecification, RequestLaunchTemplateData, ResourceType, Tenancy,
    VolumeType,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_class::{
    AmiFamily, BlockDeviceMapping, ConnectionTracking, Ec2NodeClassSpec, MetadataOptions,
    NetworkInterface, PlacementGroupSelector, ResolvedCapacityReservation,
};
use uuid::Uuid;

use super::tags;

const GIB: i64 = 1 << 30;
/// Default size of a volume, GiB; Karpenter's default.
const VOLUME_GIB: i32 = 20;
const WINDOWS_VOLUME_GIB: i32 = 50;
/// Size of Bottlerocket's system volume, GiB; pods use a second one.
const BOTTLEROCKET_SYSTEM_GIB: i32 = 4;
/// The prefix of the names of our launch templates.
const NAME_PREFIX: &str = "outrigger/";

/// `karpenter.k8s.aws/instance-tenancy`: `default` or `dedicated`.
const TENANCY: &str = "karpenter.k8s.aws/instance-tenancy";
/// `karpenter.k8s.aws/placement-group-partition`.
const PARTITION: &str = "karpenter.k8s.aws/placement-group-partition";
/// `karpenter.k8s.aws/nitro-sandbox`: nodes run Nitro Enclaves.
const NITRO_SANDBOX: &str = "karpenter.k8s.aws/nitro-sandbox";

/// What a launch template depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateInput<'a> {
    pub(super) spec: &'a Ec2NodeClassSpec,
    pub(super) image_id: &'a Text,
    pub(super) security_groups: &'a [Text],
    pub(super) instance_profile: Option<&'a Text>,
    pub(super) user_data: Option<&'a str>,
    pub(super) capacity_type: CapacityType,
    /// The reservation of its instances; for `reserved` only.
    pub(super) reservation: Option<&'a ResolvedCapacityReservation>,
    /// Elastic Fabric Adapters of its instances; 0 for none.
    pub(super) efa_interfaces: u32,
    /// Labels of the claim: some decide the placement of the instance.
    pub(super) labels: &'a Labels,
    /// Tags of resources that come with the instance.
    pub(super) tags: &'a Labels,
    pub(super) ip_family: IpFamily,
    /// The region has no IPv6 endpoint of the metadata service.
    pub(super) is_isolated: bool,
}

/// A launch template: its content, and a name derived from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template {
    pub(super) name: String,
    pub(super) data: RequestLaunchTemplateData,
}

impl Template {
    pub(super) fn of(input: &TemplateInput<'_>) -> Self {
        let data = data(input);
        Self { name: name(&data), data }
    }
}

/// The name: a hash of the content. The hashed text is the SDK's `Debug` form, which leaves user
/// data out, so that is added. Another version of the SDK may format it differently: templates are
/// then created anew once.
fn name(data: &RequestLaunchTemplateData) -> String {
    let content = format!("{data:?}\n{}", data.user_data().unwrap_or_default());
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, content.as_bytes());
    format!("{NAME_PREFIX}{}", hash.simple())
}

fn data(input: &TemplateInput<'_>) -> RequestLaunchTemplateData {
    let spec = input.spec;
    let interfaces = interfaces(input);
    let groups = || input.security_groups.iter().map(ToString::to_string).collect();
    let profile = input.instance_profile.map(|name| {
        LaunchTemplateIamInstanceProfileSpecificationRequest::builder().name(&**name).build()
    });
    let monitoring =
        LaunchTemplatesMonitoringRequest::builder().enabled(spec.detailed_monitoring).build();
    let mut tag_specifications =
        vec![tags::in_template(ResourceType::NetworkInterface, input.tags)];
    if input.capacity_type == CapacityType::Spot {
        tag_specifications.push(tags::in_template(ResourceType::SpotInstancesRequest, input.tags));
    }
    RequestLaunchTemplateData::builder()
        .image_id(&**input.image_id)
        .set_user_data(input.user_data.map(|text| BASE64_STANDARD.encode(text)))
        .set_iam_instance_profile(profile)
        .set_block_device_mappings(block_devices(spec))
        // EC2 takes groups either of the instance or of its interfaces.
        .set_security_group_ids(interfaces.is_empty().then(groups))
        .set_network_interfaces((!interfaces.is_empty()).then_some(interfaces))
        .metadata_options(metadata_options(&spec.metadata_options, input.is_isolated))
        .monitoring(monitoring)
        .set_placement(placement(spec, input.labels))
        .set_tag_specifications(Some(tag_specifications))
        .capacity_reservation_specification(reservation(input.reservation))
        .set_instance_market_options(market(input.reservation))
        .set_enclave_options(input.labels.get(NITRO_SANDBOX).map(|value| {
            LaunchTemplateEnclaveOptionsRequest::builder().enabled(&**value != "false").build()
        }))
        .set_cpu_options(spec.nested_virtualization.map(|is_nested| {
            let nested = if is_nested {
                NestedVirtualizationSpecification::Enabled
            } else {
                NestedVirtualizationSpecification::Disabled
            };
            LaunchTemplateCpuOptionsRequest::builder().nested_virtualization(nested).build()
        }))
        .build()
}

fn metadata_options(
    options: &MetadataOptions,
    is_isolated: bool,
) -> LaunchTemplateInstanceMetadataOptionsRequest {
    use LaunchTemplateInstanceMetadataProtocolIpv6 as Ipv6;
    let endpoint = if options.http_endpoint {
        LaunchTemplateInstanceMetadataEndpointState::Enabled
    } else {
        LaunchTemplateInstanceMetadataEndpointState::Disabled
    };
    let tokens = if options.tokens_required {
        LaunchTemplateHttpTokensState::Required
    } else {
        LaunchTemplateHttpTokensState::Optional
    };
    let ipv6 = if options.http_protocol_ipv6 { Ipv6::Enabled } else { Ipv6::Disabled };
    LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_endpoint(endpoint)
        .http_tokens(tokens)
        .http_put_response_hop_limit(figure(options.hop_limit))
        .set_http_protocol_ipv6((!is_isolated).then_some(ipv6))
        // Tags may hold what pods must not read.
        .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Disabled)
        .build()
}

/// The user's volumes, else those of the image family; custom images define their own.
fn block_devices(spec: &Ec2NodeClassSpec) -> Option<Vec<LaunchTemplateBlockDeviceMappingRequest>> {
    if !spec.block_device_mappings.is_empty() {
        return Some(spec.block_device_mappings.iter().map(block_device).collect());
    }
    let default = |device: &str, gib: i32| {
        let volume = LaunchTemplateEbsBlockDeviceRequest::builder()
            .volume_type(VolumeType::Gp3)
            .volume_size(gib)
            .encrypted(true)
            .delete_on_termination(true)
            .build();
        LaunchTemplateBlockDeviceMappingRequest::builder().device_name(device).ebs(volume).build()
    };
    match spec.ami_family {
        AmiFamily::Al2 | AmiFamily::Al2023 => Some(vec![default("/dev/xvda", VOLUME_GIB)]),
        AmiFamily::Bottlerocket => Some(vec![
            default("/dev/xvda", BOTTLEROCKET_SYSTEM_GIB),
            default("/dev/xvdb", VOLUME_GIB),
        ]),
        AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => {
            Some(vec![default("/dev/sda1", WINDOWS_VOLUME_GIB)])
        }
        AmiFamily::Custom => None,
    }
}

fn block_device(mapping: &BlockDeviceMapping) -> LaunchTemplateBlockDeviceMappingRequest {
    // EC2 counts whole GiB; less than asked for would not do.
    let gib = |bytes: i64| i32::try_from((bytes + GIB - 1) / GIB).unwrap_or(i32::MAX);
    let volume = LaunchTemplateEbsBlockDeviceRequest::builder()
        .set_volume_size(mapping.volume_size_bytes.map(gib))
        .set_volume_type(mapping.volume_type.as_deref().map(VolumeType::from))
        .set_iops(mapping.iops.map(figure))
        .set_throughput(mapping.throughput.map(figure))
        .set_encrypted(mapping.encrypted)
        .set_delete_on_termination(mapping.delete_on_termination)
        .set_kms_key_id(mapping.kms_key_id.as_deref().map(str::to_owned))
        .set_snapshot_id(mapping.snapshot_id.as_deref().map(str::to_owned))
        .set_volume_initialization_rate(mapping.volume_initialization_rate.map(figure))
        .build();
    LaunchTemplateBlockDeviceMappingRequest::builder()
        .set_device_name(mapping.device_name.as_deref().map(str::to_owned))
        .ebs(volume)
        .build()
}

/// Network interfaces, where the class or its pods configure them; otherwise EC2 creates one.
fn interfaces(input: &TemplateInput<'_>) -> Vec<InterfaceRequest> {
    let spec = input.spec;
    let listed: Vec<(NetworkInterface, &str)> = if !spec.network_interfaces.is_empty() {
        let kind = |own: &NetworkInterface| if own.is_efa_only { "efa-only" } else { "interface" };
        spec.network_interfaces.iter().map(|own| (*own, kind(own))).collect()
    } else if input.efa_interfaces > 0 {
        // One adapter a network card; only the first card has the instance's first device.
        (0..input.efa_interfaces)
            .map(|card| {
                let device_index = u32::from(card > 0);
                (
                    NetworkInterface { network_card_index: card, device_index, is_efa_only: false },
                    "efa",
                )
            })
            .collect()
    } else if spec.associate_public_ip_address.is_some()
        || spec.ip_prefix_count.is_some()
        || spec.connection_tracking.is_some()
        || input.ip_family == IpFamily::Ipv6
    {
        vec![(
            NetworkInterface { network_card_index: 0, device_index: 0, is_efa_only: false },
            "interface",
        )]
    } else {
        return Vec::new();
    };
    listed.iter().map(|(own, kind)| interface(own, kind, input)).collect()
}

fn interface(own: &NetworkInterface, kind: &str, input: &TemplateInput<'_>) -> InterfaceRequest {
    let spec = input.spec;
    let is_primary = own.network_card_index == 0 && own.device_index == 0;
    let is_ipv6 = input.ip_family == IpFamily::Ipv6;
    let prefixes = spec.ip_prefix_count.map(figure).filter(|_| !own.is_efa_only);
    InterfaceRequest::builder()
        .network_card_index(figure(own.network_card_index))
        .device_index(figure(own.device_index))
        .interface_type(kind)
        .delete_on_termination(true)
        .set_groups(Some(input.security_groups.iter().map(ToString::to_string).collect()))
        .set_associate_public_ip_address(spec.associate_public_ip_address.filter(|_| is_primary))
        .set_primary_ipv6((is_ipv6 && is_primary).then_some(true))
        .set_ipv6_address_count((is_ipv6 && is_primary).then_some(1))
        .set_ipv4_prefix_count(prefixes.filter(|_| !is_ipv6))
        .set_ipv6_prefix_count(prefixes.filter(|_| is_ipv6))
        .set_connection_tracking_specification(
            spec.connection_tracking.filter(|_| !own.is_efa_only).map(connection_tracking),
        )
        .build()
}

fn connection_tracking(own: ConnectionTracking) -> ConnectionTrackingSpecificationRequest {
    ConnectionTrackingSpecificationRequest::builder()
        .set_tcp_established_timeout(own.tcp_established_seconds.map(figure))
        .set_udp_stream_timeout(own.udp_stream_seconds.map(figure))
        .set_udp_timeout(own.udp_seconds.map(figure))
        .build()
}

fn placement(spec: &Ec2NodeClassSpec, labels: &Labels) -> Option<LaunchTemplatePlacementRequest> {
    let tenancy = labels.get(TENANCY).map(|value| Tenancy::from(&**value));
    if spec.placement_group.is_none() && tenancy.is_none() {
        return None;
    }
    let mut placement = LaunchTemplatePlacementRequest::builder().set_tenancy(tenancy);
    placement = match &spec.placement_group {
        Some(PlacementGroupSelector::Name(name)) => placement.group_name(&**name),
        Some(PlacementGroupSelector::Id(id)) => placement.group_id(&**id),
        None => placement,
    };
    let partition = labels.get(PARTITION).and_then(|value| value.parse().ok());
    Some(placement.set_partition_number(partition).build())
}

/// Targets the reservation, or none at all: an on-demand launch in an open reservation would take
/// capacity that another claim counts on.
fn reservation(
    reservation: Option<&ResolvedCapacityReservation>,
) -> LaunchTemplateCapacityReservationSpecificationRequest {
    let specification = LaunchTemplateCapacityReservationSpecificationRequest::builder();
    match reservation {
        None => specification
            .capacity_reservation_preference(CapacityReservationPreference::None)
            .build(),
        Some(own) => specification
            .capacity_reservation_preference(
                CapacityReservationPreference::CapacityReservationsOnly,
            )
            .capacity_reservation_target(
                CapacityReservationTarget::builder().capacity_reservation_id(&*own.id).build(),
            )
            .build(),
    }
}

/// The market of capacity blocks and of interruptible reservations; others have none.
fn market(
    reservation: Option<&ResolvedCapacityReservation>,
) -> Option<LaunchTemplateInstanceMarketOptionsRequest> {
    let market = match reservation {
        Some(own) if &*own.reservation_type == "capacity-block" => MarketType::CapacityBlock,
        Some(own) if own.is_interruptible => MarketType::InterruptibleCapacityReservation,
        _ => return None,
    };
    Some(LaunchTemplateInstanceMarketOptionsRequest::builder().market_type(market).build())
}

fn figure(figure: u32) -> i32 {
    i32::try_from(figure).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
