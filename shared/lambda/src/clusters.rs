//! All clusters whose records are in the table, for functions that serve them together.

use std::rc::Rc;
use std::time::Duration;

use aws::store::DynamoStore;
use controllers::interruption::Clusters;
use controllers::ports::{ClaimPlace, Clock as _, ErrorKind, PortError};
use domain::{Text, Timestamp};

use crate::failure::Failure;
use crate::process::{Adapters, Process};

impl Clusters for Process {
    type Ports = Adapters;
    type Records = DynamoStore;

    async fn claim_of_instance(&self, instance_id: &str) -> Result<Option<ClaimPlace>, PortError> {
        self.table().claim_of_instance(instance_id).await
    }

    fn records(&self, cluster: &Text) -> Result<Rc<DynamoStore>, PortError> {
        Ok(Rc::new(DynamoStore::new(self.table().clone(), cluster)))
    }

    async fn open(&self, cluster: &Text) -> Result<Rc<Adapters>, PortError> {
        self.adapters(cluster).await.map_err(|failure| match failure {
            Failure::Call(error) => error,
            other => PortError::new(ErrorKind::Unknown, "open a cluster", other.to_string())
                .because(other),
        })
    }

    fn now(&self) -> Timestamp {
        self.clock().now()
    }

    async fn within<T>(&self, until: Timestamp, work: impl Future<Output = T>) -> Option<T> {
        let left = until.duration_since(self.clock().now());
        tokio::time::timeout(Duration::try_from(left).unwrap_or_default(), work).await.ok()
    }
}
