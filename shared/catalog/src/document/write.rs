//! Instance types as a document. The types here are the document's form; with the feature `schema`
//! they have a JSON schema, whose descriptions are their comments. What a reader may leave out has
//! a default there.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering, PriceSource};
use domain::label;
use domain::resource::{Resources, ShownAmount};
use domain::spot::SpotRates;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::header::{API_VERSION, KIND};

/// Instance types as the scheduler sees them: what `outrigger catalog -o json` prints, and
/// `--catalog FILE` reads, as JSON or YAML.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InstanceCatalog {
    /// The version of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = API_VERSION)))]
    api_version: &'static str,
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    kind: &'static str,
    /// What Kubernetes objects have too; nothing of it counts.
    #[cfg_attr(feature = "schema", schemars(default))]
    metadata: Metadata,
    /// The catalogue.
    spec: Spec,
}

/// What Kubernetes objects have too.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("additionalProperties" = true)))]
struct Metadata {
    /// A name: of the EC2NodeClass that the types are seen through, where `outrigger catalog`
    /// printed the document.
    #[cfg_attr(feature = "schema", schemars(default))]
    name: String,
}

/// A catalogue.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Spec {
    /// The region that the types are of, which every node is labelled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// Where prices come from.
    #[cfg_attr(feature = "schema", schemars(default))]
    pricing: Prices,
    /// The id of each availability zone, by name: ids are the same in every account.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    zone_ids: BTreeMap<Text, Text>,
    /// The types, by name.
    instance_types: Vec<Type>,
}

/// Where prices come from.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Pricing"))]
#[serde(rename_all = "camelCase")]
struct Prices {
    /// How much on-demand prices can be relied on: list prices of the region, estimated from
    /// another region's, or as somebody else gave them.
    #[cfg_attr(
        feature = "schema",
        schemars(default = "schema::default_source", extend("enum" = schema::PRICE_SOURCES))
    )]
    source: String,
    /// How much spot prices can be relied on: as somebody else gave them, or estimated from
    /// on-demand prices. Where absent, `imported` with that `source`, and `estimated` with any
    /// other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("enum" = schema::PRICE_SOURCES)))]
    spot_source: Option<String>,
    /// The day or month that prices are of, as ISO 8601 writes it; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<Text>,
}

impl Default for Prices {
    fn default() -> Self {
        Self::from(&domain::instance_type::Pricing::default())
    }
}

impl From<&domain::instance_type::Pricing> for Prices {
    fn from(pricing: &domain::instance_type::Pricing) -> Self {
        let domain::instance_type::Pricing { source, spot, as_of } = pricing;
        let word = |source: PriceSource| {
            let word: &str = source.into();
            word.to_owned()
        };
        Self {
            source: word(*source),
            spot_source: (*spot != super::usual_spot_source(*source)).then(|| word(*spot)),
            as_of: as_of.clone(),
        }
    }
}

/// An instance type.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "InstanceType"))]
#[serde(rename_all = "camelCase")]
struct Type {
    /// The type's name, which is its label `node.kubernetes.io/instance-type` too.
    name: Text,
    /// Its label `kubernetes.io/arch`; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<Text>,
    /// Values of its label `kubernetes.io/os`; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<LabelValue>"))]
    operating_systems: Option<Vec<Text>>,
    /// More labels. Every key that some type has is well known: a type without it does not have it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    labels: BTreeMap<Text, LabelValue>,
    /// What the instance has, by resource, as Kubernetes quantities.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, schema::Quantity>"))]
    capacity: BTreeMap<Text, String>,
    /// What pods may use of it, by resource, as Kubernetes quantities; all of its capacity where
    /// absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<BTreeMap<String, schema::Quantity>>"))]
    allocatable: BTreeMap<Text, String>,
    /// Where and how the type can be had.
    #[cfg_attr(feature = "schema", schemars(default))]
    offerings: Vec<Sold>,
}

