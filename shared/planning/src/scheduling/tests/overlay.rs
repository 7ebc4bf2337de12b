//! NodeOverlays: prices and devices changed.

use domain::label::{INSTANCE_TYPE, NODE_CLASS, REGION};
use domain::overlay::{NodeOverlay, PriceChange};
use domain::resource::{MEMORY, Resources};

use crate::testing::{Cluster, claim_of, cluster, is, pod, unfit, usd};

fn overlay(name: &str, instance_type: &str, price: f64) -> NodeOverlay {
    NodeOverlay {
        name: name.into(),
        requirements: vec![is(INSTANCE_TYPE, instance_type)],
        price: Some(PriceChange::Absolute(usd(price))),
        capacity: Resources::new(),
        weight: 0,
    }
}

fn with(overlays: &[NodeOverlay]) -> Cluster {
    cluster().with(|snapshot| snapshot.objects.node_overlays = overlays.to_vec())
}

fn price(world: Cluster) -> f64 {
    claim_of(&world.pod(pod("a")).plan(), "a").offering.price.to_f64()
}

#[test]
fn a_price_is_what_the_overlay_says() {
    let world = with(&[overlay("cheap", "m.2xlarge", 0.01)]).pod(pod("a"));
    let plan = world.plan();
    let claim = claim_of(&plan, "a");
    assert_eq!(&*claim.offering.instance_type, "m.2xlarge");
    assert_eq!(claim.offering.price, usd(0.01));
}

#[test]
fn an_overlay_may_be_for_the_nodes_of_one_node_class() {
    let of_class = |class: &str| {
        let mut overlay = overlay("cheap", "m.2xlarge", 0.01);
        overlay.requirements.push(is(NODE_CLASS, class));
        usd(price(with(&[overlay])))
    };
    assert_eq!(of_class("default"), usd(0.01));
    assert_eq!(of_class("another"), usd(0.10));
}

#[test]
fn an_overlay_may_name_the_region() {
    let in_region = |region: &str| {
        let mut overlay = overlay("cheap", "m.2xlarge", 0.01);
        overlay.requirements.push(is(REGION, region));
        let world =
            with(&[overlay]).with(|snapshot| snapshot.instance_types.region = Some("here".into()));
        usd(price(world))
    };
    assert_eq!(in_region("here"), usd(0.01));
    assert_eq!(in_region("there"), usd(0.10));
}

#[test]
fn the_heavier_overlay_wins() {
    let heavy = NodeOverlay { weight: 5, ..overlay("a", "m.large", 0.07) };
    let near = |price: f64, wanted: f64| (price - wanted).abs() < 1e-9;
    assert!(near(price(with(&[heavy, overlay("b", "m.large", 0.06)])), 0.07));
}

#[test]
fn of_two_that_disagree_the_one_that_comes_last_by_name_stays() {
    let both = [overlay("a", "m.large", 0.06), overlay("b", "m.large", 0.07)];
    assert_eq!(usd(price(with(&both))), usd(0.07));
}

#[test]
fn an_overlay_adds_devices() {
    const DEVICE: &str = "example.com/fpga";
    let devices = NodeOverlay {
        price: None,
        capacity: Resources::new().with(DEVICE, 1),
        ..overlay("devices", "m.xlarge", 0.0)
    };
    let wanting = pod("a").asking(DEVICE, 1);
    let plan = with(&[devices]).pod(wanting.clone()).plan();
    assert_eq!(&*claim_of(&plan, "a").instance_types[0], "m.xlarge");
    unfit(&cluster().pod(wanting).plan(), "a", "default");
}

#[test]
fn huge_pages_of_an_overlay_are_set_aside_from_memory() {
    const PAGES: &str = "hugepages-1Gi";
    const GIB: i64 = 1 << 30;
    let pages = NodeOverlay {
        price: None,
        capacity: Resources::new().with(PAGES, 6 * GIB),
        ..overlay("pages", "m.large", 0.0)
    };
    let plan = |memory| {
        with(std::slice::from_ref(&pages))
            .pod(pod("a").asking(PAGES, GIB).asking(MEMORY, memory))
            .plan()
    };
    assert_eq!(&*claim_of(&plan(2 * GIB), "a").instance_types[0], "m.large");
    unfit(&plan(3 * GIB), "a", "default");
}

#[test]
fn overlays_do_nothing_where_the_gate_is_off() {
    let world = with(&[overlay("cheap", "m.large", 0.01)])
        .with(|snapshot| snapshot.settings.feature_gates.node_overlay = false);
    assert_eq!(usd(price(world)), usd(0.10));
}
