//! Hashes of an EC2NodeClass, versions `v5` (Karpenter up to 1.14) and `v6` (from 1.15 on).
//!
//! What selects (subnets, security groups, reservations, images) does not count: what it selects is
//! compared with the instance. The family of the images counts as resolved. From v6 on the
//! kubelet's settings count as one JSON text. Source: Karpenter's AWS provider,
//! `pkg/apis/v1/ec2nodeclass.go`, `EC2NodeClass.Hash`.

use std::fmt::Write as _;

use documents::{Data, Value};
use domain::drift::NodeClassHashes;
use domain::node_class::AmiFamily;

use super::fields::{Fields, boolean, duration, int32, int64, map, set, text, texts};
use super::hashstructure::Shape;

/// The hashes of `spec`, but for the cluster's CA bundle, which is not part of it.
pub(crate) fn node_class_hashes(spec: &Value<'_>, family: AmiFamily) -> NodeClassHashes {
    let family = Shape::text(family.as_str()).hash();
    let v5 = shape(spec, Version::V5).map(|shape| shape.hash() ^ family);
    let v6 = shape(spec, Version::V6)
        .zip(kubelet_text(spec))
        .map(|(shape, kubelet)| shape.hash() ^ family ^ Shape::text(kubelet).hash());
    NodeClassHashes::new(v5, v6)
}

/// Fields that do not count, and those that count otherwise than the rest: the options of metadata,
/// which hash with their defaults, and what only one of the versions has.
const OTHERS: [&str; 9] = [
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "ipPrefixCount",
    "amiSelectorTerms",
    "amiFamily",
    "metadataOptions",
    "kubelet",
    "enclaveOptions",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V5,
    V6,
}

fn shape<'v>(spec: &'v Value<'v>, version: Version) -> Option<Shape<'v>> {
    let mut fields = Fields::of(Some(spec))
        .beside(&OTHERS)
        .with(("PlacementGroupSelector", "placementGroupSelector"), placement_group)
        .with(("AssociatePublicIPAddress", "associatePublicIPAddress"), boolean)
        .with(("UserData", "userData"), text)
        .with_nonzero(("Role", "role"), text)
        .with(("InstanceProfile", "instanceProfile"), text)
        .with(("Tags", "tags"), texts);
    if version == Version::V5 {
        fields = fields.with(("Kubelet", "kubelet"), kubelet);
    }
    fields = fields
        .with(("BlockDeviceMappings", "blockDeviceMappings"), |value| set(value, block_device))
        .with(("InstanceStorePolicy", "instanceStorePolicy"), text)
        .with(("NetworkInterfaces", "networkInterfaces"), |value| set(value, network_interface))
        .with(("DetailedMonitoring", "detailedMonitoring"), boolean);
    let metadata_options = metadata_options(spec.get("metadataOptions"));
    fields.is_odd |= metadata_options.is_none();
    fields.list.extend(metadata_options.map(|shape| ("MetadataOptions", shape)));
    if version == Version::V6 {
        fields = fields.with(("EnclaveOptions", "enclaveOptions"), |value| {
            Fields::of(Some(value))
                .with_nonzero(("Enabled", "enabled"), boolean)
                .finish("EnclaveOptions")
        });
    }
    fields = fields
        .with(("ConnectionTracking", "connectionTracking"), connection_tracking)
        .with(("Context", "context"), text)
        .with(("CPUOptions", "cpuOptions"), |value| {
            Fields::of(Some(value))
                .with(("NestedVirtualization", "nestedVirtualization"), text)
                .finish("CPUOptions")
        });
    fields.finish("EC2NodeClassSpec")
}

fn placement_group<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("Name", "name"), text)
        .with(("ID", "id"), text)
        .finish("PlacementGroupSelector")
}

fn kubelet<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("ClusterDNS", "clusterDNS"), |value| set(value, text))
        .with(("MaxPods", "maxPods"), int32)
        .with(("PodsPerCore", "podsPerCore"), int32)
        .with(("SystemReserved", "systemReserved"), texts)
        .with(("KubeReserved", "kubeReserved"), texts)
        .with(("EvictionHard", "evictionHard"), texts)
        .with(("EvictionSoft", "evictionSoft"), texts)
        .with(("EvictionSoftGracePeriod", "evictionSoftGracePeriod"), |value| map(value, duration))
        .with(("EvictionMaxPodGracePeriod", "evictionMaxPodGracePeriod"), int32)
        .with(("ImageGCHighThresholdPercent", "imageGCHighThresholdPercent"), int32)
        .with(("ImageGCLowThresholdPercent", "imageGCLowThresholdPercent"), int32)
        .with(("CPUCFSQuota", "cpuCFSQuota"), boolean)
        .finish("KubeletConfiguration")
}

