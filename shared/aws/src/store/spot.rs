//! What clusters remember of spot offerings: an item a cluster, in one partition for all of the
//! installation, so that one query reads what is known of the region.
//!
//! Functions may change items that all clusters share and put none: items are written by update.

use std::sync::Arc;

use controllers::ports::{ErrorKind, PortError, SpotRecords, Version, Versioned};
use controllers::record::spot::SpotRecord;
use domain::spot::SpotHistory;
use domain::{Text, Timestamp};

use super::attribute::{Attributes, Place, key_of};
use super::error::DocumentError;
use super::expression::Condition;
use super::item::{Stored, item, record};
use super::schema::{self, CLUSTER, KEY, SPOT, SPOT_PARTITION};
use super::spot_cache::{Records, seen_by};
use super::table::{Table, Written};
use super::versioned::{is_version, new_write, settled};
use super::wire::SpotDocument;

/// The record of one cluster.
pub(super) struct OfCluster {
    pub(super) cluster: Text,
    pub(super) record: SpotRecord,
}

impl Stored for OfCluster {
    type Document = (Text, SpotDocument);
    const PREFIX: &'static str = SPOT;

    fn key(&self) -> String {
        schema::spot(&self.cluster)
    }

    fn document(&self) -> Self::Document {
        (self.cluster.clone(), (&self.record).into())
    }

    fn from_document((cluster, document): Self::Document) -> Result<Self, DocumentError> {
        Ok(Self { cluster, record: document.into() })
    }
}

/// What the records of all clusters say to one, as they were read lately. One that cannot be parsed
/// is logged and left out.
pub(super) async fn read_all(table: &Table, cluster: &str) -> Result<SpotRecords, PortError> {
    let asked_at = Timestamp::now();
    if let Some(known) = table.spot_cache().get(asked_at) {
        return Ok(seen_by(&known, cluster));
    }
    let Items { records, unreadable } = query(table).await?;
    for (record, error) in unreadable {
        tracing::error!(record, %error, "skipping unreadable record");
    }
    let records: Records = records.into();
    table.spot_cache().put(Arc::clone(&records), asked_at);
    Ok(seen_by(&records, cluster))
}

/// All records, by cluster, and the keys of items that are none.
struct Items {
    records: Vec<(Text, Versioned<SpotRecord>)>,
    unreadable: Vec<(String, DocumentError)>,
}

async fn query(table: &Table) -> Result<Items, PortError> {
    let mut items = Items { records: Vec::new(), unreadable: Vec::new() };
    for item in table.query(SPOT_PARTITION, SPOT).await? {
        match record::<OfCluster>(&item) {
            Ok(Versioned { record: OfCluster { cluster, record }, version }) => {
                items.records.push((cluster, Versioned { record, version }));
            }
            Err(error) => items.unreadable.push((key_of(&item).to_owned(), error)),
        }
    }
    Ok(items)
}

/// What all clusters of an installation remember of spot offerings, for whoever only reads it.
#[derive(Debug, Default)]
pub struct StoredSpotHistory {
    /// What the records say together.
    pub history: SpotHistory,
    /// How many clusters have one.
    pub clusters: usize,
    /// Items that are left out, each with its key and what is wrong with it.
    pub unreadable: Vec<PortError>,
}

impl Table {
    /// Reads what all clusters remember of spot offerings, with one query.
    ///
    /// # Errors
    ///
    /// DynamoDB does not answer, denies it, or has no such table. An item that cannot be read is no
    /// error: it is left out, and named.
    pub async fn spot_history(&self) -> Result<StoredSpotHistory, PortError> {
        let Items { records, unreadable } = query(self).await?;
        let mut stored = StoredSpotHistory { clusters: records.len(), ..Default::default() };
        for (_, Versioned { record, .. }) in records {
            stored.history.merge(record.history);
        }
        let named = |(key, error): (String, DocumentError)| {
            PortError::new(ErrorKind::Invalid, format!("read {key}"), error.to_string())
        };
        stored.unreadable = unreadable.into_iter().map(named).collect();
        Ok(stored)
    }
}

/// Reads the record of a cluster.
pub(super) async fn read(
    table: &Table,
    cluster: &str,
) -> Result<Option<Versioned<SpotRecord>>, PortError> {
    let key = schema::spot(cluster);
    let place = Place { partition: SPOT_PARTITION, key: &key };
    let Some(item) = table.get(place).await? else { return Ok(None) };
    match record::<OfCluster>(&item) {
        Ok(Versioned { record, version }) => Ok(Some(Versioned { record: record.record, version })),
        Err(error) => {
            Err(PortError::new(ErrorKind::Invalid, format!("read {key}"), error.to_string()))
        }
    }
}

/// Writes the record of a cluster, if it has the version expected.
pub(super) async fn write(
    table: &Table,
    cluster: &str,
    record: &SpotRecord,
    expected: Option<Version>,
) -> Result<Version, PortError> {
    let version = Version(expected.map_or(1, |before| before.0.saturating_add(1)));
    let write = new_write();
    let own = OfCluster { cluster: cluster.into(), record: record.clone() };
    let attributes: Attributes = item(SPOT_PARTITION, &own, version, &write)?;
    let (mut sets, mut condition) =
        (Vec::new(), expected.map_or_else(Condition::absent, is_version));
    for (name, value) in attributes {
        if name != CLUSTER && name != KEY {
            sets.push(format!("#{name} = :new_{name}"));
            condition = condition.with(&format!(":new_{name}"), value);
        }
    }
    sets.sort_unstable();
    let key = own.key();
    let place = Place { partition: SPOT_PARTITION, key: &key };
    let answer = table.update(place, &format!("SET {}", sets.join(", ")), condition).await;
    // Whatever has come of it, what was read before is older.
    table.spot_cache().forget();
    let written = match answer? {
        Written::Done(_) => Written::Done(()),
        Written::Refused(there) => Written::Refused(there),
    };
    settled("write", &key, &write, written).map(|()| version)
}
