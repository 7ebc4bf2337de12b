use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use serde_json::{Value, json};

use super::*;

const REGION: &str = "eu-west-1";

/// A type of two or more vCPUs as DescribeInstanceTypes answers it, in part.
fn described(name: &str, vcpus: u32, memory_mib: u64) -> Value {
    json!({
        "InstanceType": name,
        "CurrentGeneration": true,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        "BareMetal": false,
        "Hypervisor": "nitro",
        "ProcessorInfo": {
            "SupportedArchitectures": ["x86_64"],
            "SustainedClockSpeedInGhz": 3.5,
            "Manufacturer": "Intel",
        },
        "VCpuInfo": {"DefaultVCpus": vcpus, "DefaultCores": vcpus / 2, "DefaultThreadsPerCore": 2},
        "MemoryInfo": {"SizeInMiB": memory_mib},
        "InstanceStorageSupported": false,
        "EbsInfo": {"EbsOptimizedSupport": "default", "EncryptionSupport": "supported"},
        "NetworkInfo": {
            "NetworkPerformance": "Up to 12.5 Gigabit",
            "MaximumNetworkInterfaces": 3,
            "NetworkCards": [{
                "NetworkCardIndex": 0, "NetworkPerformance": "Up to 12.5 Gigabit",
                "MaximumNetworkInterfaces": 3, "BaselineBandwidthInGbps": 0.781,
            }],
            "Ipv4AddressesPerInterface": 10,
        },
    })
}

fn types(rows: &[Value]) -> Value {
    json!({"InstanceTypes": rows})
}

fn offerings(rows: &[(&str, &str)]) -> Value {
    let row = |(name, zone): &(&str, &str)| json!({"InstanceType": name, "LocationType": "availability-zone", "Location": zone});
    json!({"InstanceTypeOfferings": rows.iter().map(row).collect::<Vec<_>>()})
}

fn spot(rows: &[(&str, &str, &str, &str, &str)]) -> Value {
    let row = |(name, zone, product, price, time): &(&str, &str, &str, &str, &str)| {
        json!({
            "AvailabilityZone": zone, "AvailabilityZoneId": format!("euw1-az{}", &zone[9..]),
            "InstanceType": name, "ProductDescription": product, "SpotPrice": price,
            "Timestamp": time,
        })
    };
    json!({"SpotPriceHistory": rows.iter().map(row).collect::<Vec<_>>()})
}

/// What Linux nodes pay on demand.
fn product(name: &str, region: &str, dollars: &str) -> Value {
    json!({
        "product": {
            "productFamily": "Compute Instance", "sku": "2223B6PCG6QAUYY6",
            "attributes": {
                "instanceType": name, "regionCode": region, "locationType": "AWS Region",
                "operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared",
                "capacitystatus": "Used", "marketoption": "OnDemand",
            },
        },
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {"2223B6PCG6QAUYY6.JRTCKXETXF": {"priceDimensions": {
            "2223B6PCG6QAUYY6.JRTCKXETXF.6YS6EN2CT7":
                {"unit": "Hrs", "pricePerUnit": {"USD": dollars}},
        }}}},
        "publicationDate": "2026-11-19T17:02:11Z",
    })
}

fn prices(products: &[Value]) -> Value {
    let texts: Vec<String> = products.iter().map(Value::to_string).collect();
    json!({"FormatVersion": "aws_v1", "PriceList": texts})
}

fn usual_types() -> Value {
    types(&[described("m7i.large", 2, 8192), described("m7i.xlarge", 4, 16384)])
}

fn usual_offerings() -> Value {
    offerings(&[
        ("m7i.large", "eu-west-1a"),
        ("m7i.large", "eu-west-1b"),
        ("m7i.xlarge", "eu-west-1b"),
    ])
}

fn usual_prices() -> Value {
    prices(&[
        product("m7i.large", REGION, "0.1123500000"),
        product("m7i.xlarge", REGION, "0.2247000000"),
    ])
}

fn usual_spot() -> Value {
    spot(&[
        ("m7i.large", "eu-west-1a", "Linux/UNIX", "0.041000", "2026-11-24T10:00:00+00:00"),
        ("m7i.large", "eu-west-1a", "Linux/UNIX", "0.043200", "2026-11-24T17:02:04+00:00"),
        ("m7i.large", "eu-west-1b", "Linux/UNIX (Amazon VPC)", "0.0399", "2026-11-23T00:00:00Z"),
        ("m7i.large", "eu-west-1b", "Windows", "0.1301", "2026-11-24T17:30:00Z"),
    ])
}

