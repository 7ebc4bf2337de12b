//! What the controllers need from outside, named after the need: a cluster, a cloud, a store of claims,
//! a clock. Adapters implement these traits for EKS, EC2 and DynamoDB, and the simulation for a world
//! in memory.
//!
//! The traits bring no runtime: their futures need not be `Send`, so an adapter may be single-threaded.
//! Adapters classify every error once ([`error::PortError`]); batch calls give one outcome an item, in
//! the order asked, and fail as a whole only where nothing was attempted.

pub mod claim_store;
pub mod clock;
pub mod cloud;
pub mod cluster;
pub mod error;

pub use claim_store::{ClaimStore, FunctionName, Lease, LeaseAnswer, Version, Versioned};
pub use clock::Clock;
pub use cloud::{Cloud, Instance, InstanceState, LaunchOutcome, Termination};
pub use cluster::{Cluster, ClusterView, Eviction, NodeRef, PodRef};
pub use error::{ErrorKind, PortError};

/// The ports of one cluster, together.
#[derive(Debug)]
pub struct Ports<'a, C, E, S, K> {
    /// The Kubernetes cluster.
    pub cluster: &'a C,
    /// Where instances come from.
    pub cloud: &'a E,
    /// What we remember between runs.
    pub store: &'a S,
    /// The time.
    pub clock: &'a K,
}

// Derives would ask the ports themselves to be `Copy`.
impl<C, E, S, K> Clone for Ports<'_, C, E, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, E, S, K> Copy for Ports<'_, C, E, S, K> {}
