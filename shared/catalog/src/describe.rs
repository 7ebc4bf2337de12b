//! From what `aws ec2 describe-instance-types` and `aws ec2 describe-instance-type-offerings` print
//! to facts and regions: how the embedded catalogue is rebuilt, and others are imported and
//! fetched.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::money::UsdPerHour;
use serde::Deserialize;

use crate::catalog::Catalog;
use crate::facts::{
    Accelerator, Architecture, Feature, Features, Gpu, Hypervisor, InstanceTypeFacts, NetworkFacts,
    NeuronDevice,
};
use crate::figures::Figures;
use crate::region::Region;

/// One answer of EC2: types, offerings, or both.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Answer {
    instance_types: Vec<Described>,
    instance_type_offerings: Vec<Offered>,
}

impl Answer {
    /// An answer of types and offerings that were read one by one.
    pub(crate) fn of(
        instance_types: Vec<Described>,
        instance_type_offerings: Vec<Offered>,
    ) -> Self {
        Self { instance_types, instance_type_offerings }
    }
}

/// Figures that EC2's API does not give.
#[derive(Clone, Copy, Debug)]
pub struct OtherFigures<'a> {
    /// On-demand prices in us-east-1, millionths of a US dollar; the plain figure is a vCPU's
    /// price.
    pub prices: &'a Figures,
    /// Branch interfaces.
    pub branch_interfaces: &'a Figures,
    /// Bandwidths in Mbit/s that replace those of the API.
    pub bandwidths: &'a Figures,
}

/// The facts of every type that the answers describe, by name.
pub fn facts(answers: &[Answer], others: OtherFigures<'_>) -> Vec<InstanceTypeFacts> {
    let by_name: BTreeMap<&str, &Described> = answers
        .iter()
        .flat_map(|answer| &answer.instance_types)
        .map(|described| (described.instance_type.as_str(), described))
        .collect();
    by_name.values().map(|described| described.facts(others)).collect()
}

/// What EC2 describes and offers, as a catalogue. Figures that EC2's API lacks (branch interfaces,
/// bandwidths that it states in words) and on-demand prices are those of `known`.
pub fn catalog(answers: &[Answer], known: &Catalog) -> Catalog {
    let none = Figures::default();
    let others = OtherFigures { prices: &none, branch_interfaces: &none, bandwidths: &none };
    let mut facts = facts(answers, others);
    let regions = regions(answers, &facts);
    for own in &mut facts {
        if let Some(known) = known.find(&own.name) {
            complete(own, known);
        }
    }
    Catalog::of(facts, regions)
}

fn complete(facts: &mut InstanceTypeFacts, known: &InstanceTypeFacts) {
    facts.on_demand = known.on_demand;
    facts.network.branch_interfaces = known.network.branch_interfaces;
    facts.network.bandwidth_mbps = known.network.bandwidth_mbps.or(facts.network.bandwidth_mbps);
}

/// The regions of every offering by zone that the answers list, for types in the order of the
/// facts.
pub fn regions(answers: &[Answer], facts: &[InstanceTypeFacts]) -> BTreeMap<Text, Region> {
    let mut zones_by_region: BTreeMap<&str, BTreeMap<&str, BTreeSet<Text>>> = BTreeMap::new();
    for offered in answers.iter().flat_map(|answer| &answer.instance_type_offerings) {
        let Some(region) = region_of(&offered.location) else { continue };
        let types = zones_by_region.entry(region).or_default();
        types.entry(&offered.instance_type).or_default().insert(offered.location.as_str().into());
    }
    zones_by_region
        .into_iter()
        .filter_map(|(region, types)| {
            let zones: BTreeSet<Text> = types.values().flatten().cloned().collect();
            let sold: Vec<Vec<Text>> = facts
                .iter()
                .map(|facts| types.get(&*facts.name).into_iter().flatten().cloned().collect())
                .collect();
            let region_facts = Region::of(zones.into_iter().collect(), &sold)?;
            Some((Text::from(region), region_facts))
        })
        .collect()
}

/// The region of an availability zone: `us-gov-west-1` of `us-gov-west-1a`. `None` for Local Zones
/// and Wavelength Zones (`us-west-2-lax-1a`, `us-east-1-wl1-bos-wlz-1`), which have a second
/// number: the region's prices do not hold there, so that the catalogue has no offerings of them.
///
/// Source:
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html>.
pub fn region_of(zone: &str) -> Option<&str> {
    let region = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let numbers = region.split('-').filter(|part| is_number(part)).count();
    let ends_with_number = region.rsplit('-').next().is_some_and(is_number);
    (zone.len() == region.len() + 1 && numbers == 1 && ends_with_number).then_some(region)
}

