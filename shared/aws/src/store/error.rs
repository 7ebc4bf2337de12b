//! Why a stored document cannot be read.

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// A stored document that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DocumentError {
    /// A later version of this program wrote it.
    #[error(
        "it has format {0}, and this version reads formats up to {FORMAT}: a later version wrote it"
    )]
    Newer(u32),
    /// An attribute is missing or has another type.
    #[error("attribute {0} is missing or of another type")]
    Attribute(&'static str),
    /// Its body cannot be unpacked or parsed.
    #[error("its body cannot be read: {0}")]
    Body(String),
    /// A number refers to an entry that its table does not have.
    #[error("{0} refers to an entry that is not there")]
    Reference(&'static str),
}
