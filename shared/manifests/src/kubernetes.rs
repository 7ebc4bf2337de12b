//! The kinds of Kubernetes' own API.

mod metadata;

use crate::reader::ReadKind;

pub(crate) use metadata::Metadata;

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(_kind: &str) -> Option<(&'static str, ReadKind)> {
    None
}
