//! A small cluster for tests: makers of pods, nodes, pools, instance types and clusters.
//!
//! Makers give the plainest valid object, and a test changes what it is about. The catalogue sells
//! `m.large` (2 CPUs), `m.xlarge` (4), `m.2xlarge` (8) at five cents per CPU on demand, and
//! `a.xlarge` (4 CPUs, arm64) at six, in zones `a`, `b` and `c`.

mod catalogue;
mod cluster;
mod commitment;
mod node;
mod plan;
mod pod;
mod pool;
mod values;

pub(crate) use catalogue::{instance_type, offering, reserved, with_spot};
pub(crate) use cluster::{Cluster, cluster};
pub(crate) use commitment::{reserved_instances, savings_plan};
pub(crate) use node::{NodeMaker, node};
pub(crate) use plan::{
    claim_of, disrupted_for, is_disrupted, listed, place_of, pods_by_zone, reasons, unfit,
};
pub(crate) use pod::{PodMaker, daemon_set, daemon_set_of, near, pdb, pod, spread_over};
pub(crate) use pool::{budget, node_pool, node_pool_of, node_pool_with};
pub(crate) use values::{is, minutes_ago, now, pod_key, requirement, taint, texts, usd};
