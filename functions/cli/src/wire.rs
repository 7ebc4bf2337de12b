//! JSON documents that scripts read. The fields named in the command line's contract never change;
//! the types here are apart from the domain's so that inner changes stay free.
//!
//! Their schemas are made from these types, and descriptions in them from the doc comments: each
//! says the unit, and when a field is absent or `null`.

pub(crate) mod basis;
pub(crate) mod bundled;
pub(crate) mod claim;
mod code;
mod committed;
pub(crate) mod comparison;
pub(crate) mod diff;
mod drain;
pub(crate) mod explanation;
pub(crate) mod node;
pub(crate) mod plan;
mod pricing;
mod resident;
pub(crate) mod schema;
pub(crate) mod series;
pub(crate) mod simulation;
pub(crate) mod suggestions;
mod timeline;
pub(crate) mod top;
pub(crate) mod until_stable;
mod word;

use std::collections::BTreeMap;

use domain::resource::{Resources, ShownAmount};

use crate::visible::visible_json;

/// The group and version of every document of ours.
pub(crate) const API_VERSION: &str = "outrigger.dev/v1alpha1";

/// A document as indented JSON text with a final newline.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    let mut text = visible_json(serde_json::to_string_pretty(document)?);
    text.push('\n');
    Ok(text)
}

/// Amounts as Kubernetes quantities, by resource name.
pub(crate) fn quantities(resources: &Resources) -> BTreeMap<String, String> {
    resources
        .iter()
        .map(|(name, amount)| (name.to_string(), ShownAmount { name, amount }.to_string()))
        .collect()
}
