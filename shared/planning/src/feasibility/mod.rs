//! Whether a pod may go somewhere, and why not: the one place that says so.

mod arrival;
mod cluster_limit;
pub(crate) mod constraint;
pub(crate) mod domains;
pub(crate) mod fit;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod node;
pub(crate) mod node_constraint;
pub(crate) mod scope;
pub(crate) mod state;
pub(crate) mod topology;
mod usd_limit;