fn block_device<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("DeviceName", "deviceName"), text)
        .with(("EBS", "ebs"), ebs)
        .with_nonzero(("RootVolume", "rootVolume"), boolean)
        .finish("BlockDeviceMapping")
}

fn ebs<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("DeleteOnTermination", "deleteOnTermination"), boolean)
        .with(("Encrypted", "encrypted"), boolean)
        .with(("IOPS", "iops"), int64)
        .with(("KMSKeyID", "kmsKeyID"), text)
        .with(("SnapshotID", "snapshotID"), text)
        .with(("Throughput", "throughput"), int64)
        .with(("VolumeInitializationRate", "volumeInitializationRate"), int32)
        .with(("VolumeSize", "volumeSize"), |size| canonical_size(size.as_str()?).map(Shape::text))
        .with(("VolumeType", "volumeType"), text)
        .finish("BlockDevice")
}

/// A volume's size as Kubernetes prints it: in the largest unit of its kind of which it is a whole
/// number.
fn canonical_size(size: &str) -> Option<String> {
    let (number, unit) = size.split_at(size.find(['G', 'T'])?);
    let number: u64 = number.parse().ok()?;
    let (step, larger) = match unit {
        "Gi" => (1024, "Ti"),
        "G" => (1000, "T"),
        "Ti" | "T" => return Some(format!("{number}{unit}")),
        _ => return None,
    };
    Some(if number > 0 && number.is_multiple_of(step) {
        format!("{}{larger}", number / step)
    } else {
        format!("{number}{unit}")
    })
}

fn network_interface<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with_nonzero(("NetworkCardIndex", "networkCardIndex"), int32)
        .with_nonzero(("DeviceIndex", "deviceIndex"), int32)
        .with_nonzero(("InterfaceType", "interfaceType"), text)
        .finish("NetworkInterface")
}

/// Every option, the API server's defaults for those that are not written.
fn metadata_options<'v>(value: Option<&'v Value<'v>>) -> Option<Shape<'v>> {
    let given = Fields::of(value).beside(&[
        "httpEndpoint",
        "httpProtocolIPv6",
        "httpPutResponseHopLimit",
        "httpTokens",
    ]);
    if !given.is_understood() {
        return None;
    }
    let word = |name, key, default| match given.get(key) {
        Some(own) => text(own).map(|own| (name, own)),
        None => Some((name, Shape::text(default))),
    };
    let hops = match given.get("httpPutResponseHopLimit") {
        Some(own) => int64(own)?,
        None => Shape::Int64(1),
    };
    Some(Shape::Struct(
        "MetadataOptions",
        vec![
            word("HTTPEndpoint", "httpEndpoint", "enabled")?,
            word("HTTPProtocolIPv6", "httpProtocolIPv6", "disabled")?,
            ("HTTPPutResponseHopLimit", hops),
            word("HTTPTokens", "httpTokens", "required")?,
        ],
    ))
}

fn connection_tracking<'v>(value: &'v Value<'v>) -> Option<Shape<'v>> {
    Fields::of(Some(value))
        .with(("TCPEstablishedTimeout", "tcpEstablishedTimeout"), int32)
        .with(("UDPStreamTimeout", "udpStreamTimeout"), int32)
        .with(("UDPTimeout", "udpTimeout"), int32)
        .finish("ConnectionTracking")
}

/// `kubelet` as Go prints it: JSON with sorted keys and the letters escaped that HTML would read as
/// markup; `null` where it holds nothing.
fn kubelet_text(spec: &Value<'_>) -> Option<String> {
    let Some(kubelet) = spec.get("kubelet") else { return Some("null".to_owned()) };
    match &kubelet.data {
        Data::Object(members) if members.is_empty() => Some("null".to_owned()),
        Data::Object(_) => {
            let mut out = String::new();
            write_json(kubelet, &mut out);
            Some(out)
        }
        _ => None,
    }
}

fn write_json(value: &Value<'_>, out: &mut String) {
    match &value.data {
        Data::Null => out.push_str("null"),
        Data::Bool(truth) => _ = write!(out, "{truth}"),
        Data::Integer(number) => _ = write!(out, "{number}"),
        Data::Decimal(number) => out.push_str(number),
        Data::Text(text) => write_json_text(text, out),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Data::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            out.push('{');
            for (index, (key, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_text(key, out);
                out.push(':');
                write_json(member, out);
            }
            out.push('}');
        }
    }
}

fn write_json_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}
