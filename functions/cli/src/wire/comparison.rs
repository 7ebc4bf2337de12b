//! Runs of one scenario in its variants as JSON: `kind: SimulationComparison`.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;

use super::API_VERSION;
use super::simulation::{RunOptions, SimulationDocument};
use crate::view::comparison::VariantRun;

/// A scenario run in each of its variants: the document of `outrigger simulate SCENARIO -o json`
/// for a scenario with variants. Region, catalogue and prices stand in each run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SimulationComparison")]
pub(crate) struct ComparisonDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// Whether every run is as expected.
    as_expected: bool,
    /// The variants, in the scenario's order.
    variants: Vec<VariantDocument>,
}

/// One variant, and how it ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Variant")]
struct VariantDocument {
    /// The variant's name.
    name: Text,
    /// Instances launched in the run.
    launched: usize,
    /// The run.
    simulation: SimulationDocument,
}

impl ComparisonDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "SimulationComparison";

    /// The document of the runs.
    pub(crate) fn new(runs: &[VariantRun], options: RunOptions<'_>) -> Self {
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            as_expected: runs.iter().all(|run| run.report.is_as_expected()),
            variants: runs
                .iter()
                .map(|run| VariantDocument {
                    name: run.variant.clone(),
                    launched: run.launches(),
                    simulation: SimulationDocument::new(&run.report, options),
                })
                .collect(),
        }
    }
}
