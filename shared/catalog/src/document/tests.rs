use domain::instance_type::PriceSource;
use domain::money::UsdPerHour;
use serde_json::Value as Json;

use super::*;

const YAML: &str = r#"
apiVersion: outrigger.dev/v1alpha1
kind: InstanceCatalog
metadata: {name: example}
spec:
  region: test-region
  instanceTypes:
  - name: small
    architecture: arm64
    operatingSystems: [windows, linux]
    labels: {integer: 4, size: small, colours: [red, blue], beta.kubernetes.io/arch: arm64}
    capacity: {cpu: "4", memory: 4Gi, pods: 5}
    offerings:
    - {zone: test-zone-2, capacityType: spot, hourlyUsd: 0.82}
    - {zone: test-zone-1, capacityType: on-demand, hourlyUsd: 1, available: false}
    - {zone: test-zone-1, capacityType: reserved, hourlyUsd: 0, reservationId: cr-1, reservationCapacity: 3}
  - name: bare
    capacity: {cpu: 500m}
    allocatable: {cpu: 400m}
"#;

fn catalog(instance_type: &Json) -> String {
    serde_json::json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "example"},
        "spec": {"instanceTypes": [instance_type]},
    })
    .to_string()
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), message);
}

#[test]
fn yaml_reads_as_the_contract_says() {
    let types = read(YAML).unwrap();
    assert_eq!(types.region.as_deref(), Some("test-region"));
    let [bare, small] = &types.default[..] else { panic!("two types by name") };
    assert_eq!(&*bare.name, "bare");
    assert_eq!(bare.allocatable.get("cpu"), 400);
    assert!(bare.offerings.is_empty());
    assert_eq!(bare.labels.len(), 1);

    assert_eq!(small.capacity.get("cpu"), 4000);
    assert_eq!(small.capacity.get("memory"), 4 << 30);
    assert_eq!(small.allocatable, small.capacity);
    let label = |key: &str| small.labels[key].iter().map(|value| &**value).collect::<Vec<_>>();
    assert_eq!(label("node.kubernetes.io/instance-type"), ["small"]);
    assert_eq!(label("kubernetes.io/arch"), ["arm64"]);
    assert_eq!(label("kubernetes.io/os"), ["linux", "windows"]);
    assert_eq!(label("integer"), ["4"]);
    assert_eq!(label("colours"), ["blue", "red"]);
}

#[test]
fn older_names_of_label_keys_become_the_current_ones() {
    let types = read(YAML).unwrap();
    assert!(!types.default[1].labels.contains_key("beta.kubernetes.io/arch"));
}

#[test]
fn offerings_are_listed_by_zone_and_capacity_type() {
    let types = read(YAML).unwrap();
    let offerings = &types.default[1].offerings;
    let order: Vec<_> =
        offerings.iter().map(|offering| (&*offering.zone, offering.capacity_type)).collect();
    assert_eq!(
        order,
        [
            ("test-zone-1", CapacityType::Reserved),
            ("test-zone-1", CapacityType::OnDemand),
            ("test-zone-2", CapacityType::Spot),
        ]
    );
    assert_eq!(offerings[0].reservation.as_ref().unwrap().remaining, Some(3));
    assert!(!offerings[1].available);
    assert!(offerings[2].available);
    assert_eq!(offerings[2].price, UsdPerHour::from_nanos(820_000_000));
}

#[test]
fn flow_mappings_that_are_no_json_are_read_as_yaml() {
    let text = "{\"apiVersion\": outrigger.dev/v1alpha1, \"kind\": InstanceCatalog, \"spec\": \
                {\"instanceTypes\": [{\"name\": a, \"capacity\": {\"cpu\": 1},}]}}";
    assert_eq!(&*read(text).unwrap().default[0].name, "a");
}

#[test]
fn a_key_given_twice_is_refused_in_yaml_and_json() {
    let cause = |text: &str| {
        let error = read(text).unwrap_err();
        (error.to_string(), std::error::Error::source(&error).unwrap().to_string())
    };
    let refused = "the catalogue cannot be read".to_owned();
    assert_eq!(
        cause("kind: a\nkind: b\n"),
        (refused.clone(), "key \"kind\" is given twice at line 2".to_owned())
    );
    assert_eq!(
        cause("{\"kind\": 1,\n\"kind\": 2}"),
        (refused, "key \"kind\" is given twice at line 2 column 6".to_owned())
    );
}