fn of_texts(texts: &[String], region: Option<&str>) -> Import {
    let sources = texts.iter().enumerate();
    let sources: Vec<Source> =
        sources.map(|(index, text)| Source::new(format!("{index}.json"), text.clone())).collect();
    import(&sources, region, &crate::embedded().unwrap())
}

/// Each document in a file of its own, as the AWS CLI indents it.
fn of(documents: &[Value], region: Option<&str>) -> Import {
    let texts = documents.iter().map(|one| serde_json::to_string_pretty(one).unwrap());
    of_texts(&texts.collect::<Vec<_>>(), region)
}

#[track_caller]
fn imported(import: Import) -> ImportedCatalog {
    assert_eq!(import.problems, []);
    import.catalog.unwrap()
}

#[track_caller]
fn seen(catalog: &ImportedCatalog, name: &str) -> InstanceType {
    let types = catalog.instance_types(&[]);
    types.default.iter().find(|own| &*own.name == name).unwrap().clone()
}

/// Zone, capacity type and price in billionths of a dollar of what can be launched.
fn sold(instance_type: &InstanceType) -> Vec<(&str, CapacityType, i64)> {
    let available = instance_type.offerings.iter().filter(|own| own.available);
    available.map(|own| (&*own.zone, own.capacity_type, own.price.nanos())).collect()
}

/// What is said, in the order in which it is.
fn remarks(import: &Import) -> Vec<String> {
    import.remarks.iter().map(ToString::to_string).collect()
}

