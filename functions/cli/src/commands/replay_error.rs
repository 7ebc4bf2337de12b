//! Why a recording cannot be replayed.

use recording::RecordingError;

use crate::input::InputError;
use crate::snapshot_source::SnapshotError;

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It is no recording.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Neither a file nor a bundled recording.
    #[error("there is no file {0}, and no bundled recording of that name: there is {1}")]
    Unknown(String, String),
    /// Nothing may be launched.
    #[error("{0} holds no NodePool: give the NodePools to replay it with by -f")]
    NoNodePool(String),
    /// Nothing comes.
    #[error("{0} holds no pod")]
    NoPod(String),
    /// The catalogue cannot be used.
    #[error(transparent)]
    Catalog(Box<SnapshotError>),
}
