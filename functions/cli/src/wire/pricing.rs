//! Where prices come from, in JSON documents.

use domain::Text;
use serde::Serialize;

use crate::view::pricing::PriceNote;

/// `pricing` of every document that holds dollars.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PricingDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// The day or month that prices are of, as ISO 8601 writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<Text>,
    /// Of on-demand prices: `listed`, `estimated` or `imported`.
    source: &'static str,
    /// Of spot prices: `estimated` or `imported`.
    spot_source: &'static str,
    /// The same in a sentence.
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

/// A document, and what is to be said beside its dollars.
#[derive(Debug, Serialize)]
pub(crate) struct Priced<T> {
    #[serde(flatten)]
    document: T,
    pricing: PricingDocument,
}

impl<T> Priced<T> {
    /// The document with `pricing` as its last field.
    pub(crate) fn new(document: T, prices: &PriceNote) -> Self {
        Self { document, pricing: prices.into() }
    }
}
