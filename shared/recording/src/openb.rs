//! The pod list of the public trace "openb" as a recording.
//!
//! The trace is of a production cluster with GPUs: 8,152 tasks of 149 days with what they requested
//! and when they were created, scheduled and deleted.
//! Source: <https://github.com/hkust-adsl/kubernetes-scheduler-simulator>, `data/csv`, Apache-2.0.
//!
//! What the trace does not say is not made up, but for three things: a task is the one pod of a Job
//! of its name, so that one that is evicted is made again; its first second is the moment that the
//! caller names; and a task that requests part of a GPU gets a whole one, since Kubernetes counts
//! GPUs in units. `gpu_spec` and `qos` are not carried over.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::pod::{ObjectKey, Owner, OwnerKind, Pod, PodPhase, PodSpec};
use domain::resource::{CPU, MEMORY, NVIDIA_GPU, PODS, Resources};
use domain::{SignedDuration, Text, Timestamp};
use serde_json::Value;

use crate::document::{Header, HowEnded};
use crate::read::LineProblem;
use crate::recorder::Recorder;

/// Where the trace comes from, and whose it is.
pub const ATTRIBUTION: &str = "openb, a public trace of a production GPU cluster (Alibaba; \
     hkust-adsl/kubernetes-scheduler-simulator, data/csv, Apache-2.0)";

const NAMESPACE: &str = "openb";
const MIB: i64 = 1 << 20;

const COLUMNS: [&str; 8] = [
    "name",
    "cpu_milli",
    "memory_mib",
    "num_gpu",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
];

/// Which part of the trace is taken, and what is said of it.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Where it begins, from the trace's first second. Tasks that had been created and not deleted
    /// by then are there at the start.
    pub from: SignedDuration,
    /// How long it is.
    pub length: SignedDuration,
    /// The moment that the cut begins at in the recording: the trace names none.
    pub start: Timestamp,
    /// The region that the cluster is taken to be in.
    pub region: Option<String>,
    /// Objects that stand at the start of the recording, such as NodePools: the trace has none.
    pub objects: Vec<Value>,
}

/// Why a text is no pod list of the trace.
#[derive(Debug, thiserror::Error)]
pub enum OpenbError {
    /// A column is missing.
    #[error("{file} is no pod list of openb: it has no column {column}")]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
    /// Nothing of it lies in the cut.
    #[error("no task of {file} runs between {from:#} and {until:#} after its first second")]
    Empty {
        /// The file.
        file: String,
        /// Where the cut begins.
        from: SignedDuration,
        /// Where it ends.
        until: SignedDuration,
    },
    /// A line cannot be written.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
}

/// A task of the trace; times in whole seconds after its first.
#[derive(Clone, Debug)]
struct Task {
    name: Text,
    requests: Resources,
    phase: PodPhase,
    created: i64,
    scheduled: Option<i64>,
    deleted: i64,
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Deleted,
    Created,
    Scheduled,
}

/// Makes a recording of a cut of the pod list. Rows that are wrong are left out and reported.
pub fn import(file: &str, csv: &str, cut: &Cut) -> Result<(String, Vec<LineProblem>), OpenbError> {
    let (tasks, problems) = tasks(file, csv)?;
    let (from, until) = (cut.from.as_secs(), cut.from.as_secs() + cut.length.as_secs());
    let last = tasks.iter().map(|task| task.deleted).max().unwrap_or(0);
    let is_inside = |task: &Task| task.created < until && task.deleted > from;
    let tasks: Vec<Task> = tasks.into_iter().filter(is_inside).collect();
    if tasks.is_empty() {
        let until = SignedDuration::from_secs(until);
        return Err(OpenbError::Empty { file: file.to_owned(), from: cut.from, until });
    }
    let header = Header {
        cluster: Some("openb".to_owned()),
        region: cut.region.clone(),
        about: Some(format!(
            "{ATTRIBUTION}: {:#} from second {from}. Every task is a Job of one pod, GPUs are \
             whole, NodePools are not the trace's",
            cut.length
        )),
        ..Header::default()
    };
    let mut recorder = Recorder::new(cut.start, header, None);
    for object in &cut.objects {
        recorder.object(cut.start, object.clone());
    }
    let mut events: Vec<(i64, Event, usize)> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        events.push((task.created, Event::Created, index));
        events.extend(task.scheduled.map(|at| (at, Event::Scheduled, index)));
        // What ran until the trace's end had not ended.
        events.extend((task.deleted < last).then_some((task.deleted, Event::Deleted, index)));
    }
    events.retain(|(at, ..)| *at < until);
    events.sort_by_key(|(at, event, index)| (*at, *index, *event != Event::Created, *event));
    for (at, event, index) in events {
        record(&mut recorder, &tasks[index], event, (at, cut));
    }
    recorder.stop(cut.start + cut.length);
    Ok((recorder.take()?, problems))
}

fn record(recorder: &mut Recorder, task: &Task, event: Event, (at, cut): (i64, &Cut)) {
    let moment = |second: i64| cut.start + SignedDuration::from_secs(second - cut.from.as_secs());
    let mut pod = task.pod();
    pod.created = Some(moment(task.created));
    if event != Event::Created
        && let Some(scheduled) = task.scheduled
    {
        pod.node_name = Some("openb".into());
        pod.phase = PodPhase::Running;
        pod.started = Some(moment(scheduled));
    }
    match event {
        Event::Created => pod.phase = PodPhase::Pending,
        Event::Scheduled => {}
        Event::Deleted => match task.phase {
            PodPhase::Succeeded | PodPhase::Failed => pod.phase = task.phase,
            _ => pod.deleted = Some(moment(at)),
        },
    }
    recorder.pod(moment(at), &pod, None, HowEnded::Deleted);
}

