//! A recording made of an API server's audit log: `audit.k8s.io/v1` Events as JSON Lines, with
//! bodies (level `RequestResponse`) of pods, their bindings and evictions, and of the other objects
//! that scheduling depends on.
//!
//! Source: <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>.

use std::collections::BTreeSet;

use domain::pod::{ObjectKey, Pod};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text, Timestamp};
use manifests::{Object, Origin, Reader};
use serde::Deserialize;
use serde_json::Value;

use crate::document::{Header, HowEnded};
use crate::pseudonym::Pseudonyms;
use crate::read::LineProblem;
use crate::recorder::Recorder;

/// The label by which a Deployment tells the pods of its ReplicaSets apart.
const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// Resources of objects that are recorded by their manifests, with their kinds.
const OBJECTS: [(&str, &str); 16] = [
    ("nodepools", "NodePool"),
    ("ec2nodeclasses", "EC2NodeClass"),
    ("nodeoverlays", "NodeOverlay"),
    ("daemonsets", "DaemonSet"),
    ("poddisruptionbudgets", "PodDisruptionBudget"),
    ("persistentvolumeclaims", "PersistentVolumeClaim"),
    ("persistentvolumes", "PersistentVolume"),
    ("storageclasses", "StorageClass"),
    ("priorityclasses", "PriorityClass"),
    ("namespaces", "Namespace"),
    ("capacitybuffers", "CapacityBuffer"),
    ("scaledobjects", "ScaledObject"),
    ("prewarmschedules", "PrewarmSchedule"),
    ("clusterlimits", "ClusterLimit"),
    ("commitments", "Commitment"),
    ("nodes", "Node"),
];

/// Why an audit log makes no recording.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// No line of it tells of a pod.
    #[error(
        "{0} holds no event that tells of a pod: events of pods need the level RequestResponse"
    )]
    NoPod(String),
    /// A line cannot be written.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
}

/// What is read of an event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    stage: String,
    verb: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
    request_object: Option<Value>,
    response_object: Option<Value>,
    stage_timestamp: Option<String>,
    request_received_timestamp: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct ResponseStatus {
    code: Option<u16>,
}

/// Makes a recording of an audit log. Events that say nothing of scheduling are passed over, lines
/// that are no events are left out and reported.
pub fn import(
    file: &str,
    text: &str,
    header: Header,
    pseudonyms: Option<Pseudonyms>,
) -> Result<(String, Vec<LineProblem>), AuditError> {
    let mut problems = Vec::new();
    let mut events: Vec<(Timestamp, ObjectRef, usize, Event)> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Event>(line) {
            Ok(mut event) => {
                let at = event.at();
                if let (Some(at), Some(of)) = (at, event.object_ref.take())
                    && event.took_effect()
                {
                    events.push((at, of, index + 1, event));
                }
            }
            Err(error) => {
                let what = format!("no event of an audit log: {error}");
                problems.push(LineProblem { file: file.into(), line: index + 1, what });
            }
        }
    }
    events.sort_by_key(|(at, ..)| *at);
    let is_of_pod = |of: &ObjectRef| of.resource == "pods";
    let start = events.iter().find(|(_, of, ..)| is_of_pod(of)).and(events.first());
    let Some(start) = start.map(|(at, ..)| *at) else {
        return Err(AuditError::NoPod(file.to_owned()));
    };
    let end = events.last().map_or(start, |(at, ..)| *at);
    let mut log =
        Log { recorder: Recorder::new(start, header, pseudonyms), evicted: BTreeSet::new() };
    for (at, of, line, event) in events {
        if let Err(what) = log.event(at, &of, event) {
            problems.push(LineProblem { file: file.into(), line, what });
        }
    }
    log.recorder.stop(end.max(start + SignedDuration::from_secs(1)));
    problems.sort_by_key(|own| own.line);
    Ok((log.recorder.take()?, problems))
}

impl Event {
    /// When it was answered.
    fn at(&self) -> Option<Timestamp> {
        let at = self.stage_timestamp.as_ref().or(self.request_received_timestamp.as_ref());
        at?.parse().ok()
    }

    /// A response was sent, and it was no refusal.
    fn took_effect(&self) -> bool {
        let code = self.response_status.as_ref().and_then(|status| status.code).unwrap_or(200);
        let writes = ["create", "update", "patch", "delete"].contains(&&*self.verb);
        writes
            && (self.stage.is_empty() || self.stage == "ResponseComplete")
            && (200..300).contains(&code)
    }
}

struct Log {
    recorder: Recorder,
    /// Pods whose eviction was granted.
    evicted: BTreeSet<ObjectKey>,
}

