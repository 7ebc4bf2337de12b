//! What is remembered between runs, in one DynamoDB table.
//!
//! [`DynamoStore`] is the port `ClaimStore` for one cluster. Every write of a record is conditional: on
//! its absence and the lease under which it is made, or on the version that was read. Reads are strongly
//! consistent, but for the way from an instance to its claim. A write whose answer was lost and that is
//! sent again is recognised as the same.

mod blob;
mod claims;
mod expression;
mod item;
mod lease;
mod retry;
pub mod schema;
mod table;
mod wire;

use std::cell::RefCell;

pub use controllers::ports::ClaimPlace;
use controllers::ports::PortError;
use domain::Text;

pub use blob::RegionBlobs;
pub(crate) use expression::Condition;
pub(crate) use item::whole;
pub use table::Table;
pub(crate) use table::{Place, Written, number};

use item::{key_of, word};
use schema::{CLAIMS, CLUSTER};

/// The records of one cluster.
#[derive(Debug)]
pub struct DynamoStore {
    table: Table,
    cluster: Text,
    /// Names of claims that the last look could not read.
    unreadable_claims: RefCell<Vec<Text>>,
}

impl DynamoStore {
    /// The records of a cluster in a table.
    pub fn new(table: Table, cluster: &str) -> Self {
        Self { table, cluster: cluster.into(), unreadable_claims: RefCell::default() }
    }
}

impl Table {
    /// Which cluster's claim an instance was launched for: EC2's events name no cluster. The index that is
    /// read may lag by a moment.
    pub async fn claim_of_instance(
        &self,
        instance_id: &str,
    ) -> Result<Option<ClaimPlace>, PortError> {
        let keys = self.query_instance(instance_id).await?;
        Ok(keys.iter().find_map(|key| {
            let claim = key_of(key).strip_prefix(CLAIMS)?;
            Some(ClaimPlace { cluster: word(key, CLUSTER)?.into(), claim: claim.into() })
        }))
    }
}
