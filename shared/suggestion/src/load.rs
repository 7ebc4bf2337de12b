//! How many pods workloads had, minute by minute.

use std::collections::BTreeMap;
use std::fmt;

use domain::pod::OwnerKind;
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text};
use recording::{RecordedPod, Recording};

const SECONDS_PER_MINUTE: i64 = 60;

/// A workload that schedules can name: a Deployment, StatefulSet or ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadKey {
    /// Its namespace.
    pub namespace: Text,
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: Text,
}

impl fmt::Display for WorkloadKey {
    /// `Deployment default/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

impl WorkloadKey {
    /// The workload that a recorded pod is a replica of; `None` for pods of Jobs and those that
    /// nobody owns.
    pub(crate) fn of(pod: &RecordedPod) -> Option<Self> {
        let namespace = pod.pod.key.namespace.clone();
        let owner = || {
            let owner = pod.pod.owner.as_ref()?;
            let kind = match owner.kind {
                OwnerKind::ReplicaSet => WorkloadKind::ReplicaSet,
                OwnerKind::StatefulSet => WorkloadKind::StatefulSet,
                OwnerKind::Deployment => WorkloadKind::Deployment,
                _ => return None,
            };
            Some((kind, owner.name.clone()))
        };
        let (kind, name) = pod.workload.clone().or_else(owner)?;
        (kind != WorkloadKind::Job).then_some(Self { namespace, kind, name })
    }
}

/// How many pods each workload had at the end of every minute of a recording, pods without a node
/// included.
pub fn levels(recording: &Recording) -> BTreeMap<WorkloadKey, Vec<u32>> {
    let minutes = usize::try_from(recording.length.as_secs() / SECONDS_PER_MINUTE).unwrap_or(0);
    let mut changes: BTreeMap<WorkloadKey, Vec<i64>> = BTreeMap::new();
    for pod in &recording.pods {
        let Some(key) = WorkloadKey::of(pod) else { continue };
        let changes = changes.entry(key).or_insert_with(|| vec![0; minutes]);
        let mut change = |at: SignedDuration, by: i64| {
            let minute = usize::try_from(at.as_secs().max(0) / SECONDS_PER_MINUTE).ok();
            if let Some(change) = minute.and_then(|minute| changes.get_mut(minute)) {
                *change += by;
            }
        };
        change(pod.created, 1);
        if let Some(end) = pod.end {
            change(end.at, -1);
        }
    }
    let summed = changes.into_iter().map(|(key, changes)| {
        let mut level = 0;
        let levels = changes.into_iter().map(|change| {
            level += change;
            u32::try_from(level).unwrap_or(0)
        });
        (key, levels.collect())
    });
    summed.collect()
}
