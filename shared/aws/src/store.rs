//! Records that outlive a run, in one DynamoDB table.
//!
//! [`DynamoStore`] is the port `ClaimStore` for one cluster. Every write of a record is
//! conditional: on its absence and the lease under which it is made, or on the version that was
//! read. Reads are strongly consistent, except the index from an instance to its claim. A write
//! that is sent again after its answer was lost is recognised as the same. Claims are read from the
//! table only where somebody may have written one since they were read last.

mod announcements;
mod attribute;
mod blob;
mod chain;
mod claims;
mod error;
mod expression;
mod item;
mod lease;
mod retry;
pub mod schema;
mod spot;
mod spot_cache;
mod success;
mod table;
mod versioned;
mod wire;

use std::cell::RefCell;

use controllers::claim_cache::{ClaimCache, ClaimWrites};
pub use controllers::ports::ClaimPlace;
use controllers::ports::PortError;
use domain::Text;
use tokio::sync::Mutex;

pub(crate) use attribute::{Attributes, Place, integer, number};
pub use blob::{CatalogStore, RegionBlobs};
pub(crate) use expression::Condition;
pub use spot::StoredSpotHistory;
pub use table::Table;
pub(crate) use table::Written;

use attribute::{key_of, string};
use schema::{CLAIMS, CLUSTER};

/// The records of one cluster.
#[derive(Debug)]
pub struct DynamoStore {
    table: Table,
    cluster: Text,
    /// Names of claims whose records could not be parsed when they were last listed.
    unreadable_claims: RefCell<Vec<Text>>,
    /// Claims as they were listed last, used for as long as nobody writes any.
    known_claims: ClaimCache,
    /// Writes of claims under way. Held while they are announced, so that none begins before.
    claim_writes: Mutex<ClaimWrites>,
}

impl DynamoStore {
    /// The records of a cluster in a table.
    pub fn new(table: Table, cluster: &str) -> Self {
        Self {
            table,
            cluster: cluster.into(),
            unreadable_claims: RefCell::default(),
            known_claims: ClaimCache::default(),
            claim_writes: Mutex::default(),
        }
    }
}

impl Table {
    /// The claim that an instance was launched for, and its cluster: EC2's events name no cluster.
    /// The index is eventually consistent.
    pub async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<ClaimPlace>, PortError> {
        let keys = self.query_instance(instance_id).await?;
        Ok(keys.iter().find_map(|key| {
            let claim = key_of(key).strip_prefix(CLAIMS)?;
            Some(ClaimPlace { cluster: string(key, CLUSTER)?.into(), claim: claim.into() })
        }))
    }
}

#[cfg(test)]
mod tests;
