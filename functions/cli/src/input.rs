//! Files, folders and standard input, as sources of manifests.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use manifests::Source;

/// Endings of files that are read from a folder; a file that is named itself may end as it likes.
const MANIFEST_EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The operating system reports an error.
    #[error("cannot read {path}")]
    Read {
        /// What was to be read.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A folder without manifests is nearly always the wrong folder.
    #[error("folder {0} holds no .yaml, .yml or .json file")]
    EmptyFolder(String),
}

/// The sources of all paths: `-` is standard input, and folders are read recursively, by name.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, InputError> {
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(Source { name: "standard input".to_owned(), text: standard_input()? });
        } else if path.is_dir() {
            let files = manifest_files(path)?;
            if files.is_empty() {
                return Err(InputError::EmptyFolder(path.display().to_string()));
            }
            for file in files {
                sources.push(source(&file)?);
            }
        } else {
            sources.push(source(path)?);
        }
    }
    Ok(sources)
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, InputError> {
    if path.as_os_str() == "-" {
        return standard_input();
    }
    fs::read_to_string(path).map_err(|source| cannot_read(path, source))
}

fn source(path: &Path) -> Result<Source, InputError> {
    Ok(Source { name: path.display().to_string(), text: text(path)? })
}

fn standard_input() -> Result<String, InputError> {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|source| InputError::Read { path: "standard input".to_owned(), source })?;
    Ok(text)
}

fn manifest_files(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|source| cannot_read(&folder, source))? {
            let path = entry.map_err(|source| cannot_read(&folder, source))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|ending| MANIFEST_EXTENSIONS.iter().any(|known| ending == *known))
}

fn cannot_read(path: &Path, source: io::Error) -> InputError {
    InputError::Read { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_file_by_file_in_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        for name in ["b.yaml", "a.json", "notes.txt", "inner/c.yml"] {
            fs::write(folder.path().join(name), name).unwrap();
        }

        let sources = sources(&[folder.path().to_owned()]).unwrap();

        let texts: Vec<_> = sources.iter().map(|source| source.text.as_str()).collect();
        assert_eq!(texts, ["a.json", "b.yaml", "inner/c.yml"]);
    }

    #[test]
    fn a_folder_without_manifests_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        let error = sources(&[folder.path().to_owned()]).unwrap_err();
        assert!(matches!(error, InputError::EmptyFolder(_)), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = sources(&["no/such.yaml".into()]).unwrap_err();
        assert_eq!(error.to_string(), "cannot read no/such.yaml");
    }
}
