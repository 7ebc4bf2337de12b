//! Why there is no snapshot.

use catalog::CatalogError;

use crate::input::InputError;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no document in it.
    #[error("there is no object to read in {0}")]
    Empty(String),
    /// The file of `--catalog` is not a valid catalogue.
    #[error("{path} is no usable catalogue")]
    CatalogFile {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: CatalogError,
    },
    /// The file of `--scheduler-config` is not a valid scheduler configuration.
    #[error("{path} is no usable scheduler configuration: {problems}")]
    SchedulerConfig {
        /// The file.
        path: String,
        /// Everything that is wrong with it, with line and field.
        problems: String,
    },
    /// `--region` names none that the embedded catalogue has.
    #[error("region {region} is not known: it is none of {known}; for others give --catalog")]
    UnknownRegion {
        /// What was asked for.
        region: String,
        /// Those that are known.
        known: String,
    },
    /// The objects of the live cluster cannot be listed.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The table of `--table` cannot be read.
    #[cfg(feature = "live")]
    #[error("cannot read what is remembered of spot offerings in table {table}")]
    Table {
        /// Its name.
        table: String,
        /// Why not.
        #[source]
        source: controllers::ports::PortError,
    },
    /// The embedded catalogue has no offerings.
    #[error("the embedded catalogue cannot be used")]
    EmbeddedCatalog(#[source] CatalogError),
}

/// Why the objects of a live cluster cannot be listed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    /// Built without a Kubernetes client.
    #[cfg(not(feature = "live"))]
    #[error(
        "a live cluster needs a build with a Kubernetes client: \
         `cargo install --path functions/cli --features live`; or save its objects: \
         the command at the end of `outrigger plan --help` does so; \
         and name the file with -f"
    )]
    NotBuiltIn,
    /// The async runtime of the client does not start.
    #[cfg(feature = "live")]
    #[error("cannot read the cluster")]
    Runtime(#[source] std::io::Error),
    /// The API server does not answer, or denies access.
    #[cfg(feature = "live")]
    #[error("cannot read the cluster")]
    Cluster(#[source] controllers::ports::PortError),
}
