//! Writes a recording, line by line, from what is seen to happen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::label::Labels;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::pod::{DoNotDisrupt, ObjectKey, OwnerKind, Pod, PodSpec, VolumeUse};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp, label};
use manifests::{Object, Origin, Reader};
use serde::Serialize;
use serde_json::{Value, json};

use crate::document::{
    API_VERSION, BoundFact, ClaimFact, EndedFact, Fact, GoneFact, Header, HowEnded, KIND, NodeFact,
    ObjectFact, ObjectGoneFact, PodFact, SpecFact, StoppedFact, UsedFact,
};
use crate::manifest;
use crate::pseudonym::Pseudonyms;

/// Members of `metadata` that say something about an object's meaning.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// Members of a Node's `status` that scheduling depends on.
const NODE_STATUS: [&str; 3] = ["allocatable", "capacity", "conditions"];
/// Beginnings of annotations that scheduling or disruption depends on.
const ANNOTATIONS: [&str; 3] = ["karpenter.sh/", "karpenter.k8s.aws/", "outrigger.dev/"];
const DEFAULT_NAMESPACE: &str = "default";

/// What pods with one specification have in common.
type SpecKey = (Arc<Labels>, Arc<PodSpec>, Option<DoNotDisrupt>, Option<i32>);

/// What is known of a pod whose life is being recorded.
#[derive(Debug)]
struct Life {
    id: u64,
    /// `metadata.uid` of the pod: another one may come under its name.
    uid: Text,
    is_bound: bool,
}

/// The most that a container used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerPeak {
    /// CPU, in millicores.
    pub cpu_millis: i64,
    /// Memory, in bytes.
    pub memory_bytes: i64,
    /// Whether it is one of the pod's `initContainers` that goes on running.
    pub is_sidecar: bool,
}

/// Writes the lines of one recording. It keeps what it needs to recognise pods, and no line that
/// was taken.
#[derive(Debug)]
pub struct Recorder {
    start: Timestamp,
    pseudonyms: Option<Pseudonyms>,
    with_uids: bool,
    lines: String,
    specs: BTreeMap<SpecKey, u64>,
    /// Pods that take room.
    lives: BTreeMap<ObjectKey, Life>,
    pods: u64,
    claims: BTreeSet<ObjectKey>,
    /// Nodes of no NodePool, which a replay has too.
    foreign_nodes: BTreeSet<String>,
    failed: Option<serde_json::Error>,
}

impl Recorder {
    /// Begins a recording; its first line is the header. `apiVersion`, `kind`, `start` and whether
    /// names are pseudonyms are filled in.
    pub fn new(start: Timestamp, header: Header, pseudonyms: Option<Pseudonyms>) -> Self {
        let mut recorder = Self {
            start,
            with_uids: false,
            lines: String::new(),
            specs: BTreeMap::new(),
            lives: BTreeMap::new(),
            pods: 0,
            claims: BTreeSet::new(),
            foreign_nodes: BTreeSet::new(),
            failed: None,
            pseudonyms,
        };
        recorder.line(&Header {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            start: start.to_string(),
            pseudonymised: recorder.pseudonyms.is_some(),
            ..header
        });
        recorder
    }

    /// Writes `metadata.uid` of pods too, from which simulations draw.
    pub fn with_uids(mut self) -> Self {
        self.with_uids = true;
        self
    }

