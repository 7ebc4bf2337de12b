use serde_json::json;

use super::*;

/// What a Linux node of type m5.large pays in eu-west-1.
fn listed() -> Value {
    json!({
        "product": {
            "productFamily": "Compute Instance",
            "sku": "2223B6PCG6QAUYY6",
            "attributes": {
                "instanceType": "m5.large", "regionCode": "eu-west-1", "locationType": "AWS Region",
                "operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared",
                "capacitystatus": "Used", "marketoption": "OnDemand",
            },
        },
        "serviceCode": "AmazonEC2",
        "terms": {
            "OnDemand": {"2223B6PCG6QAUYY6.JRTCKXETXF": {"priceDimensions": {
                "2223B6PCG6QAUYY6.JRTCKXETXF.6YS6EN2CT7":
                    {"unit": "Hrs", "pricePerUnit": {"USD": "0.1070000000"}},
            }}},
            "Reserved": {"2223B6PCG6QAUYY6.38NPMPTW36": {"priceDimensions": {
                "x": {"unit": "Quantity", "pricePerUnit": {"USD": "512"}},
            }}},
        },
        "publicationDate": "2026-11-19T17:02:11Z",
    })
}

fn price(nanos: i64, published: &str) -> OnDemandPrice {
    OnDemandPrice {
        instance_type: "m5.large".into(),
        region: Some("eu-west-1".into()),
        price: UsdPerHour::from_nanos(nanos),
        published: Some(published.into()),
    }
}

#[track_caller]
fn other_with(pointer: &str, value: Value) -> OtherProduct {
    let mut product = listed();
    *product.pointer_mut(pointer).unwrap() = value;
    match Product::from_json(product).unwrap() {
        Product::Other(why) => why,
        Product::OnDemand(price) => panic!("{price:?}"),
    }
}

const PRICE: &str = "/terms/OnDemand/2223B6PCG6QAUYY6.JRTCKXETXF/priceDimensions/\
                     2223B6PCG6QAUYY6.JRTCKXETXF.6YS6EN2CT7/pricePerUnit";

#[test]
fn the_on_demand_price_is_read_beside_reserved_ones() {
    let expected = Product::OnDemand(price(107_000_000, "2026-11-19"));
    assert_eq!(Product::from_text(&listed().to_string()).unwrap(), expected);
    let mut yuan = listed();
    *yuan.pointer_mut(PRICE).unwrap() = json!({"CNY": "0.1070000000"});
    assert_eq!(Product::from_json(yuan).unwrap(), expected);
}

#[test]
fn what_nodes_do_not_pay_says_why() {
    let attribute =
        |name: &str, value: &str| other_with(&format!("/product/attributes/{name}"), json!(value));
    assert_eq!(attribute("operatingSystem", "Windows"), OtherProduct::OperatingSystem);
    assert_eq!(attribute("operatingSystem", "RHEL"), OtherProduct::OperatingSystem);
    assert_eq!(attribute("preInstalledSw", "SQL Std"), OtherProduct::PreInstalledSoftware);
    assert_eq!(attribute("tenancy", "Dedicated"), OtherProduct::Tenancy);
    assert_eq!(attribute("tenancy", "Host"), OtherProduct::Tenancy);
    let unused = "UnusedCapacityReservation";
    assert_eq!(attribute("capacitystatus", unused), OtherProduct::CapacityReservation);
    assert_eq!(attribute("marketoption", "CapacityBlock"), OtherProduct::NotOnDemand);
    assert_eq!(attribute("locationType", "AWS Local Zone"), OtherProduct::LocalZone);
    assert_eq!(attribute("instanceType", "m5"), OtherProduct::NoInstance);
    let family = other_with("/product/productFamily", json!("Dedicated Host"));
    assert_eq!(family, OtherProduct::NoInstance);
    assert_eq!(other_with("/terms/OnDemand", json!({})), OtherProduct::NotOnDemand);
    assert_eq!(other_with(PRICE, json!({"USD": "0.0000000000"})), OtherProduct::Free);
}

#[test]
fn bare_metal_is_always_dedicated() {
    let mut metal = listed();
    metal["product"]["attributes"]["instanceType"] = json!("m5.metal");
    metal["product"]["productFamily"] = json!(BARE_METAL);
    assert_eq!(
        Product::from_json(metal.clone()).unwrap(),
        Product::Other(OtherProduct::Tenancy),
        "what is shared is no bare metal"
    );
    metal["product"]["attributes"]["tenancy"] = json!("Dedicated");
    assert!(matches!(Product::from_json(metal).unwrap(), Product::OnDemand(_)));
}

#[test]
fn a_product_that_cannot_be_read_names_the_field() {
    let error = Product::from_json(json!({"product": {"attributes": {"instanceType": 7}}}));
    let ProductError::Json { field, .. } = error.unwrap_err() else { panic!("a price") };
    assert_eq!(field, "product.attributes.instanceType");
    let mut product = listed();
    *product.pointer_mut(PRICE).unwrap() = json!({"USD": "a lot"});
    let error = Product::from_json(product).unwrap_err();
    assert_eq!(error.to_string(), "the price \"a lot\" is not a number of dollars");
    assert!(Product::from_text("{}").is_err() && Product::from_text("no JSON").is_err());
}

#[test]
fn of_several_prices_the_newest_counts_and_then_the_highest() {
    let all = [
        price(1, "2026-10-01"),
        price(3, "2026-11-19"),
        price(2, "2026-11-19"),
        price(9, "2025-01-01"),
    ];
    let mut prices = [OnDemandPrices::default(), OnDemandPrices::default()];
    for (price, reversed) in all.iter().zip(all.iter().rev()) {
        prices[0].add(price.clone());
        prices[1].add(reversed.clone());
    }
    assert_eq!(prices[0], prices[1]);
    assert_eq!(prices[0].by_type()["m5.large"].nanos(), 3);
    assert_eq!(prices[0].published().map(|day| &**day), Some("2026-11-19"));
}
