//! The vocabulary of Outrigger: what Kubernetes, Karpenter and EC2 mean by their words, as plain
//! values.
//!
//! Everything here is pure: no I/O, no clock, no randomness, no serialisation. Wire formats live in
//! `manifests` (Kubernetes objects) and in the adapters; they turn into these types at the door and
//! nothing further in ever sees a string that could be malformed.

pub mod account_id;
pub mod address_ledger;
pub mod addresses;
pub mod budget;
pub mod buffer;
pub mod cluster_limit;
pub mod commitment;
pub mod default_constraints;
pub mod drain;
pub mod drift;
pub mod drift_target;
pub mod drift_waves;
pub mod expiration;
pub mod fargate;
pub mod image_age;
pub mod instance_overhead;
pub mod instance_type;
pub mod label;
pub mod money;
pub mod nearest;
pub mod node;
pub mod node_claim;
pub mod node_class;
pub mod node_offering;
pub mod node_pool;
pub mod node_pool_options;
pub mod off_hours;
pub mod overlay;
pub mod pdb;
pub mod plan;
pub mod pod;
pub mod pvc_spec;
pub mod quantity;
pub mod reason;
pub mod requirement;
pub mod resource;
pub mod rollout;
pub mod schedule;
pub mod scheduler;
pub mod selector;
pub mod settings;
pub mod shared_list;
pub mod snapshot;
pub mod spot;
pub mod stamp;
pub mod taint;
pub mod volume;
pub mod workload;
pub mod zone_balance;

pub use jiff::{SignedDuration, Timestamp};

/// A string that is shared rather than copied: names, label keys and values recur thousands of
/// times.
pub type Text = std::sync::Arc<str>;
