//! Records as items: key, version, and a compressed document.
//!
//! An item holds at most 400 KB
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>). Documents
//! are compressed, and long lists in them are tables: a claim for a thousand pods on any of 1,500
//! instance types in six zones stays under that (a test checks it), and so does a command that
//! moves 20,000 pods. A larger one is refused before it is sent.

use std::io::{Read, Write};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use controllers::ports::{ErrorKind, PortError, Version, Versioned};
use controllers::record::claim::ClaimRecord;
use controllers::record::command::CommandRecord;
use controllers::record::nomination::Nomination;
use controllers::record::observation::Observation;
use controllers::record::pool::PoolRecord;
use controllers::record::unavailable::UnavailableOffering;
use domain::Timestamp;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attribute::{Attributes, Place, integer, number, text};
use super::error::{DocumentError, FORMAT as OUR_FORMAT};
use super::schema::{self, BODY, EXPIRES, FORMAT, INSTANCE, UNTIL, VERSION, WRITE};
use super::wire::{
    ClaimDocument, CommandDocument, CountedActions, CountedDocument, NominationDocument,
    ObservationDocument, PoolDocument, UnavailableDocument,
};

/// The largest item that DynamoDB stores, including the names of its attributes.
pub(super) const ITEM_BYTES_MAX: usize = 400 * 1024;
/// A limit that no document reaches when unpacked: keeps a damaged item from filling memory.
const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A record that is stored as an item.
pub(super) trait Stored: Sized {
    /// The form in which it is stored.
    type Document: Serialize + DeserializeOwned;
    /// The prefix of its sort keys.
    const PREFIX: &'static str;

    /// The sort key.
    fn key(&self) -> String;
    fn document(&self) -> Self::Document;
    fn from_document(document: Self::Document) -> Result<Self, DocumentError>;

    /// The instance under which the index lists it.
    fn instance(&self) -> Option<&str> {
        None
    }

    /// When it expires and may be removed.
    fn until(&self) -> Option<Timestamp> {
        None
    }
}

impl Stored for ClaimRecord {
    type Document = ClaimDocument;
    const PREFIX: &'static str = schema::CLAIMS;

    fn key(&self) -> String {
        schema::claim(self.name())
    }

    fn document(&self) -> ClaimDocument {
        self.into()
    }

    fn from_document(document: ClaimDocument) -> Result<Self, DocumentError> {
        document.try_into()
    }

    fn instance(&self) -> Option<&str> {
        self.instance.as_ref().map(|instance| &*instance.id)
    }
}

impl Stored for CommandRecord {
    type Document = CommandDocument;
    const PREFIX: &'static str = schema::COMMANDS;

    fn key(&self) -> String {
        schema::command(&self.id)
    }

    fn document(&self) -> CommandDocument {
        self.into()
    }

    fn from_document(document: CommandDocument) -> Result<Self, DocumentError> {
        document.try_into()
    }
}

impl Stored for Nomination {
    type Document = NominationDocument;
    const PREFIX: &'static str = schema::NOMINATIONS;

    fn key(&self) -> String {
        schema::nomination(&self.node)
    }

    fn document(&self) -> NominationDocument {
        self.into()
    }

    fn from_document(document: NominationDocument) -> Result<Self, DocumentError> {
        Ok(document.into())
    }

    fn until(&self) -> Option<Timestamp> {
        Some(self.until)
    }
}

impl Stored for PoolRecord {
    type Document = PoolDocument;
    const PREFIX: &'static str = schema::POOLS;

    fn key(&self) -> String {
        schema::pool(&self.node_pool)
    }

    fn document(&self) -> PoolDocument {
        self.into()
    }

    fn from_document(document: PoolDocument) -> Result<Self, DocumentError> {
        Ok(document.into())
    }
}

impl Stored for Observation {
    type Document = ObservationDocument;
    const PREFIX: &'static str = schema::OBSERVATIONS;

    fn key(&self) -> String {
        schema::observation(self.function)
    }

    fn document(&self) -> ObservationDocument {
        self.into()
    }

