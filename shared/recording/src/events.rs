//! A recording made of Kubernetes' own Event objects, where neither a watch nor an audit log is to
//! be had: as `kubectl get events -A -o json` prints them, or one Event a line.
//!
//! Events name pods, and say neither what those request nor, for good, who owns them. Both are
//! taken from the cluster's other objects: the workload that an owner's Event names, or that a
//! pod's name begins with, and its template.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/>.

use std::collections::BTreeMap;

use domain::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::Header;
use crate::live::LiveRecorder;
use crate::pseudonym::Pseudonyms;
use crate::read::LineProblem;

/// Controllers that say which pods they make and delete: `Created pod: web-5d9-x7k2p`.
const CREATED: &str = "Created pod: ";
const DELETED: &str = "Deleted pod: ";
/// Reasons of Events of a pod that is driven off its node, with whose words they are.
///
/// Source: kubelet's eviction manager, the taint manager, kube-scheduler and Karpenter.
const DRIVEN_OFF: [&str; 4] = ["Evicted", "TaintManagerEviction", "Preempted", "Preempting"];
/// Kinds whose pods come from a template of theirs.
const WITH_TEMPLATE: [&str; 5] = ["ReplicaSet", "Deployment", "StatefulSet", "Job", "CronJob"];
/// Kinds that a recording holds by their manifests.
const RECORDED: [&str; 15] = [
    "NodePool",
    "EC2NodeClass",
    "NodeOverlay",
    "DaemonSet",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "PriorityClass",
    "Namespace",
    "CapacityBuffer",
    "ScaledObject",
    "PrewarmSchedule",
    "ClusterLimit",
    "Commitment",
];

/// Why Events make no recording.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// None tells of a pod whose requests are known.
    #[error(
        "{0} holds no Event of a pod that an object given with -f says the requests of: give the \
         Deployments, StatefulSets and Jobs of the cluster"
    )]
    NoPod(String),
    /// A line cannot be written.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    metadata: Metadata,
    #[serde(alias = "regarding", default)]
    involved_object: Reference,
    #[serde(default)]
    reason: String,
    #[serde(alias = "note", default)]
    message: String,
    #[serde(rename = "eventTime")]
    micro_time: Option<String>,
    #[serde(alias = "deprecatedFirstTimestamp")]
    first_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    creation_timestamp: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Reference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

impl Event {
    fn at(&self) -> Option<Timestamp> {
        let times = [&self.micro_time, &self.first_timestamp, &self.metadata.creation_timestamp];
        times.into_iter().flatten().find_map(|own| own.parse().ok())
    }

    /// What it says of a pod, and which.
    fn reported(&self) -> Option<(PodName, Report)> {
        let of = &self.involved_object;
        let named = |name: &str| (of.namespace.clone(), name.to_owned());
        let own = || named(&of.name);
        let message = self.message.trim();
        // Events of one kind are put together where there are many: the last pod is named.
        let message = message.strip_prefix("(combined from similar events): ").unwrap_or(message);
        match (&*of.kind, &*self.reason) {
            ("Pod", "Scheduled") => {
                let (_, node) = message.rsplit_once(" to ")?;
                Some((own(), Report::Bound(node.trim().to_owned())))
            }
            // A container that failed its probe is restarted, and the pod stays.
            ("Pod", "Killing") if message.starts_with("Stopping container") => {
                Some((own(), Report::Gone))
            }
            ("Pod", reason) if DRIVEN_OFF.contains(&reason) => Some((own(), Report::DrivenOff)),
            ("StatefulSet", "SuccessfulCreate") => {
                // "create Pod web-0 in StatefulSet web successful"
                let mut words = message.split_whitespace().skip_while(|word| *word != "Pod");
                words.nth(1).map(|name| (named(name), Report::Created(of.clone())))
            }
            ("StatefulSet", "SuccessfulDelete") => {
                let mut words = message.split_whitespace().skip_while(|word| *word != "Pod");
                words.nth(1).map(|name| (named(name), Report::Gone))
            }
            (_, "SuccessfulCreate") => {
                let name = message.strip_prefix(CREATED)?;
                Some((named(name.trim()), Report::Created(of.clone())))
            }
            (_, "SuccessfulDelete") => {
                message.strip_prefix(DELETED).map(|name| (named(name.trim()), Report::Gone))
            }
            ("Job", "Completed") => Some((own(), Report::JobCompleted)),
            _ => None,
        }
    }
}

/// Namespace and name.
type PodName = (String, String);

