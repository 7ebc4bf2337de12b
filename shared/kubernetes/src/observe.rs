//! Everything that happens to the objects of a cluster, as it happens: for recordings.
//!
//! Each kind is listed and then watched from the list's resource version. A watch that ends is
//! resumed where it was; one that has expired (410 Gone) is begun anew by a list. Failures are
//! waited out, longer each time, with jitter.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use controllers::ports::PortError;
use futures_util::future::{join, join_all};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::{ALWAYS_READ, Kind};
use crate::usage::{ContainerUsage, usage};
use crate::watch::{RawEvent, Watch, WatchRequest};

/// Objects per page, as in kubectl.
const PAGE: &str = "500";
/// How long the API server keeps a watch open, seconds.
const WATCH_SECONDS: u64 = 290;
/// A watch that is silent for longer is lost.
const SILENCE_MAX: Duration = Duration::from_secs(WATCH_SECONDS + 30);
/// The first and the longest pause after failures.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a kind that is not installed is left alone.
const NOT_INSTALLED: Duration = Duration::from_mins(5);
/// How often what containers use is asked for: four times as long as the metrics server measures.
const USAGE_EVERY: Duration = Duration::from_mins(1);
/// The kind of which [`Observed::Used`] is.
pub const POD_METRICS: &str = "PodMetrics";
/// Kinds that say nothing that a recording needs.
const LEFT_OUT: [&str; 1] = ["CSINode"];

/// Something about the objects of one kind.
#[derive(Debug)]
pub struct Observation {
    /// The kind: `Pod`.
    pub kind: &'static str,
    /// What.
    pub what: Observed,
}

/// What can be observed.
#[derive(Debug)]
pub enum Observed {
    /// All objects there are: at the beginning, and where events were missed.
    Listed(Vec<Value>),
    /// An object was created or changed.
    Applied(Value),
    /// An object is gone; as it was last.
    Gone(Value),
    /// What all containers use now.
    Used(Vec<ContainerUsage>),
    /// The cluster has nothing of the kind; it is asked again after a while.
    NotInstalled,
    /// The API server does not answer, or refuses; it will be asked again.
    Failed(PortError),
}

/// The kinds that [`observe`] tells of, in the order in which they are listed first.
pub fn observed_kinds() -> impl Iterator<Item = &'static str> {
    kinds().map(|kind| kind.name)
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    ALWAYS_READ.iter().copied().filter(|kind| !LEFT_OUT.contains(&kind.name))
}

/// Reports all that happens, until nobody listens any more. The first observation of each kind is
/// a list, empty where the kind is not installed, or a failure. What containers use is asked for
/// every minute, where the cluster has the metrics API.
pub async fn observe(connection: &Connection, sink: UnboundedSender<Observation>) {
    let kinds = kinds().map(|kind| follow(connection, kind, sink.clone()));
    join(join_all(kinds), ask_for_usage(connection, sink.clone())).await;
}

async fn ask_for_usage(connection: &Connection, sink: UnboundedSender<Observation>) {
    loop {
        let (what, pause) = match usage(connection).await {
            Ok(Some(usage)) => (Observed::Used(usage), USAGE_EVERY),
            Ok(None) => (Observed::NotInstalled, NOT_INSTALLED),
            Err(why) => (Observed::Failed(why), USAGE_EVERY),
        };
        if sink.send(Observation { kind: POD_METRICS, what }).is_err() {
            return;
        }
        sleep(pause).await;
    }
}

/// Why following a kind paused.
enum Break {
    /// Nobody listens any more.
    Unheard,
    /// The resource version is too old: a list tells what there is.
    Expired,
    /// The stream ended; it is resumed.
    Ended,
    /// An event cannot be read, and would come again: a list tells what there is.
    Unreadable(PortError),
    /// A call failed.
    Failed(PortError),
}

