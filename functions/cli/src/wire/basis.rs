//! What an answer about a cluster was worked out from.

use std::path::Path;

use domain::{Text, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::pricing::PricingDocument;
use super::word;
use crate::args::SnapshotArgs;
use crate::view::pricing::PriceNote;

/// The catalogue that comes with the binary, where a document names its catalogue.
pub(crate) const EMBEDDED: &str = "embedded";

/// The catalogue that AWS gives, where a document names its catalogue.
const FETCHED: &str = "fetched";

/// Fields at the top level of every document about a cluster.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BasisDocument {
    /// The cluster's name, where `--cluster` gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// The moment that the answer is for: of `--now`, or the wall clock.
    #[schemars(with = "word::Moment")]
    now: String,
    /// The region whose offerings and prices count; absent where nothing says one.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// Where instance types come from: the file of `--catalog`, `fetched` (from AWS), or
    /// `embedded`.
    catalog: String,
    /// Where prices come from.
    pricing: PricingDocument,
}

/// What the command line says of an answer's basis.
#[derive(Clone, Debug, Default)]
pub(crate) struct BasisOptions {
    /// `--cluster`.
    pub(crate) cluster: Option<String>,
    /// What [`catalog`] says.
    pub(crate) catalog: Option<String>,
}

impl BasisOptions {
    /// Of the arguments, and whether the catalogue was fetched from AWS.
    pub(crate) fn new(args: &SnapshotArgs, is_catalog_fetched: bool) -> Self {
        Self {
            cluster: args.settings.cluster.clone(),
            catalog: catalog(args.catalog.as_deref(), is_catalog_fetched),
        }
    }
}

/// What instance types were taken from: the file of `--catalog`, or AWS; `None` for the embedded
/// catalogue.
pub(crate) fn catalog(file: Option<&Path>, is_fetched: bool) -> Option<String> {
    let file = file.map(|path| path.display().to_string());
    file.or_else(|| is_fetched.then(|| FETCHED.to_owned()))
}

impl BasisDocument {
    /// Of an answer for a moment, with its prices.
    pub(crate) fn new(now: Timestamp, prices: &PriceNote, options: BasisOptions) -> Self {
        let BasisOptions { cluster, catalog } = options;
        Self {
            cluster,
            now: now.to_string(),
            region: prices.region.clone(),
            catalog: catalog.unwrap_or_else(|| EMBEDDED.to_owned()),
            pricing: prices.into(),
        }
    }
}
