//! What comes of a cluster until nothing changes, as JSON: `kind: PlanUntilStable`.

use domain::Text;
use domain::money::UsdPerHour;
use schemars::JsonSchema;
use serde::Serialize;
use simulation::stable::BOUND;
use simulation::stable::blocker::BlockerCost;

use super::basis::BasisDocument;
use super::code::{BlockerCode, DisruptionCode};
use super::committed::BillDocument;
use super::node::{NodeDocument, UsageDocument};
use super::top::monthly;
use super::{API_VERSION, word};
use crate::view::cluster_use::ClusterUse;
use crate::view::until_stable::{CameRow, StepRow, UntilStable, sentence};

/// What comes of a cluster that is left to the functions until nothing changes: the document of
/// `outrigger plan --until-stable -o json` and of `outrigger audit -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlanUntilStable")]
pub(crate) struct UntilStableDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// What was taken for granted, of nodes that no NodePool manages; of `audit` only.
    assumptions: Vec<String>,
    /// The cluster as it is.
    from: SideDocument,
    /// The cluster in the end.
    to: SideDocument,
    /// What is saved, in US dollars an hour; below 0 where the end costs more.
    savings_hourly_usd: f64,
    /// What is saved in a month of 730 hours, in US dollars.
    savings_monthly_usd: f64,
    /// Whether nothing would change any more; else the run ended after `boundSeconds`.
    is_stable: bool,
    /// For how long the cluster is run at most, in seconds of simulated time.
    bound_seconds: i64,
    /// Seconds of simulated time until the last change.
    elapsed_seconds: i64,
    /// Pods that are evicted on the way.
    evictions: usize,
    /// What happens, in order.
    steps: Vec<StepDocument>,
    /// What holds more savings back, the costliest first.
    blockers: Vec<BlockerDocument>,
    /// How many things were looked at that could hold savings back, and do not.
    harmless_blockers: usize,
    #[serde(flatten)]
    basis: BasisDocument,
    /// The nodes in the end.
    nodes: Vec<NodeDocument>,
    /// Names of nodes that no price is known of, at the start or in the end: no dollar figure
    /// counts them.
    left_out: Vec<Text>,
    /// Rules that the run broke; none, unless there is a defect.
    violations: Vec<String>,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the input, which were left out, as standard error says it.
    errors: Vec<String>,
}

/// All nodes at one moment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Side")]
struct SideDocument {
    /// How many nodes there are.
    nodes: usize,
    /// Pods on them, those of DaemonSets included.
    pods: usize,
    /// Pods that are not bound and not over.
    pending_pods: usize,
    /// CPU in millicores.
    cpu_millis: UsageDocument,
    /// Memory in bytes.
    memory_bytes: UsageDocument,
    /// What they cost, in US dollars an hour.
    hourly_usd: f64,
    /// What they cost in a month of 730 hours, in US dollars.
    monthly_usd: f64,
    /// What commitments cover of that; absent where no Commitment holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<BillDocument>,
}

/// Nodes that go together, or are launched together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Step")]
struct StepDocument {
    /// Seconds of simulated time from the start.
    at_seconds: i64,
    /// Why nodes go; absent where nodes are launched for pods that wait, and where nodes were on
    /// their way out before the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<DisruptionCode>,
    /// Nodes that go.
    nodes: Vec<Text>,
    /// Those of them that are still there in the end, since something holds their pods.
    held_nodes: Vec<Text>,
    /// Nodes that come.
    launched: Vec<LaunchedDocument>,
    /// Pods that are evicted from nodes that go, or that nodes come for.
    pods: usize,
    /// What it saves in the end, in US dollars an hour; below 0 where it costs something. All steps
    /// together save what the run does.
    savings_hourly_usd: f64,
}

/// A node that is launched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Launched")]
struct LaunchedDocument {
    /// Its NodeClaim.
    node_claim: Text,
    /// Its instance type.
    instance_type: Text,
    /// Its availability zone.
    zone: Text,
    /// How it is bought.
    #[schemars(with = "word::CapacityTypeWord")]
    capacity_type: &'static str,
    /// Its price in US dollars an hour.
    hourly_usd: f64,
}

