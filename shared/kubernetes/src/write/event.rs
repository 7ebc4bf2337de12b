//! Events: what users see with `kubectl describe`.
//!
//! The name of an event is a hash of its object and message, so that an equal one, even of another
//! process, is found and counted rather than written twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hasher;

use controllers::event::{Event, Severity, Subject};
use controllers::ports::PortError;
use domain::pod::{ObjectKey, VirtualPodSource};
use domain::{Text, Timestamp};
use futures_util::StreamExt;
use futures_util::stream;
use http::StatusCode;
use rustc_hash::FxHasher;
use serde_json::{Value as Json, json};

use super::{FIELD_MANAGER, Target};
use crate::authority;
use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::{
    CAPACITY_BUFFER, CLUSTER_LIMIT, COMMITMENT, CONFIG_MAP, EVENT, Kind, NODE, NODE_CLAIM,
    NODE_CLASS, NODE_POOL, POD, PREWARM_SCHEDULE, SCALED_OBJECT,
};
use crate::patch::text;
use crate::wire::time;

/// Where events about objects outside namespaces are. Source: client-go.
const CLUSTER_NAMESPACE: &str = "default";
/// Longest `message`, in bytes. Source: validation of Events.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Longest part of an object's name in an event's: names have at most 253 characters.
const NAME_BYTES_MAX: usize = 220;
/// The most events written concurrently.
const EVENT_CONCURRENCY_MAX: usize = 8;

/// Remembers what was recorded lately.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// When an event was last recorded, by its name in its namespace.
    recorded: RefCell<BTreeMap<String, Timestamp>>,
}

/// What an event is about, as the API names it.
struct Regarding {
    kind: &'static Kind,
    namespace: Option<Text>,
    name: Text,
    uid: Option<Text>,
}

impl Recorder {
    /// Records events that were not recorded lately. Where one fails, the others are recorded all
    /// the same; the first failure is returned.
    ///
    /// `uid_of` gives the uid of an object that the event names without one: `kubectl describe`
    /// looks for events by uid.
    pub(crate) async fn record(
        &self,
        connection: &Connection,
        events: &[Event],
        uid_of: impl AsyncFn(&'static Kind, &Text) -> Result<Option<Text>, PortError>,
    ) -> Result<(), PortError> {
        let now = Timestamp::now();
        let uid_of = &uid_of;
        let fresh: Vec<(&Event, String)> = events
            .iter()
            .map(|event| (event, name_of(event)))
            .filter(|(event, name)| self.note(event, name, now))
            .collect();
        let writes = fresh.iter().map(|(event, name)| async move {
            let mut about = regarding(&event.about);
            if about.uid.is_none() {
                about.uid = uid_of(about.kind, &about.name).await?;
            }
            record(connection, event, &about, name, now).await
        });
        let written: Vec<_> =
            stream::iter(writes).buffer_unordered(EVENT_CONCURRENCY_MAX).collect().await;
        written.into_iter().collect()
    }

    /// Notes that an event is recorded now, unless an equal one was lately.
    fn note(&self, event: &Event, name: &str, now: Timestamp) -> bool {
        let mut recorded = self.recorded.borrow_mut();
        let lately = recorded.get(name).is_some_and(|at| is_lately(event, *at, now));
        if !lately {
            // Fifteen minutes are the longest that any event is remembered.
            recorded.retain(|_, at| now.duration_since(*at).as_mins() < 15);
            recorded.insert(name.to_owned(), now);
        }
        !lately
    }
}

fn is_lately(event: &Event, at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < event.reason.dedupe()
}

fn regarding(subject: &Subject) -> Regarding {
    let cluster = |kind, name: &Text, uid: Option<&Text>| Regarding {
        kind,
        namespace: None,
        name: name.clone(),
        uid: uid.filter(|uid| !uid.is_empty()).cloned(),
    };
    match subject {
        Subject::Pod(key, uid) => {
            let namespace = Some(key.namespace.clone());
            Regarding { namespace, ..cluster(&POD, &key.name, Some(uid)) }
        }
        Subject::Node(name, uid) => cluster(&NODE, name, Some(uid)),
        Subject::NodeClaim(name) => cluster(&NODE_CLAIM, name, None),
        Subject::NodePool(name) => cluster(&NODE_POOL, name, None),
        Subject::NodeClass(name) => cluster(&NODE_CLASS, name, None),
        Subject::Source(source, uid) => {
            let kind = match source {
                VirtualPodSource::CapacityBuffer(_) => &CAPACITY_BUFFER,
                VirtualPodSource::ScaledObject(_) => &SCALED_OBJECT,
                VirtualPodSource::PrewarmSchedule(_) => &PREWARM_SCHEDULE,
            };
            let ObjectKey { namespace, name } = source.key();
            Regarding { namespace: Some(namespace.clone()), ..cluster(kind, name, Some(uid)) }
        }
        Subject::ClusterLimit(name, uid) => cluster(&CLUSTER_LIMIT, name, Some(uid)),
        Subject::Commitment(name, uid) => cluster(&COMMITMENT, name, Some(uid)),
        Subject::Controls(uid) => {
            let namespace = Some(authority::NAMESPACE.into());
            Regarding { namespace, ..cluster(&CONFIG_MAP, &authority::NAME.into(), Some(uid)) }
        }
    }
}

/// The event's name: that of its object, and a hash of what makes events equal.
fn name_of(event: &Event) -> String {
    let about = regarding(&event.about);
    let mut hasher = FxHasher::default();
    let namespace = about.namespace.as_deref().unwrap_or_default();
    let uid = about.uid.as_deref().unwrap_or_default();
    for part in [about.kind.name, namespace, uid, event.reason.as_str(), &event.message] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0xff);
    }
    format!("{}.{:016x}", cut(&about.name, NAME_BYTES_MAX).trim_end_matches('.'), hasher.finish())
}

