//! CustomResourceDefinitions: the shapes that the readers beside this file take, as the API server
//! checks them.
//!
//! Words, counts and field names are those of the readers, so that neither takes what the other
//! refuses. What a schema cannot say (a label's syntax, say) the functions say in the object's
//! status. Kinds that Karpenter has are its kinds: names, printer columns and subresources are the
//! same, so that a cluster can change hands.

mod capacity_buffer;
mod cluster_limit;
mod commitment;
mod common;
mod kind;
mod node_claim;
mod node_class;
mod node_overlay;
mod node_pool;
mod prewarm_schedule;
mod schema;

pub use kind::CustomResource;
use kind::Kind;

/// All definitions, by file name.
pub fn custom_resources() -> Vec<CustomResource> {
    let kinds = [
        capacity_buffer::kind(),
        node_class::kind(),
        node_claim::kind(),
        node_overlay::kind(),
        node_pool::kind(),
        cluster_limit::kind(),
        commitment::kind(),
        prewarm_schedule::kind(),
    ];
    kinds.into_iter().map(Kind::definition).collect()
}
