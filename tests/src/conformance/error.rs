//! Why a scenario cannot be judged.

use catalog::CatalogError;
use manifests::ManifestError;

/// Why a scenario cannot be judged: it is wrong itself.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{path} cannot be read")]
    File {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a scenario.
    #[error("{path} is no scenario")]
    Form {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The file is not one YAML document.
    #[error("{path} is not one YAML document")]
    Documents {
        /// The file.
        path: String,
    },
    /// The catalogue cannot be used.
    #[error("the catalogue cannot be used")]
    Catalog(#[source] CatalogError),
    /// An object is not as the Kubernetes API has it.
    #[error("an object was refused")]
    Object(#[source] Box<ManifestError>),
    /// `now` is no time.
    #[error("now is {0:?}, which is no time")]
    Now(String),
    /// What it says makes no sense.
    #[error("{0}")]
    Senseless(String),
}
