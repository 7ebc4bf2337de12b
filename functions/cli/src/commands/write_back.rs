//! Converted manifests, written to the files that they come from.

use std::fs;
use std::path::Path;

use manifests::{Converted, ConvertedFile};

use crate::console;
use crate::view::pod_names::counted;

/// Why converted manifests cannot be written back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteBackError {
    /// There is no file behind it.
    #[error("--in-place has no file to write to where standard input is read: leave it out")]
    StandardInput,
    /// Marks are comments, and JSON has none.
    #[error("{0} is JSON, which --in-place does not write: convert it to YAML without --in-place")]
    Json(String),
    /// The file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Writes what changed. Where something is wrong nothing is written: settings move between files,
/// and an object that is left out would be lost.
pub(crate) fn write_back(converted: &Converted) -> Result<(), WriteBackError> {
    if !converted.errors.is_empty() {
        console::note(&"no file is written");
        return Ok(());
    }
    let changed: Vec<&ConvertedFile> =
        converted.files.iter().filter(|file| file.is_changed).collect();
    if let Some(json) = changed.iter().find(|file| file.was_json) {
        return Err(WriteBackError::Json(json.name.clone()));
    }
    for ConvertedFile { name, text, .. } in &changed {
        fs::write(Path::new(name), text)
            .map_err(|source| WriteBackError::Write { path: name.clone(), source })?;
    }
    let names: Vec<&str> = changed.iter().map(|file| file.name.as_str()).collect();
    if names.is_empty() {
        console::note(&"nothing to convert: no file is written");
    } else {
        console::note(&format!("{} written: {}", counted(names.len(), "file"), names.join(", ")));
    }
    Ok(())
}