/// What an Event says of a pod.
#[derive(Clone, Debug)]
enum Report {
    /// Its owner made it.
    Created(Reference),
    /// It was bound to a node.
    Bound(String),
    /// It is driven off its node, and ends soon.
    DrivenOff,
    /// It ends: somebody deleted it.
    Gone,
    /// All pods of a Job, which stands in place of the pod, have done their work.
    JobCompleted,
}

/// Makes a recording of Events and of the objects of their cluster. What is no Event is left out
/// and reported, and so are pods of which no object says what they request.
pub fn import(
    file: &str,
    text: &str,
    objects: Vec<Value>,
    header: Header,
    pseudonyms: Option<Pseudonyms>,
) -> Result<(String, Vec<LineProblem>), EventsError> {
    let (events, mut problems) = read(file, text);
    let mut reported: Vec<(Timestamp, PodName, Report)> = events
        .iter()
        .filter_map(|event| {
            event.reported().and_then(|(pod, reported)| Some((event.at()?, pod, reported)))
        })
        .collect();
    // Of one moment in the order of a pod's life.
    let order = |reported: &Report| match reported {
        Report::Created(_) => 0,
        Report::Bound(_) => 1,
        Report::DrivenOff => 2,
        Report::Gone | Report::JobCompleted => 3,
    };
    reported.sort_by(|one, other| {
        one.0.cmp(&other.0).then(order(&one.2).cmp(&order(&other.2))).then(one.1.cmp(&other.1))
    });
    let (Some(start), Some(end)) =
        (reported.first().map(|own| own.0), reported.last().map(|own| own.0))
    else {
        return Err(EventsError::NoPod(file.to_owned()));
    };
    let mut log = Log {
        recorder: LiveRecorder::new(start, header, pseudonyms),
        templates: Templates::of(&objects),
        pods: BTreeMap::new(),
        unknown: BTreeMap::new(),
        count: 0,
    };
    for object in objects {
        let kind = text_at(&object, "/kind").to_owned();
        if RECORDED.contains(&&*kind) {
            log.recorder.applied(start, &kind, object);
        }
    }
    for (at, pod, reported) in reported {
        log.reported(at, pod, reported);
    }
    if log.count == 0 {
        return Err(EventsError::NoPod(file.to_owned()));
    }
    let mut left_out: Vec<String> = log.recorder.problems();
    left_out.extend(log.unknown.iter().map(|(of, count)| {
        let events = if *count == 1 { "Event" } else { "Events" };
        format!("{of}: {count} {events} of pods left out, no object says what those request")
    }));
    problems.extend(left_out.into_iter().map(|what| LineProblem {
        file: file.into(),
        line: 1,
        what,
    }));
    log.recorder.stop(end.max(start + SignedDuration::from_secs(1)));
    Ok((log.recorder.take()?, problems))
}

/// Events of a List, or one a line.
fn read(file: &str, text: &str) -> (Vec<Event>, Vec<LineProblem>) {
    let mut problems = Vec::new();
    let mut events = Vec::new();
    let whole: Option<Value> = serde_json::from_str(text).ok();
    let values: Vec<(usize, Result<Value, serde_json::Error>)> = if let Some(Value::Array(items)) =
        whole.and_then(|mut own| own.get_mut("items").map(Value::take))
    {
        items.into_iter().map(|own| (1, Ok(own))).collect()
    } else {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(index, line)| (index + 1, serde_json::from_str(line))).collect()
    };
    for (line, value) in values {
        match value.and_then(serde_json::from_value::<Event>) {
            Ok(event) => events.push(event),
            Err(error) => {
                let what = format!("no Event: {error}");
                problems.push(LineProblem { file: file.into(), line, what });
            }
        }
    }
    (events, problems)
}

/// A pod that was reported of.
struct Known {
    object: Value,
    owner: Option<Reference>,
    driven_off: bool,
}

struct Log {
    recorder: LiveRecorder,
    templates: Templates,
    pods: BTreeMap<PodName, Known>,
    /// Events of pods that nothing says the requests of, by owner or name.
    unknown: BTreeMap<String, usize>,
    count: usize,
}

