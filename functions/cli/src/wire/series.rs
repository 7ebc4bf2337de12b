//! Runs with several seeds as JSON: `kind: SimulationSeries`.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;

use super::API_VERSION;
use super::pricing::PricingDocument;
use crate::view::series::{Estimate, Run, Series};

/// A scenario or a recording run with several seeds, in each of its variants: the document of
/// `outrigger simulate --seeds N -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SimulationSeries")]
pub(crate) struct SeriesDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// The scenario's or the recording's name.
    scenario: Text,
    /// When simulated time began, RFC 3339.
    started: String,
    /// When it ended, RFC 3339.
    ended: String,
    /// Whether every run is as expected.
    as_expected: bool,
    /// Where prices come from.
    pricing: PricingDocument,
    /// The variants, in order; one for a scenario without any.
    variants: Vec<VariantSeries>,
}

/// One variant, and how it ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct VariantSeries {
    /// The variant's name.
    name: Text,
    /// What a run cost, in US dollars.
    cost_usd: EstimateDocument,
    /// By how much that is above the first variant's, seed by seed, in US dollars: negative where
    /// it is less; absent in the first variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_above_first_usd: Option<EstimateDocument>,
    /// How long a pod waited for a node on average, in seconds.
    mean_wait_seconds: EstimateDocument,
    /// What nineteen of twenty pods did not wait longer than, in seconds.
    percentile95_wait_seconds: EstimateDocument,
    /// The runs, by seed.
    runs: Vec<RunDocument>,
}

/// A mean of runs, and how sure it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Estimate")]
pub(super) struct EstimateDocument {
    /// The mean.
    mean: f64,
    /// Half the width of its 95 % confidence interval, by Student's t; absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    half_width95: Option<f64>,
}

/// One run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SeriesRun")]
struct RunDocument {
    /// The seed of everything random in it.
    seed: u64,
    /// What it cost, in US dollars.
    cost_usd: f64,
    /// How long a pod waited on average, in seconds.
    mean_wait_seconds: f64,
    /// What nineteen of twenty pods did not wait longer than, in seconds.
    percentile95_wait_seconds: f64,
    /// The longest wait, in seconds.
    longest_wait_seconds: f64,
    /// Instances that were launched.
    launched: usize,
    /// Pods that were bound.
    pods_bound: usize,
    /// Pods without a node at the end.
    pods_pending: usize,
    /// What was not as expected, for people.
    not_as_expected: Vec<String>,
}

impl SeriesDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "SimulationSeries";

    /// The document of the runs; `None` without any.
    pub(crate) fn new(series: &[Series]) -> Option<Self> {
        let first = series.first()?;
        let setting = &first.runs.first()?.setting;
        Some(Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            scenario: setting.scenario.clone(),
            started: setting.started.to_string(),
            ended: setting.ended.to_string(),
            as_expected: series.iter().all(Series::is_as_expected),
            pricing: (&setting.prices).into(),
            variants: series.iter().map(|own| VariantSeries::new(own, first)).collect(),
        })
    }
}

impl VariantSeries {
    fn new(own: &Series, first: &Series) -> Self {
        let is_first = std::ptr::eq(own, first);
        let cost = |run: &Run| run.cost_usd;
        Self {
            name: own.name.clone(),
            cost_usd: own.estimate(cost).into(),
            cost_above_first_usd: (!is_first).then(|| own.difference(first, cost).into()),
            mean_wait_seconds: own.estimate(|run| run.mean_wait_seconds).into(),
            percentile95_wait_seconds: own.estimate(|run| run.percentile_95_seconds).into(),
            runs: own.runs.iter().map(RunDocument::from).collect(),
        }
    }
}

impl From<Estimate> for EstimateDocument {
    fn from(Estimate { mean, half_width }: Estimate) -> Self {
        Self { mean, half_width95: half_width }
    }
}

impl From<&Run> for RunDocument {
    fn from(run: &Run) -> Self {
        Self {
            seed: run.seed,
            cost_usd: run.cost_usd,
            mean_wait_seconds: run.mean_wait_seconds,
            percentile95_wait_seconds: run.percentile_95_seconds,
            longest_wait_seconds: run.longest_seconds,
            launched: run.launched,
            pods_bound: run.pods_bound,
            pods_pending: run.pods_pending,
            not_as_expected: run.unmet.clone(),
        }
    }
}
