//! Nodes as JSON: `kind: ClusterUse`.

use domain::Text;
use domain::money::HOURS_PER_MONTH;
use serde::Serialize;

use super::API_VERSION;
use super::node::{NodeDocument, UsageDocument};
use super::pricing::PricingDocument;
use crate::view::cluster_use::ClusterUse;
use crate::view::pricing::PriceNote;

/// The document that `top -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopDocument {
    api_version: &'static str,
    kind: &'static str,
    nodes: Vec<NodeDocument>,
    totals: TotalsDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Text>,
    pricing: PricingDocument,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TotalsDocument {
    nodes: usize,
    pods: usize,
    pending_pods: usize,
    cpu_millis: UsageDocument,
    memory_bytes: UsageDocument,
    hourly_usd: f64,
    monthly_usd: f64,
    nodes_without_price: usize,
}

impl TopDocument {
    /// The document of a cluster's nodes.
    pub(crate) fn new(cluster_use: &ClusterUse, prices: &PriceNote, warnings: Vec<String>) -> Self {
        let ClusterUse { rows, cpu, memory, pods, pending, price, unpriced, by_capacity_type: _ } =
            cluster_use;
        #[expect(clippy::cast_precision_loss, reason = "a few hundred hours")]
        let hours = HOURS_PER_MONTH as f64;
        Self {
            api_version: API_VERSION,
            kind: "ClusterUse",
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
            region: prices.region.clone(),
            pricing: prices.into(),
            warnings,
        }
    }
}
