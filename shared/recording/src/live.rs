//! A recording made of a cluster that is watched: objects as an API server lists them and tells of
//! their changes, however often it repeats itself.

use std::collections::{BTreeMap, BTreeSet};

use domain::pod::{ObjectKey, Pod};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp, label};
use manifests::{Object, Origin, Reader};
use serde_json::Value;

use crate::audit::deployment_of;
use crate::document::{Header, HowEnded};
use crate::pseudonym::Pseudonyms;
use crate::recorder::{Recorder, stripped};
use crate::usage::{Sample, Usage};

/// Reasons of a pod's condition `DisruptionTarget`, and how the pod ended by them.
///
/// Source: <https://kubernetes.io/docs/concepts/workloads/pods/disruptions/>.
const DISRUPTED_BY: [(&str, HowEnded); 5] = [
    ("EvictionByEvictionAPI", HowEnded::Evicted),
    ("PreemptionByScheduler", HowEnded::Evicted),
    ("DeletionByTaintManager", HowEnded::Evicted),
    ("TerminationByKubelet", HowEnded::Evicted),
    ("DeletionByPodGC", HowEnded::Lost),
];

/// Kind, namespace (empty outside namespaces) and name.
type Identity = (String, String, String);

/// What is known of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// `metadata.uid`: another object may come under the name.
    uid: String,
    /// What was written of it, as it was written; empty for objects of which no manifest is.
    written: String,
}

/// Records a cluster that is watched. Changes of an object that change nothing of what is recorded
/// leave no line; objects that a list lacks are gone.
#[derive(Debug)]
pub struct LiveRecorder {
    recorder: Recorder,
    start: Timestamp,
    known: BTreeMap<Identity, Known>,
    /// What containers used, as far as it was written.
    usage: Usage,
    /// Objects that could not be read, each once.
    unreadable: BTreeSet<String>,
    problems: Vec<String>,
}

