//! What commitments cover, as JSON.

use domain::Text;
use domain::commitment::{Bill, CommitmentUse};
use domain::money::UsdPerHour;
use domain::plan::{CommittedTotals, Totals};
use schemars::JsonSchema;
use serde::Serialize;

/// What commitments cover of on-demand nodes, before a plan and once it is carried out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CommittedTotals")]
pub(super) struct CommittedDocument {
    /// Before.
    before: BillDocument,
    /// After.
    after: BillDocument,
}

impl CommittedDocument {
    /// Of a plan with these totals.
    pub(super) fn new(committed: &CommittedTotals, totals: &Totals) -> Self {
        let CommittedTotals { before, after } = committed;
        Self {
            before: BillDocument::new(before, totals.hourly_before),
            after: BillDocument::new(after, totals.hourly_after),
        }
    }
}

/// What commitments cover of what nodes cost. What the commitments cost themselves is paid in any
/// case and is no part of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Committed")]
pub(super) struct BillDocument {
    /// What on-demand nodes cost at list prices, in US dollars an hour.
    on_demand_hourly_usd: f64,
    /// How much of that commitments cover, in US dollars an hour.
    covered_hourly_usd: f64,
    /// What all nodes cost beyond commitments, in US dollars an hour.
    remaining_hourly_usd: f64,
    /// The commitments that hold, in the order in which AWS applies them.
    commitments: Vec<CommitmentDocument>,
}

impl BillDocument {
    /// Of nodes that cost so much at list prices.
    pub(super) fn new(bill: &Bill, hourly: UsdPerHour) -> Self {
        let Bill { on_demand, covered, commitments } = bill;
        Self {
            on_demand_hourly_usd: on_demand.to_f64(),
            covered_hourly_usd: covered.to_f64(),
            remaining_hourly_usd: (hourly - *covered).to_f64(),
            commitments: commitments.iter().map(CommitmentDocument::from).collect(),
        }
    }
}

/// What is used of a commitment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CommitmentUse")]
struct CommitmentDocument {
    /// The name of the Commitment.
    name: Text,
    /// Its `spec.type`.
    r#type: &'static str,
    /// The instance family, or the reserved instance type; absent where it holds for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds_for: Option<Text>,
    /// What this cluster's share of it costs, used or not, in US dollars an hour; absent where that
    /// is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    hourly_usd: Option<f64>,
    /// How much of this cluster's share is used, from 0 to 1.
    utilization: f64,
    /// How much of on-demand prices it covers, in US dollars an hour.
    covered_hourly_usd: f64,
}

impl From<&CommitmentUse> for CommitmentDocument {
    fn from(own: &CommitmentUse) -> Self {
        Self {
            name: own.name.clone(),
            r#type: own.kind,
            holds_for: own.holds_for.clone(),
            hourly_usd: own.hourly.map(UsdPerHour::to_f64),
            utilization: f64::from(own.per_mille()) / 1_000.0,
            covered_hourly_usd: own.covered.to_f64(),
        }
    }
}
