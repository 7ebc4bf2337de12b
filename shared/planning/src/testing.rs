//! A small world for tests: makers of pods, nodes, pools, instance types and clusters.
//!
//! Makers give the plainest valid thing, and a test changes what it is about. The catalogue sells
//! `m.large` (2 CPUs), `m.xlarge` (4), `m.2xlarge` (8) at five cents a CPU on demand, and `a.xlarge`
//! (4 CPUs, arm64) at six, in zones `a`, `b` and `c`.

mod catalogue;
mod cluster;
mod node;
mod plan;
mod pod;
mod pool;

use domain::money::UsdPerHour;
use domain::pod::ObjectKey;
use domain::requirement::{Operator, Requirement};
use domain::selector::LabelSelector;
use domain::taint::{Taint, TaintEffect};
use domain::{SignedDuration, Text, Timestamp};

pub(crate) use catalogue::{instance_type, offering, reserved, with_spot};
pub(crate) use cluster::{Cluster, cluster};
pub(crate) use node::{NodeMaker, node};
pub(crate) use plan::{
    claim_of, going, is_disrupted, listed, place_of, pods_by_zone, reasons, unfit,
};
pub(crate) use pod::{PodMaker, daemon_set, daemon_set_of, near, pdb, pod, spread_over};
pub(crate) use pool::{budget, node_pool, node_pool_of, node_pool_with};

/// A Thursday.
pub(crate) fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// A moment so many minutes before [`now`].
pub(crate) fn minutes_ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

pub(crate) fn usd(price: f64) -> UsdPerHour {
    UsdPerHour::from_f64(price).unwrap()
}

pub(crate) fn texts(values: &[&str]) -> Vec<Text> {
    values.iter().map(|value| Text::from(*value)).collect()
}

/// `key operator values`.
pub(crate) fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement { key: key.into(), operator, values: texts(values), min_values: None }
}

/// `key In [value]`.
pub(crate) fn is(key: &str, value: &str) -> Requirement {
    requirement(key, Operator::In, &[value])
}

pub(crate) fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.into(), value: "".into(), effect }
}

pub(crate) fn selector(label: (&str, &str)) -> LabelSelector {
    LabelSelector::of_labels([label])
}

pub(crate) fn pod_key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}
