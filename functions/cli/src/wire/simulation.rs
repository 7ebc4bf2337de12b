//! A simulated run as JSON: `kind: Simulation`.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use schemars::JsonSchema;
use serde::Serialize;
use simulation::report::{
    ExpectationOutcome, Interruptions, Moment, Needed, NodeRow, Occurrence, Report, Usage, View,
    Waiting,
};

use super::basis::EMBEDDED;
use super::code::InvariantCode;
use super::pricing::PricingDocument;
use super::timeline::EntryDocument;
use super::word::NodeStateWord;
use super::{API_VERSION, word};
use crate::view::pricing::PriceNote;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// The scenario brings its catalogue.
const OF_SCENARIO: &str = "scenario";

/// A simulated run: the document of `outrigger simulate SCENARIO -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Simulation")]
pub(crate) struct SimulationDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// The scenario's name.
    scenario: Text,
    /// What the scenario is about, in its author's words.
    about: Text,
    /// What everything random in the run was drawn from.
    seed: u64,
    /// When simulated time began.
    #[schemars(with = "word::Moment")]
    started: String,
    /// When simulated time ended.
    #[schemars(with = "word::Moment")]
    ended: String,
    /// Whether every expectation holds, and nothing happened that must never happen.
    as_expected: bool,
    /// What happened, in order.
    timeline: Vec<EntryDocument>,
    /// The cluster after the first step of the timeline, at the most expensive moment and at the
    /// end.
    views: Vec<ViewDocument>,
    /// Names of nodes that no price is known of: no dollar figure counts them.
    left_out: Vec<Text>,
    /// The region that was simulated; absent where the catalogue says none.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    /// Where instance types come from: `scenario` where it brings a catalogue, or `embedded`.
    #[schemars(extend("enum" = [EMBEDDED, OF_SCENARIO]))]
    catalog: &'static str,
    /// Where prices come from.
    pricing: PricingDocument,
    /// What the run cost.
    cost: CostDocument,
    /// What came of spot instances that EC2 took back; absent where it took none.
    #[serde(skip_serializing_if = "Option::is_none")]
    interruptions: Option<InterruptionsDocument>,
    /// What the pods needed at least; absent where the scenario expects nothing of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<NeededDocument>,
    /// How long pods waited for a node, without those of DaemonSets and those that nothing can
    /// host.
    waiting: WaitingDocument,
    /// What was expected, and whether it came so.
    expectations: Vec<ExpectationDocument>,
    /// What must never happen, and did: a defect of Outrigger.
    violations: Vec<OccurrenceDocument>,
    /// The cluster's name, where `--cluster` gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
}

/// What stands in a run's document beside its report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunOptions<'a> {
    /// `--cluster`.
    pub(crate) cluster: Option<&'a str>,
    /// Whether the scenario brings a catalogue of its own.
    pub(crate) has_own_catalog: bool,
}

impl RunOptions<'_> {
    /// What `catalog` says of the run.
    pub(super) const fn catalog(self) -> &'static str {
        if self.has_own_catalog { OF_SCENARIO } else { EMBEDDED }
    }
}

impl SimulationDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "Simulation";

    /// The document of a run.
    pub(crate) fn new(report: &Report, options: RunOptions<'_>) -> Self {
        let Report {
            scenario,
            about,
            seed,
            started,
            ended,
            timeline,
            views,
            region,
            region_said_by: _,
            pricing: _,
            cost,
            interruptions,
            needed,
            waiting,
            expectations,
            violations,
            is_replay: _,
        } = report;
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
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
                covered_usd: cost.covered_usd(),
                peak_hourly_usd: cost.peak_hourly.to_f64(),
                final_hourly_usd: cost.final_hourly.to_f64(),
            },
            left_out: report.without_price().into_iter().cloned().collect(),
            region: region.clone(),
            catalog: options.catalog(),
            pricing: (&PriceNote::from(report)).into(),
            interruptions: (interruptions.count > 0).then(|| (*interruptions).into()),
            needed: needed.map(NeededDocument::from),
            waiting: (*waiting).into(),
            expectations: expectations.iter().map(ExpectationDocument::from).collect(),
            violations: violations.iter().map(OccurrenceDocument::from).collect(),
            cluster: options.cluster.map(str::to_owned),
        }
    }
}

/// What came of spot instances that EC2 took back.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Interruptions")]
struct InterruptionsDocument {
    /// How many EC2 announced to take back.
    count: u32,
    /// What those cost together while they ran, in US dollars an hour.
    hourly_usd: f64,
    /// What their interruptions cost by annotation `outrigger.dev/spot-interruption-cost` of their
    /// NodePools, in US dollars; 0 without it. `cost` does not count it.
    cost_usd: f64,
}

impl From<Interruptions> for InterruptionsDocument {
    fn from(own: Interruptions) -> Self {
        Self { count: own.count, hourly_usd: own.hourly.to_f64(), cost_usd: own.usd() }
    }
}