impl LiveRecorder {
    /// Begins a recording at a moment; what was there before has earlier times.
    pub fn new(start: Timestamp, header: Header, pseudonyms: Option<Pseudonyms>) -> Self {
        Self {
            recorder: Recorder::new(start, header, pseudonyms),
            start,
            known: BTreeMap::new(),
            usage: Usage::default(),
            unreadable: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Takes note of all objects of a kind: the first time, and again where changes were missed.
    pub fn listed(&mut self, now: Timestamp, kind: &str, objects: Vec<Value>) {
        let there: BTreeSet<Identity> = objects.iter().map(|own| identity(kind, own)).collect();
        let gone: Vec<Identity> = self
            .known
            .keys()
            .filter(|own| own.0 == kind && !there.contains(*own))
            .cloned()
            .collect();
        for own in gone {
            self.lost(now, &own, HowEnded::Deleted);
        }
        for object in objects {
            self.applied(now, kind, object);
        }
    }

    /// Takes note of an object that was created or changed.
    pub fn applied(&mut self, now: Timestamp, kind: &str, mut object: Value) {
        name_kind(&mut object, kind);
        let identity = identity(kind, &object);
        let uid = text(&object, "/metadata/uid").to_owned();
        if self.known.get(&identity).is_some_and(|known| known.uid != uid) && kind != "Pod" {
            self.lost(now, &identity, HowEnded::Deleted);
        }
        let is_new = !self.known.contains_key(&identity);
        // What was there before the recording began has its own time.
        let created: Option<Timestamp> = text(&object, "/metadata/creationTimestamp").parse().ok();
        let came = created.filter(|own| *own < self.start).unwrap_or(now);
        let mut written = String::new();
        match kind {
            "Pod" => {
                let is_another = self.known.get(&identity).is_some_and(|known| known.uid != uid);
                self.pod(now, &object, is_another);
            }
            "NodeClaim" => {
                if is_new && let Some(Object::NodeClaim(own)) = self.read(&object) {
                    self.recorder.claim(came, &own);
                }
            }
            "Node" => {
                if is_new && let Some(Object::Node(own)) = self.read(&object) {
                    self.recorder.node(came, &own);
                }
                written = self.manifest(now.max(self.start), &identity, object);
            }
            _ => written = self.manifest(now, &identity, object),
        }
        self.known.insert(identity, Known { uid, written });
    }

    /// Takes note of an object that is gone, as it was last.
    pub fn gone(&mut self, now: Timestamp, kind: &str, object: &Value) {
        self.lost(now, &identity(kind, object), how(object));
    }

    /// What of the objects could not be read, since the last call.
    pub fn problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Takes note of what a container of a pod used at this moment. A line is written where that is
    /// a tenth above what was written before, and when the pod ends.
    pub fn used(&mut self, now: Timestamp, key: &ObjectKey, container: &str, sample: Sample) {
        if self.recorder.records(key)
            && let Some(most) = self.usage.noted(key, container, sample)
        {
            self.recorder.used(now, key, container, most);
        }
    }

    /// Ends the recording.
    pub fn stop(&mut self, now: Timestamp) {
        for key in self.usage.pods() {
            self.measured(now, &key);
        }
        self.recorder.stop(now.max(self.start + SignedDuration::from_secs(1)));
    }

    /// The lines written since the last call, each with its end.
    pub fn take(&mut self) -> Result<String, serde_json::Error> {
        self.recorder.take()
    }

    fn lost(&mut self, now: Timestamp, identity: &Identity, how: HowEnded) {
        if self.known.remove(identity).is_none() {
            return;
        }
        let (kind, namespace, name) = identity;
        match kind.as_str() {
            "Pod" => {
                let key = ObjectKey::new(namespace.as_str(), name.as_str());
                self.measured(now, &key);
                self.recorder.pod_gone(now, &key, how);
            }
            "Node" => self.recorder.node_gone(now, name),
            "NodeClaim" => self.recorder.claim_gone(now, name),
            _ => {
                let namespace = (!namespace.is_empty()).then_some(&**namespace);
                self.recorder.object_gone(now, kind, namespace, name);
            }
        }
    }

    /// Writes what of a pod's use is not written yet, and forgets it.
    fn measured(&mut self, now: Timestamp, key: &ObjectKey) {
        for (container, most) in self.usage.ended(key) {
            self.recorder.used(now, key, &container, most);
        }
    }

    fn pod(&mut self, now: Timestamp, object: &Value, is_another: bool) {
        let Some(Object::Pod(own)) = self.read(object) else { return };
        let pod: Pod = own.pod;
        if is_another || !pod.is_active() {
            self.measured(now, &pod.key);
        }
        if pod.is_active() {
            self.usage.sidecars(&pod.key, object);
        }
        let workload: Option<Text> = deployment_of(&pod);
        let workload = workload.as_deref().map(|name| (WorkloadKind::Deployment, name));
        self.recorder.pod(now, &pod, workload, how(object));
    }

    /// Writes a manifest where it is not what was written last, and says what is written now.
    fn manifest(&mut self, now: Timestamp, identity: &Identity, object: Value) -> String {
        let mut compared = stripped(object.clone());
        // A Node reports again and again that it is well.
        if let Some(status) = compared.get_mut("status").and_then(Value::as_object_mut) {
            status.remove("conditions");
        }
        let compared = compared.to_string();
        if self.known.get(identity).is_none_or(|known| known.written != compared) {
            self.recorder.object(now, object);
        }
        compared
    }

    fn read(&mut self, object: &Value) -> Option<Object> {
        let origin = Origin { file: "".into(), line: 0, json: None };
        let mut reader = Reader::default();
        reader.read_value(&manifests::Value::from_json(object), &origin);
        let read = reader.into_objects();
        if let Some(error) = read.errors.first() {
            let (kind, namespace, name) = identity(text(object, "/kind"), object);
            let name = format!("{kind} {namespace}/{name}");
            if self.unreadable.insert(name.clone()) {
                self.problems.push(format!("{name} is left out: {}", error.problem));
            }
        }
        read.objects.into_iter().map(|own| own.value).next()
    }
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn identity(kind: &str, object: &Value) -> Identity {
    let name = text(object, "/metadata/name");
    (kind.to_owned(), text(object, "/metadata/namespace").to_owned(), name.to_owned())
}

/// Items of a list do not say their kind.
fn name_kind(object: &mut Value, kind: &str) {
    if let Some(members) = object.as_object_mut() {
        members.entry("kind").or_insert_with(|| kind.into());
    }
}

/// How a pod ends, as far as its conditions tell.
fn how(pod: &Value) -> HowEnded {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let target = conditions
        .into_iter()
        .flatten()
        .find(|own| text(own, "/type") == "DisruptionTarget" && text(own, "/status") == "True");
    let reason = target.map_or("", |own| text(own, "/reason"));
    let known = DISRUPTED_BY.iter().find(|(own, _)| *own == reason);
    known.map_or(HowEnded::Deleted, |(_, how)| *how)
}

/// The region that Nodes say they are in.
pub fn region_of(nodes: &[Value]) -> Option<String> {
    let of = |own: &Value| {
        own.pointer("/metadata/labels")?.get(label::REGION)?.as_str().map(ToOwned::to_owned)
    };
    nodes.iter().find_map(of)
}
