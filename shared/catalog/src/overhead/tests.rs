use domain::resource::PODS;

use super::*;
use crate::capacity::capacity;
use crate::testkit::facts;

fn left(name: &str, view: &NodeClassView) -> Resources {
    let (facts, options) = (facts(name), CatalogOptions::default());
    allocatable(&capacity(&facts, view, &options), &facts, view, &options)
}

fn threshold(signal: &str, threshold: EvictionThreshold) -> NodeClassView {
    NodeClassView { eviction_hard: [(signal.into(), threshold)].into(), ..NodeClassView::plain() }
}

const GIB: i64 = 1 << 30;

#[test]
fn cpu_is_reserved_in_bands_cut_one_by_one() {
    assert_eq!(kube_reserved_cpu_millis(1), 60);
    assert_eq!(kube_reserved_cpu_millis(2), 70);
    assert_eq!(kube_reserved_cpu_millis(4), 80);
    assert_eq!(kube_reserved_cpu_millis(8), 90);
    assert_eq!(kube_reserved_cpu_millis(6), 85);
    // Six more cores at 2.5 millicores each, and one whose half is lost.
    assert_eq!(kube_reserved_cpu_millis(9), 92);
    assert_eq!(kube_reserved_cpu_millis(192), 550);
}

#[test]
fn a_plain_node_keeps_what_its_image_reserves() {
    let left = left("m5.large", &NodeClassView::plain());
    assert_eq!(left.get(CPU), 1930);
    assert_eq!(left.get(MEMORY), (7577 - 100 - 255 - 11 * 29) * MIB);
    assert_eq!(left.get(EPHEMERAL_STORAGE), 17 * GIB);
    assert_eq!(left.get(PODS), 29);
}

#[test]
fn memory_is_reserved_for_what_the_network_carries_whatever_max_pods_says() {
    for family in [AmiFamily::Al2, AmiFamily::Al2023, AmiFamily::Custom] {
        let view =
            NodeClassView { ami_family: family, max_pods: Some(8), ..NodeClassView::plain() };
        let left = left("m5.large", &view);
        assert_eq!(left.get(MEMORY), (7577 - 100 - 255 - 11 * 29) * MIB, "{family:?}");
        assert_eq!(left.get(PODS), 8);
    }
}

#[test]
fn bottlerocket_and_windows_reserve_for_the_pods_they_take() {
    for family in [AmiFamily::Bottlerocket, AmiFamily::Windows2022] {
        let view =
            NodeClassView { ami_family: family, max_pods: Some(8), ..NodeClassView::plain() };
        assert_eq!(
            left("m5.large", &view).get(MEMORY),
            (7577 - 100 - 255 - 11 * 8) * MIB,
            "{family:?}"
        );
    }
}

#[test]
fn reserved_interfaces_do_not_lower_the_reserve() {
    let (facts, view) = (facts("m5.large"), NodeClassView::plain());
    let options = CatalogOptions { reserved_enis: 1, ..CatalogOptions::default() };
    assert_eq!(kube_reserved(&facts, &view, &options).get(MEMORY), (255 + 11 * 29) * MIB);
}

#[test]
fn what_the_user_reserves_replaces_the_formula_key_by_key() {
    let view = NodeClassView {
        kube_reserved: Resources::new().with(CPU, 200).with("pid", 1000),
        system_reserved: Resources::new().with(MEMORY, 300 * MIB).with(EPHEMERAL_STORAGE, GIB),
        ..NodeClassView::plain()
    };
    let left = left("m5.large", &view);
    assert_eq!(left.get(CPU), 1800);
    assert_eq!(left.get(MEMORY), (7577 - 100 - 255 - 11 * 29 - 300) * MIB);
    assert_eq!(left.get(EPHEMERAL_STORAGE), 16 * GIB);
    assert_eq!(left.find("pid"), None);
}

#[test]
fn hard_eviction_takes_an_amount_or_a_share_rounded_up() {
    let amount = EvictionThreshold::Amount("500Mi".parse().unwrap());
    let memory = left("m5.large", &threshold("memory.available", amount)).get(MEMORY);
    assert_eq!(memory, (7577 - 500 - 255 - 11 * 29) * MIB);

    let share = EvictionThreshold::PercentMillis(5_500);
    let memory = left("m5.large", &threshold("memory.available", share)).get(MEMORY);
    // 5.5 % of 7577 MiB are 436,978,319.36 bytes.
    assert_eq!(memory, (7577 - 255 - 11 * 29) * MIB - 436_978_320);

    let storage = left("m5.large", &threshold("nodefs.available", share)).get(EPHEMERAL_STORAGE);
    assert_eq!(storage, 19 * GIB - (20 * GIB * 55 + 999) / 1000);
}

#[test]
fn a_whole_share_switches_the_signal_off() {
    let off = EvictionThreshold::PercentMillis(100_000);
    let memory = left("m5.large", &threshold("memory.available", off)).get(MEMORY);
    assert_eq!(memory, (7577 - 255 - 11 * 29) * MIB);
}

#[test]
fn nothing_is_left_rather_than_less_than_nothing() {
    let view = NodeClassView {
        system_reserved: Resources::new().with(MEMORY, 64 * GIB),
        ..NodeClassView::plain()
    };
    assert_eq!(left("m5.large", &view).get(MEMORY), 0);
}