async fn follow(connection: &Connection, kind: &'static Kind, sink: UnboundedSender<Observation>) {
    let tell = |what| sink.send(Observation { kind: kind.name, what }).is_ok();
    let pauses = || {
        ExponentialBuilder::default()
            .with_min_delay(PAUSE_MIN)
            .with_max_delay(PAUSE_MAX)
            .with_jitter()
            .without_max_times()
            .build()
    };
    let mut pause = pauses();
    let mut position: Option<(&'static str, String)> = None;
    while !sink.is_closed() {
        let Some((version, resource_version)) = position.clone() else {
            match list(connection, kind).await {
                Ok(Some(All { version, resource_version, objects })) => {
                    if !tell(Observed::Listed(objects)) {
                        return;
                    }
                    position = Some((version, resource_version));
                }
                Ok(None) => {
                    if !tell(Observed::Listed(Vec::new())) {
                        return;
                    }
                    sleep(NOT_INSTALLED).await;
                }
                Err(why) => {
                    if !tell(Observed::Failed(why)) {
                        return;
                    }
                    sleep(pause.next().unwrap_or(PAUSE_MAX)).await;
                }
            }
            continue;
        };
        let mut at = resource_version;
        let events = watch(connection, kind, version, &mut at, &tell).await;
        position = Some((version, at));
        match events {
            Break::Unheard => return,
            Break::Expired => position = None,
            Break::Ended => pause = pauses(),
            Break::Unreadable(why) => {
                if !tell(Observed::Failed(why)) {
                    return;
                }
                position = None;
            }
            Break::Failed(why) => {
                if !tell(Observed::Failed(why)) {
                    return;
                }
            }
        }
        sleep(pause.next().unwrap_or(PAUSE_MAX)).await;
    }
}

/// Tells of events until the stream ends.
async fn watch(
    connection: &Connection,
    kind: &'static Kind,
    version: &'static str,
    at: &mut String,
    tell: &impl Fn(Observed) -> bool,
) -> Break {
    let resource_version = at.clone();
    let request = WatchRequest {
        kind,
        version,
        field_selector: "",
        resource_version: &resource_version,
        seconds: WATCH_SECONDS,
    };
    let mut stream: Watch = match connection.watch(&request).await {
        Ok(stream) => stream,
        Err((failure, _)) if failure.is_expired() => return Break::Expired,
        Err((failure, call)) => return Break::Failed(failure.into_port_error(&call)),
    };
    loop {
        let Ok(event) = timeout(SILENCE_MAX, stream.next_raw()).await else { return Break::Ended };
        let (object, is_gone) = match event {
            Some(Ok(RawEvent::Bookmark(version))) => {
                *at = version;
                continue;
            }
            Some(Ok(RawEvent::Applied(object))) => (object, false),
            Some(Ok(RawEvent::Deleted(object))) => (object, true),
            Some(Err(failure)) if failure.is_expired() => return Break::Expired,
            Some(Err(failure)) if !failure.is_retryable() => {
                let call = Call::new(Verb::Watch, kind.resource(), kind.path(version));
                return Break::Unreadable(failure.into_port_error(&call));
            }
            // Where the connection broke off, the events since are asked for again.
            None | Some(Err(_)) => return Break::Ended,
        };
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            version.clone_into(at);
        }
        let what = if is_gone { Observed::Gone(object) } else { Observed::Applied(object) };
        if !tell(what) {
            return Break::Unheard;
        }
    }
}

/// All objects of a kind.
struct All {
    version: &'static str,
    resource_version: String,
    objects: Vec<Value>,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    items: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

/// All objects of a kind; `None` where it is not installed.
async fn list(connection: &Connection, kind: &'static Kind) -> Result<Option<All>, PortError> {
    for version in kind.versions {
        match list_version(connection, kind, version).await {
            Ok(all) => return Ok(Some(all)),
            Err((failure, _)) if kind.is_optional && failure.is(StatusCode::NOT_FOUND) => {}
            Err((failure, call)) => return Err(failure.into_port_error(&call)),
        }
    }
    Ok(None)
}

async fn list_version(
    connection: &Connection,
    kind: &'static Kind,
    version: &'static str,
) -> Result<All, (Failure, Call)> {
    let mut all = All { version, resource_version: String::new(), objects: Vec::new() };
    let mut next = String::new();
    loop {
        let mut query = vec![("limit", PAGE)];
        if !next.is_empty() {
            query.push(("continue", &next));
        }
        let call = Call::new(Verb::List, kind.resource(), kind.path(version)).query(&query);
        let page = connection.call(&call).await.and_then(|body| {
            serde_json::from_slice::<Page>(&body)
                .map_err(|error| Failure::Broken(format!("not a list: {error}")))
        });
        let page = match page {
            Ok(page) => page,
            Err(failure) => return Err((failure, call)),
        };
        all.objects.extend(page.items.unwrap_or_default().into_iter().map(|mut object| {
            // Items of a list need not say what they are.
            if let Some(members) = object.as_object_mut() {
                members.entry("apiVersion").or_insert_with(|| kind.api_version(version).into());
                members.entry("kind").or_insert_with(|| kind.name.into());
            }
            object
        }));
        all.resource_version = page.metadata.resource_version;
        next = page.metadata.next;
        if next.is_empty() {
            return Ok(all);
        }
    }
}
