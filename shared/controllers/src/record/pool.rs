//! The record of a NodePool: its registration health.
//!
//! Karpenter's condition NodeRegistrationHealthy follows from a ring buffer of the latest four
//! registrations, reset when the generation of the NodePool or its node class changes.

use domain::Text;

/// Number of registrations that are kept.
pub const REGISTRATIONS_KEPT: usize = 4;

/// A NodePool as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRecord {
    /// The NodePool's name.
    pub node_pool: Text,
    /// Its uid: a successor of the same name starts anew.
    pub uid: Text,
    /// `metadata.generation` of the NodePool when its registrations were last reset.
    pub generation: i64,
    /// `metadata.generation` of its node class at that time.
    pub node_class_generation: i64,
    /// Whether its latest nodes registered, oldest first; at most [`REGISTRATIONS_KEPT`].
    pub registrations: Vec<bool>,
}