fn problems(import: &Import) -> Vec<String> {
    import.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn four_lists_make_a_catalogue_with_the_newest_prices() {
    let import = of(&[usual_prices(), usual_spot(), usual_types(), usual_offerings()], None);
    assert_eq!(remarks(&import), ["left out 1 spot price: 1 of another operating system"]);
    let catalog = imported(import);
    assert_eq!(&*catalog.region, REGION);
    let large = seen(&catalog, "m7i.large");
    assert_eq!(
        sold(&large),
        [
            ("eu-west-1a", CapacityType::Spot, 43_200_000),
            ("eu-west-1a", CapacityType::OnDemand, 112_350_000),
            ("eu-west-1b", CapacityType::Spot, 39_900_000),
            ("eu-west-1b", CapacityType::OnDemand, 112_350_000),
        ]
    );
    let xlarge = seen(&catalog, "m7i.xlarge");
    let on_demand = ("eu-west-1b", CapacityType::OnDemand, 224_700_000);
    assert_eq!(sold(&xlarge), [on_demand], "without a spot price there is no spot");
    let types = catalog.instance_types(&[]);
    let as_of = Some("2026-11-24".into());
    let source = PriceSource::Imported;
    assert_eq!(types.pricing, Pricing { source, spot: source, as_of });
    assert_eq!(types.zone_ids.get("eu-west-1a").map(|id| &**id), Some("euw1-aza"));
}

#[test]
fn amounts_and_labels_are_those_that_the_functions_compute() {
    let catalog = imported(of(&[usual_prices(), usual_types(), usual_offerings()], None));
    let embedded = crate::embedded_in(REGION).unwrap();
    let embedded = embedded.instance_types(&[], &CatalogOptions::of(REGION));
    let known = embedded.default.iter().find(|own| &*own.name == "m7i.large").unwrap();
    let large = seen(&catalog, "m7i.large");
    assert_eq!(large.allocatable, known.allocatable);
    assert_eq!(large.capacity, known.capacity);
}

#[test]
fn lists_come_in_pages_and_in_any_order_and_form() {
    let pages = [
        json!({"InstanceTypes": [described("m7i.xlarge", 4, 16384)], "NextToken": "more"}),
        types(&[described("m7i.large", 2, 8192)]),
    ];
    let both = pages.each_ref().map(Value::to_string).join("\n");
    let rows = usual_offerings()["InstanceTypeOfferings"].to_string();
    let bare = product("m7i.large", REGION, "0.1123500000").to_string()
        + &product("m7i.xlarge", REGION, "0.2247000000").to_string();
    let yaml = "SpotPriceHistory:\n- AvailabilityZone: eu-west-1a\n  InstanceType: m7i.large\n  \
                ProductDescription: Linux/UNIX\n  SpotPrice: '0.043200'\n  \
                Timestamp: '2026-11-24T17:02:04+00:00'\n";
    let texts = [both, rows, bare, yaml.to_owned()];
    let import = of_texts(&texts, None);
    assert_eq!(remarks(&import), Vec::<String>::new());
    let catalog = imported(import);
    assert_eq!(sold(&seen(&catalog, "m7i.large")).len(), 3);
    assert_eq!(sold(&seen(&catalog, "m7i.xlarge")).len(), 1);
    let reversed: Vec<String> = texts.into_iter().rev().collect();
    let again = imported(of_texts(&reversed, None));
    assert_eq!(again.instance_types(&[]), catalog.instance_types(&[]));
}

#[test]
fn without_a_history_spot_prices_are_estimated_and_that_is_said() {
    let import = of(&[usual_prices(), usual_types(), usual_offerings()], None);
    assert!(remarks(&import)[0].starts_with("no SpotPriceHistory: spot prices are estimated"));
    let catalog = imported(import);
    assert_eq!(catalog.pricing.spot, PriceSource::Estimated);
    assert_eq!(catalog.pricing.as_of.as_deref(), Some("2026-11-19"));
    let facts = catalog.catalog.find("m7i.large").unwrap();
    let price = UsdPerHour::from_nanos(112_350_000);
    let estimate = crate::price::spot_estimate(facts, price, "eu-west-1a").nanos();
    let expected = ("eu-west-1a", CapacityType::Spot, estimate);
    assert!(sold(&seen(&catalog, "m7i.large")).contains(&expected));
}

#[test]
fn what_is_embedded_stands_in_for_types_and_zones() {
    let import = of(&[usual_prices()], None);
    let said = remarks(&import);
    assert!(said[0].starts_with("no InstanceTypes: "), "{said:?}");
    assert!(said[1].starts_with("no InstanceTypeOfferings: "), "{said:?}");
    let catalog = imported(import);
    let large = seen(&catalog, "m7i.large");
    assert!(sold(&large).contains(&("eu-west-1c", CapacityType::OnDemand, 112_350_000)));
    let other = seen(&catalog, "m5.large");
    assert_eq!(sold(&other), [], "no price of another list is used");
}

#[test]
fn types_without_a_price_are_named_and_not_available() {
    let prices = prices(&[product("m7i.large", REGION, "0.1123500000")]);
    let import = of(&[prices, usual_types(), usual_offerings(), usual_spot()], None);
    let said = remarks(&import).join("\n");
    assert!(
        said.contains("no on-demand price of 1 type of 2, not available on demand: m7i.xlarge"),
        "{said}"
    );
    let catalog = imported(import);
    assert_eq!(sold(&seen(&catalog, "m7i.xlarge")), []);
}

#[test]
fn types_that_are_not_described_are_named() {
    let offerings = offerings(&[
        ("m7i.large", "eu-west-1a"),
        ("m99.large", "eu-west-1a"),
        ("mac2.metal", "eu-west-1a"),
    ]);
    let import = of(&[usual_prices(), usual_types(), offerings], None);
    let said = remarks(&import).join("\n");
    let expected = "1 type is offered and not described in InstanceTypes, and left out: m99.large";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn prices_of_another_region_are_refused() {
    let elsewhere = product("m7i.large", "us-west-2", "0.1008000000");
    let mixed = prices(&[elsewhere.clone(), product("m7i.large", REGION, "0.1123500000")]);
    let import = of(&[usual_types(), usual_offerings(), mixed], None);
    assert_eq!(
        problems(&import),
        ["1 product not of region eu-west-1 left out: 1 of us-west-2 (2.json:1)"]
    );
    let large = seen(&import.catalog.unwrap(), "m7i.large");
    assert!(sold(&large).contains(&("eu-west-1a", CapacityType::OnDemand, 112_350_000)));

    let import = of(&[usual_types(), usual_offerings(), prices(&[elsewhere])], None);
    assert_eq!(import.catalog.unwrap_err(), ImportError::NoPrices(REGION.into()));
    assert_eq!(import.problems.len(), 1);
}

#[test]
fn zones_of_another_region_than_the_wanted_one_are_refused() {
    let documents = [usual_types(), usual_offerings(), usual_spot(), usual_prices()];
    let import = of(&documents, Some("us-west-2"));
    let said = problems(&import).join("\n");
    assert!(
        said.contains("3 offerings not of region us-west-2 left out: 3 of eu-west-1"),
        "{said}"
    );
    assert!(said.contains("3 spot prices not of region us-west-2 left out"), "{said}");
    assert_eq!(import.catalog.unwrap_err(), ImportError::NoPrices("us-west-2".into()));
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_costs_the_others_nothing() {
    let mut broken = described("m7i.2xlarge", 8, 32768);
    broken["VCpuInfo"] = json!({"DefaultVCpus": "eight"});
    let types = types(&[described("m7i.large", 2, 8192), broken]);
    let spot = spot(&[
        ("m7i.large", "eu-west-1a", "Linux/UNIX", "cheap", "2026-11-24T17:02:04Z"),
        ("m7i.large", "eu-west-1b", "Linux/UNIX", "0.0399", "yesterday"),
        ("m7i.large", "eu-west-1b", "Linux/UNIX", "0.0399", "2026-11-24T17:02:04Z"),
    ]);
    let prices = json!({"PriceList": [
        product("m7i.large", REGION, "0.1123500000").to_string(), "{\"product\": {}}", "no JSON",
    ]});
    let import = of(&[types, usual_offerings(), spot, prices], None);
    let said = problems(&import);
    let expected = [
        ("object m7i.2xlarge, field InstanceTypes[1].VCpuInfo.DefaultVCpus)", "string \"eight\""),
        ("object m7i.large, field SpotPriceHistory[0].SpotPrice)", "the price \"cheap\""),
        ("object m7i.large, field SpotPriceHistory[1].Timestamp)", "the time \"yesterday\""),
        ("field PriceList[1].product)", "missing field `attributes`"),
        ("field PriceList[2])", "expected ident"),
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, (place, what)) in said.iter().zip(expected) {
        assert!(said.ends_with(place) && said.contains(what), "{said}");
    }
    assert!(said[0].contains("(0.json:"), "{said:?}");
    let catalog = import.catalog.unwrap();
    assert_eq!(sold(&seen(&catalog, "m7i.large")).len(), 3);
}

#[test]
fn a_list_full_of_unreadable_rows_is_told_in_a_few_lines() {
    let rows = vec![json!("{}"); 100];
    let import = of(&[usual_prices(), usual_types(), json!({"PriceList": rows})], None);
    let said = problems(&import);
    assert_eq!(said.len(), 11, "{said:?}");
    assert!(said[10].starts_with("90 products more cannot be read"), "{said:?}");
}

#[test]
fn documents_that_are_no_list_of_aws_are_named() {
    let texts = ["{\"Reservations\": []}".to_owned(), "{\"PriceList\":".to_owned()];
    let import = of_texts(&texts, Some(REGION));
    let said = problems(&import);
    assert!(said[0].starts_with("it holds none of InstanceTypes, "), "{said:?}");
    assert!(said[0].ends_with("(0.json:1)"), "{said:?}");
    assert!(said[1].starts_with("not JSON: "), "{said:?}");
    let import = of_texts(&["{\"Reservations\": []}".to_owned()], None);
    assert_eq!(import.catalog.unwrap_err(), ImportError::NoRegion);
}

#[test]
fn offerings_that_are_not_by_zone_say_how_to_list_them() {
    let by_region = json!({"InstanceTypeOfferings": [
        {"InstanceType": "m7i.large", "LocationType": "region", "Location": "eu-west-1"},
    ]});
    let import = of(&[usual_prices(), usual_types(), by_region], None);
    let said = problems(&import);
    assert!(said[0].starts_with("offerings by region, not by zone: list them with"), "{said:?}");
}

#[test]
fn a_list_whose_last_page_is_missing_says_so() {
    let mut first = usual_types();
    first["NextToken"] = json!("more");
    let import = of(&[usual_prices(), first, usual_offerings(), usual_spot()], None);
    let expected = "every document with InstanceTypes has a NextToken";
    assert!(remarks(&import)[0].starts_with(expected), "{import:?}");
}

#[test]
fn a_region_that_nobody_knows_needs_its_zones() {
    let prices = prices(&[product("m7i.large", "moon-north-1", "0.1123500000")]);
    let import = of(&[prices.clone(), usual_types()], None);
    assert_eq!(import.catalog.unwrap_err(), ImportError::NoZones("moon-north-1".into()));
    let offerings = offerings(&[("m7i.large", "moon-north-1a")]);
    let catalog = imported(of(&[prices, usual_types(), offerings], None));
    assert!(!sold(&seen(&catalog, "m7i.large")).is_empty());
}

#[test]
fn local_zones_are_left_out() {
    let offerings = offerings(&[("m7i.large", "eu-west-1a"), ("m7i.large", "eu-west-1-dub-1a")]);
    let import = of(&[usual_prices(), usual_types(), offerings, usual_spot()], None);
    let expected = "left out 1 offering: 1 of Local Zones and Wavelength Zones";
    assert!(remarks(&import).contains(&expected.to_owned()), "{import:?}");
}
