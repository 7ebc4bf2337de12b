//! Records as they are stored: JSON documents of their own types, so that the domain may change
//! freely.
//!
//! A document is read by the version that wrote it and by every later one. A field that is added
//! gets a default; anything else that changes is a new [`FORMAT`](super::error::FORMAT), and an
//! older version refuses it rather than reading half of it.

mod claim;
mod command;
mod launch;
mod node_claim;
mod observation;
mod records;
mod scalar;
mod spot;
mod words;

pub(super) use claim::ClaimDocument;
pub(super) use command::CommandDocument;
pub(super) use observation::{CountedActions, CountedDocument, ObservationDocument};
pub(super) use records::{NominationDocument, PoolDocument, UnavailableDocument};
pub(super) use spot::SpotDocument;
