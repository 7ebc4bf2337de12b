//! Where a snapshot to plan on comes from: files, or the live cluster of a kubeconfig.

mod adoption;
#[cfg(feature = "live")]
mod catalog_cache;
mod error;
#[cfg(feature = "live")]
mod fetched;
mod files;
mod instance_types;
#[cfg(feature = "live")]
mod live;
mod node_classes;
mod region;
mod scheduler_config;
mod source;
#[cfg(feature = "live")]
pub(crate) mod spot_table;

pub(crate) use adoption::adopt;
pub(crate) use error::SnapshotError;
pub(crate) use files::{of_objects, print_problems};
pub(crate) use instance_types::{Chosen, catalog_file, embedded, region_for};
pub(crate) use node_classes::{add_missing_node_classes, node_classes};
pub(crate) use scheduler_config::scheduler_config_file;
pub(crate) use source::{LoadedSnapshot, SnapshotSource};

/// Reads all objects of a source and builds the snapshot.
///
/// Errors of single objects, warnings and skipped kinds go to standard error.
pub(crate) fn load(source: &SnapshotSource<'_>) -> Result<LoadedSnapshot, SnapshotError> {
    if source.files.is_empty() { load_live(source) } else { files::load(source) }
}

#[cfg(feature = "live")]
use live::load as load_live;

/// A live cluster needs a Kubernetes client, which the feature `live` brings.
#[cfg(not(feature = "live"))]
fn load_live(_: &SnapshotSource<'_>) -> Result<LoadedSnapshot, SnapshotError> {
    Err(error::LiveError::NotBuiltIn.into())
}