/// That a type is offered in a location.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Offered {
    pub(crate) instance_type: String,
    pub(crate) location: String,
}

/// An instance type as EC2 describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Described {
    pub(crate) instance_type: String,
    #[serde(default)]
    bare_metal: bool,
    #[serde(default)]
    burstable_performance_supported: bool,
    #[serde(default)]
    current_generation: bool,
    hypervisor: Option<String>,
    #[serde(default)]
    supported_usage_classes: Vec<String>,
    #[serde(default)]
    supported_virtualization_types: Vec<String>,
    #[serde(rename = "VCpuInfo")]
    vcpu_info: VcpuInfo,
    memory_info: MemoryInfo,
    processor_info: ProcessorInfo,
    network_info: NetworkInfo,
    #[serde(default)]
    ebs_info: EbsInfo,
    #[serde(default)]
    instance_storage_info: InstanceStorageInfo,
    #[serde(default)]
    gpu_info: GpuInfo,
    #[serde(default)]
    inference_accelerator_info: InferenceAcceleratorInfo,
    #[serde(default)]
    neuron_info: NeuronInfo,
}

#[derive(Debug, Deserialize)]
struct VcpuInfo {
    #[serde(rename = "DefaultVCpus")]
    default_vcpus: u32,
}

#[derive(Debug, Default, Deserialize)]
struct MemoryInfo {
    #[serde(rename = "SizeInMiB")]
    size_in_mib: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProcessorInfo {
    #[serde(default)]
    supported_architectures: Vec<String>,
    #[serde(default)]
    supported_features: Vec<String>,
    #[serde(default)]
    sustained_clock_speed_in_ghz: f64,
    #[serde(default)]
    manufacturer: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworkInfo {
    #[serde(default)]
    network_performance: String,
    ipv4_addresses_per_interface: u32,
    #[serde(default)]
    encryption_in_transit_supported: bool,
    #[serde(default)]
    network_cards: Vec<NetworkCard>,
    #[serde(default)]
    efa_info: EfaInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworkCard {
    #[serde(rename = "NetworkCardIndex")]
    index: u32,
    maximum_network_interfaces: u32,
    #[serde(default)]
    baseline_bandwidth_in_gbps: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EfaInfo {
    maximum_efa_interfaces: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct EbsInfo {
    ebs_optimized_support: String,
    ebs_optimized_info: Option<EbsOptimizedInfo>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EbsOptimizedInfo {
    maximum_bandwidth_in_mbps: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InstanceStorageInfo {
    #[serde(rename = "TotalSizeInGB")]
    total_size_in_gb: u64,
    #[serde(rename = "NvmeSupport")]
    nvme_support: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GpuInfo {
    gpus: Vec<Device>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct InferenceAcceleratorInfo {
    accelerators: Vec<Device>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct NeuronInfo {
    neuron_devices: Vec<Device>,
}

/// A GPU, an inference accelerator or a Neuron device: EC2 describes them alike.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Device {
    #[serde(default)]
    name: String,
    #[serde(default)]
    manufacturer: String,
    #[serde(default)]
    count: u32,
    #[serde(default)]
    memory_info: MemoryInfo,
    #[serde(default)]
    core_info: CoreInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CoreInfo {
    count: u32,
}

impl Described {
    /// Whether it has CPU and memory: what has none is no answer of EC2.
    pub(crate) fn has_amounts(&self) -> bool {
        self.vcpu_info.default_vcpus > 0 && self.memory_info.size_in_mib > 0
    }

    fn facts(&self, others: OtherFigures<'_>) -> InstanceTypeFacts {
        let name = self.instance_type.as_str();
        let vcpus = self.vcpu_info.default_vcpus;
        let price_micros = others
            .prices
            .of_size(name)
            .or_else(|| others.prices.of_family(name).map(|rate| rate * u64::from(vcpus)));
        let ebs = self.ebs_info.ebs_optimized_info.as_ref();
        InstanceTypeFacts {
            name: name.into(),
            architecture: self.architecture(),
            vcpus,
            memory_mib: self.memory_info.size_in_mib,
            cpu_manufacturer: self.processor_info.manufacturer.as_str().into(),
            clock_mhz: thousandths(self.processor_info.sustained_clock_speed_in_ghz),
            hypervisor: self.hypervisor.as_deref().and_then(|word| word.parse::<Hypervisor>().ok()),
            features: self.features(),
            network: self.network(others),
            ebs_bandwidth_mbps: ebs
                .filter(|_| self.ebs_info.ebs_optimized_support == "default")
                .map(|info| info.maximum_bandwidth_in_mbps),
            local_disks_gb: self.instance_storage_info.total_size_in_gb,
            gpus: self.gpus(),
            accelerators: self.accelerators(),
            neuron_devices: self.neuron_devices(),
            on_demand: price_micros
                .and_then(|micros| i64::try_from(micros).ok())
                .map(|micros| UsdPerHour::from_nanos(micros * 1000)),
        }
    }

    fn architecture(&self) -> Option<Architecture> {
        let supported = &self.processor_info.supported_architectures;
        let supports = |word: &str| supported.iter().any(|own| own == word);
        if supports("x86_64") {
            return Some(Architecture::Amd64);
        }
        supports("arm64").then_some(Architecture::Arm64)
    }

    fn features(&self) -> Features {
        let usage = |word: &str| self.supported_usage_classes.iter().any(|own| own == word);
        let hvm = self.supported_virtualization_types.iter().any(|own| own == "hvm");
        let nested = "nested-virtualization";
        let nested = self.processor_info.supported_features.iter().any(|own| own == nested);
        let nvme =
            ["required", "supported"].contains(&self.instance_storage_info.nvme_support.as_str());
        Features::default()
            .with(Feature::BareMetal, self.bare_metal)
            .with(Feature::Burstable, self.burstable_performance_supported)
            .with(Feature::CurrentGeneration, self.current_generation)
            .with(Feature::Spot, usage("spot"))
            .with(Feature::OnDemand, usage("on-demand"))
            .with(Feature::CapacityBlock, usage("capacity-block"))
            .with(Feature::Hvm, hvm)
            .with(Feature::EncryptionInTransit, self.network_info.encryption_in_transit_supported)
            .with(Feature::NestedVirtualization, nested)
            .with(Feature::LocalNvme, nvme)
    }

    fn network(&self, others: OtherFigures<'_>) -> NetworkFacts {
        let name = self.instance_type.as_str();
        let figure =
            |figures: &Figures| figures.of_size(name).and_then(|figure| u32::try_from(figure).ok());
        let mut cards: Vec<_> = self.network_info.network_cards.iter().collect();
        cards.sort_by_key(|card| card.index);
        NetworkFacts {
            interfaces_by_card: cards.iter().map(|card| card.maximum_network_interfaces).collect(),
            ipv4_per_interface: self.network_info.ipv4_addresses_per_interface,
            efa_interfaces_max: self.network_info.efa_info.maximum_efa_interfaces,
            bandwidth_mbps: figure(others.bandwidths).or_else(|| self.bandwidth_mbps()),
            branch_interfaces: figure(others.branch_interfaces).unwrap_or(0),
        }
    }

    /// A performance that EC2 states as a figure (`25 Gigabit`, `4x 100 Gigabit`) is the bandwidth;
    /// of one that can burst (`Up to 10 Gigabit`), the baseline is; one in words (`Moderate`) is
    /// none.
    fn bandwidth_mbps(&self) -> Option<u32> {
        let performance = self.network_info.network_performance.as_str();
        if performance.starts_with("Up to ") {
            let baseline = self.network_info.network_cards.iter();
            return Some(baseline.map(|card| thousandths(card.baseline_bandwidth_in_gbps)).sum());
        }
        let (times, figure) = performance.split_once("x ").unwrap_or(("1", performance));
        let gigabit: f64 = figure.strip_suffix(" Gigabit")?.parse().ok()?;
        let times: u32 = times.parse().ok()?;
        Some(times * thousandths(gigabit))
    }

    fn gpus(&self) -> Vec<Gpu> {
        let gpu = |device: &Device| Gpu {
            manufacturer: device.manufacturer.as_str().into(),
            name: device.name.as_str().into(),
            count: device.count,
            memory_mib: device.memory_info.size_in_mib,
        };
        self.gpu_info.gpus.iter().map(gpu).collect()
    }

    fn accelerators(&self) -> Vec<Accelerator> {
        let accelerator = |device: &Device| Accelerator {
            manufacturer: device.manufacturer.as_str().into(),
            name: device.name.as_str().into(),
            count: device.count,
        };
        self.inference_accelerator_info.accelerators.iter().map(accelerator).collect()
    }

    fn neuron_devices(&self) -> Vec<NeuronDevice> {
        let neuron = |device: &Device| NeuronDevice {
            name: device.name.as_str().into(),
            count: device.count,
            cores: device.core_info.count,
        };
        self.neuron_info.neuron_devices.iter().map(neuron).collect()
    }
}

/// EC2 gives GHz and Gbit/s as decimal figures with up to three places; in MHz and Mbit/s they are
/// whole.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clock speeds and bandwidths are far inside the range, and the cast saturates"
)]
fn thousandths(figure: f64) -> u32 {
    (figure * 1000.0).round() as u32
}

#[cfg(test)]
mod tests;
