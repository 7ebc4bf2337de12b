//! Instance types as a document.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::{InstanceType, InstanceTypes, Offering};
use domain::label;
use domain::resource::{Resources, ShownAmount};
use serde_json::{Map, Value, json};

use super::header::{API_VERSION, KIND};

/// The document of what the node class of that name sees (the default where it has no list of its
/// own), which [`super::read`] reads back as the default.
pub fn write(types: &InstanceTypes, name: &str) -> Value {
    let mut spec = Map::new();
    if let Some(region) = &types.region {
        spec.insert("region".to_owned(), json!(**region));
    }
    let source: &str = types.pricing.source.into();
    let mut pricing = Map::from_iter([("source".to_owned(), json!(source))]);
    if types.pricing.spot != super::usual_spot_source(types.pricing.source) {
        let spot: &str = types.pricing.spot.into();
        pricing.insert("spotSource".to_owned(), json!(spot));
    }
    if let Some(as_of) = &types.pricing.as_of {
        pricing.insert("asOf".to_owned(), json!(**as_of));
    }
    spec.insert("pricing".to_owned(), pricing.into());
    if !types.zone_ids.is_empty() {
        let ids: Map<String, Value> =
            types.zone_ids.iter().map(|(zone, id)| (zone.to_string(), json!(**id))).collect();
        spec.insert("zoneIds".to_owned(), ids.into());
    }
    spec.insert(
        "instanceTypes".to_owned(),
        types.of(name).iter().map(instance_type).collect::<Vec<_>>().into(),
    );
    json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec})
}

fn instance_type(instance_type: &InstanceType) -> Value {
    let mut fields = Map::from_iter([
        ("name".to_owned(), json!(*instance_type.name)),
        ("capacity".to_owned(), resources(&instance_type.capacity)),
        ("allocatable".to_owned(), resources(&instance_type.allocatable)),
        (
            "offerings".to_owned(),
            instance_type.offerings.iter().map(offering).collect::<Vec<_>>().into(),
        ),
    ]);
    let (own, more): (BTreeMap<_, _>, BTreeMap<_, _>) = instance_type
        .labels
        .iter()
        .partition(|(key, _)| [label::INSTANCE_TYPE, label::ARCH, label::OS].contains(&&***key));
    if let Some([architecture]) = own.get(&Text::from(label::ARCH)).map(|values| values.as_slice())
    {
        fields.insert("architecture".to_owned(), json!(**architecture));
    }
    if let Some(systems) = own.get(&Text::from(label::OS)) {
        let systems: Vec<&str> = systems.iter().map(|system| &**system).collect();
        fields.insert("operatingSystems".to_owned(), json!(systems));
    }
    if !more.is_empty() {
        let labels: Map<String, Value> =
            more.into_iter().map(|(key, values)| (key.to_string(), label_value(values))).collect();
        fields.insert("labels".to_owned(), labels.into());
    }
    fields.into()
}

fn label_value(values: &[Text]) -> Value {
    match values {
        [one] => json!(**one),
        many => many.iter().map(|value| json!(**value)).collect::<Vec<_>>().into(),
    }
}

fn resources(resources: &Resources) -> Value {
    let amounts: Map<String, Value> = resources
        .iter()
        .map(|(name, amount)| (name.to_string(), json!(ShownAmount { name, amount }.to_string())))
        .collect();
    amounts.into()
}

fn offering(offering: &Offering) -> Value {
    let mut fields = Map::from_iter([
        ("zone".to_owned(), json!(*offering.zone)),
        ("capacityType".to_owned(), json!(offering.capacity_type.as_str())),
        ("hourlyUsd".to_owned(), json!(offering.price.to_f64())),
        ("available".to_owned(), json!(offering.available)),
    ]);
    if let Some(reservation) = &offering.reservation {
        fields.insert("reservationId".to_owned(), json!(*reservation.id));
        if let Some(remaining) = reservation.remaining {
            fields.insert("reservationCapacity".to_owned(), json!(remaining));
        }
    }
    fields.into()
}
