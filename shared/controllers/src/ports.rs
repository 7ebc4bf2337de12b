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

pub use claim_store::{
    ClaimPlace, ClaimStore, FunctionName, Lease, LeaseAnswer, Version, Versioned,
};
pub use clock::Clock;
pub use cloud::{Cloud, Instance, InstanceState, LaunchOutcome, Termination};
pub use cluster::{Cluster, ClusterView, Demand, Eviction, NodeRef, ObjectRef, PodRef};
pub use error::{ErrorKind, PortError};

/// The ports of one cluster, under one name: what the controllers are generic over.
pub trait Ports {
    /// The Kubernetes cluster.
    type Cluster: Cluster;
    /// Where instances come from.
    type Cloud: Cloud;
    /// What is remembered between runs.
    type Store: ClaimStore;
    /// The time.
    type Clock: Clock;

    /// The Kubernetes cluster.
    fn cluster(&self) -> &Self::Cluster;
    /// Where instances come from.
    fn cloud(&self) -> &Self::Cloud;
    /// What is remembered between runs.
    fn store(&self) -> &Self::Store;
    /// The time.
    fn clock(&self) -> &Self::Clock;
}
