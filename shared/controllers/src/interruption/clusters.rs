//! All clusters of an installation, for the function that serves them all.

use std::rc::Rc;

use domain::{Text, Timestamp};

use crate::ports::error::PortError;
use crate::ports::{ClaimPlace, ClaimStore, Ports};

/// The clusters whose claims are in one table.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Clusters {
    /// The ports of one cluster.
    type Ports: Ports;
    /// The claim store of one cluster.
    type Records: ClaimStore;

    /// The claim that an instance was launched for. Reads an index that is eventually consistent.
    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError>;

    /// The claim store of a cluster. Does not connect to the cluster.
    fn records(&self, cluster: &Text) -> Result<Rc<Self::Records>, PortError>;

    /// Connects to a cluster.
    async fn open(&self, cluster: &Text) -> Result<Rc<Self::Ports>, PortError>;

    /// The current time.
    fn now(&self) -> Timestamp;

    /// What comes of work that may take until a moment; `None` where it takes longer. It is given
    /// up then, and whatever it had under way is as though the process had died.
    async fn within<T>(&self, until: Timestamp, work: impl Future<Output = T>) -> Option<T>;
}
