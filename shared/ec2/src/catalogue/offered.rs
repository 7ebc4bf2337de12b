//! Instance types and the zones that offer them, as EC2 describes them.

use aws::budget::Bucket;
use aws_sdk_ec2::types::{Filter, InstanceTypeInfo, LocationType};
use catalog::Catalog;
use catalog::describe::{self, Answer};
use controllers::ports::{ErrorKind, PortError};
use serde_json::{Value, json};

use crate::calls::{Calls, ec2};

const TYPES_A_PAGE: i32 = 100;
const OFFERINGS_A_PAGE: i32 = 1000;

/// The types that Kubernetes nodes can run on, and the zones that offer each. Figures that EC2's
/// API lacks (branch interfaces, bandwidths that it states in words, prices) are taken from
/// `known`.
pub(super) async fn offered(calls: &Calls, known: &Catalog) -> Result<Catalog, PortError> {
    let answers = [instance_types(calls).await?, offerings(calls).await?];
    Ok(describe::catalog(&answers, known))
}

async fn instance_types(calls: &Calls) -> Result<Answer, PortError> {
    let filter = |name: &str, values: &[&str]| {
        let values = values.iter().map(ToString::to_string).collect();
        Filter::builder().name(name).set_values(Some(values)).build()
    };
    let pages = calls
        .ec2
        .describe_instance_types()
        .filters(filter("supported-virtualization-type", &["hvm"]))
        .filters(filter("processor-info.supported-architecture", &["x86_64", "arm64"]))
        .into_paginator()
        .page_size(TYPES_A_PAGE)
        .send();
    let pages = calls.pages(Bucket::Describe, ec2("DescribeInstanceTypes"), pages).await?;
    let types: Vec<Value> =
        pages.iter().flat_map(|page| page.instance_types()).map(described).collect();
    answer(json!({ "InstanceTypes": types }))
}

async fn offerings(calls: &Calls) -> Result<Answer, PortError> {
    let pages = calls
        .ec2
        .describe_instance_type_offerings()
        .location_type(LocationType::AvailabilityZone)
        .into_paginator()
        .page_size(OFFERINGS_A_PAGE)
        .send();
    let action = ec2("DescribeInstanceTypeOfferings");
    let pages = calls.pages(Bucket::Describe, action, pages).await?;
    let offered: Vec<Value> = pages
        .iter()
        .flat_map(|page| page.instance_type_offerings())
        .filter_map(|own| {
            let name = own.instance_type()?.as_str();
            Some(json!({ "InstanceType": name, "Location": own.location()? }))
        })
        .collect();
    answer(json!({ "InstanceTypeOfferings": offered }))
}

fn answer(document: Value) -> Result<Answer, PortError> {
    serde_json::from_value(document).map_err(|error| {
        let what = "a type is described in a form that is not known";
        PortError::new(ErrorKind::Unknown, "DescribeInstanceTypes", what).because(error)
    })
}

