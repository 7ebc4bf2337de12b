//! Generated clusters: small enough to shrink to something readable, varied enough to meet the
//! rules of scheduling in combinations that nobody wrote down.

mod cluster;
mod pods;
mod pools;

pub use cluster::{Catalog, Contents, cluster, cluster_of, node_labels};
pub use pods::TopologyRules;