impl Log {
    fn event(&mut self, at: Timestamp, of: &ObjectRef, event: Event) -> Result<(), String> {
        let key = ObjectKey::new(of.namespace.as_str(), of.name.as_str());
        match (&*of.resource, &*of.subresource, &*event.verb) {
            ("pods", "binding", "create") => {
                let target = event.request_object.or(event.response_object);
                let node = target.as_ref().and_then(|own| own.pointer("/target/name"));
                let node = node.and_then(Value::as_str).ok_or("the binding has no target")?;
                self.recorder.bound(at, &key, node);
            }
            ("pods", "eviction", "create") => {
                self.evicted.insert(key.clone());
                self.recorder.pod_gone(at, &key, HowEnded::Evicted);
            }
            ("pods", "", "delete") => {
                let was_evicted = self.evicted.remove(&key);
                let how = if was_evicted { HowEnded::Evicted } else { HowEnded::Deleted };
                self.recorder.pod_gone(at, &key, how);
            }
            ("pods", "" | "status", _) => {
                // A dry run, or a log of level Metadata.
                let Some(body) = event.response_object else { return Ok(()) };
                let pod = pod(body)?;
                let workload = deployment_of(&pod);
                let workload = workload.as_ref().map(|name| (WorkloadKind::Deployment, &**name));
                self.recorder.pod(at, &pod, workload, HowEnded::Deleted);
            }
            (resource, "", verb) => {
                let Some((_, kind)) = OBJECTS.iter().find(|(own, _)| *own == resource) else {
                    return Ok(());
                };
                if verb == "delete" {
                    let namespace = (!of.namespace.is_empty()).then_some(&*of.namespace);
                    self.recorder.object_gone(at, kind, namespace, &of.name);
                } else if let Some(mut body) = event.response_object {
                    // What an API server answers need not say its kind.
                    if let Some(members) = body.as_object_mut()
                        && !members.contains_key("kind")
                    {
                        members.insert("kind".to_owned(), (*kind).into());
                    }
                    self.recorder.object(at, body);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn pod(mut body: Value) -> Result<Pod, String> {
    if let Some(members) = body.as_object_mut() {
        members.insert("apiVersion".to_owned(), "v1".into());
        members.insert("kind".to_owned(), "Pod".into());
    }
    let origin = Origin { file: "".into(), line: 0, json: None };
    let mut reader = Reader::default();
    reader.read_value(&manifests::Value::from_json(&body), &origin);
    let read = reader.into_objects();
    if let Some(error) = read.errors.first() {
        return Err(error.problem.to_string());
    }
    match read.objects.into_iter().next().map(|own| own.value) {
        Some(Object::Pod(own)) => Ok(own.pod),
        _ => Err("the body is no pod".to_owned()),
    }
}

/// The Deployment of a pod's ReplicaSet, whose name is that of the Deployment and the hash of its
/// template.
pub(crate) fn deployment_of(pod: &Pod) -> Option<Text> {
    let owner = pod.owner.as_ref()?;
    let hash = pod.labels.get(POD_TEMPLATE_HASH)?;
    let name = owner.name.strip_suffix(&**hash)?.strip_suffix('-')?;
    (owner.kind == domain::pod::OwnerKind::ReplicaSet).then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::PodEnd;

    const LOG: &str = r#"
{"kind":"Event","stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:00:00.000000Z","objectRef":{"resource":"nodepools","name":"default"},"responseStatus":{"code":201},"responseObject":{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"default","managedFields":[]},"spec":{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[]}}}}}
{"kind":"Event","stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:01:00.000000Z","objectRef":{"resource":"pods","namespace":"shop"},"responseStatus":{"code":201},"responseObject":{"metadata":{"namespace":"shop","name":"web-5d9-abcde","uid":"u1","creationTimestamp":"2026-01-05T09:01:00Z","labels":{"app":"web","pod-template-hash":"5d9"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9","uid":"r","controller":true}]},"spec":{"containers":[{"name":"web","image":"x","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Pending"}}}
not json
{"kind":"Event","stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:01:02.000000Z","objectRef":{"resource":"pods","subresource":"binding","namespace":"shop","name":"web-5d9-abcde"},"responseStatus":{"code":201},"requestObject":{"target":{"kind":"Node","name":"n1"}}}
{"kind":"Event","stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:05:00.000000Z","objectRef":{"resource":"pods","subresource":"eviction","namespace":"shop","name":"web-5d9-abcde"},"responseStatus":{"code":429}}
{"kind":"Event","stage":"ResponseComplete","verb":"create","stageTimestamp":"2026-01-05T09:06:00.000000Z","objectRef":{"resource":"pods","subresource":"eviction","namespace":"shop","name":"web-5d9-abcde"},"responseStatus":{"code":201}}
{"kind":"Event","stage":"ResponseComplete","verb":"delete","stageTimestamp":"2026-01-05T09:06:30.000000Z","objectRef":{"resource":"pods","namespace":"shop","name":"web-5d9-abcde"},"responseStatus":{"code":200}}
"#;

    #[test]
    fn an_audit_log_tells_when_pods_came_were_bound_and_went() {
        let (text, problems) = import("audit.log", LOG, Header::default(), None).unwrap();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].ends_with("(audit.log:4)"), "{problems:?}");
        let read = crate::read("r", &text).unwrap();
        assert_eq!(read.problems, []);
        let recording = read.recording;
        let [own] = recording.pods.as_slice() else { panic!("{:?}", recording.pods) };
        let seconds = SignedDuration::from_secs;
        assert_eq!(own.created, seconds(60));
        assert_eq!(own.bound, Some((seconds(62), "n1".into())));
        let end = own.end.unwrap();
        assert_eq!((end.at, end.how), (seconds(360), PodEnd::Displaced), "the refused one is none");
        assert_eq!(own.workload, Some((WorkloadKind::Deployment, "web".into())));
        assert_eq!(recording.objects.len(), 1);
    }

    #[test]
    fn a_log_without_pods_is_an_error() {
        let error = import("audit.log", "", Header::default(), None).unwrap_err();
        assert!(error.to_string().contains("audit.log holds no event"), "{error}");
    }
}