impl Task {
    fn pod(&self) -> Pod {
        Pod {
            owner: Some(Owner { kind: OwnerKind::Job, name: self.name.clone(), uid: "".into() }),
            spec: Arc::new(PodSpec { requests: self.requests.clone(), ..PodSpec::default() }),
            ..Pod::pending(ObjectKey::new(NAMESPACE, self.name.clone()))
        }
    }
}

fn tasks(file: &str, csv: &str) -> Result<(Vec<Task>, Vec<LineProblem>), OpenbError> {
    let mut lines = csv.lines().enumerate();
    let names: Vec<&str> = lines.next().map_or("", |(_, line)| line).trim().split(',').collect();
    let mut columns = BTreeMap::new();
    for column in COLUMNS {
        let no_column = OpenbError::NoColumn { file: file.to_owned(), column };
        let index = names.iter().position(|name| *name == column).ok_or(no_column)?;
        columns.insert(column, index);
    }
    let (mut tasks, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        match task(line, &columns) {
            Ok(task) => tasks.push(task),
            Err(what) => {
                problems.push(LineProblem { file: file.into(), line: index + 1, what });
            }
        }
    }
    tasks.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.name.cmp(&b.name)));
    Ok((tasks, problems))
}

fn task(line: &str, columns: &BTreeMap<&str, usize>) -> Result<Task, String> {
    let cells: Vec<&str> = line.trim_end().split(',').collect();
    let cell = |column: &str| columns.get(column).and_then(|index| cells.get(*index)).copied();
    let number = |column: &'static str| -> Result<Option<i64>, String> {
        match cell(column) {
            None => Err(format!("the row has no {column}")),
            Some("") => Ok(None),
            // Newer versions of the trace write times with a fraction of zero.
            Some(text) => match text.strip_suffix(".0").unwrap_or(text).parse() {
                Ok(number) if number >= 0 => Ok(Some(number)),
                _ => Err(format!("{column} {text:?} is no number from 0 on")),
            },
        }
    };
    let needed = |column| number(column)?.ok_or_else(|| format!("the row has no {column}"));
    let name = cell("name").filter(|name| !name.is_empty()).ok_or("the row has no name")?;
    let requests = Resources::new()
        .with(CPU, needed("cpu_milli")?)
        .with(MEMORY, needed("memory_mib")?.saturating_mul(MIB))
        .with(NVIDIA_GPU, number("num_gpu")?.unwrap_or(0))
        .with(PODS, 1);
    let phase = cell("pod_phase").unwrap_or_default();
    Ok(Task {
        name: name.into(),
        requests: requests.without_zeros(),
        phase: phase.parse().map_err(|_| format!("pod_phase {phase:?} is no phase of a pod"))?,
        created: needed("creation_time")?,
        scheduled: number("scheduled_time")?,
        deleted: needed("deletion_time")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::PodEnd;

    const LIST: &str = "\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,12000,16384,1,1000,,LS,Running,0,900,0
b,500,1024,0,0,,BE,Succeeded,100,160,110
c,500,1024,1,460,,BE,Pending,200,260,
d,500,lots,0,0,,BE,Failed,300,360,310
e,500,1024,0,0,,BE,Failed,400,460,420
";

    fn cut(from: i64, length: i64) -> Cut {
        Cut {
            from: SignedDuration::from_secs(from),
            length: SignedDuration::from_secs(length),
            start: Timestamp::UNIX_EPOCH,
            region: Some("us-east-1".to_owned()),
            objects: Vec::new(),
        }
    }

    #[test]
    fn tasks_become_pods_that_end_as_they_did() {
        let (text, problems) = import("pods.csv", LIST, &cut(50, 1000)).unwrap();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["memory_mib \"lots\" is no number from 0 on (pods.csv:5)"]);
        let read = crate::read("openb", &text).unwrap();
        assert_eq!(read.problems, []);
        let recording = read.recording;
        assert_eq!(recording.length, SignedDuration::from_secs(1000));
        let shown: Vec<_> = recording
            .pods
            .iter()
            .map(|own| (&*own.pod.key.name, own.created.as_secs(), own.end.map(|end| end.how)))
            .collect();
        let finished = |seconds| Some(PodEnd::Finished(SignedDuration::from_secs(seconds)));
        let expected = [
            ("a", -50, None),
            ("b", 50, finished(50)),
            ("c", 150, Some(PodEnd::Deleted)),
            ("e", 350, finished(40)),
        ];
        assert_eq!(shown, expected);
        assert_eq!(recording.pods[0].pod.spec.requests.get(NVIDIA_GPU), 1);
        assert_eq!(recording.pods[1].pod.spec.requests.get(MEMORY), 1 << 30);
    }

    #[test]
    fn a_cut_without_tasks_and_another_list_are_errors() {
        let error = import("pods.csv", LIST, &cut(5000, 10)).unwrap_err();
        assert!(matches!(error, OpenbError::Empty { .. }), "{error}");
        let error = import("pods.csv", "sn,model\n", &cut(0, 10)).unwrap_err();
        assert_eq!(error.to_string(), "pods.csv is no pod list of openb: it has no column name");
    }
}
