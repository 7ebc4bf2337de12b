//! What the node keeps for itself, and what is left for pods.
//!
//! Source: Karpenter's AWS provider, `pkg/providers/instancetype/types.go`; the kubelet's "Reserve
//! Compute Resources for System Daemons"; EKS's bootstrap script for the memory and CPU formulas.

use domain::node_class::{AmiFamily, EvictionThreshold};
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, Resources};

use crate::capacity::{MIB, eni_limited_pods, pods};
use crate::facts::InstanceTypeFacts;
use crate::options::CatalogOptions;
use crate::view::NodeClassView;

/// Memory that the kubelet reserves for itself, and for each pod.
const KUBE_RESERVED_MIB: i64 = 255;
const KUBE_RESERVED_MIB_A_POD: i64 = 11;
const KUBE_RESERVED_STORAGE_BYTES: i64 = 1 << 30;
/// Shares of cores that the kubelet reserves: up to this core, so many millicores of each.
///
/// In hundredths of a percent, so 600 is 6 %, or 60 millicores of a core.
const KUBE_RESERVED_CPU_BANDS: [(i64, i64); 4] = [(1, 600), (2, 100), (4, 50), (i64::MAX, 25)];
const EVICTION_MEMORY_BYTES: i64 = 100 * MIB;
const EVICTION_STORAGE_PERCENT: i64 = 10;
/// A whole, in thousandths of a percent.
const WHOLE_PERCENT_MILLIS: u32 = 100_000;

/// What pods may use of the capacity: less what the kubelet and the system reserve, and less the
/// thresholds at which the kubelet evicts. Never below zero.
pub(crate) fn allocatable(
    capacity: &Resources,
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    options: &CatalogOptions,
) -> Resources {
    let mut overhead = kube_reserved(facts, view, options);
    overhead.add(&view.system_reserved);
    overhead.add(&eviction(capacity, view));
    capacity
        .iter()
        .map(|(name, amount)| (name.clone(), (amount - overhead.get(name)).max(0)))
        .collect()
}

/// The kubelet's reserve, each resource as the user sets it or by formula.
pub(crate) fn kube_reserved(
    facts: &InstanceTypeFacts,
    view: &NodeClassView,
    options: &CatalogOptions,
) -> Resources {
    let reserved_for_pods = match view.ami_family {
        // Their images compute the reserve at boot from what the network could carry, whatever
        // maxPods says.
        AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Custom => eni_limited_pods(facts, view, 0),
        AmiFamily::Bottlerocket
        | AmiFamily::Windows2019
        | AmiFamily::Windows2022
        | AmiFamily::Windows2025 => pods(facts, view, options),
    };
    let memory_mib = KUBE_RESERVED_MIB_A_POD * i64::from(reserved_for_pods) + KUBE_RESERVED_MIB;
    let mut reserved = Resources::new()
        .with(CPU, kube_reserved_cpu_millis(facts.vcpus))
        .with(MEMORY, memory_mib * MIB)
        .with(EPHEMERAL_STORAGE, KUBE_RESERVED_STORAGE_BYTES);
    for (name, amount) in view.kube_reserved.iter() {
        reserved.set(name, amount);
    }
    reserved
}

/// 6 % of the first core, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of every other;
/// each band is cut to whole millicores on its own.
fn kube_reserved_cpu_millis(vcpus: u32) -> i64 {
    let cores = i64::from(vcpus);
    let mut below = 0;
    let mut reserved = 0;
    for (up_to, share) in KUBE_RESERVED_CPU_BANDS {
        let in_band = cores.min(up_to) - cores.min(below);
        reserved += in_band * 1000 * share / 10_000;
        below = up_to;
    }
    reserved
}

/// The thresholds of hard eviction; soft ones only warn, so they take nothing away.
fn eviction(capacity: &Resources, view: &NodeClassView) -> Resources {
    let storage = capacity.get(EPHEMERAL_STORAGE);
    let mut eviction = Resources::new()
        .with(MEMORY, EVICTION_MEMORY_BYTES)
        .with(EPHEMERAL_STORAGE, (storage * EVICTION_STORAGE_PERCENT + 99) / 100);
    for (signal, resource) in
        [("memory.available", MEMORY), ("nodefs.available", EPHEMERAL_STORAGE)]
    {
        if let Some(threshold) = view.eviction_hard.get(signal) {
            let amount = threshold_amount(*threshold, resource, capacity.get(resource));
            eviction = eviction.with(resource, amount);
        }
    }
    eviction
}

/// A share is rounded up; the whole of it means that the signal is switched off.
fn threshold_amount(threshold: EvictionThreshold, resource: &str, capacity: i64) -> i64 {
    match threshold {
        EvictionThreshold::PercentMillis(WHOLE_PERCENT_MILLIS) => 0,
        EvictionThreshold::PercentMillis(share) => {
            let whole = i128::from(WHOLE_PERCENT_MILLIS);
            let amount = (i128::from(capacity) * i128::from(share) + whole - 1) / whole;
            i64::try_from(amount).unwrap_or(i64::MAX)
        }
        EvictionThreshold::Amount(quantity) => Resources::amount_of(resource, quantity),
    }
}

#[cfg(test)]
mod tests;