impl Log {
    fn reported(&mut self, at: Timestamp, pod: PodName, reported: Report) {
        match reported {
            Report::Created(owner) => self.came(at, pod, Some(owner)),
            Report::Bound(node) => {
                if !self.pods.contains_key(&pod) {
                    self.came(at, pod.clone(), None);
                }
                let Some(known) = self.pods.get_mut(&pod) else { return };
                known.object["spec"]["nodeName"] = json!(node);
                known.object["status"] = json!({"phase": "Running", "startTime": at.to_string()});
                self.recorder.applied(at, "Pod", known.object.clone());
            }
            Report::DrivenOff => {
                if let Some(known) = self.pods.get_mut(&pod) {
                    known.driven_off = true;
                }
            }
            Report::Gone => {
                let Some(mut known) = self.pods.remove(&pod) else { return };
                if known.driven_off {
                    known.object["status"]["conditions"] = json!([{
                        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    }]);
                }
                self.recorder.gone(at, "Pod", &known.object);
            }
            Report::JobCompleted => {
                let (namespace, job) = pod;
                let is_of_job = |(own, known): (&PodName, &Known)| {
                    let owner = known.owner.as_ref();
                    let is_owner = owner.is_some_and(|of| of.kind == "Job" && of.name == job);
                    (own.0 == namespace && is_owner).then(|| own.clone())
                };
                let pods: Vec<PodName> = self.pods.iter().filter_map(is_of_job).collect();
                for own in pods {
                    let Some(mut known) = self.pods.remove(&own) else { continue };
                    known.object["status"]["phase"] = json!("Succeeded");
                    self.recorder.applied(at, "Pod", known.object);
                }
            }
        }
    }

    fn came(&mut self, at: Timestamp, pod: PodName, owner: Option<Reference>) {
        let found = match &owner {
            Some(owner) if owner.kind == "DaemonSet" => return,
            Some(owner) => self.templates.of_owner(owner).map(|template| (owner.clone(), template)),
            None => self.templates.of_name(&pod),
        };
        let Some((owner, template)) = found else {
            let of = match owner {
                Some(owner) => format!("{} {}/{}", owner.kind, owner.namespace, owner.name),
                None => format!("Pod {}/{}", pod.0, pod.1),
            };
            *self.unknown.entry(of).or_default() += 1;
            return;
        };
        self.count += 1;
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "namespace": pod.0,
                "name": pod.1,
                "uid": format!("event-{}", self.count),
                "creationTimestamp": at.to_string(),
                "labels": template.pointer("/metadata/labels").cloned().unwrap_or_default(),
                "annotations": template.pointer("/metadata/annotations").cloned().unwrap_or_default(),
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": owner.kind, "name": owner.name,
                    "uid": format!("{}/{}", owner.kind, owner.name), "controller": true,
                }],
            },
            "spec": template.get("spec").cloned().unwrap_or_default(),
            "status": {"phase": "Pending"},
        });
        if owner.kind == "ReplicaSet"
            && let Some((_, hash)) = owner.name.rsplit_once('-')
        {
            if object["metadata"]["labels"].is_null() {
                object["metadata"]["labels"] = json!({});
            }
            object["metadata"]["labels"]["pod-template-hash"] = json!(hash);
        }
        self.recorder.applied(at, "Pod", object.clone());
        let known = Known { object, owner: Some(owner), driven_off: false };
        self.pods.insert(pod, known);
    }
}

/// Pod templates by kind, namespace and name of the object that has them.
struct Templates(BTreeMap<(String, PodName), Value>);

impl Templates {
    fn of(objects: &[Value]) -> Self {
        let mut own = BTreeMap::new();
        for object in objects {
            let kind = text_at(object, "/kind");
            let pointer = match kind {
                "CronJob" => "/spec/jobTemplate/spec/template",
                _ => "/spec/template",
            };
            if WITH_TEMPLATE.contains(&kind)
                && let Some(template) = object.pointer(pointer)
            {
                let namespace = match text_at(object, "/metadata/namespace") {
                    "" => "default",
                    own => own,
                };
                let name = (namespace.to_owned(), text_at(object, "/metadata/name").to_owned());
                own.insert((kind.to_owned(), name), template.clone());
            }
        }
        Self(own)
    }

    fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = (kind.to_owned(), (namespace.to_owned(), name.to_owned()));
        self.0.get(&key).cloned()
    }

    /// That of an owner, or of the workload above it, whose name is the owner's but for what the
    /// controller put behind it.
    fn of_owner(&self, owner: &Reference) -> Option<Value> {
        let Reference { kind, namespace, name } = owner;
        let above = || {
            let above = match &**kind {
                "ReplicaSet" => "Deployment",
                "Job" => "CronJob",
                _ => return None,
            };
            self.get(above, namespace, name.rsplit_once('-')?.0)
        };
        self.get(kind, namespace, name).or_else(above)
    }

    /// That of the owner that a pod's name begins with.
    fn of_name(&self, (namespace, name): &PodName) -> Option<(Reference, Value)> {
        let owner = name.rsplit_once('-')?.0;
        ["ReplicaSet", "StatefulSet", "Job"].into_iter().find_map(|kind| {
            let owner = Reference {
                kind: kind.to_owned(),
                namespace: namespace.clone(),
                name: owner.to_owned(),
            };
            self.of_owner(&owner).map(|template| (owner, template))
        })
    }
}

