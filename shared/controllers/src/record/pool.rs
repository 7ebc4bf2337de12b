//! What is remembered of a NodePool: how the latest of its launches went.
//!
//! Source: reference D1.8.

use domain::Text;

/// How many registrations are remembered.
pub const REGISTRATIONS_KEPT: usize = 4;

/// A NodePool as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolRecord {
    /// The NodePool's name.
    pub node_pool: Text,
    /// Its uid: a successor of the same name starts anew.
    pub uid: Text,
    /// `metadata.generation` of the NodePool when its registrations were last forgotten.
    pub generation: i64,
    /// `metadata.generation` of its node class at that time.
    pub node_class_generation: i64,
    /// Whether its latest nodes joined, oldest first: at most [`REGISTRATIONS_KEPT`].
    pub registrations: Vec<bool>,
}
