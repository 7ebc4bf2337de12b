//! Runs of one scenario in its variants as JSON: `kind: SimulationComparison`.

use domain::Text;
use serde::Serialize;

use super::API_VERSION;
use super::simulation::SimulationDocument;
use crate::view::comparison::VariantRun;

/// The document that `simulate -o json` prints for a scenario with variants.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ComparisonDocument {
    api_version: &'static str,
    kind: &'static str,
    as_expected: bool,
    /// In the scenario's order.
    variants: Vec<VariantDocument>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VariantDocument {
    name: Text,
    launched: usize,
    simulation: SimulationDocument,
}

impl ComparisonDocument {
    /// The document of the runs; `cluster` is the cluster's name, where one was given.
    pub(crate) fn new(runs: &[VariantRun], cluster: Option<&str>) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "SimulationComparison",
            as_expected: runs.iter().all(|run| run.report.is_as_expected()),
            variants: runs
                .iter()
                .map(|run| VariantDocument {
                    name: run.variant.clone(),
                    launched: run.launches(),
                    simulation: SimulationDocument::new(&run.report, cluster),
                })
                .collect(),
        }
    }
}
