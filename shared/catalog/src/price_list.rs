//! On-demand prices, from products of the price list of AWS.
//!
//! Source: <https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html>, and
//! what the API's GetProducts answers for the service code `AmazonEC2`.

use std::collections::BTreeMap;

use domain::Text;
use domain::money::UsdPerHour;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use strum::IntoStaticStr;

/// One product of the price list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Product {
    /// The on-demand price of an instance type that a Linux node pays.
    OnDemand(OnDemandPrice),
    /// Something that nodes do not pay.
    Other(OtherProduct),
}

/// What an instance type costs, in one region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDemandPrice {
    /// The type's name.
    pub instance_type: Text,
    /// The region; `None` where the product does not say, as in old lists.
    pub region: Option<Text>,
    /// The price.
    pub price: UsdPerHour,
    /// The day on which AWS published it, as ISO 8601 writes it.
    pub published: Option<Text>,
}

/// Why a product is not what a Linux node pays on demand, in words that follow a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
pub enum OtherProduct {
    /// Storage, traffic, dedicated hosts and the like.
    #[strum(serialize = "of no instance type")]
    NoInstance,
    /// Sold in a Local Zone or Wavelength Zone.
    #[strum(serialize = "of Local Zones and Wavelength Zones")]
    LocalZone,
    /// Windows, or a Linux that is paid for.
    #[strum(serialize = "of another operating system")]
    OperatingSystem,
    /// SQL Server and the like.
    #[strum(serialize = "with preinstalled software")]
    PreInstalledSoftware,
    /// Dedicated instances, and hosts.
    #[strum(serialize = "of another tenancy")]
    Tenancy,
    /// Capacity reservations, used and unused.
    #[strum(serialize = "of a capacity reservation")]
    CapacityReservation,
    /// Sold otherwise than on demand: reserved instances, capacity blocks.
    #[strum(serialize = "not on demand")]
    NotOnDemand,
    /// It costs nothing.
    #[strum(serialize = "without a price")]
    Free,
}

/// Why a product cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ProductError {
    /// It is not JSON of the form that the price list has.
    #[error("{source}")]
    Json {
        /// The path of the field, from the product.
        field: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A price is no number of dollars.
    #[error("the price {0:?} is not a number of dollars")]
    Price(String),
}

impl Product {
    /// Reads a product from JSON text, as which GetProducts answers it.
    pub fn from_text(json: &str) -> Result<Self, ProductError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Listed::product(&with_path(serde_path_to_error::deserialize(&mut deserializer))?)
    }

    /// Reads a product that is parsed already.
    pub fn from_json(json: Value) -> Result<Self, ProductError> {
        Listed::product(&with_path(serde_path_to_error::deserialize(json))?)
    }
}

fn with_path<T: DeserializeOwned>(
    read: Result<T, serde_path_to_error::Error<serde_json::Error>>,
) -> Result<T, ProductError> {
    read.map_err(|error| {
        let field = error.path().to_string();
        ProductError::Json { field, source: error.into_inner() }
    })
}

/// The on-demand price of each type of one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnDemandPrices(BTreeMap<Text, OnDemandPrice>);

impl OnDemandPrices {
    /// Takes a price. Of several for one type, that published last counts, and of those published
    /// on one day the highest: no price is understated, whatever their order.
    pub fn add(&mut self, price: OnDemandPrice) {
        let rank = |price: &OnDemandPrice| (price.published.clone(), price.price);
        match self.0.get_mut(&price.instance_type) {
            Some(own) if rank(own) >= rank(&price) => {}
            Some(own) => *own = price,
            None => {
                self.0.insert(price.instance_type.clone(), price);
            }
        }
    }

    /// Whether there is no price.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The latest day on which one of the prices was published.
    pub fn published(&self) -> Option<&Text> {
        self.0.values().filter_map(|price| price.published.as_ref()).max()
    }

