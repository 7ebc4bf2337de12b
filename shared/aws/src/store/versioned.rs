//! Writes of records that hold only for the version that was read.

use controllers::ports::{ErrorKind, PortError, Version};

use super::attribute::{number, string};
use super::expression::Condition;
use super::schema::WRITE;
use super::table::Written;

/// The condition that a record still has a version.
pub(super) fn is_version(expected: Version) -> Condition {
    Condition::new("#version = :version").with(":version", number(expected.0))
}

/// An id for one write, however often it is sent.
pub(super) fn new_write() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Whether a write took effect. A write that was refused because it is there already did: it was
/// sent again after its answer had been lost.
pub(super) fn settled(
    doing: &'static str,
    key: &str,
    write: &str,
    written: Written,
) -> Result<(), PortError> {
    match written {
        Written::Done(()) => Ok(()),
        Written::Refused(Some(item)) if string(&item, WRITE) == Some(write) => Ok(()),
        Written::Refused(there) => {
            let why = match there {
                Some(_) => "its version changed, or the lease is no longer in force",
                None => "it is gone, or the lease is no longer in force",
            };
            Err(PortError::new(ErrorKind::Conflict, format!("{doing} {key}"), why))
        }
    }
}
