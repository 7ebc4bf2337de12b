//! Nodes as JSON: `kind: ClusterUse`.

use domain::Text;
use domain::money::HOURS_PER_MONTH;
use schemars::JsonSchema;
use serde::Serialize;

use super::API_VERSION;
use super::basis::BasisDocument;
use super::node::{NodeDocument, UsageDocument};
use crate::view::cluster_use::ClusterUse;

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

impl TopDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "ClusterUse";

    /// The document of a cluster's nodes.
    pub(crate) fn new(
        cluster_use: &ClusterUse,
        basis: BasisDocument,
        warnings: Vec<String>,
        errors: Vec<String>,
    ) -> Self {
        let ClusterUse { rows, cpu, memory, pods, pending, price, unpriced, by_capacity_type: _ } =
            cluster_use;
        #[expect(clippy::cast_precision_loss, reason = "a few hundred hours")]
        let hours = HOURS_PER_MONTH as f64;
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
                monthly_usd: price.to_f64() * hours,
                nodes_without_price: *unpriced,
            },
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
