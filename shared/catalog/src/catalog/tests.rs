use std::sync::Arc;

use domain::instance_type::{CapacityType, Offering};
use domain::label;
use domain::money::UsdPerHour;
use domain::node_class::{AmiFamily, ResolvedCapacityReservation, ResolvedSubnet};

use super::*;
use crate::options::OfferingKey;
use crate::testkit::node_class;

fn types(classes: &[Ec2NodeClass], options: &CatalogOptions) -> InstanceTypes {
    embedded().unwrap().instance_types(classes, options)
}

fn find<'a>(list: &'a [InstanceType], name: &str) -> &'a InstanceType {
    list.iter().find(|own| &*own.name == name).unwrap_or_else(|| panic!("{name} is listed"))
}

fn offering<'a>(own: &'a InstanceType, zone: &str, capacity_type: CapacityType) -> &'a Offering {
    let mut matching =
        own.offerings.iter().filter(|own| &*own.zone == zone && own.capacity_type == capacity_type);
    matching.next().unwrap_or_else(|| panic!("{capacity_type} in {zone} is listed"))
}

fn subnet(zone: &str, zone_id: &str) -> ResolvedSubnet {
    ResolvedSubnet { id: "subnet-1".into(), zone: zone.into(), zone_id: Some(zone_id.into()) }
}

#[test]
fn a_plain_node_class_sees_what_is_sold_in_the_region() {
    let types = types(&[], &CatalogOptions::default());
    assert_eq!(types.region.as_deref(), Some("us-east-1"));
    assert!(types.default.len() > 1200);
    assert!(types.default.is_sorted_by(|a, b| a.name < b.name));
    let m5 = find(&types.default, "m5.large");
    let on_demand = offering(m5, "us-east-1a", CapacityType::OnDemand);
    assert_eq!(on_demand.price, UsdPerHour::from_nanos(96_000_000));
    assert!(on_demand.available);
    assert!(offering(m5, "us-east-1a", CapacityType::Spot).price < on_demand.price);
    assert_eq!(m5.labels["kubernetes.io/os"], ["linux".into()]);
    assert!(!types.default.iter().any(|own| own.name.starts_with("mac")));
}

#[test]
fn other_regions_sell_fewer_types_in_their_own_zones() {
    let types = types(&[], &CatalogOptions::of("ap-northeast-2"));
    assert!((600..900).contains(&types.default.len()));
    let m5 = find(&types.default, "m5.2xlarge");
    for zone in ["ap-northeast-2a", "ap-northeast-2c"] {
        assert!(offering(m5, zone, CapacityType::Spot).available);
        assert!(offering(m5, zone, CapacityType::OnDemand).available);
    }
}

#[test]
fn a_region_that_is_not_known_has_three_zones() {
    let types = types(&[], &CatalogOptions::of("moon-east-1"));
    assert!(
        offering(find(&types.default, "m5.large"), "moon-east-1c", CapacityType::Spot).available
    );
}

#[test]
fn node_classes_that_see_the_same_share_one_list() {
    let mut tagged = node_class("tagged", AmiFamily::Al2023);
    tagged.spec.tags.insert("team".into(), "blue".into());
    let classes = [
        node_class("plain", AmiFamily::Al2023),
        tagged,
        node_class("windows", AmiFamily::Windows2022),
    ];
    let types = types(&classes, &CatalogOptions::default());
    assert!(types.of("plain").is_same(types.of("tagged")));
    assert!(types.of("plain").is_same(&types.default));
    assert!(!types.of("plain").is_same(types.of("windows")));
}

#[test]
fn windows_nodes_are_labelled_with_their_build() {
    let classes = [node_class("windows", AmiFamily::Windows2022)];
    let types = types(&classes, &CatalogOptions::default());
    let m5 = find(types.of("windows"), "m5.large");
    assert_eq!(m5.labels["kubernetes.io/os"], ["windows".into()]);
    assert_eq!(m5.labels["node.kubernetes.io/windows-build"], ["10.0.20348".into()]);
    let m6g = find(types.of("windows"), "m6g.large");
    assert!(m6g.offerings.iter().all(|offering| !offering.available));
}