fn text_at<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::PodEnd;

    fn event(kind: &str, name: &str, reason: &str, minute: i64, message: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "shop"},
            "involvedObject": {"kind": kind, "namespace": "shop", "name": name},
            "reason": reason, "message": message,
            "firstTimestamp": format!("2026-01-05T09:{minute:02}:00Z"),
        })
    }

    fn workload(kind: &str, name: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"namespace": "shop", "name": name},
            "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": {
                "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}],
            }}},
        })
    }

    fn recorded(events: &[Value], objects: Vec<Value>) -> (crate::Recording, Vec<String>) {
        let list = json!({"kind": "List", "items": events}).to_string();
        let (text, problems) = import("e.json", &list, objects, Header::default(), None).unwrap();
        let read = crate::read("r", &text).unwrap();
        assert_eq!(read.problems, []);
        (read.recording, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn events_and_the_workloads_they_name_tell_of_pods_lives() {
        let events = [
            event("ReplicaSet", "web-5d9", "SuccessfulCreate", 0, "Created pod: web-5d9-abcde"),
            event(
                "Pod",
                "web-5d9-abcde",
                "Scheduled",
                1,
                "Successfully assigned shop/web-5d9-abcde to n1",
            ),
            event("Pod", "web-5d9-abcde", "Evicted", 8, "Evicted pod: Underutilized"),
            event("Pod", "web-5d9-abcde", "Killing", 9, "Stopping container main"),
            event(
                "StatefulSet",
                "db",
                "SuccessfulCreate",
                2,
                "create Pod db-0 in StatefulSet db successful",
            ),
            event(
                "Pod",
                "db-0",
                "Killing",
                3,
                "Container main failed liveness probe, will be restarted",
            ),
            event(
                "Pod",
                "lone-6f7-x",
                "Scheduled",
                4,
                "Successfully assigned shop/lone-6f7-x to n1",
            ),
            event("DaemonSet", "agent", "SuccessfulCreate", 4, "Created pod: agent-x"),
        ];
        let objects = vec![workload("Deployment", "web"), workload("StatefulSet", "db")];
        let (recording, problems) = recorded(&events, objects);
        let [web, db] = recording.pods.as_slice() else { panic!("{:?}", recording.pods) };
        assert_eq!(web.pod.spec.requests.get("cpu"), 500);
        assert_eq!(web.workload.as_ref().map(|(_, name)| &**name), Some("web"));
        assert_eq!(web.bound, Some((SignedDuration::from_mins(1), "n1".into())));
        let end = web.end.unwrap();
        assert_eq!((end.at, end.how), (SignedDuration::from_mins(9), PodEnd::Displaced));
        assert_eq!((&*db.pod.key.name, db.end), ("db-0", None), "a restart ends no pod");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("Pod shop/lone-6f7-x: 1 Event"), "{problems:?}");
    }

    #[test]
    fn pods_of_a_job_end_by_themselves_when_it_completes() {
        let events = [
            event("Job", "report-28", "SuccessfulCreate", 0, "Created pod: report-28-x7k2p"),
            event(
                "Pod",
                "report-28-x7k2p",
                "Scheduled",
                1,
                "Successfully assigned shop/report-28-x7k2p to n1",
            ),
            event("Job", "report-28", "Completed", 6, "Job completed"),
        ];
        let mut cron = workload("CronJob", "report");
        cron["spec"] = json!({"jobTemplate": {"spec": cron["spec"]}});
        let (recording, problems) = recorded(&events, vec![cron]);
        assert_eq!(problems, Vec::<String>::new());
        let [own] = recording.pods.as_slice() else { panic!("{:?}", recording.pods) };
        let ran = SignedDuration::from_mins(5);
        assert_eq!(own.end.map(|end| end.how), Some(PodEnd::Finished(ran)));
    }

    #[test]
    fn events_of_unknown_pods_alone_are_an_error() {
        let lines = event("Pod", "x-1", "Scheduled", 0, "Successfully assigned shop/x-1 to n1");
        let error = import("e.json", &lines.to_string(), vec![], Header::default(), None);
        assert!(error.unwrap_err().to_string().starts_with("e.json holds no Event of a pod that"));
    }
}