/// The description in the form that EC2's command line prints, so that the catalogue has one reader
/// for both.
fn described(info: &InstanceTypeInfo) -> Value {
    let storage = info.instance_storage_info();
    let ebs = info.ebs_info();
    let ebs_limits = ebs.and_then(|ebs| ebs.ebs_optimized_info());
    json!({
        "InstanceType": info.instance_type().map(|name| name.as_str()).unwrap_or_default(),
        "BareMetal": info.bare_metal().unwrap_or_default(),
        "BurstablePerformanceSupported": info.burstable_performance_supported().unwrap_or_default(),
        "CurrentGeneration": info.current_generation().unwrap_or_default(),
        "Hypervisor": info.hypervisor().map(|own| own.as_str()),
        "SupportedUsageClasses":
            info.supported_usage_classes().iter().map(|own| own.as_str()).collect::<Vec<_>>(),
        "SupportedVirtualizationTypes":
            info.supported_virtualization_types().iter().map(|own| own.as_str()).collect::<Vec<_>>(),
        "VCpuInfo": { "DefaultVCpus":
            info.v_cpu_info().and_then(|own| own.default_v_cpus()).unwrap_or_default() },
        "MemoryInfo": { "SizeInMiB":
            info.memory_info().and_then(|own| own.size_in_mib()).unwrap_or_default() },
        "ProcessorInfo": processor(info),
        "NetworkInfo": network(info),
        "EbsInfo": {
            "EbsOptimizedSupport": ebs
                .and_then(|own| own.ebs_optimized_support())
                .map(|own| own.as_str()).unwrap_or_default(),
            "EbsOptimizedInfo": ebs_limits
                .and_then(|own| own.maximum_bandwidth_in_mbps())
                .map(|bandwidth| json!({ "MaximumBandwidthInMbps": bandwidth })),
        },
        "InstanceStorageInfo": {
            "TotalSizeInGB":
                storage.and_then(|own| own.total_size_in_gb()).unwrap_or_default(),
            "NvmeSupport": storage
                .and_then(|own| own.nvme_support())
                .map(|own| own.as_str()).unwrap_or_default(),
        },
        "GpuInfo": { "Gpus": info.gpu_info().map(|own| own.gpus()).unwrap_or_default()
            .iter().map(|gpu| json!({
                "Name": gpu.name().unwrap_or_default(),
                "Manufacturer": gpu.manufacturer().unwrap_or_default(),
                "Count": gpu.count().unwrap_or_default(),
                "MemoryInfo": { "SizeInMiB":
                    gpu.memory_info().and_then(|own| own.size_in_mib()).unwrap_or_default() },
            })).collect::<Vec<_>>() },
        "InferenceAcceleratorInfo": { "Accelerators": info
            .inference_accelerator_info().map(|own| own.accelerators()).unwrap_or_default()
            .iter().map(|own| json!({
                "Name": own.name().unwrap_or_default(),
                "Manufacturer": own.manufacturer().unwrap_or_default(),
                "Count": own.count().unwrap_or_default(),
            })).collect::<Vec<_>>() },
        "NeuronInfo": { "NeuronDevices": info
            .neuron_info().map(|own| own.neuron_devices()).unwrap_or_default()
            .iter().map(|own| json!({
                "Name": own.name().unwrap_or_default(),
                "Count": own.count().unwrap_or_default(),
                "CoreInfo": { "Count":
                    own.core_info().and_then(|own| own.count()).unwrap_or_default() },
            })).collect::<Vec<_>>() },
    })
}

fn processor(info: &InstanceTypeInfo) -> Value {
    let processor = info.processor_info();
    json!({
        "SupportedArchitectures": processor
            .map(|own| own.supported_architectures()).unwrap_or_default()
            .iter().map(|own| own.as_str()).collect::<Vec<_>>(),
        "SupportedFeatures": processor
            .map(|own| own.supported_features()).unwrap_or_default()
            .iter().map(|own| own.as_str()).collect::<Vec<_>>(),
        "SustainedClockSpeedInGhz":
            processor.and_then(|own| own.sustained_clock_speed_in_ghz()).unwrap_or_default(),
        "Manufacturer": processor.and_then(|own| own.manufacturer()).unwrap_or_default(),
    })
}

fn network(info: &InstanceTypeInfo) -> Value {
    let network = info.network_info();
    let cards = network.map(|network| network.network_cards()).unwrap_or_default();
    json!({
        "NetworkPerformance":
            network.and_then(|own| own.network_performance()).unwrap_or_default(),
        "Ipv4AddressesPerInterface":
            network.and_then(|own| own.ipv4_addresses_per_interface()).unwrap_or_default(),
        "EncryptionInTransitSupported":
            network.and_then(|own| own.encryption_in_transit_supported()).unwrap_or_default(),
        "NetworkCards": cards.iter().map(|card| json!({
            "NetworkCardIndex": card.network_card_index().unwrap_or_default(),
            "MaximumNetworkInterfaces": card.maximum_network_interfaces().unwrap_or_default(),
            "BaselineBandwidthInGbps": card.baseline_bandwidth_in_gbps().unwrap_or_default(),
        })).collect::<Vec<_>>(),
        "EfaInfo": { "MaximumEfaInterfaces": network
            .and_then(|own| own.efa_info())
            .and_then(|own| own.maximum_efa_interfaces()).unwrap_or_default() },
    })
}
