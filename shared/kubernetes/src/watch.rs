//! Watches: the events after a resource version.

use std::borrow::Cow;
use std::ops::Range;

use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use manifests::{ApiKind, Interner};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::item::{Decoded, decode};
use crate::kind::Kind;

/// What to watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) version: &'static str,
    /// A field selector; empty for all objects.
    pub(crate) field_selector: &'a str,
    /// Events after this resource version.
    pub(crate) resource_version: &'a str,
    /// How long the API server keeps the stream open, seconds.
    pub(crate) seconds: u64,
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Watch {
    body: Body,
    read_as: ApiKind,
    /// Bytes received.
    buffer: Vec<u8>,
    /// How many of the received bytes are parsed.
    parsed: usize,
}

/// An event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// An object was added or modified.
    Applied(Decoded),
    /// An object was deleted, or is no longer selected.
    Deleted(Decoded),
    /// No event up to this resource version.
    Bookmark(String),
}

/// An event of a watch with its object as JSON.
#[derive(Debug)]
pub(crate) enum RawEvent {
    /// An object was added or modified.
    Applied(Value),
    /// An object was deleted, or is no longer selected.
    Deleted(Value),
    /// No event up to this resource version.
    Bookmark(String),
}

impl WatchEvent {
    /// The resource version from which a watch resumes after this event.
    pub(crate) fn resource_version(&self) -> &str {
        match self {
            Self::Applied(decoded) | Self::Deleted(decoded) => &decoded.metadata.resource_version,
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
    pub(crate) async fn watch(&self, request: &WatchRequest<'_>) -> Result<Watch, (Failure, Call)> {
        let WatchRequest { kind, version, field_selector, resource_version, seconds } = request;
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
                Ok(Watch { body, read_as: kind.read_as(version), buffer: Vec::new(), parsed: 0 })
            }
            Err(failure) => Err((failure, call)),
        }
    }
}

impl Watch {
    /// The next event; `None` once the stream has ended. Cancel-safe.
    pub(crate) async fn next(
        &mut self,
        interner: &Interner,
    ) -> Option<Result<WatchEvent, Failure>> {
        match self.next_line().await? {
            Ok(line) => {
                let line = self.buffer.get(line).unwrap_or_default();
                Some(parse_event(line, &self.read_as, interner))
            }
            Err(failure) => Some(Err(failure)),
        }
    }

    /// The next event with its object as JSON; `None` once the stream has ended. Cancel-safe.
    pub(crate) async fn next_raw(&mut self) -> Option<Result<RawEvent, Failure>> {
        match self.next_line().await? {
            Ok(line) => Some(parse_raw(self.buffer.get(line).unwrap_or_default())),
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Where the next line that is not empty stands in the buffer.
    async fn next_line(&mut self) -> Option<Result<Range<usize>, Failure>> {
        loop {
            let rest = self.buffer.get(self.parsed..).unwrap_or_default();
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.parsed..self.parsed + length;
                self.parsed += length + 1;
                if line.is_empty() {
                    continue;
                }
                return Some(Ok(line));
            }
            self.buffer.drain(..self.parsed);
            self.parsed = 0;
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

fn parse_event(line: &[u8], read_as: &ApiKind, interner: &Interner) -> Result<WatchEvent, Failure> {
    match parse_line(line)? {
        Parsed::Applied(json) => Ok(WatchEvent::Applied(decode(json, read_as, interner))),
        Parsed::Deleted(json) => Ok(WatchEvent::Deleted(decode(json, read_as, interner))),
        Parsed::Bookmark(version) => Ok(WatchEvent::Bookmark(version)),
    }
}

fn parse_raw(line: &[u8]) -> Result<RawEvent, Failure> {
    let object = |json| serde_json::from_str(json).map_err(broken);
    match parse_line(line)? {
        Parsed::Applied(json) => Ok(RawEvent::Applied(object(json)?)),
        Parsed::Deleted(json) => Ok(RawEvent::Deleted(object(json)?)),
        Parsed::Bookmark(version) => Ok(RawEvent::Bookmark(version)),
    }
}

/// A line of a watch, its object unread.
enum Parsed<'l> {
    Applied(&'l str),
    Deleted(&'l str),
    Bookmark(String),
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn broken(error: serde_json::Error) -> Failure {
    Failure::Broken(format!("not an event: {error}"))
}

fn parse_line(line: &[u8]) -> Result<Parsed<'_>, Failure> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(broken)?;
    let json = line.object.get();
    match &*line.kind {
        "ADDED" | "MODIFIED" => Ok(Parsed::Applied(json)),
        "DELETED" => Ok(Parsed::Deleted(json)),
        "BOOKMARK" => {
            let bookmark: Bookmarked = serde_json::from_str(json).map_err(broken)?;
            Ok(Parsed::Bookmark(bookmark.metadata.resource_version))
        }
        _ => {
            let code = serde_json::from_str::<ErrorCode>(json).map_err(broken)?.code;
            let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Err(Failure::Refused(Refusal::read(code, &HeaderMap::new(), json.as_bytes())))
        }
    }
}

/// Whether one resource version is as new as another, or newer; `None` where they cannot be
/// compared.
///
/// Source: Kubernetes API concepts, "Resource versions": they are numbers that grow.
pub(crate) fn is_as_new(version: &str, other: &str) -> Option<bool> {
    Some(version.parse::<u64>().ok()? >= other.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::POD;

    fn read(line: &str) -> Result<WatchEvent, Failure> {
        parse_event(line.as_bytes(), &POD.read_as("v1"), &Interner::default())
    }

    #[test]
    fn events_of_a_watch_are_told_apart() {
        let pod = r#"{"kind":"Pod","metadata":{"name":"a","namespace":"b","resourceVersion":"5"}}"#;
        let added = read(&format!(r#"{{"type":"ADDED","object":{pod}}}"#)).unwrap();
        assert!(matches!(added, WatchEvent::Applied(_)) && added.resource_version() == "5");
        let deleted = read(&format!(r#"{{"type":"DELETED","object":{pod}}}"#)).unwrap();
        assert!(matches!(deleted, WatchEvent::Deleted(_)));
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
