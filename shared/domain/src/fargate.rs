//! Nodes of AWS Fargate: a machine of its own for one pod, in one of a few sizes, which is what is
//! paid for.
//!
//! Source: <https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html>.

use std::str::FromStr;

use crate::label::{self, Labels};
use crate::money::UsdPerHour;
use crate::quantity::Quantity;
use crate::resource::{CPU, MEMORY, Resources};

const MIB: i64 = 1 << 20;
const MIB_PER_GB: i64 = 1024;
const MILLIS_PER_VCPU: i64 = 1000;

/// Memory that Fargate adds to what a pod requests, for the kubelet, kube-proxy and containerd.
const KUBERNETES_COMPONENTS_MIB: i64 = 256;

/// The memory, in MiB, of the smallest size in CPU: 0.25 vCPU.
const SMALLEST_MIB: [i64; 3] = [512, 1024, 2048];

/// The larger sizes: vCPUs in thousandths, then the least and the most memory and its steps, in GB.
const LARGER: [(i64, i64, i64, i64); 6] = [
    (500, 1, 4, 1),
    (1000, 2, 8, 1),
    (2000, 4, 16, 1),
    (4000, 8, 30, 1),
    (8000, 16, 60, 4),
    (16_000, 32, 120, 8),
];

/// What a Fargate node has, as it is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FargateSize {
    /// vCPUs, in thousandths.
    pub cpu_millis: i64,
    /// Memory; Fargate's GB is 1024 MiB.
    pub memory_mib: i64,
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a Fargate size is written like `0.25vCPU 0.5GB`, this is {0:?}")]
pub struct FargateSizeError(String);

impl FromStr for FargateSize {
    type Err = FargateSizeError;

    /// Reads annotation `CapacityProvisioned` of a pod: `0.25vCPU 0.5GB`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (cpu, memory) = text.split_once(' ')?;
            let cpu: Quantity = cpu.strip_suffix("vCPU")?.parse().ok()?;
            let memory: Quantity = format!("{}Gi", memory.strip_suffix("GB")?).parse().ok()?;
            let size = Self {
                cpu_millis: Resources::amount_of(CPU, cpu),
                memory_mib: mib(Resources::amount_of(MEMORY, memory)),
            };
            (size.cpu_millis > 0 && size.memory_mib > 0).then_some(size)
        };
        read().ok_or_else(|| FargateSizeError(text.to_owned()))
    }
}

impl FargateSize {
    /// The size that Fargate gives a pod with these requests: the smallest that holds them and 256
    /// MiB for Kubernetes' own components. `None` where there is none so large.
    pub fn for_requests(requests: &Resources) -> Option<Self> {
        let cpu_millis = requests.get(CPU);
        let memory_mib = mib(requests.get(MEMORY)).saturating_add(KUBERNETES_COMPONENTS_MIB);
        let smallest = SMALLEST_MIB.iter().map(|memory| (250, *memory));
        let larger = LARGER.iter().flat_map(|(cpu, least, most, step)| {
            let gb = (*least..=*most).step_by(usize::try_from(*step).unwrap_or(1));
            gb.map(move |gb| (*cpu, gb * MIB_PER_GB))
        });
        smallest
            .chain(larger)
            .find(|(cpu, memory)| *cpu >= cpu_millis && *memory >= memory_mib)
            .map(|(cpu_millis, memory_mib)| Self { cpu_millis, memory_mib })
    }
}

/// Whole MiB that hold so many bytes.
fn mib(bytes: i64) -> i64 {
    bytes / MIB + i64::from(bytes % MIB > 0)
}

/// What Fargate charges for Linux in a region, by architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FargateRates {
    /// Of x86.
    pub amd64: FargateRate,
    /// Of ARM.
    pub arm64: FargateRate,
}

/// What Fargate charges for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FargateRate {
    /// For each vCPU.
    pub vcpu: UsdPerHour,
    /// For each GB of memory.
    pub gb: UsdPerHour,
}

impl FargateRate {
    /// What a node of a size costs.
    pub fn price(self, size: FargateSize) -> UsdPerHour {
        let part = |rate: UsdPerHour, amount: i64, unit: i64| {
            i128::from(rate.nanos()) * i128::from(amount) / i128::from(unit)
        };
        let nanos = part(self.vcpu, size.cpu_millis, MILLIS_PER_VCPU)
            + part(self.gb, size.memory_mib, MIB_PER_GB);
        UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

/// Whether a node with these labels is one of Fargate.
pub fn is_fargate(labels: &Labels) -> bool {
    labels.get(label::COMPUTE_TYPE).is_some_and(|kind| &**kind == label::FARGATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(cpu_millis: i64, memory_mib: i64) -> FargateSize {
        FargateSize { cpu_millis, memory_mib }
    }

    #[track_caller]
    fn check(cpu_millis: i64, memory_mib: i64, expected: Option<(i64, i64)>) {
        let requests =
            Resources::new().with(CPU, cpu_millis).with(MEMORY, memory_mib.saturating_mul(MIB));
        let expected = expected.map(|(cpu, memory)| size(cpu, memory));
        assert_eq!(FargateSize::for_requests(&requests), expected);
    }

    #[test]
    fn the_annotation_is_read_exactly() {
        let read = |text: &str| text.parse::<FargateSize>().ok();
        assert_eq!(read("0.25vCPU 0.5GB"), Some(size(250, 512)));
        assert_eq!(read("16vCPU 120GB"), Some(size(16_000, 122_880)));
        for wrong in ["", "0.25vCPU", "0.25 0.5", "0vCPU 1GB", "-1vCPU 1GB", "xvCPU 1GB"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn requests_are_rounded_up_to_a_size_with_room_for_kubernetes() {
        check(0, 0, Some((250, 512)));
        check(250, 256, Some((250, 512)));
        check(250, 257, Some((250, 1024)));
        check(250, 1792, Some((250, 2048)));
        check(251, 1, Some((500, 1024)));
        check(100, 2048, Some((500, 3072)));
        // One vCPU has at most 8 GB: the 256 MiB more make it two, as AWS documents.
        check(1000, 8192, Some((2000, 9216)));
        check(5000, 30_000, Some((8000, 32_768)));
        check(8000, 33_000, Some((8000, 36_864)));
        check(16_000, 122_880, None);
        check(16_001, 1, None);
        check(i64::MAX, i64::MAX, None);
    }

    #[test]
    fn vcpus_and_gigabytes_are_paid_for_apart() {
        let rate = FargateRate {
            vcpu: UsdPerHour::from_nanos(40_480_000),
            gb: UsdPerHour::from_nanos(4_445_000),
        };
        assert_eq!(rate.price(size(250, 512)).nanos(), 10_120_000 + 2_222_500);
        assert_eq!(rate.price(size(4000, 30_720)).nanos(), 161_920_000 + 133_350_000);
    }
}
