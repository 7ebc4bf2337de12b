//! Hashes of NodePools and EC2NodeClasses that equal Karpenter's, so that a cluster taken over does
//! not drift.
//!
//! They are taken of objects as users write them, not of domain types: the hash sees notation that
//! the domain does not keep (whether an empty list was written, `1000Gi` or `1T`). What the API
//! server would fill in by default is filled in here. Of notation that cannot be hashed faithfully
//! there is no hash, and drift then compares field by field.

mod fields;
mod hashstructure;
mod node_class;
mod node_pool;
#[cfg(test)]
mod tests;

pub(crate) use node_class::node_class_hashes;
pub(crate) use node_pool::node_pool_hash;
