//! What an instance has.
//!
//! Source: Karpenter's AWS provider, `pkg/providers/instancetype/types.go`, which estimates what
//! nodes will report before there is one.

use domain::node_class::AmiFamily;
use domain::resource::{
    AMD_GPU, AWS_NEURON, CPU, EPHEMERAL_STORAGE, MEMORY, NVIDIA_GPU, PODS, Resources,
};

use crate::facts::{Architecture, InstanceTypeFacts};
use crate::options::CatalogOptions;
use crate::view::NodeClassView;

/// Intel Gaudi's device plugin.
const HABANA_GAUDI: &str = "habana.ai/gaudi";
/// Cores of Neuron devices.
const NEURON_CORE: &str = "aws.amazon.com/neuroncore";
/// Elastic fabric adapters.
const EFA: &str = "vpc.amazonaws.com/efa";
/// Branch interfaces, for security groups of pods.
const POD_ENI: &str = "vpc.amazonaws.com/pod-eni";
/// Addresses for Windows pods.
const PRIVATE_IPV4_ADDRESS: &str = "vpc.amazonaws.com/PrivateIPv4Address";

pub(crate) const MIB: i64 = 1 << 20;
/// Disk makers' gigabyte, which EC2 counts local disks in.
const GB: i64 = 1_000_000_000;
/// Memory that arm64 instances keep for firmware.
const ARM64_FIRMWARE_MIB: u64 = 64;
const PARTS_PER_MILLION: u64 = 1_000_000;
/// Pods of a node where neither the user nor the network limits them: the kubelet's default.
const DEFAULT_PODS: u32 = 110;
/// Pods that use the node's own network (the CNI's and kube-proxy's) beside those with an address.
const HOST_NETWORK_PODS: u32 = 2;

/// What the instance has, devices that it has none of left out.
pub(crate) fn capacity(
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    options: &CatalogOptions,
) -> Resources {
    let discovered = view.discovered_memory.get(&facts.name).copied();
    let overhead_ppm =
        view.overhead.vm_memory_overhead_ppm.unwrap_or(options.vm_memory_overhead_ppm);
    let memory = discovered.unwrap_or_else(|| memory_bytes(facts, overhead_ppm));
    let mut capacity = Resources::new()
        .with(CPU, i64::from(facts.vcpus) * 1000)
        .with(MEMORY, memory)
        .with(EPHEMERAL_STORAGE, ephemeral_storage_bytes(facts, view))
        .with(PODS, pods(facts, view, options).into());
    for (name, count) in devices(facts, view) {
        if count > 0 {
            let so_far = capacity.get(name);
            capacity = capacity.with(name, so_far + i64::from(count));
        }
    }
    capacity
}

/// Memory that the node will report, in bytes: less 64 MiB of firmware on arm64, then less the
/// share that the hypervisor keeps, rounded up to whole MiB.
fn memory_bytes(facts: &InstanceTypeFacts, overhead_ppm: u32) -> i64 {
    let firmware =
        if facts.architecture == Some(Architecture::Arm64) { ARM64_FIRMWARE_MIB } else { 0 };
    let mib = facts.memory_mib.saturating_sub(firmware);
    let overhead = (mib * u64::from(overhead_ppm)).div_ceil(PARTS_PER_MILLION);
    i64::try_from(mib.saturating_sub(overhead)).unwrap_or(i64::MAX / MIB) * MIB
}

fn ephemeral_storage_bytes(facts: &InstanceTypeFacts, view: &NodeClassView) -> i64 {
    match i64::try_from(facts.local_disks_gb) {
        Ok(disks) if view.is_raid0 && disks > 0 => disks * GB,
        _ => view.volume_bytes,
    }
}

/// Pods that the kubelet will take.
pub(crate) fn pods(
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    options: &CatalogOptions,
) -> u32 {
    let limited_by_network = !view.ami_family.is_windows();
    let pods = match view.max_pods {
        Some(max_pods) => max_pods,
        None if limited_by_network => {
            let reserved = view.overhead.reserved_enis.unwrap_or(options.reserved_enis);
            eni_limited_pods(facts, view, reserved)
        }
        None => DEFAULT_PODS,
    };
    match view.pods_per_core {
        // Bottlerocket has no such setting; zero stands for no limit, as in the kubelet.
        Some(per_core) if per_core > 0 && view.ami_family != AmiFamily::Bottlerocket => {
            pods.min(per_core.saturating_mul(facts.vcpus))
        }
        _ => pods,
    }
}

/// Pods that the VPC CNI has addresses for: each interface of the default network card lends all
/// its addresses but its own, and two pods use the node's.
pub(crate) fn eni_limited_pods(
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    reserved_enis: u32,
) -> u32 {
    let all = facts.network.interfaces_by_card.first().copied().unwrap_or(0);
    let without_addresses = view
        .network_interfaces
        .iter()
        .filter(|interface| interface.is_efa_only && interface.network_card_index == 0)
        .count();
    let without_addresses = u32::try_from(without_addresses).unwrap_or(u32::MAX);
    match all.saturating_sub(reserved_enis).saturating_sub(without_addresses) {
        0 => 0,
        interfaces => {
            interfaces * facts.network.ipv4_per_interface.saturating_sub(1) + HOST_NETWORK_PODS
        }
    }
}

fn devices(facts: &InstanceTypeFacts, view: &NodeClassView) -> Vec<(&'static str, u32)> {
    let mut devices = vec![(POD_ENI, facts.network.branch_interfaces), (EFA, efa(facts, view))];
    for gpu in &facts.gpus {
        match &*gpu.manufacturer {
            "NVIDIA" => devices.push((NVIDIA_GPU, gpu.count)),
            "AMD" => devices.push((AMD_GPU, gpu.count)),
            "Habana" => devices.push((HABANA_GAUDI, gpu.count)),
            _ => {}
        }
    }
    for neuron in &facts.neuron_devices {
        devices.push((AWS_NEURON, neuron.count));
        devices.push((NEURON_CORE, neuron.count * neuron.cores));
    }
    if view.ami_family.is_windows() {
        let addresses = facts.network.ipv4_per_interface.saturating_sub(1);
        devices.push((PRIVATE_IPV4_ADDRESS, addresses));
    }
    devices
}

/// As many adapters as the node class lists; all that there can be where it lists no interfaces.
fn efa(facts: &InstanceTypeFacts, view: &NodeClassView) -> u32 {
    if view.network_interfaces.is_empty() {
        return facts.network.efa_interfaces_max;
    }
    let listed = view.network_interfaces.iter().filter(|interface| interface.is_efa_only).count();
    u32::try_from(listed).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
