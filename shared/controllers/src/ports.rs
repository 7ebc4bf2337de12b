//! The ports: what the controllers need of a cluster, a cloud, a claim store, a clock and a queue.
//! Adapters implement these traits for EKS, EC2, DynamoDB and SQS, and the simulation for a cluster
//! and a cloud in memory.
//!
//! The traits require no runtime: their futures need not be `Send`, so an adapter may be
//! single-threaded. Adapters classify every error once ([`error::PortError`]); batch calls return
//! one outcome an item, in order, and fail as a whole only when nothing was attempted.

pub mod claim_store;
pub mod clock;
pub mod cloud;
pub mod cluster;
pub mod error;
pub mod wakes;

pub use claim_store::{
    ClaimPlace, ClaimStore, FunctionName, Lease, LeaseAnswer, SpotRecords, Version, Versioned,
};
pub use clock::Clock;
pub use cloud::{Cloud, Instance, InstanceState, LaunchCall, LaunchOutcome, Termination};
pub use cluster::{Cluster, ClusterListing, Demand, Eviction, NodeRef, ObjectRef, PodRef};
pub use error::{ErrorKind, PortError};
pub use wakes::{DemandCheck, Wake, Wakes};

/// The ports of one cluster: what the controllers are generic over.
pub trait Ports {
    /// The Kubernetes cluster.
    type Cluster: Cluster;
    /// The cloud that instances run in.
    type Cloud: Cloud;
    /// The records kept between runs.
    type Store: ClaimStore;
    /// The clock.
    type Clock: Clock;
    /// The queues through which functions wake each other.
    type Wakes: Wakes;

    /// The Kubernetes cluster.
    fn cluster(&self) -> &Self::Cluster;
    /// The cloud that instances run in.
    fn cloud(&self) -> &Self::Cloud;
    /// The records kept between runs.
    fn store(&self) -> &Self::Store;
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// The queues through which functions wake each other.
    fn wakes(&self) -> &Self::Wakes;
}
