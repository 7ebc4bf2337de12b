//! A simulated run as JSON: `kind: Simulation`.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use serde::Serialize;
use simulation::report::{
    Entry, ExpectationOutcome, Moment, Needed, NodeRow, Occurrence, Report, Usage, View, Waiting,
};

use super::API_VERSION;
use super::pricing::PricingDocument;
use crate::view::pricing::PriceNote;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// The document that `simulate -o json` prints. Durations are in seconds, CPU in millicores, memory
/// in bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimulationDocument {
    api_version: &'static str,
    kind: &'static str,
    scenario: Text,
    about: Text,
    seed: u64,
    started: String,
    ended: String,
    as_expected: bool,
    timeline: Vec<EntryDocument>,
    views: Vec<ViewDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    pricing: PricingDocument,
    cost: CostDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<NeededDocument>,
    waiting: WaitingDocument,
    expectations: Vec<ExpectationDocument>,
    violations: Vec<OccurrenceDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
}

impl SimulationDocument {
    /// The document of a run; `cluster` is the cluster's name, where one was given.
    pub(crate) fn new(report: &Report, cluster: Option<&str>) -> Self {
        let Report {
            scenario,
            about,
            seed,
            started,
            ended,
            timeline,
            views,
            region,
            pricing: _,
            cost,
            needed,
            waiting,
            expectations,
            violations,
        } = report;
        Self {
            api_version: API_VERSION,
            kind: "Simulation",
            scenario: scenario.clone(),
            about: about.clone(),
            seed: *seed,
            started: started.to_string(),
            ended: ended.to_string(),
            as_expected: report.is_as_expected(),
            timeline: timeline.iter().map(EntryDocument::from).collect(),
            views: views.iter().map(ViewDocument::from).collect(),
            cost: CostDocument {
                total_usd: cost.total_usd(),
                peak_hourly_usd: cost.peak_hourly.to_f64(),
                final_hourly_usd: cost.final_hourly.to_f64(),
            },
            region: region.clone(),
            pricing: (&PriceNote::from(report)).into(),
            needed: needed.map(NeededDocument::from),
            waiting: (*waiting).into(),
            expectations: expectations.iter().map(ExpectationDocument::from).collect(),
            violations: violations.iter().map(OccurrenceDocument::from).collect(),
            cluster: cluster.map(str::to_owned),
        }
    }
}

/// What the pods needed at least, where the scenario expects something of that.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NeededDocument {
    least_usd: f64,
    pod_hours: f64,
}

impl From<Needed> for NeededDocument {
    fn from(needed: Needed) -> Self {
        Self {
            least_usd: needed.least_usd(),
            pod_hours: needed.pod_time.as_secs_f64() / SECONDS_PER_HOUR,
        }
    }
}

#[derive(Debug, Serialize)]
struct EntryDocument {
    at: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Text>,
}

impl From<&Entry> for EntryDocument {
    fn from(entry: &Entry) -> Self {
        let Entry { at, what, why } = entry;
        Self { at: at.to_string(), what: what.to_string(), why: why.clone() }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewDocument {
    moment: &'static str,
    at: String,
    nodes: Vec<NodeDocument>,
    hourly_usd: f64,
    pods_running: usize,
    pods_pending: usize,
}

impl From<&View> for ViewDocument {
    fn from(view: &View) -> Self {
        let View { moment, at, nodes, hourly, pods_running, pods_pending } = view;
        Self {
            moment: match moment {
                Moment::Start => "start",
                Moment::Peak => "peak",
                Moment::End => "end",
            },
            at: at.to_string(),
            nodes: nodes.iter().map(NodeDocument::from).collect(),
            hourly_usd: hourly.to_f64(),
            pods_running: *pods_running,
            pods_pending: *pods_pending,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDocument {
    name: Text,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_pool: Option<Text>,
    instance_type: Text,
    zone: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity_type: Option<&'static str>,
    cpu: UsageDocument,
    memory: UsageDocument,
    pods: UsageDocument,
    age_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hourly_usd: Option<f64>,
}

impl From<&NodeRow> for NodeDocument {
    fn from(row: &NodeRow) -> Self {
        let NodeRow {
            name,
            state,
            node_pool,
            instance_type,
            zone,
            capacity_type,
            cpu,
            memory,
            pods,
            age,
            price,
        } = row;
        Self {
            name: name.clone(),
            state: state.as_str(),
            node_pool: node_pool.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.map(CapacityType::as_str),
            cpu: (*cpu).into(),
            memory: (*memory).into(),
            pods: (*pods).into(),
            age_seconds: age.as_secs(),
            hourly_usd: price.map(UsdPerHour::to_f64),
        }
    }
}

#[derive(Debug, Serialize)]
struct UsageDocument {
    used: i64,
    allocatable: i64,
}

impl From<Usage> for UsageDocument {
    fn from(Usage { used, allocatable }: Usage) -> Self {
        Self { used, allocatable }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the unit stands in every name of a price")]
struct CostDocument {
    total_usd: f64,
    peak_hourly_usd: f64,
    final_hourly_usd: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingDocument {
    pods_bound: usize,
    mean_seconds: f64,
    longest_seconds: i64,
    longest_without_home_seconds: i64,
}

impl From<Waiting> for WaitingDocument {
    fn from(waiting: Waiting) -> Self {
        let Waiting { pods_bound, total: _, longest, longest_after_eviction } = waiting;
        Self {
            pods_bound,
            mean_seconds: waiting.mean().as_secs_f64(),
            longest_seconds: longest.as_secs(),
            longest_without_home_seconds: longest_after_eviction.as_secs(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ExpectationDocument {
    at: String,
    expected: Text,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Text>,
}

impl From<&ExpectationOutcome> for ExpectationDocument {
    fn from(outcome: &ExpectationOutcome) -> Self {
        let ExpectationOutcome { at, expected, found } = outcome;
        Self {
            at: at.to_string(),
            expected: expected.clone(),
            holds: outcome.holds(),
            found: found.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
struct OccurrenceDocument {
    at: String,
    violation: String,
}

impl From<&Occurrence> for OccurrenceDocument {
    fn from(occurrence: &Occurrence) -> Self {
        let Occurrence { at, violation } = occurrence;
        Self { at: at.to_string(), violation: violation.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_document_holds_the_whole_run() {
        let document = SimulationDocument::new(&testing::report(), None);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