/// The value of a label, or several values that a node may have. Numbers and truth values are read
/// as text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
enum LabelValue {
    One(#[cfg_attr(feature = "schema", schemars(with = "schema::Scalar"))] Text),
    AnyOf(#[cfg_attr(feature = "schema", schemars(with = "Vec<schema::Scalar>"))] Vec<Text>),
}

/// An offering of an instance type.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Offering"))]
#[serde(rename_all = "camelCase")]
struct Sold {
    /// The availability zone, by name.
    zone: Text,
    /// How the instance is bought.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = schema::capacity_types())))]
    capacity_type: &'static str,
    /// The price in US dollars an hour.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    hourly_usd: f64,
    /// Whether it can be launched now.
    #[cfg_attr(feature = "schema", schemars(default = "schema::is_available"))]
    available: bool,
    /// The capacity reservation, for capacity type `reserved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation_id: Option<Text>,
    /// Instances that are left in the reservation; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation_capacity: Option<u32>,
    /// How often EC2 takes spot instances back, in 100 hours of an instance; absent without a
    /// history. It is shown only: whoever reads a catalogue passes over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interruptions_per100_node_hours: Option<f64>,
}

/// The document of what the node class of that name sees (the default where it has no list of its
/// own), which [`super::read`] reads back as the default.
pub fn write(types: &InstanceTypes, name: &str) -> Value {
    // Only maps with keys that are no text cannot be written, and there are none.
    serde_json::to_value(InstanceCatalog::new(types, name)).unwrap_or_default()
}

impl InstanceCatalog {
    /// The document of what the node class of that name sees (the default where it has no list of
    /// its own).
    pub fn new(types: &InstanceTypes, name: &str) -> Self {
        Self {
            api_version: API_VERSION,
            kind: KIND,
            metadata: Metadata { name: name.to_owned() },
            spec: Spec {
                region: types.region.clone(),
                pricing: (&types.pricing).into(),
                zone_ids: types.zone_ids.clone(),
                instance_types: types.of(name).iter().map(Type::from).collect(),
            },
        }
    }
}

impl InstanceCatalog {
    /// The document with what is remembered of its spot offerings.
    #[must_use]
    pub fn with_rates(mut self, rates: &SpotRates) -> Self {
        for own in &mut self.spec.instance_types {
            let spot = CapacityType::Spot.as_str();
            for sold in own.offerings.iter_mut().filter(|sold| sold.capacity_type == spot) {
                let rate = rates.get(&own.name, &sold.zone).rate;
                sold.interruptions_per100_node_hours = Some(rate.in_100_node_hours());
            }
        }
        self
    }
}

impl From<&InstanceType> for Type {
    fn from(instance_type: &InstanceType) -> Self {
        let InstanceType { name, labels, capacity, allocatable, offerings } = instance_type;
        let is_own = |key: &str| [label::INSTANCE_TYPE, label::ARCH, label::OS].contains(&key);
        let architecture = match labels.get(label::ARCH).map(Vec::as_slice) {
            Some([architecture]) => Some(architecture.clone()),
            _ => None,
        };
        let more = labels.iter().filter(|(key, _)| !is_own(key));
        Self {
            name: name.clone(),
            architecture,
            operating_systems: labels.get(label::OS).cloned(),
            labels: more.map(|(key, values)| (key.clone(), values.as_slice().into())).collect(),
            capacity: quantities(capacity),
            allocatable: quantities(allocatable),
            offerings: offerings.iter().map(Sold::from).collect(),
        }
    }
}

impl From<&[Text]> for LabelValue {
    fn from(values: &[Text]) -> Self {
        match values {
            [one] => Self::One(one.clone()),
            many => Self::AnyOf(many.to_vec()),
        }
    }
}

fn quantities(resources: &Resources) -> BTreeMap<Text, String> {
    resources
        .iter()
        .map(|(name, amount)| (name.clone(), ShownAmount { name, amount }.to_string()))
        .collect()
}

impl From<&Offering> for Sold {
    fn from(offering: &Offering) -> Self {
        let Offering { zone, capacity_type, price, available, reservation } = offering;
        Self {
            zone: zone.clone(),
            capacity_type: capacity_type.as_str(),
            hourly_usd: price.to_f64(),
            available: *available,
            reservation_id: reservation.as_ref().map(|own| own.id.clone()),
            reservation_capacity: reservation.as_ref().and_then(|own| own.remaining),
            interruptions_per100_node_hours: None,
        }
    }
}

/// What only schemas name.
#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use domain::instance_type::{CapacityType, PriceSource};
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    /// A Kubernetes quantity, or a number that stands for one.
    pub(super) enum Quantity {}

    impl JsonSchema for Quantity {
        fn schema_name() -> Cow<'static, str> {
            "Quantity".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "description": "An amount, as Kubernetes writes quantities: `1500m`, `2Gi`, `3`. \
                                A number is read as well.",
                "type": ["string", "number"],
                "pattern": "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$",
            })
        }
    }

    /// Text, or what is read as text.
    pub(super) enum Scalar {}

    impl JsonSchema for Scalar {
        fn schema_name() -> Cow<'static, str> {
            "Scalar".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": ["string", "number", "boolean"]})
        }
    }

    /// Words for how much prices can be relied on.
    pub(super) const PRICE_SOURCES: [&str; 3] = ["listed", "estimated", "imported"];

    /// How much prices can be relied on that nothing is said of.
    pub(super) fn default_source() -> &'static str {
        PriceSource::default().into()
    }

    /// Words for how an instance is bought.
    pub(super) fn capacity_types() -> Vec<&'static str> {
        CapacityType::ALL.into_iter().map(CapacityType::as_str).collect()
    }

    /// An offering that does not say otherwise can be launched.
    pub(super) const fn is_available() -> bool {
        true
    }
}
