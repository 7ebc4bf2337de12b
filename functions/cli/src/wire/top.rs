//! Nodes as JSON: `kind: ClusterUse`.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::{HOURS_PER_MONTH, UsdPerHour};
use serde::Serialize;

use super::API_VERSION;
use crate::view::cluster_use::ClusterUse;
use crate::view::node_row::{NodeRow, Usage};

/// The document that `top -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopDocument {
    api_version: &'static str,
    kind: &'static str,
    nodes: Vec<NodeDocument>,
    totals: TotalsDocument,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDocument {
    name: Text,
    node_pool: Option<Text>,
    instance_type: Option<Text>,
    zone: Option<Text>,
    capacity_type: Option<&'static str>,
    cpu_millis: UsageDocument,
    memory_bytes: UsageDocument,
    pods: usize,
    age_seconds: Option<i64>,
    /// `null` where the catalogue does not price it.
    hourly_usd: Option<f64>,
    state: &'static str,
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

#[derive(Debug, Serialize)]
struct UsageDocument {
    requested: i64,
    allocatable: i64,
}

impl From<Usage> for UsageDocument {
    fn from(Usage { used, allocatable }: Usage) -> Self {
        Self { requested: used, allocatable }
    }
}

impl From<&NodeRow> for NodeDocument {
    fn from(row: &NodeRow) -> Self {
        let NodeRow {
            name,
            node_pool,
            instance_type,
            zone,
            capacity_type,
            cpu,
            memory,
            pods,
            virtual_pods: _,
            age,
            price,
            state,
        } = row;
        Self {
            name: name.clone(),
            node_pool: node_pool.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.map(CapacityType::as_str),
            cpu_millis: (*cpu).into(),
            memory_bytes: (*memory).into(),
            pods: *pods,
            age_seconds: age.map(|age| age.as_secs()),
            hourly_usd: price.map(UsdPerHour::to_f64),
            state: state.as_str(),
        }
    }
}

impl TopDocument {
    /// The document of a cluster's nodes.
    pub(crate) fn new(cluster_use: &ClusterUse, warnings: Vec<String>) -> Self {
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
            warnings,
        }
    }
}
