//! Files, folders and standard input, as sources of manifests.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use manifests::Source;
use walkdir::WalkDir;

/// Endings of files that are read from a folder; a file that is named itself may end as it likes.
const MANIFEST_EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Largest file or stream that is read, in bytes: more than `kubectl get -o yaml` prints of 50,000
/// pods.
pub(crate) const SOURCE_BYTES_MAX: u64 = 1 << 30;

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
    /// Nobody gives as much on purpose.
    #[error("{name} has more than {} MiB: cut it into several files", .bytes_max >> 20)]
    TooLarge {
        /// What was to be read.
        name: String,
        /// How much is read.
        bytes_max: u64,
    },
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
    let name = path.display().to_string();
    let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if bytes > SOURCE_BYTES_MAX {
        return Err(InputError::TooLarge { name, bytes_max: SOURCE_BYTES_MAX });
    }
    fs::read(path).and_then(decoded).map_err(|source| cannot_read(path, source))
}

/// The text of a stream, if there is not too much of it.
fn whole_text(from: impl Read, name: &str, bytes_max: u64) -> Result<String, InputError> {
    let cannot_read = |source| InputError::Read { path: name.to_owned(), source };
    let mut bytes = Vec::new();
    from.take(bytes_max + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    if bytes.len() as u64 > bytes_max {
        return Err(InputError::TooLarge { name: name.to_owned(), bytes_max });
    }
    decoded(bytes).map_err(cannot_read)
}

/// The text of bytes that are UTF-8, or UTF-16 behind a byte order mark, which PowerShell writes
/// and kubectl reads. The mark of UTF-16 is left out; one of UTF-8 stays.
pub(crate) fn decoded(bytes: Vec<u8>) -> io::Result<String> {
    let text = match bytes.as_slice() {
        [0xFF, 0xFE, text @ ..] => utf16(text, u16::from_le_bytes),
        [0xFE, 0xFF, text @ ..] => utf16(text, u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    };
    let what = "it is neither UTF-8 nor, behind a byte order mark, UTF-16";
    text.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, what))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok().filter(|_| rest.is_empty())
}

fn source(path: &Path) -> Result<Source, InputError> {
    Ok(Source { name: path.display().to_string(), text: text(path)? })
}

fn standard_input() -> Result<String, InputError> {
    whole_text(io::stdin().lock(), "standard input", SOURCE_BYTES_MAX)
}

/// The manifests under a folder, by name. Links are followed; one that leads back to a folder
/// around it is passed over, since all it leads to is read already.
fn manifest_files(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).follow_links(true) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && is_manifest(entry.path()) => {
                files.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) if error.loop_ancestor().is_some() => {}
            Err(error) => {
                let path = error.path().unwrap_or(folder).to_owned();
                // The walk's own words name the path once more.
                let source = error.into_io_error().unwrap_or_else(|| ErrorKind::Other.into());
                return Err(cannot_read(&path, source));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file of a folder is read, by how its name ends.
pub(crate) fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|ending| MANIFEST_EXTENSIONS.iter().any(|known| ending == *known))
}

fn cannot_read(path: &Path, source: io::Error) -> InputError {
    InputError::Read { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn links_are_followed_and_a_loop_of_them_ends() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let shared = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), "a").unwrap();
        fs::write(shared.path().join("b.yaml"), "b").unwrap();
        symlink(folder.path(), folder.path().join("loop")).unwrap();
        symlink(shared.path(), folder.path().join("shared")).unwrap();

        let sources = sources(&[folder.path().to_owned()]).unwrap();

        let texts: Vec<_> = sources.iter().map(|source| source.text.as_str()).collect();
        assert_eq!(texts, ["a", "b"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_nowhere_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.yaml");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let InputError::Read { path, source } = sources(&[folder.path().to_owned()]).unwrap_err()
        else {
            panic!("a link to nowhere cannot be read");
        };
        assert_eq!(path, link.display().to_string());
        assert!(!source.to_string().contains("link.yaml"), "{source}");
    }

    #[test]
    fn utf16_is_read_behind_its_mark_and_nothing_else_that_is_no_utf8() {
        let text = "kind: Pod # Röhre 🦀";
        let utf16 = |mark: u16, bytes: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(mark).chain(text.encode_utf16());
            units.flat_map(bytes).collect::<Vec<u8>>()
        };
        let (little, big) = (utf16(0xFEFF, u16::to_le_bytes), utf16(0xFEFF, u16::to_be_bytes));
        for bytes in [text.as_bytes().to_vec(), little.clone(), big] {
            assert_eq!(decoded(bytes).unwrap(), text);
        }
        for bytes in [&little[2..], &little[..5], &[0x1F, 0x8B, 0x08, 0x00]] {
            let error = decoded(bytes.to_vec()).unwrap_err();
            assert!(error.to_string().contains("neither UTF-8"), "{bytes:?}");
        }
    }

    #[test]
    fn more_than_is_read_is_an_error_and_not_a_part_of_it() {
        let error = whole_text(io::repeat(b'a'), "standard input", 3 << 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "standard input has more than 3 MiB: cut it into several files"
        );
    }

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
