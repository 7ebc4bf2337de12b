//! Watches: what happens after a resource version, event by event.

use std::borrow::Cow;

use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use manifests::{ApiKind, Interner};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::item::{Decoded, decode};
use crate::kind::Kind;

/// What to watch.
#[derive(Clone, Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) version: &'static str,
    /// Only objects that this selects; empty for all.
    pub(crate) field_selector: &'a str,
    /// What came after this.
    pub(crate) resource_version: &'a str,
    /// The API server ends the stream after so long.
    pub(crate) seconds: u64,
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Watch {
    body: Body,
    read_as: ApiKind,
    /// What came and has not been looked at.
    buffer: Vec<u8>,
    /// Up to here it has been looked at.
    taken: usize,
}

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Happened {
    /// An object is there, or changed.
    Present(Decoded),
    /// An object is gone, or no longer selected.
    Gone(Decoded),
    /// Nothing up to this resource version.
    Bookmark(String),
}

impl Happened {
    /// Up to which resource version the stream has been read with this.
    pub(crate) fn resource_version(&self) -> &str {
        match self {
            Self::Present(decoded) | Self::Gone(decoded) => &decoded.stamp.resource_version,
            Self::Bookmark(version) => version,
        }
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bookmarked {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: String,
}

#[derive(Deserialize)]
struct ErrorCode {
    #[serde(default)]
    code: u16,
}

impl Connection {
    /// Opens a watch.
    pub(crate) async fn watch(&self, watched: &Watched<'_>) -> Result<Watch, (Failure, Call)> {
        let Watched { kind, version, field_selector, resource_version, seconds } = watched;
        let seconds = seconds.to_string();
        let mut query = vec![
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", *resource_version),
            ("timeoutSeconds", &seconds),
        ];
        if !field_selector.is_empty() {
            query.push(("fieldSelector", field_selector));
        }
        let call = Call::new(Verb::Watch, kind.resource(), kind.path(version)).query(&query);
        match self.stream(&call).await {
            Ok(body) => {
                Ok(Watch { body, read_as: kind.read_as(version), buffer: Vec::new(), taken: 0 })
            }
            Err(failure) => Err((failure, call)),
        }
    }
}

impl Watch {
    /// What happened next; `None` once the stream has ended. Nothing is lost where this is given up while
    /// it waits.
    pub(crate) async fn next(&mut self, interner: &Interner) -> Option<Result<Happened, Failure>> {
        loop {
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest.get(..length).unwrap_or_default();
                self.taken += length + 1;
                if line.is_empty() {
                    continue;
                }
                return Some(happened(line, &self.read_as, interner));
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Err(error) => return Some(Err(Failure::Unreachable(error))),
            }
        }
    }
}

fn happened(line: &[u8], read_as: &ApiKind, interner: &Interner) -> Result<Happened, Failure> {
    let broken = |error: serde_json::Error| Failure::Broken(format!("not an event: {error}"));
    let line: Line<'_> = serde_json::from_slice(line).map_err(broken)?;
    let json = line.object.get();
    match &*line.kind {
        "ADDED" | "MODIFIED" => Ok(Happened::Present(decode(json, read_as, interner))),
        "DELETED" => Ok(Happened::Gone(decode(json, read_as, interner))),
        "BOOKMARK" => {
            let bookmark: Bookmarked = serde_json::from_str(json).map_err(broken)?;
            Ok(Happened::Bookmark(bookmark.metadata.resource_version))
        }
        _ => {
            let code = serde_json::from_str::<ErrorCode>(json).map_err(broken)?.code;
            let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Err(Failure::Refused(Refusal::read(code, &HeaderMap::new(), json.as_bytes())))
        }
    }
}

/// Whether one resource version is as new as another, or newer; `None` where they cannot be compared.
///
/// Source: Kubernetes API concepts, "Resource versions": they are numbers that grow.
pub(crate) fn is_as_new(version: &str, other: &str) -> Option<bool> {
    Some(version.parse::<u64>().ok()? >= other.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::POD;

    fn read(line: &str) -> Result<Happened, Failure> {
        happened(line.as_bytes(), &POD.read_as("v1"), &Interner::default())
    }

    #[test]
    fn events_of_a_watch_are_told_apart() {
        let pod = r#"{"kind":"Pod","metadata":{"name":"a","namespace":"b","resourceVersion":"5"}}"#;
        let added = read(&format!(r#"{{"type":"ADDED","object":{pod}}}"#)).unwrap();
        assert!(matches!(added, Happened::Present(_)) && added.resource_version() == "5");
        let deleted = read(&format!(r#"{{"type":"DELETED","object":{pod}}}"#)).unwrap();
        assert!(matches!(deleted, Happened::Gone(_)));
        let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","creationTimestamp":null},"spec":{"containers":null}}}"#;
        assert_eq!(read(bookmark).unwrap().resource_version(), "9");
    }

    #[test]
    fn an_expired_watch_says_so() {
        let gone = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}"#;
        assert!(read(gone).unwrap_err().is_expired());
        assert!(!read("{}").unwrap_err().is_expired());
    }

    #[test]
    fn resource_versions_compare_as_numbers() {
        assert_eq!(is_as_new("10", "9"), Some(true));
        assert_eq!(is_as_new("9", "10"), Some(false));
        assert_eq!(is_as_new("abc", "10"), None);
    }
}
