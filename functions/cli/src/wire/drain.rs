//! Drains in JSON documents.

use domain::Text;
use schemars::JsonSchema;
use serde::Serialize;

use super::code::DrainHoldCode;
use super::word;
use crate::view::drains::{DrainRow, daily};

/// A node that is being drained.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Drain")]
pub(crate) struct DrainDocument {
    /// The Node.
    node: Text,
    /// For how many seconds it has lasted; `null` where that is not known.
    lasted_seconds: Option<i64>,
    /// Whether it has lasted longer than ten minutes.
    is_stuck: bool,
    /// When what is left goes by force, RFC 3339; `null` where nothing does.
    forced_at: Option<String>,
    /// What the node costs in a day, in US dollars; `null` where the catalogue does not price it.
    daily_usd: Option<f64>,
    /// Its pods that have to leave still, in the order in which they go.
    pods: Vec<HeldPodDocument>,
    /// What is said of its volumes, once its pods are gone; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    volumes: Option<Text>,
}

/// A pod on a node that is being drained.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HeldPod")]
struct HeldPodDocument {
    /// Its namespace and name.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// What holds it.
    reason: String,
    /// The code of `reason`.
    code: DrainHoldCode,
}

impl From<&DrainRow> for DrainDocument {
    fn from(row: &DrainRow) -> Self {
        let DrainRow { drain, lasted, is_stuck, price } = row;
        let pods = drain.holds.iter().map(|(pod, hold)| HeldPodDocument {
            pod: pod.to_string(),
            reason: hold.to_string(),
            code: hold.into(),
        });
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 after the division")]
        let dollars = |nanos: i128| nanos as f64 / 1e9;
        Self {
            node: drain.node.clone(),
            lasted_seconds: lasted.map(|lasted| lasted.as_secs()),
            is_stuck: *is_stuck,
            forced_at: drain.forced.map(|at| at.to_string()),
            daily_usd: price.map(|price| dollars(daily([price].into_iter()))),
            pods: pods.collect(),
            volumes: drain.volumes.clone(),
        }
    }
}
