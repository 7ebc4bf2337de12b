//! Where prices come from, in JSON documents.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;

use super::word::PriceSourceWord;
use crate::view::pricing::PriceNote;

/// Where prices come from: `pricing` of every document that holds dollars.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pricing")]
pub(crate) struct PricingDocument {
    /// The region that prices are of; absent where nothing says one.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// The day or month that prices are of, as ISO 8601 writes it; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<Text>,
    /// How much on-demand prices can be relied on.
    source: PriceSourceWord,
    /// How much spot prices can be relied on: `estimated` or `imported`.
    spot_source: PriceSourceWord,
    /// All of it in a sentence, for people.
    note: String,
}

impl From<&PriceNote> for PricingDocument {
    fn from(prices: &PriceNote) -> Self {
        Self {
            region: prices.region.clone(),
            as_of: prices.pricing.as_of.clone(),
            source: prices.pricing.source.into(),
            spot_source: prices.pricing.spot.into(),
            note: prices.to_string(),
        }
    }
}
