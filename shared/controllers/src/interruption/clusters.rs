//! All clusters of an installation, as whoever serves all of them needs them.

use std::rc::Rc;

use domain::{Text, Timestamp};

use crate::ports::error::PortError;
use crate::ports::{ClaimPlace, ClaimStore, Ports};

/// The clusters that share one table.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Clusters {
    /// The ports of one cluster.
    type Ports: Ports;
    /// The records of one cluster.
    type Records: ClaimStore;

    /// Which cluster's claim an instance was launched for. Reads an index that may lag by a moment.
    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError>;

    /// What is remembered of a cluster. Nothing of the cluster itself is needed for it.
    fn records(&self, cluster: &Text) -> Result<Rc<Self::Records>, PortError>;

    /// The ports of a cluster.
    async fn open(&self, cluster: &Text) -> Result<Rc<Self::Ports>, PortError>;

    /// The time.
    fn now(&self) -> Timestamp;
}