    /// The lines written since the last call, each with its end.
    pub fn take(&mut self) -> Result<String, serde_json::Error> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.lines)),
        }
    }

    /// Takes note of a pod as it is now. `workload` is what it is a replica of, where that is not
    /// its owner; `how` says how it ended, if it has. Pods of DaemonSets and static pods belong to
    /// nodes and are passed over.
    pub fn pod(
        &mut self,
        now: Timestamp,
        pod: &Pod,
        workload: Option<(WorkloadKind, &str)>,
        how: HowEnded,
    ) {
        if pod.is_daemon() || pod.is_static() {
            return;
        }
        if self.lives.get(&pod.key).is_some_and(|life| life.uid != pod.uid) {
            self.ended(now, &pod.key, how, None);
        }
        if !self.lives.contains_key(&pod.key) {
            if !pod.is_active() {
                return;
            }
            let created = pod.created.map_or(now, |created| created.min(now));
            self.created(created, now, pod, workload);
        }
        let at = self.millis(now);
        if let Some(life) = self.lives.get_mut(&pod.key)
            && !life.is_bound
            && let Some(node) = &pod.node_name
        {
            life.is_bound = true;
            let id = life.id;
            let node = self.name(node);
            // When a pod that was there before was bound is not known.
            let at = if pod.created.is_some_and(|own| own < self.start) { at.min(0) } else { at };
            self.line(&Fact::Bound(BoundFact { at, id, node }));
        }
        if !pod.is_active() {
            let how = match pod.phase {
                domain::pod::PodPhase::Succeeded => HowEnded::Succeeded,
                domain::pod::PodPhase::Failed => HowEnded::Failed,
                _ => how,
            };
            let ran = pod.started.filter(|_| pod.is_terminal());
            self.ended(now, &pod.key, how, ran.map(|started| now.duration_since(started)));
        }
    }

    /// Takes note that a pod was bound to a node.
    pub fn bound(&mut self, now: Timestamp, key: &ObjectKey, node: &str) {
        let at = self.millis(now);
        let Some(life) = self.lives.get_mut(key).filter(|life| !life.is_bound) else { return };
        life.is_bound = true;
        let id = life.id;
        let node = self.name(node);
        self.line(&Fact::Bound(BoundFact { at, id, node }));
    }

    /// Takes note that a pod is gone.
    pub fn pod_gone(&mut self, now: Timestamp, key: &ObjectKey, how: HowEnded) {
        self.ended(now, key, how, None);
    }

    /// Whether a pod is being recorded: it was created, and has not ended.
    pub fn records(&self, key: &ObjectKey) -> bool {
        self.lives.contains_key(key)
    }

    /// Takes note of the most that a container of a pod used since this was said last.
    pub fn used(&mut self, now: Timestamp, key: &ObjectKey, container: &str, most: ContainerPeak) {
        let Some(life) = self.lives.get(key) else { return };
        let fact = UsedFact {
            at: self.millis(now),
            id: life.id,
            container: Some(self.name(container)),
            sidecar: most.is_sidecar,
            cpu_millis: Some(most.cpu_millis),
            memory_bytes: Some(most.memory_bytes),
        };
        self.line(&Fact::Used(fact));
    }

    fn created(
        &mut self,
        created: Timestamp,
        now: Timestamp,
        pod: &Pod,
        workload: Option<(WorkloadKind, &str)>,
    ) {
        self.claims_of(now, pod);
        let spec = self.spec_id(pod);
        self.pods += 1;
        let id = self.pods;
        let namespace = self.namespace(&pod.key.namespace);
        let owner = pod.owner.as_ref();
        let fact = PodFact {
            at: self.millis(created),
            id,
            namespace: (namespace != DEFAULT_NAMESPACE).then_some(namespace),
            name: self.pod_name(pod),
            spec,
            owner: owner.map(|own| format!("{}/{}", owner_kind(own.kind), self.name(&own.name))),
            workload: workload.map(|(kind, name)| format!("{}/{}", kind.as_str(), self.name(name))),
            uid: self.with_uids.then(|| pod.uid.to_string()),
        };
        self.line(&Fact::Pod(fact));
        let life = Life { id, uid: pod.uid.clone(), is_bound: false };
        self.lives.insert(pod.key.clone(), life);
    }

    /// Claims that a StatefulSet's template makes come with the first pod that uses them.
    fn claims_of(&mut self, now: Timestamp, pod: &Pod) {
        for volume in &pod.spec.volumes {
            let VolumeUse::Pvc { name, template: Some(template) } = volume else { continue };
            let key = ObjectKey::new(pod.key.namespace.clone(), name.clone());
            if self.claims.insert(key) {
                let claim = manifest::claim(&pod.key.namespace, name, template);
                self.object(now, claim);
            }
        }
    }

    fn spec_id(&mut self, pod: &Pod) -> u64 {
        let key = (pod.labels.clone(), pod.spec.clone(), pod.do_not_disrupt, pod.deletion_cost);
        if let Some(id) = self.specs.get(&key) {
            return *id;
        }
        let id = self.specs.len() as u64 + 1;
        self.specs.insert(key, id);
        let spec = manifest::spec(&pod.spec);
        let (labels, spec) = match &self.pseudonyms {
            None => {
                let own = pod.labels.iter();
                (own.map(|(key, value)| (key.to_string(), value.to_string())).collect(), spec)
            }
            Some(own) => {
                let labels = pod.labels.iter().map(|(key, value)| own.label(key, value));
                (labels.collect(), own.part(spec))
            }
        };
        let annotations = manifest::annotations(pod);
        self.line(&Fact::Spec(SpecFact { id, labels, annotations, spec }));
        id
    }

    fn ended(
        &mut self,
        now: Timestamp,
        key: &ObjectKey,
        how: HowEnded,
        ran: Option<SignedDuration>,
    ) {
        let Some(life) = self.lives.remove(key) else { return };
        let ran = ran.map(millis_of);
        self.line(&Fact::Ended(EndedFact { at: self.millis(now), id: life.id, how, ran }));
    }

    /// Takes note of a new Node.
    pub fn node(&mut self, now: Timestamp, node: &Node) {
        let label = |key: &str| node.labels.get(key).map(ToString::to_string);
        let fact = NodeFact {
            at: self.millis(now),
            name: self.name(&node.name),
            node_pool: label(label::NODE_POOL),
            instance_type: label(label::INSTANCE_TYPE),
            zone: label(label::ZONE),
            capacity_type: label(label::CAPACITY_TYPE),
        };
        self.line(&Fact::Node(fact));
    }

    /// Takes note that a Node is gone.
    pub fn node_gone(&mut self, now: Timestamp, name: &str) {
        if self.foreign_nodes.remove(name) {
            self.object_gone(now, "Node", None, name);
        }
        let name = self.name(name);
        self.line(&Fact::NodeGone(GoneFact { at: self.millis(now), name }));
    }

    /// Takes note of a new NodeClaim.
    pub fn claim(&mut self, now: Timestamp, claim: &NodeClaim) {
        let node_pool = claim.labels.get(label::NODE_POOL).map(ToString::to_string);
        let name = claim.name.to_string();
        self.line(&Fact::Claim(ClaimFact { at: self.millis(now), name, node_pool }));
    }

    /// Takes note that a NodeClaim is gone.
    pub fn claim_gone(&mut self, now: Timestamp, name: &str) {
        let name = name.to_owned();
        self.line(&Fact::ClaimGone(GoneFact { at: self.millis(now), name }));
    }

    /// Takes note of another object as it is now, by its manifest. Its status, and what of it means
    /// nothing to scheduling, is left out: a DaemonSet's images and environment among that. Of
    /// Nodes, those of no NodePool are such objects; what others there are follows from the pods.
    pub fn object(&mut self, now: Timestamp, object: Value) {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        if text("/kind") == Some("Node") {
            let labels = object.pointer("/metadata/labels");
            if labels.is_some_and(|labels| labels.get(label::NODE_POOL).is_some()) {
                return;
            }
            self.foreign_nodes.extend(text("/metadata/name").map(ToOwned::to_owned));
        }
        let object = stripped(object);
        let object = match &self.pseudonyms {
            None => object,
            Some(own) => own.manifest(object),
        };
        self.line(&Fact::Object(ObjectFact { at: self.millis(now), object }));
    }

    /// Takes note that another object is gone.
    pub fn object_gone(&mut self, now: Timestamp, kind: &str, namespace: Option<&str>, name: &str) {
        let mut of = json!({"kind": kind, "metadata": {"name": name}});
        if let Some(own) = &self.pseudonyms {
            of = own.manifest(of);
        }
        let name = of.pointer("/metadata/name").and_then(Value::as_str).unwrap_or(name);
        let fact = ObjectGoneFact {
            at: self.millis(now),
            kind: kind.to_owned(),
            namespace: namespace.map(|own| self.namespace(own)),
            name: name.to_owned(),
        };
        self.line(&Fact::ObjectGone(fact));
    }

    /// Ends the recording.
    pub fn stop(&mut self, now: Timestamp) {
        self.line(&Fact::Stopped(StoppedFact { at: self.millis(now) }));
    }

    fn name(&self, name: &str) -> String {
        self.pseudonyms.as_ref().map_or_else(|| name.to_owned(), |own| own.name(name))
    }

    fn pod_name(&self, pod: &Pod) -> String {
        let owner = pod.owner.as_ref().map(|owner| &*owner.name);
        let own = self.pseudonyms.as_ref();
        own.map_or_else(|| pod.key.name.to_string(), |own| own.pod_name(owner, &pod.key.name))
    }

    fn namespace(&self, name: &str) -> String {
        self.pseudonyms.as_ref().map_or_else(|| name.to_owned(), |own| own.namespace(name))
    }

    fn millis(&self, at: Timestamp) -> i64 {
        millis_of(at.duration_since(self.start))
    }

    fn line(&mut self, line: &impl Serialize) {
        match serde_json::to_string(line) {
            Ok(text) => {
                self.lines.push_str(&text);
                self.lines.push('\n');
            }
            Err(error) => self.failed = Some(error),
        }
    }
}

