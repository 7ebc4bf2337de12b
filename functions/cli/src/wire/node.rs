//! Nodes in JSON documents.

use domain::Text;
use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use planning::explain::SpotWeight;
use schemars::JsonSchema;
use serde::Serialize;

use super::word::{self, StateOrReason};
use crate::view::node_row::{NodeRow, Usage};

/// A node that is there, or a NodeClaim whose Node has not joined yet.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Node")]
pub(crate) struct NodeDocument {
    /// The Node's name; the NodeClaim's where there is no Node yet.
    name: Text,
    /// The NodePool; `null` for a node that none manages.
    node_pool: Option<Text>,
    /// The instance type; `null` where the node does not say.
    instance_type: Option<Text>,
    /// The availability zone; `null` where the node does not say.
    zone: Option<Text>,
    /// How the node is paid for; `null` where it does not say.
    #[schemars(with = "Option<word::NodeCapacityTypeWord>")]
    capacity_type: Option<&'static str>,
    /// CPU in millicores.
    cpu_millis: UsageDocument,
    /// Memory in bytes.
    memory_bytes: UsageDocument,
    /// Pods on it, those of DaemonSets included.
    pods: usize,
    /// Seconds since it was created; `null` where that is not known.
    age_seconds: Option<i64>,
    /// Its price in US dollars an hour; `null` where the catalogue does not price it.
    hourly_usd: Option<f64>,
    /// What is remembered of its spot offering; absent of others, and without a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    spot: Option<SpotDocument>,
    /// How far it is, or why the plan disrupts it.
    state: StateOrReason,
}

/// What is remembered of a spot offering.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Spot")]
pub(crate) struct SpotDocument {
    /// How often EC2 takes instances of the offering back, in 100 hours of an instance.
    interruptions_per100_node_hours: f64,
    /// What that adds to the price when offerings are compared, in US dollars an hour; 0 where the
    /// NodePool does not say what an interruption costs.
    weight_hourly_usd: f64,
    /// Whether the rate is above the NodePool's maximum.
    is_over_maximum: bool,
}

impl From<SpotWeight> for SpotDocument {
    fn from(SpotWeight { rate, weight, is_over }: SpotWeight) -> Self {
        Self {
            interruptions_per100_node_hours: rate.in_100_node_hours(),
            weight_hourly_usd: weight.to_f64(),
            is_over_maximum: is_over,
        }
    }
}

/// What pods request of a resource, and what they may.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Requested")]
pub(super) struct UsageDocument {
    /// What pods request.
    requested: i64,
    /// What pods may use.
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
            spot,
            spot_passed_over: _,
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
            spot: spot.map(SpotDocument::from),
            state: (*state).into(),
        }
    }
}