#[test]
fn subnets_limit_zones_and_tell_their_ids() {
    let mut class = node_class("default", AmiFamily::Al2023);
    class.status.subnets = vec![subnet("us-east-1b", "use1-az2")];
    let types = types(&[class], &CatalogOptions::default());
    assert_eq!(types.zone_ids[&Text::from("us-east-1b")], "use1-az2".into());
    let m5 = find(types.of("default"), "m5.large");
    assert!(offering(m5, "us-east-1b", CapacityType::Spot).available);
    assert!(!offering(m5, "us-east-1a", CapacityType::Spot).available);
}

#[test]
fn reservations_are_offerings_that_cost_next_to_nothing() {
    let reservation = |id: &str, is_expiring| ResolvedCapacityReservation {
        id: id.into(),
        instance_type: "m5.large".into(),
        zone: "us-east-1a".into(),
        is_expiring,
        reservation_type: "default".into(),
        is_interruptible: false,
    };
    let mut class = node_class("default", AmiFamily::Al2023);
    class.status.capacity_reservations =
        vec![reservation("cr-2", true), reservation("cr-1", false)];
    let mut options = CatalogOptions::default();
    options.reservations_remaining.insert("cr-1".into(), 3);
    let types = types(&[class], &options);
    let m5 = find(types.of("default"), "m5.large");
    let reserved: Vec<_> = m5
        .offerings
        .iter()
        .filter_map(|offering| Some((offering.reservation.as_ref()?, offering)))
        .collect();
    let [(first, usable), (second, expiring)] = reserved.as_slice() else { panic!("two of them") };
    assert_eq!((&*first.id, first.remaining), ("cr-1", Some(3)));
    assert_eq!((&*second.id, second.remaining), ("cr-2", None));
    let labels = label::OF_RESERVATION.map(|key| first.label(key));
    assert_eq!(labels, [Some("cr-1"), Some("default"), Some("false")]);
    assert!(usable.available && !expiring.available);
    assert_eq!(usable.price.nanos(), 9);
    let unreserved = find(types.of("default"), "m5.xlarge");
    assert!(unreserved.offerings.iter().all(|offering| offering.reservation.is_none()));
}

#[test]
fn what_ec2_refused_is_not_available() {
    let mut options = CatalogOptions::default();
    options.unavailable.insert(OfferingKey {
        instance_type: "m5.large".into(),
        zone: "us-east-1a".into(),
        capacity_type: CapacityType::Spot,
    });
    let types = types(&[], &options);
    let m5 = find(&types.default, "m5.large");
    assert!(!offering(m5, "us-east-1a", CapacityType::Spot).available);
    assert!(offering(m5, "us-east-1a", CapacityType::OnDemand).available);
}

#[test]
fn a_type_without_a_known_price_is_listed_and_not_available() {
    let types = types(&[], &CatalogOptions::of("moon-east-1"));
    let unpriced = find(&types.default, "p5e.48xlarge");
    assert!(!unpriced.offerings.is_empty());
    assert!(unpriced.offerings.iter().all(|own| !own.available && own.price == UsdPerHour::ZERO));
}

#[test]
fn observed_memory_counts_for_the_node_class_it_was_seen_in() {
    let mut options = CatalogOptions::default();
    options.discovered_memory.insert(("seen".into(), "m5.large".into()), 1 << 33);
    let classes = [node_class("seen", AmiFamily::Al2023), node_class("other", AmiFamily::Al2023)];
    let types = types(&classes, &options);
    let memory = |class: &str| find(types.of(class), "m5.large").capacity.get("memory");
    assert_eq!(memory("seen"), 1 << 33);
    assert_eq!(memory("other"), 7577 << 20);
}

#[test]
fn the_same_input_gives_the_same_types() {
    let classes = [node_class("a", AmiFamily::Bottlerocket), node_class("b", AmiFamily::Al2)];
    let options = CatalogOptions::of("eu-west-1");
    assert_eq!(types(&classes, &options), types(&classes, &options));
}

