//! Settings that a recording speaks for, as JSON: `kind: Suggestions`.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::API_VERSION;
use super::code::SuggestionCode;
use super::pricing::PricingDocument;
use super::series::EstimateDocument;
use crate::view::series::Series;
use crate::view::suggestions::{FIGURES, Suggestion, Suggestions, Together, Tried};

/// Settings that a recording speaks for, each replayed before and after: the document of
/// `outrigger suggest RECORDING -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Suggestions")]
pub(crate) struct SuggestionsDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// The recording's name.
    recording: Text,
    /// When it starts, RFC 3339.
    started: String,
    /// When it ends, RFC 3339.
    ended: String,
    /// The seeds that everything was replayed with.
    seeds: Vec<u64>,
    /// Where prices come from.
    pricing: PricingDocument,
    /// The replays with nothing changed.
    before: FiguresDocument,
    /// What is suggested; empty where nothing that was replayed is better.
    suggestions: Vec<SuggestionDocument>,
    /// All suggestions with manifests at once; absent where there are fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<TogetherDocument>,
    /// What was replayed and is not suggested.
    not_suggested: Vec<TriedDocument>,
    /// What was looked for and not found, or cannot be known, for people.
    notes: Vec<String>,
}

/// A change of settings, and what comes of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Suggestion")]
struct SuggestionDocument {
    /// What it is called, for `--only`.
    id: Text,
    /// What kind of change it is.
    code: SuggestionCode,
    /// What it changes, for people.
    what: String,
    /// What in the recording speaks for it, for people.
    why: String,
    /// The objects that it creates or changes, whole; of a workload the requests of its containers
    /// alone, as server-side apply takes them, and none where only whole pods were measured.
    manifests: Vec<Value>,
    /// NodePools that it leaves as they are: a replay that is given one NodePool is given all.
    unchanged: Vec<Value>,
    /// The replays with it.
    after: FiguresDocument,
    /// By how much they differ from those with nothing changed, seed by seed.
    change: FiguresDocument,
}

/// Several suggestions at once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Together")]
struct TogetherDocument {
    /// What they are called, in the order in which they were added.
    ids: Vec<Text>,
    /// The objects that they create or change, whole.
    manifests: Vec<Value>,
    /// NodePools that they leave as they are.
    unchanged: Vec<Value>,
    /// The replays with them.
    after: FiguresDocument,
    /// By how much they differ from those with nothing changed, seed by seed.
    change: FiguresDocument,
}

/// A change that was replayed and is not suggested.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NotSuggested")]
struct TriedDocument {
    /// What it is called.
    id: Text,
    /// What it changes, for people.
    what: String,
    /// Why it is not suggested, for people.
    why_not: String,
}

/// What replays came to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Figures")]
struct FiguresDocument {
    /// The cost, in US dollars.
    cost_usd: EstimateDocument,
    /// How long a pod waited for a node on average, in seconds.
    mean_wait_seconds: EstimateDocument,
    /// What half of the pods did not wait longer than, in seconds.
    median_wait_seconds: EstimateDocument,
    /// What nineteen of twenty pods did not wait longer than, in seconds.
    percentile95_wait_seconds: EstimateDocument,
    /// The longest wait, in seconds.
    longest_wait_seconds: EstimateDocument,
    /// How long all pods waited together, in seconds.
    total_wait_seconds: EstimateDocument,
    /// Pods that were evicted, or lost with their node.
    evictions: EstimateDocument,
    /// Pods without a node at the end.
    pods_pending: EstimateDocument,
}

impl SuggestionsDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "Suggestions";

    /// The document; `None` where nothing was replayed.
    pub(crate) fn new(own: &Suggestions) -> Option<Self> {
        let Suggestions { before, suggested, together, tried, notes } = own;
        let setting = &before.runs.first()?.setting;
        Some(Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            recording: setting.scenario.clone(),
            started: setting.started.to_string(),
            ended: setting.ended.to_string(),
            seeds: before.runs.iter().map(|run| run.seed).collect(),
            pricing: (&setting.prices).into(),
            before: FiguresDocument::of(before),
            suggestions: suggested.iter().map(|own| SuggestionDocument::new(own, before)).collect(),
            together: together.as_ref().map(|own| TogetherDocument::new(own, before)),
            not_suggested: tried.iter().map(TriedDocument::from).collect(),
            notes: notes.clone(),
        })
    }
}

impl SuggestionDocument {
    fn new(own: &Suggestion, before: &Series) -> Self {
        let candidate = &own.candidate;
        Self {
            id: candidate.id.clone(),
            code: candidate.kind.into(),
            what: candidate.what.clone(),
            why: candidate.why.clone(),
            manifests: candidate.manifests.clone(),
            unchanged: own.unchanged.clone(),
            after: FiguresDocument::of(&own.after),
            change: FiguresDocument::change(&own.after, before),
        }
    }
}

impl TogetherDocument {
    fn new(own: &Together, before: &Series) -> Self {
        Self {
            ids: own.ids.clone(),
            manifests: own.manifests.clone(),
            unchanged: own.unchanged.clone(),
            after: FiguresDocument::of(&own.after),
            change: FiguresDocument::change(&own.after, before),
        }
    }
}

impl From<&Tried> for TriedDocument {
    fn from(Tried { id, what, why_not }: &Tried) -> Self {
        Self { id: id.clone(), what: what.clone(), why_not: why_not.clone() }
    }
}

impl FiguresDocument {
    fn of(series: &Series) -> Self {
        Self::from(FIGURES.map(|figure| series.estimate(figure.of).into()))
    }

    fn change(after: &Series, before: &Series) -> Self {
        Self::from(FIGURES.map(|figure| after.difference(before, figure.of).into()))
    }
}

impl From<[EstimateDocument; FIGURES.len()]> for FiguresDocument {
    /// In the order of [`FIGURES`].
    fn from(own: [EstimateDocument; FIGURES.len()]) -> Self {
        let [cost, mean, median, percentile95, longest, total, evictions, pending] = own;
        Self {
            cost_usd: cost,
            mean_wait_seconds: mean,
            median_wait_seconds: median,
            percentile95_wait_seconds: percentile95,
            longest_wait_seconds: longest,
            total_wait_seconds: total,
            evictions,
            pods_pending: pending,
        }
    }
}