#[test]
fn broken_texts_say_where() {
    let cause =
        |text: &str| std::error::Error::source(&read(text).unwrap_err()).unwrap().to_string();
    assert_eq!(cause("\n{\"a\": "), "EOF while parsing a value at line 2 column 6");
    assert_eq!(cause("a: [1,\n"), "unclosed bracket '[' at line 1 column 4");
}

#[test]
fn what_is_written_reads_back_the_same() {
    let types = read(YAML).unwrap();
    let document = write(&types, "example");
    assert_eq!(document["metadata"]["name"], "example");
    assert_eq!(document["spec"]["instanceTypes"][1]["offerings"][2]["hourlyUsd"], 0.82);
    assert_eq!(read(&document.to_string()).unwrap(), types);
}

#[test]
fn the_order_in_the_document_does_not_matter() {
    let mut document = write(&read(YAML).unwrap(), "example");
    document["spec"]["instanceTypes"].as_array_mut().unwrap().reverse();
    assert_eq!(from_value(&Value::from_json(&document)).unwrap(), read(YAML).unwrap());
}

#[test]
fn errors_name_the_type_and_the_field() {
    let with = |change: Json| {
        let mut own = serde_json::json!({"name": "m5.large", "capacity": {"cpu": "2"}});
        own.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        catalog(&own)
    };
    let offering = |offering: Json| with(serde_json::json!({"offerings": [offering]}));
    refused(
        &with(serde_json::json!({"capacity": {"memory": "4GiB"}})),
        "instance type m5.large, field capacity.memory: \"4GiB\" is not a quantity: its suffix is \
         none of n u m k M G T P E Ki Mi Gi Ti Pi Ei or e<number>",
    );
    refused(
        &with(serde_json::json!({"capacity": {"cpu": "-1"}})),
        "instance type m5.large, field capacity.cpu: it may not be negative",
    );
    refused(
        &with(serde_json::json!({"offering": []})),
        "instance type m5.large, field offering: there is no such field",
    );
    refused(
        &offering(serde_json::json!({"zone": "a", "capacityType": "spot"})),
        "instance type m5.large, field offerings[0].hourlyUsd: it is missing",
    );
    refused(
        &offering(serde_json::json!({"zone": "a", "capacityType": "ondemand", "hourlyUsd": 1})),
        "instance type m5.large, field offerings[0].capacityType: expected spot, on-demand or \
         reserved, found \"ondemand\"",
    );
    refused(
        &offering(serde_json::json!({"zone": "a", "capacityType": "reserved", "hourlyUsd": 1})),
        "instance type m5.large, field offerings[0].reservationId: it is missing",
    );
    refused(
        &offering(serde_json::json!(
            {"zone": "a", "capacityType": "spot", "hourlyUsd": 1, "avaliable": false}
        )),
        "instance type m5.large, field offerings[0].avaliable: there is no such field",
    );
    refused(
        &catalog(&serde_json::json!({"capacity": {}})),
        "the catalogue, field spec.instanceTypes[0].name: it is missing",
    );
}

#[test]
fn a_type_listed_twice_is_refused() {
    refused(
        "{apiVersion: outrigger.dev/v1alpha1, kind: InstanceCatalog, spec: {instanceTypes: \
         [{name: a, capacity: {}}, {name: a, capacity: {}}]}}",
        "the catalogue, field spec.instanceTypes: a is listed twice",
    );
}

#[test]
fn other_kinds_and_broken_texts_are_refused() {
    refused(
        "apiVersion: v1\nkind: Pod\n",
        "expected kind InstanceCatalog of outrigger.dev/v1alpha1, found kind Pod of v1",
    );
    refused("", "a catalogue file holds one document, this one holds 0");
    refused("a: 1\n---\nb: 1\n", "a catalogue file holds one document, this one holds 2");
    refused("{\"a\": ", "the catalogue is not valid JSON");
    refused("a: [", "the catalogue is not valid YAML");
}

#[test]
fn a_catalogue_says_how_far_its_prices_can_be_relied_on() {
    let priced = |pricing: &str| {
        format!(
            "{{apiVersion: outrigger.dev/v1alpha1, kind: InstanceCatalog, spec: {{instanceTypes: \
             [], pricing: {pricing}}}}}"
        )
    };
    let types = read(&priced("{source: estimated, asOf: 2026-07}")).unwrap();
    assert_eq!(types.pricing.source, PriceSource::Estimated);
    assert_eq!(types.pricing.as_of.as_deref(), Some("2026-07"));
    assert_eq!(read(&priced("null")).unwrap().pricing, Pricing::default());
    refused(
        &priced("{source: guessed}"),
        "the catalogue, field spec.pricing.source: expected listed, estimated or imported, found \
         guessed",
    );
}
