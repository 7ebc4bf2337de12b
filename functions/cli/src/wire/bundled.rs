//! The bundled scenarios and recordings as JSON: `kind: BundledList`.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;

use super::API_VERSION;

/// What comes with the program to simulate: the document of `outrigger simulate --list -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BundledList")]
pub(crate) struct BundledListDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// Scenarios, for `outrigger simulate NAME`.
    scenarios: Vec<BundledDocument>,
    /// Recordings, for `outrigger simulate --from NAME`.
    recordings: Vec<BundledDocument>,
}

/// A bundled scenario or recording.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Bundled")]
pub(crate) struct BundledDocument {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it is about.
    pub(crate) about: Text,
}

impl BundledListDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "BundledList";

    /// The document of a list.
    pub(crate) const fn new(
        scenarios: Vec<BundledDocument>,
        recordings: Vec<BundledDocument>,
    ) -> Self {
        Self { api_version: API_VERSION, kind: Self::KIND, scenarios, recordings }
    }
}
