//! Builders of Kubernetes and Karpenter objects for tests.
//!
//! Each function returns the plainest valid object, with no label, taint or request that a test did
//! not ask for, and builders change what the test is about. This is the only place outside the
//! readers of manifests where these structs are written out field by field: a new field of NodePool
//! is added here once, and no test has to change.

mod node;
mod node_claim;
mod node_class;
mod node_pool;
mod pod;
mod scheduling;

pub use node::{NodeBuilder, node};
pub use node_claim::{NodeClaimBuilder, condition, node_claim};
pub use node_class::{ami, node_class};
pub use node_pool::{NodePoolBuilder, node_class_ref, node_pool};
pub use pod::{PodBuilder, pod, running};
pub use scheduling::{affinity_term, pod_requests, resources, spread, taint, toleration};