/// Something that holds savings back.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Blocker")]
struct BlockerDocument {
    /// What it is.
    code: BlockerCode,
    /// Whose it is: a NodePool, a Node, `namespace/name` of a PodDisruptionBudget or DaemonSet,
    /// `Deployment namespace/name` of pods. Several where they were left out together; none of a
    /// feature gate.
    names: Vec<Text>,
    /// How many nodes it concerns.
    nodes: usize,
    /// Of DaemonSets, what their pods request of the nodes' CPU or memory, whichever is more: 0.08
    /// is 8 percent. Absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// It in a sentence, for people.
    reason: String,
    /// What the end would cost less without it, in US dollars an hour.
    savings_hourly_usd: f64,
    /// What the end would cost less without it in a month of 730 hours, in US dollars.
    savings_monthly_usd: f64,
    /// Whether it may be more: planning on without it was given up.
    is_at_least: bool,
}

/// What stands in the document beside the answer.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// What it was worked out from.
    pub(crate) basis: BasisDocument,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects of the input.
    pub(crate) errors: Vec<String>,
}

impl UntilStableDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "PlanUntilStable";

    /// The document of an answer.
    pub(crate) fn new(own: &UntilStable, remarks: Remarks) -> Self {
        let Remarks { basis, warnings, errors } = remarks;
        let rows = || own.from.rows.iter().chain(&own.to.rows);
        let mut left_out: Vec<Text> =
            rows().filter(|row| row.price.is_none()).map(|row| row.name.clone()).collect();
        left_out.sort();
        left_out.dedup();
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            assumptions: own.assumptions.clone(),
            from: (&own.from).into(),
            to: (&own.to).into(),
            savings_hourly_usd: own.savings().to_f64(),
            savings_monthly_usd: monthly(own.savings()),
            is_stable: own.is_stable,
            bound_seconds: BOUND.as_secs(),
            elapsed_seconds: own.elapsed.as_secs(),
            evictions: own.evictions,
            steps: own.steps.iter().map(StepDocument::from).collect(),
            blockers: own.blockers.costs.iter().map(BlockerDocument::from).collect(),
            harmless_blockers: own.blockers.harmless,
            basis,
            nodes: own.to.rows.iter().map(NodeDocument::from).collect(),
            left_out,
            violations: own.violations.clone(),
            warnings,
            errors,
        }
    }
}

impl From<&ClusterUse> for SideDocument {
    fn from(side: &ClusterUse) -> Self {
        let ClusterUse { rows, cpu, memory, pods, pending, price, committed, .. } = side;
        Self {
            nodes: rows.len(),
            pods: *pods,
            pending_pods: *pending,
            cpu_millis: (*cpu).into(),
            memory_bytes: (*memory).into(),
            hourly_usd: price.to_f64(),
            monthly_usd: monthly(*price),
            committed: committed.as_ref().map(|bill| BillDocument::new(bill, *price)),
        }
    }
}

impl From<&StepRow> for StepDocument {
    fn from(step: &StepRow) -> Self {
        let StepRow { at, went, held, came, pods, savings, .. } = step;
        Self {
            at_seconds: at.as_secs(),
            reason: step.reason().map(DisruptionCode::from),
            nodes: went.clone(),
            held_nodes: held.clone(),
            launched: came.iter().map(LaunchedDocument::from).collect(),
            pods: *pods,
            savings_hourly_usd: savings.to_f64(),
        }
    }
}

impl From<&CameRow> for LaunchedDocument {
    fn from(came: &CameRow) -> Self {
        let CameRow { claim, instance_type, zone, capacity_type, price } = came;
        Self {
            node_claim: claim.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.as_str(),
            hourly_usd: price.to_f64(),
        }
    }
}

impl From<&BlockerCost> for BlockerDocument {
    fn from(cost: &BlockerCost) -> Self {
        let BlockerCost { blocker, saving, is_at_least } = cost;
        Self {
            code: blocker.kind.into(),
            names: blocker.names.clone(),
            nodes: blocker.nodes,
            share: blocker.share_permille.map(|share| f64::from(share) / 1000.0),
            reason: sentence(cost, |name| name),
            savings_hourly_usd: UsdPerHour::to_f64(*saving),
            savings_monthly_usd: monthly(*saving),
            is_at_least: *is_at_least,
        }
    }
}