/// The longest prefix of a text that fits.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

async fn record(
    connection: &Connection,
    event: &Event,
    about: &Regarding,
    name: &str,
    now: Timestamp,
) -> Result<(), PortError> {
    let namespace = about.namespace.as_deref().unwrap_or(CLUSTER_NAMESPACE);
    let key = ObjectKey::new(namespace, name);
    let target = Target::in_namespace(&EVENT, &key);
    let path = &target.path;
    let collection = path.strip_suffix(name).unwrap_or(path).trim_end_matches('/').to_owned();
    let create = Call::new(Verb::Create, EVENT.resource(), collection)
        .on(&target.shown)
        .query(&[("fieldManager", FIELD_MANAGER)])
        .body(&event_object(event, about, &key, now));
    match connection.call(&create).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is(StatusCode::CONFLICT) => {
            count(connection, event, &target, now).await
        }
        // Events in a namespace that is terminating or gone help nobody.
        Err(failure) if is_namespace_gone(&failure) => Ok(()),
        Err(failure) => Err(failure.into_port_error(&create)),
    }
}

fn is_namespace_gone(failure: &Failure) -> bool {
    let Failure::Refused(refusal) = failure else { return false };
    refusal.code == StatusCode::NOT_FOUND
        || refusal.causes.iter().any(|cause| cause == "NamespaceTerminating")
}

/// Increments the count of an existing event, unless it was recorded lately.
async fn count(
    connection: &Connection,
    event: &Event,
    Target { path, shown }: &Target,
    now: Timestamp,
) -> Result<(), PortError> {
    let get = Call::new(Verb::Get, EVENT.resource(), path).on(shown);
    let known: Json = match connection.call(&get).await {
        Ok(body) => super::parsed(&body, &get)?,
        // It has just expired.
        Err(failure) if failure.is(StatusCode::NOT_FOUND) => return Ok(()),
        Err(failure) => return Err(failure.into_port_error(&get)),
    };
    let last = text(&known, &["lastTimestamp"]).parse::<Timestamp>();
    if last.is_ok_and(|last| is_lately(event, last, now)) {
        return Ok(());
    }
    let patch = json!({
        "metadata": { "resourceVersion": text(&known, &["metadata", "resourceVersion"]) },
        "count": known["count"].as_i64().unwrap_or(1) + 1,
        "lastTimestamp": time(now),
    });
    let patch = Call::new(Verb::Patch, EVENT.resource(), path).on(shown).body(&patch);
    match connection.call(&patch).await {
        Ok(_) => Ok(()),
        // Another process counted it, or it expired.
        Err(failure) if super::is_gone(&failure) => Ok(()),
        Err(failure) => Err(failure.into_port_error(&patch)),
    }
}

fn event_object(event: &Event, about: &Regarding, key: &ObjectKey, now: Timestamp) -> Json {
    let kind = about.kind;
    let mut regarding = json!({
        "apiVersion": kind.api_version(kind.version()),
        "kind": kind.name,
        "name": &*about.name,
    });
    if let Some(namespace) = &about.namespace {
        regarding["namespace"] = Json::from(&**namespace);
    }
    if let Some(uid) = &about.uid {
        regarding["uid"] = Json::from(&**uid);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": &*key.name, "namespace": &*key.namespace },
        "involvedObject": regarding,
        "type": match event.reason.severity() {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        },
        "reason": event.reason.as_str(),
        "message": cut(&event.message, MESSAGE_BYTES_MAX),
        "count": 1,
        "firstTimestamp": time(now),
        "lastTimestamp": time(now),
        "source": { "component": FIELD_MANAGER },
        "reportingComponent": FIELD_MANAGER,
        "reportingInstance": FIELD_MANAGER,
    })
}

#[cfg(test)]
mod tests {
    use controllers::event::EventReason;
    use domain::SignedDuration;
    use domain::pod::PodKey;

    use super::*;

    fn nominated(pod: &str, message: &str) -> Event {
        let about = Subject::Pod(PodKey::new("shop", pod), "u1".into());
        Event::new(about, EventReason::Nominated, message)
    }

    #[test]
    fn equal_events_have_one_name_and_others_have_others() {
        let name = |pod, message| name_of(&nominated(pod, message));
        assert_eq!(name("web-0", "to n1"), name("web-0", "to n1"));
        assert_ne!(name("web-0", "to n1"), name("web-0", "to n2"));
        assert!(name("web-0", "to n1").starts_with("web-0."));
        assert!(name(&"x".repeat(253), "to n1").len() <= 253);
    }

    #[test]
    fn an_event_is_not_recorded_again_until_its_time_is_over() {
        let recorder = Recorder::default();
        let event = nominated("web-0", "to n1");
        let (name, now) = (name_of(&event), Timestamp::UNIX_EPOCH);
        assert!(recorder.note(&event, &name, now));
        assert!(!recorder.note(&event, &name, now + SignedDuration::from_secs(119)));
        assert!(recorder.note(&event, &name, now + SignedDuration::from_secs(120)));
    }
}
