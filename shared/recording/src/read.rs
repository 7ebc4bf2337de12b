//! Reads a recording. A line that is wrong is reported with its number, and costs nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use domain::pod::{ObjectKey, Owner, OwnerKind, Pod};
use domain::resource::{CPU, MEMORY, Resources};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp};
use manifests::{Object, Origin, Reader};
use serde_json::json;

use crate::document::{API_VERSION, Fact, Header, HowEnded, KIND, PodFact, SpecFact, UsedFact};
use crate::value::{
    ContainerUse, ObjectChange, PodEnd, RecordedEnd, RecordedObject, RecordedPod, Recording,
};

/// Why a text is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The first line is not the header.
    #[error("{file} is no recording: its first line is no header ({why})")]
    NoHeader {
        /// The file.
        file: Arc<str>,
        /// What the line is, or lacks.
        why: String,
    },
}

/// What is wrong with one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineProblem {
    /// The file.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, in words.
    pub what: String,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.what, self.file, self.line)
    }
}

/// A recording, and what of its text was left out.
#[derive(Debug)]
pub struct ReadRecording {
    /// What the other lines say.
    pub recording: Recording,
    /// Lines that were left out, in their order.
    pub problems: Vec<LineProblem>,
}

/// What editors of some systems begin UTF-8 with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads the text of a file.
pub fn read(file: &str, text: &str) -> Result<ReadRecording, RecordingError> {
    let file: Arc<str> = file.into();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let (header, start) = header(&file, lines.next().map_or("", |(_, line)| line))?;
    let mut reading = Reading {
        file,
        start,
        recording: Recording {
            header,
            start,
            length: SignedDuration::ZERO,
            pods: Vec::new(),
            objects: Vec::new(),
            manifests: Vec::new(),
            nodes: Vec::new(),
            nodes_gone: Vec::new(),
            claims: Vec::new(),
            claims_gone: Vec::new(),
        },
        specs: BTreeMap::new(),
        pods: BTreeMap::new(),
        problems: Vec::new(),
        objects: None,
    };
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(fact) => reading.fact(number, fact),
            Err(error) => reading.problem(number, format!("not a fact: {}", without_place(&error))),
        }
    }
    reading.finish_objects();
    let Reading { mut recording, mut problems, .. } = reading;
    problems.sort_by_key(|own| own.line);
    recording.pods.sort_by_key(|own| own.created);
    recording.objects.sort_by_key(|own| own.at);
    Ok(ReadRecording { recording, problems })
}

fn header(file: &Arc<str>, line: &str) -> Result<(Header, Timestamp), RecordingError> {
    let no_header = |why: String| RecordingError::NoHeader { file: file.clone(), why };
    let header: Header =
        serde_json::from_str(line).map_err(|error| no_header(without_place(&error)))?;
    if (&*header.kind, &*header.api_version) != (KIND, API_VERSION) {
        return Err(no_header(format!(
            "it is {} of {}, not {KIND} of {API_VERSION}",
            header.kind, header.api_version
        )));
    }
    let start = header.start.parse().map_err(|error| no_header(format!("start: {error}")))?;
    Ok((header, start))
}

/// An error of serde_json without its line, which is always the first of the text it was given.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// What pods have in common, as it was read.
type Template = Pod;

struct Reading {
    file: Arc<str>,
    start: Timestamp,
    recording: Recording,
    specs: BTreeMap<u64, Template>,
    /// Pods by id.
    pods: BTreeMap<u64, usize>,
    problems: Vec<LineProblem>,
    /// Objects of one moment: those of older versions are converted together.
    objects: Option<(i64, Reader)>,
}

impl Reading {
    fn problem(&mut self, line: usize, what: String) {
        self.problems.push(LineProblem { file: self.file.clone(), line, what });
    }

    fn fact(&mut self, line: usize, fact: Fact) {
        if let Some(at) = fact.at() {
            let length = &mut self.recording.length;
            *length = (*length).max(SignedDuration::from_millis(at));
        }
        match fact {
            Fact::Spec(own) => self.spec(line, &own),
            Fact::Pod(own) => self.pod(line, own),
            Fact::Bound(own) => match self.pod_of(line, own.id) {
                None => {}
                Some(pod) if pod.bound.is_some() => {
                    self.problem(line, format!("pod {} is bound already", own.id));
                }
                Some(pod) => {
                    let node = own.node.as_str().into();
                    pod.bound = Some((SignedDuration::from_millis(own.at), node));
                }
            },
            Fact::Ended(own) => {
                let how = match (own.how, own.ran) {
                    (HowEnded::Succeeded | HowEnded::Failed, Some(ran)) => {
                        PodEnd::Finished(SignedDuration::from_millis(ran.max(0)))
                    }
                    (HowEnded::Succeeded | HowEnded::Failed | HowEnded::Deleted, _) => {
                        PodEnd::Deleted
                    }
                    (HowEnded::Evicted | HowEnded::Lost, _) => PodEnd::Displaced,
                };
                match self.pod_of(line, own.id) {
                    None => {}
                    Some(pod) if pod.end.is_some() => {
                        self.problem(line, format!("pod {} has ended already", own.id));
                    }
                    Some(pod) => {
                        pod.end =
                            Some(RecordedEnd { at: SignedDuration::from_millis(own.at), how });
                    }
                }
            }
            Fact::Used(own) => self.used(line, &own),
            Fact::Node(own) => self.recording.nodes.push(own),
            Fact::NodeGone(own) => self.recording.nodes_gone.push(own),
            Fact::Claim(own) => self.recording.claims.push(own),
            Fact::ClaimGone(own) => self.recording.claims_gone.push(own),
            Fact::Object(own) => {
                if self.objects.as_ref().is_some_and(|(at, _)| *at != own.at) {
                    self.finish_objects();
                }
                let origin = self.origin(line);
                let (_, reader) = self.objects.get_or_insert_with(|| (own.at, Reader::default()));
                reader.read_value(&manifests::Value::from_json(&own.object), &origin);
                self.recording.manifests.push(own.object);
            }
            Fact::ObjectGone(own) => {
                self.finish_objects();
                let change = ObjectChange::Gone {
                    kind: own.kind.into(),
                    namespace: own.namespace.map(Text::from),
                    name: own.name.into(),
                };
                let at = SignedDuration::from_millis(own.at);
                self.recording.objects.push(RecordedObject { at, change });
            }
            Fact::Stopped(_) => {}
        }
    }

