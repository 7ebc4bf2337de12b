//! The kinds of Karpenter's API and those of its neighbours that ask for capacity.

use crate::reader::ReadKind;

/// The API group of a kind, and what reads it; `None` for other kinds.
pub(crate) fn reader_of(_kind: &str) -> Option<(&'static str, ReadKind)> {
    None
}