fn millis_of(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What an owner's kind is called.
pub(crate) const fn owner_kind(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::DaemonSet => "DaemonSet",
        OwnerKind::Deployment => "Deployment",
        OwnerKind::ReplicaSet => "ReplicaSet",
        OwnerKind::StatefulSet => "StatefulSet",
        OwnerKind::Job => "Job",
        OwnerKind::Node => "Node",
        OwnerKind::ReplicationController => "ReplicationController",
        OwnerKind::Other => "Other",
    }
}

/// A manifest without status and without what means nothing to scheduling.
pub(crate) fn stripped(mut object: Value) -> Value {
    let Some(members) = object.as_object_mut() else { return object };
    let status = members.remove("status");
    if let (Some("Node"), Some(Value::Object(mut status))) =
        (members.get("kind").and_then(Value::as_str), status)
    {
        status.retain(|key, _| NODE_STATUS.contains(&key.as_str()));
        members.insert("status".to_owned(), status.into());
    }
    if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
        metadata.retain(|key, _| METADATA.contains(&key.as_str()));
        if let Some(Value::Object(own)) = metadata.get_mut("annotations") {
            own.retain(|key, _| ANNOTATIONS.iter().any(|known| key.starts_with(known)));
        }
    }
    match object.get("kind").and_then(Value::as_str) {
        Some("DaemonSet") => daemon_set(&object).unwrap_or(object),
        _ => object,
    }
}

/// A DaemonSet with what its pods mean to scheduling only.
fn daemon_set(object: &Value) -> Option<Value> {
    let origin = Origin { file: "".into(), line: 0, json: None };
    let mut reader = Reader::default();
    reader.read_value(&manifests::Value::from_json(object), &origin);
    let read = reader.into_objects();
    let Some(Object::DaemonSet(own)) = read.objects.into_iter().map(|one| one.value).next() else {
        return None;
    };
    let template = &own.daemon_set.template;
    let mut spec = manifest::spec(&template.spec);
    // A class that the template names counts by its name: its value is looked up in a replay.
    let class = object.pointer("/spec/template/spec/priorityClassName");
    if let (Some(class), Some(spec)) = (class, spec.as_object_mut()) {
        spec.insert("priorityClassName".to_owned(), class.clone());
    }
    let labels: serde_json::Map<String, Value> =
        template.labels.iter().map(|(key, value)| (key.to_string(), json!(**value))).collect();
    Some(json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": object.get("metadata"),
        "spec": {
            "selector": {"matchLabels": labels.clone()},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }))
}
