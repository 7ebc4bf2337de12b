//! What `setup` brought.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// The folder that `setup` fills.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// By `OUTRIGGER_END_TO_END_CACHE`, else the user's cache folder: the rule of `setup`.
    pub fn find() -> Result<Self> {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let folder = named("OUTRIGGER_END_TO_END_CACHE")
            .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("outrigger-end-to-end")))
            .or_else(|| named("HOME").map(|home| home.join(".cache/outrigger-end-to-end")))
            .unwrap_or_default();
        for part in ["servers", "dynamodb", "moto"] {
            ensure!(
                folder.join(part).join(".complete").exists(),
                "{} has no {part}: run tests/end-to-end/setup first",
                folder.display()
            );
        }
        Ok(Self { folder })
    }

    /// A command of the control plane, etcd and kubectl among them.
    pub fn server(&self, name: &str) -> PathBuf {
        self.folder.join("servers").join(name)
    }

    /// The Python that has moto.
    pub fn python(&self) -> PathBuf {
        self.folder.join("moto/bin/python")
    }

    /// The jars of DynamoDB Local, and its native library.
    pub fn dynamodb(&self) -> PathBuf {
        self.folder.join("dynamodb/lib")
    }
}

/// The repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
