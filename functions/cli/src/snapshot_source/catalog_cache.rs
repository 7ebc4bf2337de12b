//! Fetched catalogues, kept in the user's cache folder.

use std::fs;
use std::io;
use std::path::PathBuf;

use aws::store::CatalogStore;
use controllers::ports::{ErrorKind, PortError};
use etcetera::BaseStrategy as _;

/// Catalogues in a folder of this user: one file for each region, and for each profile of AWS
/// credentials, since zones have other names in other accounts.
#[derive(Clone, Debug)]
pub(super) struct CatalogCache {
    folder: PathBuf,
    /// `AWS_PROFILE`.
    profile: Option<String>,
}

impl CatalogCache {
    /// The cache of this user: `outrigger` in `XDG_CACHE_HOME`, or else in `.cache` at home. `None`
    /// without a home.
    pub(super) fn of_user() -> Option<Self> {
        let folder = etcetera::choose_base_strategy().ok()?.cache_dir().join("outrigger");
        Some(Self { folder, profile: std::env::var("AWS_PROFILE").ok() })
    }

    /// Where a catalogue is kept. Nothing in a name leads out of the folder: regions are what
    /// labels of a cluster say.
    fn path(&self, key: &str) -> PathBuf {
        let name =
            self.profile.as_deref().map_or_else(|| key.to_owned(), |own| format!("{key}-{own}"));
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        self.folder.join(name.chars().map(safe).collect::<String>())
    }
}

impl CatalogStore for CatalogCache {
    /// Writes beside the file first, so that a run that reads it meanwhile sees all of it.
    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), PortError> {
        let path = self.path(key);
        let unfinished = path.with_extension(std::process::id().to_string());
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&unfinished, bytes))
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(|error| failed("write the cached catalogue", error))
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError> {
        match fs::read(self.path(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read the cached catalogue", error)),
        }
    }
}

fn failed(what: &'static str, error: io::Error) -> PortError {
    PortError::new(ErrorKind::Unknown, what, error.to_string()).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &tempfile::TempDir, profile: Option<&str>) -> CatalogCache {
        let profile = profile.map(str::to_owned);
        CatalogCache { folder: folder.path().join("outrigger"), profile }
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn what_is_put_is_there_for_the_same_profile_only() {
        let folder = tempfile::tempdir().unwrap();
        let own = cache(&folder, None);
        assert_eq!(now(own.get("types/eu-west-1")).unwrap(), None);
        now(own.put("types/eu-west-1", vec![1, 2])).unwrap();
        now(own.put("types/eu-west-1", vec![3])).unwrap();
        assert_eq!(now(own.get("types/eu-west-1")).unwrap(), Some(vec![3]));
        assert_eq!(now(cache(&folder, Some("other")).get("types/eu-west-1")).unwrap(), None);
        assert_eq!(fs::read_dir(&own.folder).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn no_region_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = cache(&folder, Some("../me"));
        assert_eq!(own.path("../../etc/passwd").parent(), Some(&*own.folder));
    }
}
