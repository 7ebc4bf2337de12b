//! Nodes in JSON documents.

use domain::Text;
use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use serde::Serialize;

use crate::view::node_row::{NodeRow, Usage};

/// A node that is there, or its claim.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeDocument {
    name: Text,
    node_pool: Option<Text>,
    instance_type: Option<Text>,
    zone: Option<Text>,
    /// `spot`, `on-demand`, `reserved` or `fargate`.
    capacity_type: Option<&'static str>,
    cpu_millis: UsageDocument,
    memory_bytes: UsageDocument,
    pods: usize,
    age_seconds: Option<i64>,
    /// `null` where the catalogue does not price it.
    hourly_usd: Option<f64>,
    state: &'static str,
}

/// What of a resource is requested, and what there is.
#[derive(Debug, Serialize)]
pub(super) struct UsageDocument {
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
            capacity_type: capacity_type.map(NodeCapacityType::as_str),
            cpu_millis: (*cpu).into(),
            memory_bytes: (*memory).into(),
            pods: *pods,
            age_seconds: age.map(|age| age.as_secs()),
            hourly_usd: price.map(UsdPerHour::to_f64),
            state: state.as_str(),
        }
    }
}
