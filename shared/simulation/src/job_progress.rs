//! How far a Job is: what its controller remembers of it.

use std::collections::{BTreeMap, BTreeSet};

use domain::pod::{ObjectKey, Pod, PodPhase};
use domain::workload::Workload;
use domain::{Text, Timestamp};
use manifests::{JobSpec, WorkloadObject};

/// Jobs, by namespace and name.
pub(crate) type Jobs = BTreeMap<ObjectKey, Progress>;

/// What the Job controller remembers of a Job: what `status` and the finalizers of its pods say.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `metadata.uid` of the Job.
    pub(crate) uid: Text,
    /// Pods that have succeeded.
    pub(crate) succeeded: u32,
    /// Their completion indexes.
    pub(crate) indexes: BTreeSet<u32>,
    /// Pods that have failed, by themselves or because they were deleted.
    pub(crate) failed: u32,
    /// Uids of the pods that are counted as succeeded.
    counted: BTreeSet<Text>,
    /// Uids of the pods that were active at the last look.
    pub(crate) active: BTreeSet<Text>,
    /// When it was complete or had failed.
    pub(crate) finished: Option<Timestamp>,
}

impl Progress {
    /// Of a Job that nobody looked at before: pods of it may be there.
    pub(crate) fn of(object: &WorkloadObject, pods: &[Pod], now: Timestamp) -> Self {
        let spec = spec_of(object);
        let there = pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded);
        let counted: BTreeSet<Text> = there.clone().map(|pod| pod.uid.clone()).collect();
        let of_pods = u32::try_from(counted.len()).unwrap_or(u32::MAX);
        Self {
            uid: object.uid.clone(),
            succeeded: spec.succeeded.max(of_pods),
            indexes: there.filter_map(|pod| index_of(&object.workload, pod)).collect(),
            failed: 0,
            counted,
            active: active(pods).map(|pod| pod.uid.clone()).collect(),
            finished: spec.is_finished.then_some(now),
        }
    }

    pub(crate) fn count(&mut self, workload: &Workload, pods: &[Pod]) {
        for pod in pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded) {
            if self.counted.insert(pod.uid.clone()) {
                self.succeeded += 1;
                self.indexes.extend(index_of(workload, pod));
            }
        }
        let active: BTreeSet<Text> = active(pods).map(|pod| pod.uid.clone()).collect();
        let gone = self.active.difference(&active).filter(|uid| !self.counted.contains(*uid));
        self.failed += u32::try_from(gone.count()).unwrap_or(u32::MAX);
        self.active = active;
    }

    /// What it has come to, if it is over.
    pub(crate) fn end(&self, spec: &JobSpec) -> Option<JobEnd> {
        let is_complete = match spec.completions {
            Some(completions) => self.succeeded >= completions,
            None => self.succeeded > 0 && self.active.is_empty(),
        };
        if is_complete {
            return Some(JobEnd::Complete);
        }
        (self.failed > spec.backoff_limit).then_some(JobEnd::Failed)
    }

    /// How many pods should run now.
    pub(crate) fn wanted(&self, spec: &JobSpec) -> usize {
        let wanted = match spec.completions {
            _ if spec.is_suspended => 0,
            Some(completions) => spec.parallelism.min(completions.saturating_sub(self.succeeded)),
            // Once one has succeeded, those that run may end, and no other is made.
            None if self.succeeded > 0 => {
                spec.parallelism.min(u32::try_from(self.active.len()).unwrap_or(u32::MAX))
            }
            None => spec.parallelism,
        };
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }
}

/// How a Job ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// As many pods have succeeded as were to.
    Complete,
    /// Too many have failed.
    Failed,
}

/// Pods that run or will.
pub(crate) fn active(pods: &[Pod]) -> impl Iterator<Item = &Pod> {
    pods.iter().filter(|pod| pod.is_active())
}

/// Its own words; a workload made by hand, as in tests, runs as many pods as it has replicas.
pub(crate) fn spec_of(object: &WorkloadObject) -> JobSpec {
    let replicas = object.workload.replicas;
    object.job.unwrap_or(JobSpec {
        completions: Some(replicas),
        parallelism: replicas,
        backoff_limit: JobSpec::DEFAULT_BACKOFF_LIMIT,
        is_indexed: false,
        is_suspended: false,
        ttl_after_finished: None,
        succeeded: 0,
        is_finished: false,
    })
}

/// The completion index in the name of an Indexed Job's pod, `NAME-INDEX-SUFFIX`.
pub(crate) fn index_of(workload: &Workload, pod: &Pod) -> Option<u32> {
    let rest = pod.key.name.strip_prefix(&*workload.key.name)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}