    fn used(&mut self, line: usize, own: &UsedFact) {
        let Some(pod) = self.pod_of(line, own.id) else { return };
        let mut most = Resources::new();
        for (name, amount) in [(CPU, own.cpu_millis), (MEMORY, own.memory_bytes)] {
            if let Some(amount) = amount {
                most.set(&name.into(), amount);
            }
        }
        let Some(name) = &own.container else {
            pod.used.raise_to(&most);
            return;
        };
        let container = pod
            .containers
            .entry(name.as_str().into())
            .or_insert_with(|| ContainerUse { used: Resources::new(), is_sidecar: own.sidecar });
        container.used.raise_to(&most);
        // Containers may have used their most at different moments: together they used no more.
        let mut together = Resources::new();
        for own in pod.containers.values() {
            together.add(&own.used);
        }
        pod.used.raise_to(&together);
    }

    fn pod_of(&mut self, line: usize, id: u64) -> Option<&mut RecordedPod> {
        let Some(index) = self.pods.get(&id) else {
            self.problem(line, format!("no line before tells of pod {id}"));
            return None;
        };
        self.recording.pods.get_mut(*index)
    }

    fn spec(&mut self, line: usize, own: &SpecFact) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": format!("spec-{}", own.id),
                "namespace": "default",
                "labels": own.labels,
                "annotations": own.annotations,
            },
            "spec": own.spec,
        });
        let mut reader = Reader::default();
        reader.read_value(&manifests::Value::from_json(&object), &self.origin(line));
        for object in self.objects(reader) {
            if let Object::Pod(pod) = object {
                self.specs.insert(own.id, pod.pod);
            }
        }
    }

    fn origin(&self, line: usize) -> Origin<'static> {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        Origin { file: self.file.clone(), line, json: None }
    }

    fn objects(&mut self, reader: Reader) -> Vec<Object> {
        let read = reader.into_objects();
        for error in &read.errors {
            let field = error.place.field.as_ref();
            let field = field.map_or_else(String::new, |field| format!(", field {field}"));
            let line = usize::try_from(error.place.line).unwrap_or(usize::MAX);
            self.problem(line, format!("{}{field}", error.problem));
        }
        read.objects.into_iter().map(|located| located.value).collect()
    }

    fn finish_objects(&mut self) {
        let Some((at, reader)) = self.objects.take() else { return };
        let at = SignedDuration::from_millis(at);
        for object in self.objects(reader) {
            let change = ObjectChange::Applied(Box::new(object));
            self.recording.objects.push(RecordedObject { at, change });
        }
    }

    fn pod(&mut self, line: usize, own: PodFact) {
        let Some(template) = self.specs.get(&own.spec).cloned() else {
            self.problem(line, format!("no line before tells of spec {}", own.spec));
            return;
        };
        let owner = match own.owner.as_deref().map(owner) {
            None => None,
            Some(Some(owner)) => Some(owner),
            Some(None) => {
                self.problem(line, "owner is not KIND/NAME".to_owned());
                return;
            }
        };
        let workload = match own.workload.as_deref().map(workload) {
            None => None,
            Some(Some(workload)) => Some(workload),
            Some(None) => {
                self.problem(line, "workload is not KIND/NAME of a workload".to_owned());
                return;
            }
        };
        if self.pods.insert(own.id, self.recording.pods.len()).is_some() {
            self.problem(line, format!("another pod has the id {}", own.id));
        }
        let namespace = own.namespace.unwrap_or_else(|| "default".to_owned());
        let created = SignedDuration::from_millis(own.at);
        let pod = Pod {
            key: ObjectKey::new(namespace, own.name),
            uid: own.uid.unwrap_or_default().into(),
            created: self.start.checked_add(created).ok(),
            owner,
            ..template
        };
        self.recording.pods.push(RecordedPod {
            created,
            pod,
            workload,
            bound: None,
            end: None,
            used: Resources::default(),
            containers: BTreeMap::new(),
        });
    }
}

fn owner(text: &str) -> Option<Owner> {
    let (kind, name) = text.split_once('/')?;
    let kind = match kind {
        "DaemonSet" => OwnerKind::DaemonSet,
        "Deployment" => OwnerKind::Deployment,
        "ReplicaSet" => OwnerKind::ReplicaSet,
        "StatefulSet" => OwnerKind::StatefulSet,
        "Job" => OwnerKind::Job,
        "Node" => OwnerKind::Node,
        "ReplicationController" => OwnerKind::ReplicationController,
        _ => OwnerKind::Other,
    };
    (!name.is_empty()).then(|| Owner { kind, name: name.into(), uid: "".into() })
}

fn workload(text: &str) -> Option<(WorkloadKind, Text)> {
    let (kind, name) = text.split_once('/')?;
    Some((kind.parse().ok()?, name.into()))
}