    /// The prices by type.
    pub fn by_type(&self) -> BTreeMap<Text, UsdPerHour> {
        self.0.iter().map(|(name, own)| (name.clone(), own.price)).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    product: ProductFields,
    #[serde(default)]
    terms: Terms,
    publication_date: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProductFields {
    product_family: Option<String>,
    attributes: Attributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attributes {
    instance_type: Option<Text>,
    region_code: Option<Text>,
    location_type: Option<String>,
    operating_system: Option<String>,
    pre_installed_sw: Option<String>,
    tenancy: Option<String>,
    capacitystatus: Option<String>,
    marketoption: Option<String>,
}

#[derive(Default, Deserialize)]
struct Terms {
    #[serde(rename = "OnDemand", default)]
    on_demand: BTreeMap<String, Term>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    #[serde(default)]
    price_dimensions: BTreeMap<String, Dimension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    #[serde(default)]
    price_per_unit: BTreeMap<String, String>,
}

impl Listed {
    fn product(&self) -> Result<Product, ProductError> {
        let instance_type = match self.instance_type() {
            Ok(instance_type) => instance_type.clone(),
            Err(other) => return Ok(Product::Other(other)),
        };
        let Some(price) = self.price()? else {
            let is_sold = !self.terms.on_demand.is_empty();
            let why = if is_sold { OtherProduct::Free } else { OtherProduct::NotOnDemand };
            return Ok(Product::Other(why));
        };
        let published = self.publication_date.as_deref();
        Ok(Product::OnDemand(OnDemandPrice {
            instance_type,
            region: self.product.attributes.region_code.clone(),
            price,
            published: published.map(|time| time.split('T').next().unwrap_or(time).into()),
        }))
    }

    /// The type, where it is what Linux nodes pay: of shared hardware, or bare metal, which is
    /// always dedicated. An attribute that is missing rules nothing out.
    fn instance_type(&self) -> Result<&Text, OtherProduct> {
        let attributes = &self.product.attributes;
        let is =
            |own: &Option<String>, wanted: &str| own.as_deref().is_none_or(|own| own == wanted);
        let instance_type = attributes.instance_type.as_ref().ok_or(OtherProduct::NoInstance)?;
        let family = self.product.product_family.as_deref();
        let (_, size) = instance_type.split_once('.').ok_or(OtherProduct::NoInstance)?;
        let is_metal = size.starts_with("metal") || family == Some(BARE_METAL);
        let tenancy = if is_metal { "Dedicated" } else { "Shared" };
        let kinds = [
            (family.is_none_or(|own| FAMILIES.contains(&own)), OtherProduct::NoInstance),
            (is(&attributes.location_type, "AWS Region"), OtherProduct::LocalZone),
            (is(&attributes.operating_system, "Linux"), OtherProduct::OperatingSystem),
            (is(&attributes.pre_installed_sw, "NA"), OtherProduct::PreInstalledSoftware),
            (is(&attributes.marketoption, "OnDemand"), OtherProduct::NotOnDemand),
            (is(&attributes.tenancy, tenancy), OtherProduct::Tenancy),
            (is(&attributes.capacitystatus, "Used"), OtherProduct::CapacityReservation),
        ];
        match kinds.into_iter().find(|(is_met, _)| !is_met) {
            Some((_, why)) => Err(why),
            None => Ok(instance_type),
        }
    }

    /// The price of the first dimension that costs something; `None` where none does. Prices in
    /// yuan are not converted: a Chinese region has no others, so they compare with each other.
    fn price(&self) -> Result<Option<UsdPerHour>, ProductError> {
        let terms = self.terms.on_demand.values();
        for dimension in terms.flat_map(|term| term.price_dimensions.values()) {
            let unit = &dimension.price_per_unit;
            let Some(text) = unit.get("USD").or_else(|| unit.get("CNY")) else { continue };
            let price = text.parse().ok().and_then(UsdPerHour::from_f64);
            let price = price.filter(|price| *price >= UsdPerHour::ZERO);
            match price.ok_or_else(|| ProductError::Price(text.clone()))? {
                UsdPerHour::ZERO => {}
                price => return Ok(Some(price)),
            }
        }
        Ok(None)
    }
}

const BARE_METAL: &str = "Compute Instance (bare metal)";
const FAMILIES: [&str; 2] = ["Compute Instance", BARE_METAL];

#[cfg(test)]
mod tests;
