//! Several worlds as the clusters of one installation.

use std::collections::BTreeMap;
use std::rc::Rc;

use controllers::interruption::Clusters;
use controllers::ports::{ClaimPlace, ClaimStore, Clock, ErrorKind, PortError, Ports};
use domain::{Text, Timestamp};

use super::shared_world::SharedWorld;

impl Ports for SharedWorld {
    type Cluster = Self;
    type Cloud = Self;
    type Store = Self;
    type Clock = Self;
    type Wakes = Self;

    fn cluster(&self) -> &Self {
        self
    }

    fn cloud(&self) -> &Self {
        self
    }

    fn store(&self) -> &Self {
        self
    }

    fn clock(&self) -> &Self {
        self
    }

    fn wakes(&self) -> &Self {
        self
    }
}

/// Clusters by name, each a world of its own, through the handles of one process.
#[derive(Debug)]
pub struct Worlds(BTreeMap<Text, Rc<SharedWorld>>);

impl Worlds {
    /// What one process sees: it dies with the handle of any of its clusters.
    pub fn new(handles: impl IntoIterator<Item = (Text, Rc<SharedWorld>)>) -> Self {
        Self(handles.into_iter().collect())
    }

    fn handle(&self, cluster: &Text) -> Result<Rc<SharedWorld>, PortError> {
        let unknown = || PortError::new(ErrorKind::NotFound, "find a cluster", cluster.to_string());
        self.0.get(cluster).cloned().ok_or_else(unknown)
    }
}

impl Clusters for Worlds {
    type Ports = SharedWorld;
    type Records = SharedWorld;

    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError> {
        for (cluster, handle) in &self.0 {
            if let Some(claim) = ClaimStore::claim_of_instance(&**handle, instance_id).await? {
                let claim = claim.record.name().clone();
                return Ok(Some(ClaimPlace { cluster: cluster.clone(), claim }));
            }
        }
        Ok(None)
    }

    fn records(&self, cluster: &Text) -> Result<Rc<SharedWorld>, PortError> {
        self.handle(cluster)
    }

    async fn open(&self, cluster: &Text) -> Result<Rc<SharedWorld>, PortError> {
        self.handle(cluster)
    }

    fn now(&self) -> Timestamp {
        self.0.values().map(|handle| Clock::now(&**handle)).max().unwrap_or_default()
    }

    /// Whatever does not answer takes the process with it.
    async fn within<T>(&self, _: Timestamp, work: impl Future<Output = T>) -> Option<T> {
        Some(work.await)
    }
}
