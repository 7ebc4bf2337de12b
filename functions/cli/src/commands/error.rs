//! Why a command failed.

use std::io;

use crate::commands::scenario::SimulateError;
use crate::commands::write_back::WriteBackError;
use crate::console;
use crate::input::InputError;
use crate::revision::RevisionError;
use crate::snapshot_source::SnapshotError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// There is no snapshot to plan on.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Built without the clients.
    #[cfg(not(feature = "live"))]
    #[error(
        "this command needs a build with clients of Kubernetes and AWS: \
         `cargo install --path functions/cli --features live`"
    )]
    NotBuiltIn,
    /// The cluster or AWS does not answer, or denies it.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Remote(controllers::ports::PortError),
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A revision of a git repository cannot be read.
    #[error(transparent)]
    Revision(#[from] RevisionError),
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Converted manifests cannot be written back.
    #[error(transparent)]
    WriteBack(#[from] WriteBackError),
    /// A document cannot be written as JSON.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
    /// Manifests cannot be written as YAML.
    #[error(transparent)]
    Yaml(#[from] manifests::PrintError),
    /// No pseudonyms can be made.
    #[error(transparent)]
    Pseudonyms(#[from] recording::PseudonymsError),
    /// An audit log makes no recording.
    #[error(transparent)]
    Audit(#[from] recording::audit::AuditError),
    /// Events make no recording.
    #[error(transparent)]
    Events(#[from] recording::events::EventsError),
    /// A trace makes no recording.
    #[error(transparent)]
    Openb(#[from] recording::openb::OpenbError),
    /// A scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] SimulateError),
    /// No pod or node has the name.
    #[error("no {kind} {name} in the input{}", hint(*is_of, name, meant))]
    NothingToExplain {
        /// `pod` or `node`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The other kind, if it is the name of one of those.
        is_of: Option<&'static str>,
        /// Names of the kind that may have been meant.
        meant: Vec<String>,
    },
    /// The name is that of pods in several namespaces.
    #[error("several pods are named {name}: {keys}")]
    SeveralPods {
        /// Their name.
        name: String,
        /// With their namespaces.
        keys: String,
    },
    /// No instance type has the name.
    #[error("no instance type in the catalogue is named {0}")]
    UnknownInstanceType(String),
    /// The lists of AWS make no catalogue.
    #[error(transparent)]
    Import(#[from] catalog::import::ImportError),
    /// The embedded catalogue, which an import completes, is damaged.
    #[error("the embedded catalogue cannot be used")]
    EmbeddedCatalog(#[from] catalog::CatalogError),
    /// The file of `--nodeclass` holds none.
    #[error("no EC2NodeClass in {0}")]
    NoNodeClass(String),
}

/// `: did you mean shop/web-0?`, or the kind that the name is of; empty where nothing is near.
fn hint(is_of: Option<&str>, name: &str, meant: &[String]) -> String {
    match (is_of, meant) {
        (Some(kind), _) => format!(": it is a {kind}, see `outrigger explain {kind} {name}`"),
        (None, []) => String::new(),
        (None, meant) => format!(": did you mean {}?", domain::nearest::any_of(meant)),
    }
}

impl CommandError {
    /// Prints it to standard error: one line for each error of a scenario file, else one line.
    pub(crate) fn print(&self) {
        match self {
            Self::Scenario(error) => error.print(),
            other => console::error(other),
        }
    }
}