/// What the pods needed at least, where the scenario expects something of that.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Needed")]
struct NeededDocument {
    /// A lower bound on the cost of the run in US dollars: the cheapest nodes for the pods of each
    /// stretch of it.
    least_usd: f64,
    /// The time of all pods in hours, without those of DaemonSets: two pods for an hour are 2.
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

/// The cluster at one moment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "View")]
struct ViewDocument {
    /// Which moment.
    moment: MomentWord,
    /// When that was, in simulated time.
    #[schemars(with = "word::Moment")]
    at: String,
    /// Nodes and instances on their way, by name.
    nodes: Vec<NodeDocument>,
    /// What all of them cost, in US dollars an hour.
    hourly_usd: f64,
    /// Pods that run.
    pods_running: usize,
    /// Pods without a node.
    pods_pending: usize,
}

/// Which moment of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "MomentOfRun")]
enum MomentWord {
    /// After the first step of the timeline.
    Start,
    /// The most expensive moment.
    Peak,
    /// The end.
    End,
}

impl From<&View> for ViewDocument {
    fn from(view: &View) -> Self {
        let View { moment, at, nodes, hourly, pods_running, pods_pending } = view;
        Self {
            moment: match moment {
                Moment::Start => MomentWord::Start,
                Moment::Peak => MomentWord::Peak,
                Moment::End => MomentWord::End,
            },
            at: at.to_string(),
            nodes: nodes.iter().map(NodeDocument::from).collect(),
            hourly_usd: hourly.to_f64(),
            pods_running: *pods_running,
            pods_pending: *pods_pending,
        }
    }
}

/// A node, or an instance on its way.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Node")]
struct NodeDocument {
    /// The Node's name; the NodeClaim's where there is no Node yet.
    name: Text,
    /// How far it is.
    state: NodeStateWord,
    /// The NodePool; absent of a node that none manages.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_pool: Option<Text>,
    /// The instance type; empty where the node does not say.
    instance_type: Text,
    /// The availability zone; empty where the node does not say.
    zone: Text,
    /// How the instance is bought; absent where the node does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<word::CapacityTypeWord>")]
    capacity_type: Option<&'static str>,
    /// CPU in millicores.
    cpu: UsageDocument,
    /// Memory in bytes.
    memory: UsageDocument,
    /// Pods on it, those of DaemonSets included, of as many as it takes.
    pods: UsageDocument,
    /// Seconds since it was created.
    age_seconds: i64,
    /// Its price in US dollars an hour; absent where that is not known.
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
            state: (*state).into(),
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

/// What pods request of a resource, and what they may.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageDocument {
    /// What pods request.
    used: i64,
    /// What pods may use.
    allocatable: i64,
}

impl From<Usage> for UsageDocument {
    fn from(Usage { used, allocatable }: Usage) -> Self {
        Self { used, allocatable }
    }
}

/// What a run cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cost")]
#[expect(clippy::struct_field_names, reason = "the unit stands in every name of a price")]
struct CostDocument {
    /// All instances over the whole run, in US dollars.
    total_usd: f64,
    /// How much of that commitments covered, in US dollars; absent where they covered nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    covered_usd: Option<f64>,
    /// All instances at the most expensive moment, in US dollars an hour.
    peak_hourly_usd: f64,
    /// All instances at the end, in US dollars an hour.
    final_hourly_usd: f64,
}

/// How long pods waited for a node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Waiting")]
struct WaitingDocument {
    /// Pods that were bound.
    pods_bound: usize,
    /// How long those waited on average, in seconds.
    mean_seconds: f64,
    /// What nineteen of twenty of them did not wait longer than, in seconds.
    percentile95_seconds: f64,
    /// The longest wait of one of them, in seconds.
    longest_seconds: i64,
    /// The longest time between a pod's eviction by choice and its successor's being bound, in
    /// seconds.
    longest_without_home_seconds: i64,
}

impl From<Waiting> for WaitingDocument {
    fn from(waiting: Waiting) -> Self {
        let Waiting { pods_bound, longest, percentile_95, longest_after_eviction, .. } = waiting;
        Self {
            pods_bound,
            mean_seconds: waiting.mean().as_secs_f64(),
            percentile95_seconds: percentile_95.as_secs_f64(),
            longest_seconds: longest.as_secs(),
            longest_without_home_seconds: longest_after_eviction.as_secs(),
        }
    }
}

/// What was expected, and how it came.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Expectation")]
struct ExpectationDocument {
    /// The moment at which it was held against the cluster, in simulated time.
    #[schemars(with = "word::Moment")]
    at: String,
    /// What was expected, in words.
    expected: Text,
    /// Whether it came so.
    holds: bool,
    /// What was found instead, in words; absent where it holds.
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

/// Something that must never happen, and did.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Violation")]
struct OccurrenceDocument {
    /// When it was seen, in simulated time.
    #[schemars(with = "word::Moment")]
    at: String,
    /// What, in words.
    violation: String,
    /// The code of `violation`.
    code: InvariantCode,
}

impl From<&Occurrence> for OccurrenceDocument {
    fn from(occurrence: &Occurrence) -> Self {
        let Occurrence { at, violation } = occurrence;
        Self { at: at.to_string(), violation: violation.to_string(), code: violation.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_document_holds_the_whole_run() {
        let document = SimulationDocument::new(&testing::report(), RunOptions::default());
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
