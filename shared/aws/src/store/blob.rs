//! Named blobs of any size, in parts. All clusters of a region share them: the catalogue is one.
//!
//! The parts are written first, under new names; then the head, in one write, which switches the
//! blob to them; then the previous parts are deleted. A reader sees either version whole.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use controllers::ports::{ErrorKind, PortError};
use domain::{SignedDuration, Timestamp};

use super::attribute::{Attributes, Place, integer, number, string, text};
use super::schema::{BLOBS, BODY, EXPIRES, region_partition};
use super::table::Table;

/// The size of a part: well under the 400 KB of an item.
const PART_BYTES: usize = 350 * 1024;
/// How long parts are kept that no head refers to, because their writer stopped in between. Blobs
/// are rewritten well before that.
const PART_TTL: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Attempts at a read whose parts are deleted while it is under way.
const READS_MAX: usize = 3;
const READ_PAUSE: Duration = Duration::from_millis(100);

const GENERATION: &str = "generation";
const PARTS: &str = "parts";
const SIZE: &str = "size";

/// Where the catalogue is stored: named blobs that outlive the process.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait CatalogStore {
    /// Writes a blob of some hundred KiB, replacing the one of that name atomically.
    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), PortError>;

    /// Reads a blob; `None` where there is none of that name.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError>;
}

impl Table {
    /// Writes a blob, replacing the one of that name.
    pub async fn put_blob(
        &self,
        partition: &str,
        name: &str,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), PortError> {
        let generation = uuid::Uuid::new_v4().simple().to_string();
        let expires = now.checked_add(PART_TTL).unwrap_or(Timestamp::MAX).as_second();
        let parts: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
        let items = parts.iter().enumerate().map(|(index, part)| {
            let key = part_key(name, &generation, index);
            let mut item = Place { partition, key: &key }.attributes();
            item.insert(BODY.to_owned(), AttributeValue::B(Blob::new(*part)));
            item.insert(EXPIRES.to_owned(), number(expires));
            item
        });
        // One at a time: a batch of parts would be megabytes in one request.
        for item in items {
            self.put_all(vec![item]).await?;
        }
        let head_key = head_key(name);
        let mut head = Place { partition, key: &head_key }.attributes();
        head.insert(GENERATION.to_owned(), text(generation));
        head.insert(PARTS.to_owned(), number(parts.len()));
        head.insert(SIZE.to_owned(), number(bytes.len()));
        let before = self.replace(head).await?;
        self.delete_all(before.map_or_else(Vec::new, |head| parts_of(partition, name, &head))).await
    }

    /// Reads a blob; `None` where there is none.
    pub async fn blob(&self, partition: &str, name: &str) -> Result<Option<Vec<u8>>, PortError> {
        let head_key = head_key(name);
        for attempt in 0..READS_MAX {
            if attempt > 0 {
                tokio::time::sleep(READ_PAUSE).await;
            }
            let Some(head) = self.get(Place { partition, key: &head_key }).await? else {
                return Ok(None);
            };
            let (Some(generation), Ok(size)) =
                (string(&head, GENERATION), integer::<usize>(&head, SIZE))
            else {
                return Err(incomplete(name, "its head cannot be parsed"));
            };
            let parts = self.query(partition, &parts_prefix(name, generation)).await?;
            let bytes: Vec<u8> = parts
                .iter()
                .filter_map(|part| part.get(BODY)?.as_b().ok())
                .flat_map(|part| part.as_ref().iter().copied())
                .collect();
            if bytes.len() == size {
                return Ok(Some(bytes));
            }
        }
        Err(incomplete(name, "parts of it are missing"))
    }
}

fn head_key(name: &str) -> String {
    format!("{BLOBS}{name}")
}

fn parts_prefix(name: &str, generation: &str) -> String {
    format!("{BLOBS}{name}#{generation}#")
}

fn part_key(name: &str, generation: &str, index: usize) -> String {
    format!("{}{index:04}", parts_prefix(name, generation))
}

/// Keys of the parts that a head refers to.
fn parts_of(partition: &str, name: &str, head: &Attributes) -> Vec<Attributes> {
    let generation = string(head, GENERATION).unwrap_or_default();
    let parts: usize = integer(head, PARTS).unwrap_or(0);
    (0..parts)
        .map(|index| part_key(name, generation, index))
        .map(|key| Place { partition, key: &key }.attributes())
        .collect()
}

fn incomplete(name: &str, why: &str) -> PortError {
    PortError::new(ErrorKind::Unavailable, format!("read blob {name}"), why)
}

/// The blobs that all clusters of a region share.
#[derive(Clone, Debug)]
pub struct RegionBlobs {
    table: Table,
    partition: String,
}

impl RegionBlobs {
    /// The blobs of a region, in a table.
    pub fn new(table: Table, region: &str) -> Self {
        Self { table, partition: region_partition(region) }
    }
}

impl CatalogStore for RegionBlobs {
    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), PortError> {
        self.table.put_blob(&self.partition, key, &bytes, Timestamp::now()).await
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError> {
        self.table.blob(&self.partition, key).await
    }
}