#[test]
fn what_is_printed_of_the_catalogue_reads_back_the_same() {
    let types = types(&[], &CatalogOptions::of("eu-west-3"));
    let printed = crate::document::write(&types, "default");
    assert_eq!(crate::document::from_value(&documents::Value::from_json(&printed)).unwrap(), types);
}

#[test]
fn types_that_ec2_no_longer_lists_are_there() {
    let types = types(&[], &CatalogOptions::default());
    let p3 = find(&types.default, "p3.8xlarge");
    assert_eq!(p3.allocatable.get("nvidia.com/gpu"), 4);
    assert_eq!(p3.labels["karpenter.k8s.aws/instance-gpu-name"], ["v100".into()]);
    let on_demand = offering(p3, "us-east-1c", CapacityType::OnDemand);
    assert_eq!(on_demand.price, UsdPerHour::from_nanos(12_240_000_000));
}

#[test]
fn the_embedded_tables_stay_small() {
    let bytes = include_str!("../../data/instance-types.tsv").len()
        + include_str!("../../data/regions.tsv").len();
    assert!(bytes < 1_500_000, "{bytes} bytes are embedded");
}

#[test]
fn names_of_every_form_have_their_category_and_generation() {
    let catalog = embedded().unwrap();
    let read = |name: &str| {
        let facts = catalog.find(name).unwrap();
        facts.category_and_generation().map(|(a, b)| (a.to_owned(), b.to_owned()))
    };
    let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(read("m7i-flex.large"), pair("m", "7"));
    assert_eq!(read("u-6tb1.56xlarge"), pair("u", "1"));
    assert_eq!(read("u7i-6tb.112xlarge"), pair("u", "7"));
    assert_eq!(read("p6-b200.48xlarge"), pair("p", "6"));
    assert_eq!(read("inf2.xlarge"), pair("inf", "2"));
    assert_eq!(read("mac-m4.metal"), None);
}

#[test]
fn spot_prices_that_ec2_states_replace_estimates_and_a_zone_without_one_sells_none() {
    let stated = UsdPerHour::from_nanos(12_300_000);
    let prices =
        BTreeMap::from([("m5.large".into(), BTreeMap::from([("us-east-1a".into(), stated)]))]);
    let options =
        CatalogOptions { spot_prices: Some(Arc::new(prices)), ..CatalogOptions::default() };
    let types = types(&[], &options);
    let m5 = find(&types.default, "m5.large");
    let sold = offering(m5, "us-east-1a", CapacityType::Spot);
    assert_eq!((sold.price, sold.available), (stated, true));
    assert!(!offering(m5, "us-east-1b", CapacityType::Spot).available);
    assert!(offering(m5, "us-east-1b", CapacityType::OnDemand).available);
}

#[test]
fn what_runs_is_sold_where_it_runs() {
    let catalog = embedded().unwrap();
    let running = |name: &str, zone: &str| (Text::from(name), Text::from(zone));
    let options = CatalogOptions {
        running: [running("c6a.4xlarge", "ap-northeast-2c"), running("m5.large", "moon-1a")].into(),
        ..CatalogOptions::of("ap-northeast-2")
    };
    let types = catalog.instance_types(&[], &options);
    let of = |name: &str, zone: &str| {
        let own = types.default.iter().find(|own| &*own.name == name).unwrap();
        let own = own.offerings.iter().find(|own| &*own.zone == zone).unwrap().clone();
        (own.available, own.price > UsdPerHour::ZERO)
    };
    assert_eq!(of("c6a.4xlarge", "ap-northeast-2c"), (false, true));
    assert_eq!(of("m5.large", "moon-1a"), (false, true));
    assert_eq!(of("m5.large", "ap-northeast-2a"), (true, true));
}

#[test]
fn prices_are_those_of_the_region() {
    let price = |region: &str| {
        let catalog = embedded_in(region).unwrap();
        catalog.find("m5.large").and_then(|facts| facts.on_demand).unwrap().nanos()
    };
    assert_eq!((price("us-east-1"), price("ap-northeast-2")), (96_000_000, 117_984_000));
}
