//! A long list that a warm process keeps, and brings up to date by what happened since.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::pod::ObjectKey;
use manifests::Interner;
use serde::Deserialize;
use tokio::time::timeout;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::item::{Decoded, Item, ObjectProblem};
use crate::kind::Kind;
use crate::list::Listing;
use crate::watch::{Happened, Watched, is_as_new};

/// How long a watch stays open that is to tell what happened so far. An API server sends a bookmark two
/// seconds before it ends a watch, so that a quiet kind is known to be quiet after about one second.
///
/// Source: `nextBookmarkTime` of k8s.io/apiserver.
const CATCH_UP_SECONDS: u64 = 3;
/// After so long nobody waits for that watch any longer: the connection is lost.
const CATCH_UP_MAX: Duration = Duration::from_secs(5);

/// The objects of one kind as they were at one resource version.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) version: &'static str,
    pub(crate) items: BTreeMap<ObjectKey, Item>,
    pub(crate) problems: BTreeMap<ObjectKey, Vec<ObjectProblem>>,
    pub(crate) resource_version: String,
}

#[derive(Deserialize)]
struct Now {
    metadata: NowMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NowMetadata {
    resource_version: String,
}

/// Whether a table is as new as it was asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaughtUp {
    Yes,
    /// What happened meanwhile is no longer known: it has to be listed again.
    Expired,
    /// The watch did not come that far: it has to be listed again, and may as well be from now on.
    InVain,
}

impl Table {
    /// From a list, if its kind is installed.
    pub(crate) fn of(listing: Listing) -> Option<Self> {
        let mut table = Self {
            version: listing.version?,
            items: BTreeMap::new(),
            problems: BTreeMap::new(),
            resource_version: listing.resource_version,
        };
        for decoded in listing.objects {
            table.put(decoded);
        }
        Some(table)
    }

    fn put(&mut self, decoded: Decoded) {
        let Some(key) = decoded.stamp.key else { return };
        self.problems.remove(&key);
        if !decoded.problems.is_empty() {
            self.problems.insert(key.clone(), decoded.problems);
        }
        match decoded.item {
            Some(item) => self.items.insert(key, item),
            // What can no longer be read is not there, rather than as it was.
            None => self.items.remove(&key),
        };
    }

    /// Takes in what happened.
    pub(crate) fn apply(&mut self, happened: Happened) {
        happened.resource_version().clone_into(&mut self.resource_version);
        match happened {
            Happened::Present(decoded) => self.put(decoded),
            Happened::Gone(decoded) => {
                if let Some(key) = decoded.stamp.key {
                    self.items.remove(&key);
                    self.problems.remove(&key);
                }
            }
            Happened::Bookmark(_) => {}
        }
    }

    /// Takes in everything that happened until now.
    ///
    /// What "now" is, the API server says from a quorum; then a watch from where the table stands is read
    /// until it has come that far, by an event or by a bookmark. Where it does not get there (expired, lost,
    /// ended before), nothing is claimed.
    pub(crate) async fn catch_up(
        &mut self,
        connection: &Connection,
        kind: &'static Kind,
        interner: &Interner,
    ) -> Result<CaughtUp, (Failure, Call)> {
        let Some(now) = self.now(connection, kind).await? else { return Ok(CaughtUp::InVain) };
        match self.is_as_new_as(&now) {
            Some(true) => return Ok(CaughtUp::Yes),
            Some(false) => {}
            None => return Ok(CaughtUp::InVain),
        }
        let resource_version = self.resource_version.clone();
        let watched = Watched {
            kind,
            version: self.version,
            field_selector: "",
            resource_version: &resource_version,
            seconds: CATCH_UP_SECONDS,
        };
        let mut watch = match connection.watch(&watched).await {
            Ok(watch) => watch,
            Err((failure, _)) if failure.is_expired() => return Ok(CaughtUp::Expired),
            Err(error) => return Err(error),
        };
        let read = async {
            while let Some(happened) = watch.next(interner).await {
                match happened {
                    Ok(happened) => self.apply(happened),
                    Err(failure) => {
                        tracing::debug!(kind = kind.name, %failure, "watch ended");
                        return CaughtUp::Expired;
                    }
                }
                if self.is_as_new_as(&now) == Some(true) {
                    return CaughtUp::Yes;
                }
            }
            CaughtUp::InVain
        };
        Ok(timeout(CATCH_UP_MAX, read).await.unwrap_or(CaughtUp::Expired))
    }

    fn is_as_new_as(&self, other: &str) -> Option<bool> {
        is_as_new(&self.resource_version, other)
    }

    /// The resource version that a list would have now; `None` where the API server does not say.
    ///
    /// A list that selects nothing costs little and, answered from the API server's cache, has it catch up
    /// with etcd, so that bookmarks get there too.
    async fn now(
        &self,
        connection: &Connection,
        kind: &'static Kind,
    ) -> Result<Option<String>, (Failure, Call)> {
        let nothing = [("fieldSelector", "metadata.name=outrigger-asks-for-the-resource-version")];
        let call = Call::new(Verb::List, kind.resource(), kind.path(self.version)).query(&nothing);
        match connection.call(&call).await {
            Ok(body) => Ok(serde_json::from_slice::<Now>(&body)
                .ok()
                .map(|now| now.metadata.resource_version)),
            Err(failure) => Err((failure, call)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::decode;
    use crate::kind::POD;

    fn pod(name: &str, version: u32, cpu: &str) -> Decoded {
        let json = format!(
            r#"{{"metadata": {{"name": "{name}", "namespace": "shop", "resourceVersion": "{version}"}},
                "spec": {{"containers": [{{"resources": {{"requests": {{"cpu": "{cpu}"}}}}}}]}}}}"#
        );
        decode(&json, &POD.read_as("v1"), &Interner::default())
    }

    fn names(table: &Table) -> Vec<&str> {
        table.items.keys().map(|key| &*key.name).collect()
    }

    #[test]
    fn a_table_follows_what_happens() {
        let listing = Listing {
            objects: vec![pod("b", 1, "1"), pod("a", 2, "1")],
            resource_version: "3".to_owned(),
            version: Some("v1"),
        };
        let mut table = Table::of(listing).unwrap();
        assert_eq!(names(&table), ["a", "b"]);
        table.apply(Happened::Present(pod("c", 4, "1")));
        table.apply(Happened::Gone(pod("a", 5, "1")));
        assert_eq!(names(&table), ["b", "c"]);
        assert_eq!(table.resource_version, "5");
        table.apply(Happened::Bookmark("9".to_owned()));
        assert_eq!(table.resource_version, "9");
    }

    #[test]
    fn an_object_that_becomes_unreadable_is_left_out_until_it_is_right_again() {
        let mut table = Table::of(Listing {
            objects: vec![pod("a", 1, "1")],
            resource_version: "1".to_owned(),
            version: Some("v1"),
        })
        .unwrap();
        table.apply(Happened::Present(pod("a", 2, "lots")));
        assert!(table.items.is_empty());
        assert_eq!(table.problems.len(), 1);
        table.apply(Happened::Present(pod("a", 3, "2")));
        assert_eq!((table.items.len(), table.problems.len()), (1, 0));
    }
}
