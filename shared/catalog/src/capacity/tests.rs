use domain::instance_overhead::InstanceOverhead;
use domain::node_class::NetworkInterface;

use super::*;
use crate::testkit::facts;

fn plain() -> (NodeClassView, CatalogOptions) {
    (NodeClassView::plain(), CatalogOptions::default())
}

fn amount(name: &str, view: &NodeClassView, resource: &str) -> i64 {
    capacity(&facts(name), view, &CatalogOptions::default()).get(resource)
}

fn efa_only(device_index: u32) -> NetworkInterface {
    NetworkInterface { network_card_index: 0, device_index, is_efa_only: true }
}

#[test]
fn memory_loses_the_hypervisors_share_in_whole_mebibytes() {
    let (view, _) = plain();
    // 8192 MiB less 614.4, rounded up.
    assert_eq!(amount("m5.large", &view, MEMORY), 7577 * MIB);
}

#[test]
fn arm64_loses_its_firmware_first() {
    let (view, _) = plain();
    // 8192 less 64, less 609.6 rounded up.
    assert_eq!(amount("m6g.large", &view, MEMORY), (8128 - 610) * MIB);
}

#[test]
fn the_hypervisors_share_can_be_set() {
    let options = CatalogOptions { vm_memory_overhead_ppm: 0, ..CatalogOptions::default() };
    let memory = capacity(&facts("m5.large"), &NodeClassView::plain(), &options).get(MEMORY);
    assert_eq!(memory, 8192 * MIB);
}

#[test]
fn what_a_class_says_of_its_instances_comes_before_the_installations_settings() {
    let options = CatalogOptions {
        vm_memory_overhead_ppm: 100_000,
        reserved_enis: 2,
        ..CatalogOptions::default()
    };
    let view = |vm_memory_overhead_ppm, reserved_enis| NodeClassView {
        overhead: InstanceOverhead { vm_memory_overhead_ppm, reserved_enis },
        ..NodeClassView::plain()
    };
    let m5 = facts("m5.large");
    let memory = |view| capacity(&m5, &view, &options).get(MEMORY);
    assert_eq!(memory(view(Some(0), None)), 8192 * MIB);
    assert_eq!(memory(view(None, Some(0))), (8192 - 820) * MIB);
    assert_eq!(pods(&m5, &view(None, Some(1)), &options), 20);
    assert_eq!(pods(&m5, &view(Some(0), None), &options), 11);
    assert_eq!(
        pods(&m5, &NodeClassView { max_pods: Some(50), ..view(None, Some(3)) }, &options),
        50
    );
}

#[test]
fn observed_memory_replaces_the_estimate() {
    let discovered_memory = [("m5.large".into(), 7600 * MIB)].into();
    let view = NodeClassView { discovered_memory, ..NodeClassView::plain() };
    assert_eq!(amount("m5.large", &view, MEMORY), 7600 * MIB);
    assert_eq!(amount("m5.xlarge", &view, MEMORY), (16384 - 1229) * MIB);
}

#[test]
fn pods_are_limited_by_addresses() {
    let (view, options) = plain();
    // Three interfaces of ten addresses, one of each for itself, and two pods on the host's
    // network.
    assert_eq!(pods(&facts("m5.large"), &view, &options), 29);
    let reserved = CatalogOptions { reserved_enis: 1, ..options.clone() };
    assert_eq!(pods(&facts("m5.large"), &view, &reserved), 20);
    let all = CatalogOptions { reserved_enis: 3, ..options };
    assert_eq!(pods(&facts("m5.large"), &view, &all), 0);
}

#[test]
fn interfaces_for_fabric_alone_lend_no_addresses() {
    let (plain, options) = plain();
    let view = NodeClassView { network_interfaces: vec![efa_only(1)], ..plain };
    // Fourteen interfaces of fifty addresses instead of fifteen.
    assert_eq!(pods(&facts("p4d.24xlarge"), &view, &options), 14 * 49 + 2);
}

#[test]
fn max_pods_and_pods_per_core_limit_together() {
    let (plain, options) = plain();
    let view = NodeClassView { max_pods: Some(110), pods_per_core: Some(10), ..plain };
    assert_eq!(pods(&facts("m5.large"), &view, &options), 20);
    assert_eq!(pods(&facts("m5.24xlarge"), &view, &options), 110);
    let bottlerocket = NodeClassView { ami_family: AmiFamily::Bottlerocket, ..view };
    assert_eq!(pods(&facts("m5.large"), &bottlerocket, &options), 110);
}

#[test]
fn windows_takes_110_pods_and_counts_their_addresses() {
    let view = NodeClassView { ami_family: AmiFamily::Windows2022, ..NodeClassView::plain() };
    assert_eq!(amount("m5.large", &view, PODS), 110);
    assert_eq!(amount("m5.large", &view, PRIVATE_IPV4_ADDRESS), 9);
    assert_eq!(amount("m5.large", &NodeClassView::plain(), PRIVATE_IPV4_ADDRESS), 0);
}

#[test]
fn local_disks_replace_the_volume_only_as_raid0() {
    let (plain, _) = plain();
    assert_eq!(amount("m5d.large", &plain, EPHEMERAL_STORAGE), 20 << 30);
    let raid0 = NodeClassView { is_raid0: true, ..plain };
    assert_eq!(amount("m5d.large", &raid0, EPHEMERAL_STORAGE), 75_000_000_000);
    assert_eq!(amount("m5.large", &raid0, EPHEMERAL_STORAGE), 20 << 30);
}

#[test]
fn devices_are_counted_by_their_plugin() {
    let (view, _) = plain();
    assert_eq!(amount("p3.8xlarge", &view, NVIDIA_GPU), 4);
    assert_eq!(amount("g4ad.xlarge", &view, AMD_GPU), 1);
    assert_eq!(amount("dl1.24xlarge", &view, HABANA_GAUDI), 8);
    assert_eq!(amount("inf2.48xlarge", &view, AWS_NEURON), 12);
    assert_eq!(amount("inf2.48xlarge", &view, NEURON_CORE), 24);
    assert_eq!(amount("m5.large", &view, POD_ENI), 9);
    let none = capacity(&facts("m5.large"), &view, &CatalogOptions::default());
    assert_eq!(none.find(NVIDIA_GPU), None);
}

#[test]
fn fabric_adapters_are_those_listed_or_all() {
    let (plain, _) = plain();
    assert_eq!(amount("p4d.24xlarge", &plain, EFA), 4);
    let view = NodeClassView { network_interfaces: vec![efa_only(1), efa_only(2)], ..plain };
    assert_eq!(amount("p4d.24xlarge", &view, EFA), 2);
}
