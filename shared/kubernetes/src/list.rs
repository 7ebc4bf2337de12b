//! Lists of one kind, read page by page: never more than a page of JSON is in memory.

use bytes::Bytes;
use http::StatusCode;
use manifests::{ApiKind, Interner};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::item::{Decoded, decode};
use crate::kind::Kind;

/// Objects per page, as in kubectl.
const PAGE: usize = 500;
/// The most restarts of a list whose continue token expires while it is read.
const RESTARTS_MAX: usize = 3;

/// All objects of one kind.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Decoded>,
    /// The resource version from which a watch resumes.
    pub(crate) resource_version: String,
    /// The API version of the objects; `None` where the kind is not installed.
    pub(crate) version: Option<&'static str>,
}

impl Listing {
    const fn nothing() -> Self {
        Self { objects: Vec::new(), resource_version: String::new(), version: None }
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

/// The objects of a page, and where the next one begins.
fn decode_page(
    body: &Bytes,
    read_as: &ApiKind,
    interner: &Interner,
) -> Result<(Vec<Decoded>, PageMetadata), Failure> {
    let page: Page<'_> = serde_json::from_slice(body)
        .map_err(|error| Failure::Broken(format!("not a list: {error}")))?;
    let items = page.items.unwrap_or_default();
    let objects = items.iter().map(|item| decode(item.get(), read_as, interner)).collect();
    Ok((objects, page.metadata))
}

impl Connection {
    /// Lists all objects of a kind, at least as new as this call: the API server answers from a
    /// quorum.
    pub(crate) async fn list(
        &self,
        kind: &'static Kind,
        interner: &Interner,
    ) -> Result<Listing, (Failure, Call)> {
        for version in kind.versions {
            match self.list_version(kind, version, interner).await {
                Err((failure, _)) if kind.is_optional && failure.is(StatusCode::NOT_FOUND) => {}
                other => return other,
            }
        }
        Ok(Listing::nothing())
    }

    /// Lists those objects of a kind that a field selector selects, from what the API server has in
    /// memory: in one answer, and perhaps some seconds behind.
    pub(crate) async fn list_cached(
        &self,
        kind: &'static Kind,
        field_selector: &str,
        interner: &Interner,
    ) -> Result<Listing, (Failure, Call)> {
        let query = [("fieldSelector", field_selector), ("resourceVersion", "0")];
        let version = kind.version();
        let call = Call::new(Verb::List, kind.resource(), kind.path(version)).query(&query);
        let page = match self.call(&call).await {
            Ok(body) => decode_page(&body, &kind.read_as(version), interner),
            Err(failure) => Err(failure),
        };
        match page {
            Ok((objects, PageMetadata { resource_version, .. })) => {
                Ok(Listing { objects, resource_version, version: Some(version) })
            }
            Err(failure) => Err((failure, call)),
        }
    }

    async fn list_version(
        &self,
        kind: &'static Kind,
        version: &'static str,
        interner: &Interner,
    ) -> Result<Listing, (Failure, Call)> {
        let mut restarts = 0;
        loop {
            match self.list_once(kind, version, interner).await {
                Err((failure, _)) if failure.is_expired() && restarts < RESTARTS_MAX => {
                    restarts += 1;
                    tracing::debug!(kind = kind.name, restarts, "list expired, restarting it");
                }
                other => return other,
            }
        }
    }

    async fn list_once(
        &self,
        kind: &'static Kind,
        version: &'static str,
        interner: &Interner,
    ) -> Result<Listing, (Failure, Call)> {
        let read_as = kind.read_as(version);
        let page_size = PAGE.to_string();
        let mut listing = Listing { version: Some(version), ..Listing::nothing() };
        let mut next = String::new();
        loop {
            let mut query = vec![("limit", page_size.as_str())];
            if !next.is_empty() {
                query.push(("continue", &next));
            }
            let call = Call::new(Verb::List, kind.resource(), kind.path(version)).query(&query);
            let page = match self.call(&call).await {
                Ok(body) => decode_page(&body, &read_as, interner),
                Err(failure) => Err(failure),
            };
            let (objects, metadata) = match page {
                Ok(page) => page,
                Err(failure) => return Err((failure, call)),
            };
            listing.objects.extend(objects);
            listing.resource_version = metadata.resource_version;
            next = metadata.next;
            if next.is_empty() {
                return Ok(listing);
            }
        }
    }
}
