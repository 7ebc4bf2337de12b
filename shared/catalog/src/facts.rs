//! What EC2 says of an instance type: the figures that labels and amounts are computed from.
//!
//! Source: `aws ec2 describe-instance-types`, and for what that call does not tell (branch
//! interfaces, a few bandwidths, prices) the figures in `data/`.

use domain::Text;
use domain::money::UsdPerHour;
use strum::{EnumString, IntoStaticStr};

/// One instance type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceTypeFacts {
    /// The name, `family.size`.
    pub name: Text,
    /// The architecture that Kubernetes nodes run on it; `None` for Macs.
    pub architecture: Option<Architecture>,
    /// `VCpuInfo.DefaultVCpus`.
    pub vcpus: u32,
    /// `MemoryInfo.SizeInMiB`.
    pub memory_mib: u64,
    /// `ProcessorInfo.Manufacturer`, in EC2's spelling.
    pub cpu_manufacturer: Text,
    /// `ProcessorInfo.SustainedClockSpeedInGhz` in MHz; 0 where EC2 does not say.
    pub clock_mhz: u32,
    /// `Hypervisor`; bare metal has none.
    pub hypervisor: Option<Hypervisor>,
    /// What it can do.
    pub features: Features,
    /// Its network.
    pub network: NetworkFacts,
    /// `EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps` where EBS optimisation is on by default.
    pub ebs_bandwidth_mbps: Option<u32>,
    /// `InstanceStorageInfo.TotalSizeInGB`, in units of 10⁹ bytes; 0 without local disks.
    pub local_disks_gb: u64,
    /// `GpuInfo.Gpus`.
    pub gpus: Vec<Gpu>,
    /// `InferenceAcceleratorInfo.Accelerators`.
    pub accelerators: Vec<Accelerator>,
    /// `NeuronInfo.NeuronDevices`.
    pub neuron_devices: Vec<NeuronDevice>,
    /// List price of Linux in us-east-1; `None` where it is not known.
    pub on_demand: Option<UsdPerHour>,
}

impl InstanceTypeFacts {
    /// What stands before the dot: `m7i-flex` of `m7i-flex.large`.
    pub fn family(&self) -> &str {
        self.name.split_once('.').map_or(&*self.name, |(family, _)| family)
    }

    /// What stands behind the dot.
    pub fn size(&self) -> &str {
        self.name.split_once('.').map_or("", |(_, size)| size)
    }

    /// The letters that a family begins with and its generation: `("u", "7")` of
    /// `u7i-6tb.112xlarge`, `("u", "1")` of `u-6tb1.56xlarge`; `None` for names of another form.
    ///
    /// Source: Karpenter reads them by `(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.`.
    pub fn category_and_generation(&self) -> Option<(&str, &str)> {
        let family = self.name.split_once('.')?.0;
        let letters = family.find(|c: char| !c.is_ascii_lowercase())?;
        let (category, rest) = family.split_at(letters);
        let rest = match rest.strip_prefix('-') {
            None => rest,
            Some(sized) => {
                sized.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("tb")?
            }
        };
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        (!category.is_empty() && digits > 0).then(|| (category, &rest[..digits]))
    }

    /// Whether it runs on the Nitro System, which all bare metal does.
    pub fn is_nitro(&self) -> bool {
        self.hypervisor == Some(Hypervisor::Nitro) || self.features.has(Feature::BareMetal)
    }
}

/// A CPU architecture in Kubernetes' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Architecture {
    /// `x86_64` in EC2's words.
    Amd64,
    /// `arm64` in EC2's words too.
    Arm64,
}

impl Architecture {
    /// The value of the label `kubernetes.io/arch`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What virtualises an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Hypervisor {
    /// AWS Nitro.
    Nitro,
    /// Xen, of older generations.
    Xen,
}

impl Hypervisor {
    /// EC2's word.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Something that a type either can or cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// `BareMetal`.
    BareMetal,
    /// `BurstablePerformanceSupported`.
    Burstable,
    /// `CurrentGeneration`.
    CurrentGeneration,
    /// `SupportedUsageClasses` has `spot`.
    Spot,
    /// `SupportedUsageClasses` has `on-demand`.
    OnDemand,
    /// `SupportedUsageClasses` has `capacity-block`.
    CapacityBlock,
    /// `SupportedVirtualizationTypes` has `hvm`.
    Hvm,
    /// `NetworkInfo.EncryptionInTransitSupported`.
    EncryptionInTransit,
    /// `ProcessorInfo.SupportedFeatures` has `nested-virtualization`.
    NestedVirtualization,
    /// The local disks are NVMe.
    LocalNvme,
}

impl Feature {
    /// All of them, each with its letter in the embedded table.
    pub(crate) const LETTERS: [(Self, char); 10] = [
        (Self::BareMetal, 'm'),
        (Self::Burstable, 'b'),
        (Self::CurrentGeneration, 'c'),
        (Self::Spot, 's'),
        (Self::OnDemand, 'o'),
        (Self::CapacityBlock, 'k'),
        (Self::Hvm, 'h'),
        (Self::EncryptionInTransit, 't'),
        (Self::NestedVirtualization, 'v'),
        (Self::LocalNvme, 'n'),
    ];
}

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(u16);

impl Features {
    /// Whether the feature is in the set.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u16) != 0
    }

    /// With the feature, if the condition holds.
    pub const fn with(self, feature: Feature, condition: bool) -> Self {
        if condition { Self(self.0 | 1 << feature as u16) } else { self }
    }
}

/// The network of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Interfaces that each network card takes, by card index. The first card is the default one.
    pub interfaces_by_card: Vec<u32>,
    /// `Ipv4AddressesPerInterface`.
    pub ipv4_per_interface: u32,
    /// `EfaInfo.MaximumEfaInterfaces`; 0 without EFA.
    pub efa_interfaces_max: u32,
    /// Published bandwidth: the baseline where it can burst. `None` where AWS gives no figure.
    pub bandwidth_mbps: Option<u32>,
    /// Branch interfaces for security groups of pods; 0 where the type cannot trunk.
    pub branch_interfaces: u32,
}

/// GPUs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// In EC2's spelling.
    pub manufacturer: Text,
    /// In EC2's spelling.
    pub name: Text,
    /// How many; 0 for a part of one.
    pub count: u32,
    /// Memory of each.
    pub memory_mib: u64,
}

/// Inference accelerators of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accelerator {
    /// In EC2's spelling.
    pub manufacturer: Text,
    /// In EC2's spelling.
    pub name: Text,
    /// How many.
    pub count: u32,
}

/// Neuron devices of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeuronDevice {
    /// In EC2's spelling.
    pub name: Text,
    /// How many.
    pub count: u32,
    /// Neuron cores of each.
    pub cores: u32,
}