    fn from_document(document: ObservationDocument) -> Result<Self, DocumentError> {
        Ok(document.into())
    }
}

impl Stored for CountedActions {
    type Document = CountedDocument;
    const PREFIX: &'static str = schema::RECENT;

    fn key(&self) -> String {
        schema::recent(self.what)
    }

    fn document(&self) -> CountedDocument {
        self.into()
    }

    fn from_document(document: CountedDocument) -> Result<Self, DocumentError> {
        Ok(document.into())
    }
}

impl Stored for UnavailableOffering {
    type Document = UnavailableDocument;
    const PREFIX: &'static str = schema::UNAVAILABLE;

    fn key(&self) -> String {
        schema::unavailable(&self.instance_type, &self.zone, self.capacity_type)
    }

    fn document(&self) -> UnavailableDocument {
        self.into()
    }

    fn from_document(document: UnavailableDocument) -> Result<Self, DocumentError> {
        Ok(document.into())
    }

    fn until(&self) -> Option<Timestamp> {
        Some(self.until)
    }
}

/// A record as an item. `write` is unique to this write.
pub(super) fn item<R: Stored>(
    cluster: &str,
    record: &R,
    version: Version,
    write: &str,
) -> Result<Attributes, PortError> {
    let key = record.key();
    let refused = |why: String| PortError::new(ErrorKind::Invalid, format!("write {key}"), why);
    let body = pack(&record.document()).map_err(|error| refused(error.to_string()))?;
    let mut item = Place { partition: cluster, key: &key }.attributes();
    item.insert(VERSION.to_owned(), number(version.0));
    item.insert(FORMAT.to_owned(), number(OUR_FORMAT));
    item.insert(WRITE.to_owned(), text(write));
    item.insert(BODY.to_owned(), AttributeValue::B(Blob::new(body)));
    if let Some(instance) = record.instance() {
        item.insert(INSTANCE.to_owned(), text(instance));
    }
    if let Some(until) = record.until() {
        item.insert(UNTIL.to_owned(), number(until.as_millisecond()));
        item.insert(EXPIRES.to_owned(), number(until.as_second().saturating_add(1)));
    }
    let bytes = bytes(&item);
    if bytes > ITEM_BYTES_MAX {
        return Err(refused(format!(
            "it takes {bytes} bytes, and DynamoDB holds at most {ITEM_BYTES_MAX} in an item"
        )));
    }
    Ok(item)
}

/// An item as a record.
pub(super) fn record<R: Stored>(item: &Attributes) -> Result<Versioned<R>, DocumentError> {
    let format: u32 = integer(item, FORMAT)?;
    if format > OUR_FORMAT {
        return Err(DocumentError::Newer(format));
    }
    let version = Version(integer(item, VERSION)?);
    let body = item.get(BODY).and_then(|body| body.as_b().ok());
    let body = body.ok_or(DocumentError::Attribute(BODY))?;
    let record = R::from_document(unpack(body.as_ref())?)?;
    Ok(Versioned { record, version })
}

fn pack(document: &impl Serialize) -> Result<Vec<u8>, std::io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut encoder, document)?;
    encoder.flush()?;
    encoder.finish()
}

fn unpack<D: DeserializeOwned>(body: &[u8]) -> Result<D, DocumentError> {
    let mut json = Vec::new();
    GzDecoder::new(body)
        .take(DOCUMENT_BYTES_MAX)
        .read_to_end(&mut json)
        .map_err(|error| DocumentError::Body(error.to_string()))?;
    serde_json::from_slice(&json).map_err(|error| DocumentError::Body(error.to_string()))
}

/// The size of an item as DynamoDB counts it: names and values, numbers at their longest.
fn bytes(item: &Attributes) -> usize {
    const NUMBER_BYTES_MAX: usize = 21;
    item.iter()
        .map(|(name, value)| {
            let value = match value {
                AttributeValue::S(text) => text.len(),
                AttributeValue::B(blob) => blob.as_ref().len(),
                _ => NUMBER_BYTES_MAX,
            };
            name.len() + value
        })
        .sum()
}

#[cfg(test)]
mod tests;
