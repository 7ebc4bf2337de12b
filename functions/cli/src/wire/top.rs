//! Nodes as JSON: `kind: ClusterUse`.

use domain::Text;
use domain::money::{HOURS_PER_MONTH, UsdPerHour};
use schemars::JsonSchema;
use serde::Serialize;

use super::API_VERSION;
use super::basis::BasisDocument;
use super::committed::BillDocument;
use super::drain::DrainDocument;
use super::node::{NodeDocument, UsageDocument};
use crate::view::cluster_use::ClusterUse;
use crate::view::cost_split::{CostSplit, Share};

/// The nodes of a cluster, what they hold and what they cost: the document of
/// `outrigger top -o json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClusterUse")]
pub(crate) struct TopDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// Nodes that are there or in flight.
    nodes: Vec<NodeDocument>,
    /// All nodes together.
    totals: TotalsDocument,
    /// What commitments cover of what they cost; absent where no Commitment holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<BillDocument>,
    /// Nodes that are being drained, with what holds them and what they cost.
    drains: Vec<DrainDocument>,
    /// What they cost, split by what pods request; absent without `--by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<SplitDocument>,
    #[serde(flatten)]
    basis: BasisDocument,
    /// Names of nodes that no price is known of: no dollar figure counts them.
    left_out: Vec<Text>,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the input, which were left out, as standard error says it.
    errors: Vec<String>,
}

/// All nodes together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Totals")]
struct TotalsDocument {
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
    /// How many of them no price is known of.
    nodes_without_price: usize,
}

/// The cost of nodes, split by what pods request of them. `hourlyUsd` of all shares and of `idle`
/// add up to that of `totals`, to the billionth of a dollar.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Split")]
struct SplitDocument {
    /// What `--by` says: `namespace`, `nodepool` or `label:KEY`.
    by: String,
    /// Groups of pods, the dearest first.
    shares: Vec<ShareDocument>,
    /// What no pod requests.
    idle: IdleDocument,
}

/// What a group of pods requests and costs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Share")]
struct ShareDocument {
    /// The namespace, the NodePool or the label's value; `null` for pods that have none.
    name: Option<Text>,
    /// How many pods are on nodes.
    pods: usize,
    /// CPU that they request, in millicores.
    cpu_millis: i64,
    /// Memory that they request, in bytes.
    memory_bytes: i64,
    /// What they cost, in US dollars an hour.
    hourly_usd: f64,
    /// What they cost in a month of 730 hours, in US dollars.
    monthly_usd: f64,
}

/// What no pod requests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Idle")]
struct IdleDocument {
    /// CPU in millicores.
    cpu_millis: i64,
    /// Memory in bytes.
    memory_bytes: i64,
    /// What it costs, in US dollars an hour.
    hourly_usd: f64,
    /// What it costs in a month of 730 hours, in US dollars.
    monthly_usd: f64,
}

impl From<&CostSplit> for SplitDocument {
    fn from(split: &CostSplit) -> Self {
        let CostSplit { by, shares, idle_cpu, idle_memory, idle } = split;
        Self {
            by: by.to_string(),
            shares: shares.iter().map(ShareDocument::from).collect(),
            idle: IdleDocument {
                cpu_millis: *idle_cpu,
                memory_bytes: *idle_memory,
                hourly_usd: idle.to_f64(),
                monthly_usd: monthly(*idle),
            },
        }
    }
}

impl From<&Share> for ShareDocument {
    fn from(share: &Share) -> Self {
        let Share { name, pods, cpu, memory, price } = share;
        Self {
            name: name.clone(),
            pods: *pods,
            cpu_millis: *cpu,
            memory_bytes: *memory,
            hourly_usd: price.to_f64(),
            monthly_usd: monthly(*price),
        }
    }
}

/// What an hourly price comes to in a month, in US dollars.
pub(super) fn monthly(hourly: UsdPerHour) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred hours")]
    let hours = HOURS_PER_MONTH as f64;
    hourly.to_f64() * hours
}

/// What stands in the document beside the nodes.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// What it was worked out from.
    pub(crate) basis: BasisDocument,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects of the input.
    pub(crate) errors: Vec<String>,
}

impl TopDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "ClusterUse";

    /// The document of a cluster's nodes.
    pub(crate) fn new(
        cluster_use: &ClusterUse,
        split: Option<&CostSplit>,
        remarks: Remarks,
    ) -> Self {
        let Remarks { basis, warnings, errors } = remarks;
        let ClusterUse {
            rows,
            cpu,
            memory,
            pods,
            pending,
            price,
            committed,
            unpriced,
            by_capacity_type: _,
            not_selected: _,
            drains,
        } = cluster_use;
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            nodes: rows.iter().map(NodeDocument::from).collect(),
            totals: TotalsDocument {
                nodes: rows.len(),
                pods: *pods,
                pending_pods: *pending,
                cpu_millis: (*cpu).into(),
                memory_bytes: (*memory).into(),
                hourly_usd: price.to_f64(),
                monthly_usd: monthly(*price),
                nodes_without_price: *unpriced,
            },
            committed: committed.as_ref().map(|bill| BillDocument::new(bill, *price)),
            drains: drains.iter().map(DrainDocument::from).collect(),
            split: split.map(SplitDocument::from),
            basis,
            left_out: rows
                .iter()
                .filter(|row| row.price.is_none())
                .map(|row| row.name.clone())
                .collect(),
            warnings,
            errors,
        }
    }
}
