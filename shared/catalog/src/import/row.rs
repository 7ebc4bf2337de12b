//! One row of a list of AWS: what it is, and what it says.

use documents::{Data, Value};
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fault::ImportFault;
use super::row_kind::RowKind;
use crate::describe::{Described, Offered};
use crate::price_list::{Product, ProductError};

/// A spot price, as EC2's history has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpotRow {
    instance_type: String,
    availability_zone: String,
    availability_zone_id: Option<String>,
    product_description: String,
    spot_price: String,
    timestamp: String,
}

/// What a row says.
#[derive(Debug)]
pub(super) enum Row {
    InstanceType(Box<Described>),
    Offering(Offered),
    SpotPrice(SpotPrice),
    Product(Product),
}

/// A spot price of some product.
#[derive(Debug)]
pub(super) struct SpotPrice {
    pub(super) instance_type: String,
    pub(super) zone: String,
    pub(super) zone_id: Option<Text>,
    pub(super) product: String,
    pub(super) price: UsdPerHour,
    pub(super) since: Timestamp,
}

/// What is wrong with a row, and in which of its fields; the field is empty where all of it is.
pub(super) struct RowFault {
    pub(super) field: String,
    pub(super) fault: ImportFault,
}

impl RowFault {
    fn of(field: &str, fault: ImportFault) -> Self {
        Self { field: field.to_owned(), fault }
    }
}

/// Reads a row of a list.
pub(super) fn read(kind: RowKind, row: &Value<'_>) -> Result<Row, RowFault> {
    match kind {
        RowKind::InstanceType => instance_type(row),
        RowKind::Offering => offering(row),
        RowKind::SpotPrice => spot_price(row),
        RowKind::Product => product(row),
    }
}

/// What a row calls the type that it is about, where that much can be read.
pub(super) fn name(row: &Value<'_>) -> Option<String> {
    let own = row.get("InstanceType").and_then(Value::as_str);
    let attributes = || row.get("product")?.get("attributes")?.get("instanceType")?.as_str();
    own.or_else(attributes).map(str::to_owned)
}

fn typed<T: DeserializeOwned>(row: &Value<'_>) -> Result<T, RowFault> {
    serde_path_to_error::deserialize(row.to_json()).map_err(|error| {
        let field = match error.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        RowFault { field, fault: ImportFault::Unreadable(error.into_inner().to_string()) }
    })
}

fn instance_type(row: &Value<'_>) -> Result<Row, RowFault> {
    let described: Described = typed(row)?;
    if !described.has_amounts() {
        return Err(RowFault::of("", ImportFault::NoAmounts));
    }
    Ok(Row::InstanceType(Box::new(described)))
}

fn offering(row: &Value<'_>) -> Result<Row, RowFault> {
    let location_type = row.get("LocationType").and_then(Value::as_str);
    match location_type {
        Some(other) if other != "availability-zone" => {
            Err(RowFault::of("LocationType", ImportFault::NotByZone(other.to_owned())))
        }
        _ => typed(row).map(Row::Offering),
    }
}

fn spot_price(row: &Value<'_>) -> Result<Row, RowFault> {
    let SpotRow {
        instance_type,
        availability_zone: zone,
        availability_zone_id,
        product_description: product,
        spot_price,
        timestamp,
    } = typed(row)?;
    let price = spot_price.parse().ok().and_then(UsdPerHour::from_f64);
    let price = price
        .filter(|price| *price > UsdPerHour::ZERO)
        .ok_or_else(|| RowFault::of("SpotPrice", ImportFault::Price(spot_price)))?;
    let since = timestamp
        .parse()
        .map_err(|_| RowFault::of("Timestamp", ImportFault::Moment(timestamp.clone())))?;
    let zone_id = availability_zone_id.map(Text::from);
    Ok(Row::SpotPrice(SpotPrice { instance_type, zone, zone_id, product, price, since }))
}

fn product(row: &Value<'_>) -> Result<Row, RowFault> {
    let read = match &row.data {
        Data::Text(text) => Product::from_text(text),
        _ => Product::from_json(row.to_json()),
    };
    read.map(Row::Product).map_err(|error| match error {
        ProductError::Json { field, source } => {
            let field = if field == "." { String::new() } else { field };
            RowFault { field, fault: ImportFault::Unreadable(source.to_string()) }
        }
        ProductError::Price(text) => RowFault::of("terms.OnDemand", ImportFault::Price(text)),
    })
}
