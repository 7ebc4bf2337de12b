//! The stored form of a catalogue: gzipped JSON. Types and zones are tables of the `catalog` crate,
//! a hundred bytes a type, so that the whole fits into one or two items of the table.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use catalog::{Catalog, CatalogError, SpotPrices, region, table};
use domain::money::UsdPerHour;
use domain::{Text, Timestamp};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::Catalogue;

/// The version of the document; grows with every incompatible change.
pub(super) const VERSION: u32 = 1;
/// A limit that no catalogue reaches when unpacked: keeps a damaged blob from filling memory.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;

/// Why a stored catalogue cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is not gzip.
    #[error("it could not be unpacked")]
    Packing(#[from] io::Error),
    /// It is not JSON of this form.
    #[error("it is not of the form that this version writes")]
    Json(#[from] serde_json::Error),
    /// A table in it is damaged.
    #[error("a table in it is damaged")]
    Table(#[from] CatalogError),
    /// One of its times is malformed.
    #[error("it does not say when it was made: {0:?}")]
    Time(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    region: Text,
    made: Option<String>,
    /// Missing in documents of versions that did not keep it.
    priced: Option<String>,
    types: String,
    zones: String,
    spot_nanos: Option<BTreeMap<Text, BTreeMap<Text, i64>>>,
}

pub(super) fn encode(catalogue: &Catalogue) -> Result<Vec<u8>, DocumentError> {
    let regions = catalogue.catalog.regions().map(|(name, own)| (name.clone(), own.clone()));
    let spot_nanos = catalogue.spot_prices.as_ref().map(|prices| {
        let nanos = |zones: &BTreeMap<Text, UsdPerHour>| {
            zones.iter().map(|(zone, price)| (zone.clone(), price.nanos())).collect()
        };
        prices.iter().map(|(name, zones)| (name.clone(), nanos(zones))).collect()
    });
    let document = Document {
        region: catalogue.region.clone(),
        made: catalogue.made.map(|made| made.to_string()),
        priced: catalogue.priced.map(|priced| priced.to_string()),
        types: table::encode(catalogue.catalog.types()),
        zones: region::encode(&regions.collect()),
        spot_nanos,
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&serde_json::to_vec(&document)?)?;
    Ok(packed.finish()?)
}

pub(super) fn decode(bytes: &[u8]) -> Result<Catalogue, DocumentError> {
    let mut text = String::new();
    GzDecoder::new(bytes).take(UNPACKED_BYTES_MAX).read_to_string(&mut text)?;
    let document: Document = serde_json::from_str(&text)?;
    let types = table::decode(&document.types)?;
    let regions = region::decode(&document.zones, types.len())?;
    let time = |text: Option<String>| {
        let parse = |text: String| text.parse::<Timestamp>().map_err(|_| DocumentError::Time(text));
        text.map(parse).transpose()
    };
    let (made, priced) = (time(document.made)?, time(document.priced)?);
    Ok(Catalogue {
        region: document.region,
        catalog: Catalog::of(types, regions),
        spot_prices: document.spot_nanos.map(|prices| Arc::new(spot_prices(prices))),
        made,
        priced,
    })
}

fn spot_prices(nanos: BTreeMap<Text, BTreeMap<Text, i64>>) -> SpotPrices {
    let prices = |zones: BTreeMap<Text, i64>| {
        zones.into_iter().map(|(zone, nanos)| (zone, UsdPerHour::from_nanos(nanos))).collect()
    };
    nanos.into_iter().map(|(name, zones)| (name, prices(zones))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let zones = BTreeMap::from([("us-east-1a".into(), UsdPerHour::from_nanos(34_500_000))]);
        Catalogue {
            spot_prices: Some(Arc::new(SpotPrices::from([("m5.large".into(), zones)]))),
            made: Some("2026-11-21T12:00:00Z".parse().unwrap()),
            priced: Some("2026-11-21T11:00:00Z".parse().unwrap()),
            ..Catalogue::embedded("us-east-1").unwrap()
        }
    }

    #[test]
    fn what_is_stored_is_read_again_and_is_small() {
        let bytes = encode(&catalogue()).unwrap();
        assert!(bytes.len() < 64 << 10, "{} bytes", bytes.len());
        assert_eq!(decode(&bytes).unwrap(), catalogue());
    }

    #[test]
    fn what_an_earlier_version_stored_has_prices_of_unknown_age() {
        let catalogue = Catalogue { priced: None, ..catalogue() };
        let mut text = String::new();
        GzDecoder::new(&*encode(&catalogue).unwrap()).read_to_string(&mut text).unwrap();
        let earlier = text.replace("\"priced\":null,", "");
        assert_ne!(earlier, text);
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(earlier.as_bytes()).unwrap();
        assert_eq!(decode(&packed.finish().unwrap()).unwrap(), catalogue);
    }

    #[test]
    fn damage_is_an_error_that_says_where() {
        assert!(matches!(decode(b"no gzip"), Err(DocumentError::Packing(_))));
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"{}").unwrap();
        assert!(matches!(decode(&packed.finish().unwrap()), Err(DocumentError::Json(_))));
        let whole = encode(&catalogue()).unwrap();
        assert!(decode(&whole[..whole.len() / 2]).is_err());
    }
}
