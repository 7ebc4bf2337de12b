//! A long list that a warm process keeps and brings up to date by watches, like a reflector and its
//! store in client-go.

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
use crate::watch::{WatchEvent, WatchRequest, is_as_new};

/// The timeout of a watch that brings a list up to date, seconds. An API server sends a bookmark
/// two seconds before it ends a watch, so that a kind without events catches up after about one
/// second.
///
/// Source: `nextBookmarkTime` of k8s.io/apiserver.
const CATCH_UP_SECONDS: u64 = 3;
/// How long such a watch is read at most: a longer silence means that the connection is lost.
const CATCH_UP_MAX: Duration = Duration::from_secs(5);

/// The objects of one kind at one resource version.
#[derive(Clone, Debug)]
pub(crate) struct Reflector {
    pub(crate) version: &'static str,
    pub(crate) items: BTreeMap<ObjectKey, Item>,
    pub(crate) problems: BTreeMap<ObjectKey, Vec<ObjectProblem>>,
    pub(crate) resource_version: String,
}

#[derive(Deserialize)]
struct EmptyList {
    metadata: ListMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
}

/// Whether a reflector has caught up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CatchUp {
    Current,
    /// Its resource version expired, or the connection was lost: the kind must be listed again.
    Expired,
    /// The watch ended before: the kind must be listed, from now on each time.
    Stalled,
}

impl Reflector {
    /// From a list; `None` where the kind is not installed.
    pub(crate) fn of(listing: Listing) -> Option<Self> {
        let mut reflector = Self {
            version: listing.version?,
            items: BTreeMap::new(),
            problems: BTreeMap::new(),
            resource_version: listing.resource_version,
        };
        for decoded in listing.objects {
            reflector.put(decoded);
        }
        Some(reflector)
    }

    fn put(&mut self, decoded: Decoded) {
        let Some(key) = decoded.metadata.key else { return };
        self.problems.remove(&key);
        if !decoded.problems.is_empty() {
            self.problems.insert(key.clone(), decoded.problems);
        }
        match decoded.item {
            Some(item) => self.items.insert(key, item),
            // An object that can no longer be read counts as absent, not as it was.
            None => self.items.remove(&key),
        };
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, event: WatchEvent) {
        event.resource_version().clone_into(&mut self.resource_version);
        match event {
            WatchEvent::Applied(decoded) => self.put(decoded),
            WatchEvent::Deleted(decoded) => {
                if let Some(key) = decoded.metadata.key {
                    self.items.remove(&key);
                    self.problems.remove(&key);
                }
            }
            WatchEvent::Bookmark(_) => {}
        }
    }

    /// Applies all events until now.
    ///
    /// The API server tells from a quorum which resource version is "now"; then a watch is read
    /// from the resource version of the reflector until it gets there, by an event or by a
    /// bookmark. Where it does not (it expired, was lost, or ended before), the reflector does not
    /// count as current.
    pub(crate) async fn catch_up(
        &mut self,
        connection: &Connection,
        kind: &'static Kind,
        interner: &Interner,
    ) -> Result<CatchUp, (Failure, Call)> {
        let Some(now) = self.current_version(connection, kind).await? else {
            return Ok(CatchUp::Stalled);
        };
        match self.is_as_new_as(&now) {
            Some(true) => return Ok(CatchUp::Current),
            Some(false) => {}
            None => return Ok(CatchUp::Stalled),
        }
        let resource_version = self.resource_version.clone();
        let request = WatchRequest {
            kind,
            version: self.version,
            field_selector: "",
            resource_version: &resource_version,
            seconds: CATCH_UP_SECONDS,
        };
        let mut watch = match connection.watch(&request).await {
            Ok(watch) => watch,
            Err((failure, _)) if failure.is_expired() => return Ok(CatchUp::Expired),
            Err(error) => return Err(error),
        };
        let read = async {
            while let Some(event) = watch.next(interner).await {
                match event {
                    Ok(event) => self.apply(event),
                    Err(failure) => {
                        tracing::debug!(kind = kind.name, %failure, "watch ended");
                        return CatchUp::Expired;
                    }
                }
                if self.is_as_new_as(&now) == Some(true) {
                    return CatchUp::Current;
                }
            }
            CatchUp::Stalled
        };
        Ok(timeout(CATCH_UP_MAX, read).await.unwrap_or(CatchUp::Expired))
    }

    fn is_as_new_as(&self, other: &str) -> Option<bool> {
        is_as_new(&self.resource_version, other)
    }

    /// The resource version that a list would have now; `None` where the API server does not return
    /// one.
    ///
    /// A list that selects nothing is cheap and, answered from the API server's cache, makes that
    /// catch up with etcd, so that bookmarks get there too.
    async fn current_version(
        &self,
        connection: &Connection,
        kind: &'static Kind,
    ) -> Result<Option<String>, (Failure, Call)> {
        let nothing = [("fieldSelector", "metadata.name=outrigger-asks-for-the-resource-version")];
        let call = Call::new(Verb::List, kind.resource(), kind.path(self.version)).query(&nothing);
        match connection.call(&call).await {
            Ok(body) => Ok(serde_json::from_slice::<EmptyList>(&body)
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

    fn names(reflector: &Reflector) -> Vec<&str> {
        reflector.items.keys().map(|key| &*key.name).collect()
    }

    #[test]
    fn a_reflector_applies_events() {
        let listing = Listing {
            objects: vec![pod("b", 1, "1"), pod("a", 2, "1")],
            resource_version: "3".to_owned(),
            version: Some("v1"),
        };
        let mut reflector = Reflector::of(listing).unwrap();
        assert_eq!(names(&reflector), ["a", "b"]);
        reflector.apply(WatchEvent::Applied(pod("c", 4, "1")));
        reflector.apply(WatchEvent::Deleted(pod("a", 5, "1")));
        assert_eq!(names(&reflector), ["b", "c"]);
        assert_eq!(reflector.resource_version, "5");
        reflector.apply(WatchEvent::Bookmark("9".to_owned()));
        assert_eq!(reflector.resource_version, "9");
    }

    #[test]
    fn an_object_that_becomes_unreadable_is_left_out_until_it_is_right_again() {
        let mut reflector = Reflector::of(Listing {
            objects: vec![pod("a", 1, "1")],
            resource_version: "1".to_owned(),
            version: Some("v1"),
        })
        .unwrap();
        reflector.apply(WatchEvent::Applied(pod("a", 2, "lots")));
        assert!(reflector.items.is_empty());
        assert_eq!(reflector.problems.len(), 1);
        reflector.apply(WatchEvent::Applied(pod("a", 3, "2")));
        assert_eq!((reflector.items.len(), reflector.problems.len()), (1, 0));
    }
}
