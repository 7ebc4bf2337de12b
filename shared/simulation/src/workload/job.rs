//! Jobs: pods until as many have succeeded as are to, or too many have failed.
//!
//! A pod that goes before it has succeeded, with its node or by eviction, has failed, and another is
//! made for it at once (`podReplacementPolicy: TerminatingOrFailed`). Those that have succeeded count
//! though they are gone. Not here: `podFailurePolicy`, `successPolicy`, `activeDeadlineSeconds`,
//! `backoffLimitPerIndex`, and the pause before a pod is made for one that failed.
//!
//! Source: <https://kubernetes.io/docs/concepts/workloads/controllers/job/>.

use std::collections::{BTreeMap, BTreeSet};

use domain::pod::{Pod, PodPhase};
use domain::workload::{Workload, WorkloadKind};
use domain::{Text, Timestamp};
use manifests::{JobSpec, WorkloadObject};

use super::{create_named_by_chance, draw_suffix};
use crate::agenda::Due;
use crate::api::WorkloadId;
use crate::report::Happening;
use crate::world::{Deletion, World};

/// What the Job controller remembers of a Job: what `status` and the finalizers of its pods say.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `metadata.uid` of the Job.
    uid: Text,
    /// Pods that have succeeded.
    succeeded: u32,
    /// Their completion indexes.
    indexes: BTreeSet<u32>,
    /// Pods that have failed, by themselves or because they were deleted.
    failed: u32,
    /// Uids of the pods that are counted as succeeded.
    counted: BTreeSet<Text>,
    /// Uids of the pods that were active at the last look.
    active: BTreeSet<Text>,
    /// When it was complete or had failed.
    finished: Option<Timestamp>,
}

impl Progress {
    /// Of a Job that nobody looked at before: pods of it may be there.
    fn of(object: &WorkloadObject, pods: &[Pod], now: Timestamp) -> Self {
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

    fn count(&mut self, workload: &Workload, pods: &[Pod]) {
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
    fn end(&self, spec: &JobSpec) -> Option<JobEnd> {
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
    fn wanted(&self, spec: &JobSpec) -> usize {
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum JobEnd {
    Complete,
    Failed,
}

fn active(pods: &[Pod]) -> impl Iterator<Item = &Pod> {
    pods.iter().filter(|pod| pod.is_active())
}

/// Its own words; a workload made by hand, as in tests, runs as many pods as it has replicas.
fn spec_of(object: &WorkloadObject) -> JobSpec {
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
fn index_of(workload: &Workload, pod: &Pod) -> Option<u32> {
    let rest = pod.key.name.strip_prefix(&*workload.key.name)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}

pub(super) fn reconcile(world: &mut World, object: &WorkloadObject, pods: &[Pod]) {
    let (key, spec) = (&object.workload.key, spec_of(object));
    let known = world.jobs.remove(key).filter(|own| own.uid == object.uid);
    let mut progress = known.unwrap_or_else(|| Progress::of(object, pods, world.now()));
    progress.count(&object.workload, pods);
    if progress.finished.is_none() {
        match progress.end(&spec) {
            Some(end) => finish(world, object, &mut progress, (pods, end)),
            None => run(world, object, &mut progress, pods),
        }
    }
    world.jobs.insert(key.clone(), progress);
}

fn finish(
    world: &mut World,
    object: &WorkloadObject,
    progress: &mut Progress,
    (pods, end): (&[Pod], JobEnd),
) {
    let (key, now) = (&object.workload.key, world.now());
    progress.finished = Some(now);
    delete(world, progress, active(pods));
    let job = WorkloadId { kind: WorkloadKind::Job, key: key.clone() }.to_string().into();
    let happening = match end {
        JobEnd::Complete => Happening::JobCompleted { job, succeeded: progress.succeeded },
        JobEnd::Failed => Happening::JobFailed { job, failed: progress.failed },
    };
    world.journal.add(now, happening);
    if let Some(ttl) = spec_of(object).ttl_after_finished {
        let due = Due::JobExpires { job: key.clone(), uid: object.uid.clone() };
        world.agenda.add(now + ttl, due);
    }
}

/// Makes pods that are missing, and deletes those that are too many, the youngest first: what has
/// worked longest is nearest to its end.
fn run(world: &mut World, object: &WorkloadObject, progress: &mut Progress, pods: &[Pod]) {
    let spec = spec_of(object);
    let wanted = progress.wanted(&spec);
    let mut there: Vec<&Pod> = active(pods).collect();
    if there.len() < wanted {
        let missing = wanted - there.len();
        if spec.is_indexed {
            let taken: BTreeSet<u32> =
                there.iter().filter_map(|pod| index_of(&object.workload, pod)).collect();
            let open = (0..spec.completions.unwrap_or(0))
                .filter(|index| !taken.contains(index) && !progress.indexes.contains(index));
            for index in open.take(missing) {
                create_indexed(world, object, index);
            }
        } else {
            for _ in 0..missing {
                create_named_by_chance(world, object);
            }
        }
    }
    there.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.key.cmp(&b.key)));
    let surplus = there.len().saturating_sub(wanted);
    delete(world, progress, there.into_iter().take(surplus));
}

/// Deletes pods that the Job does not want; they have not failed for that.
fn delete<'p>(world: &mut World, progress: &mut Progress, pods: impl Iterator<Item = &'p Pod>) {
    for pod in pods {
        progress.active.remove(&pod.uid);
        world.delete_pod(&pod.key, Deletion::Graceful);
    }
}

fn create_indexed(world: &mut World, object: &WorkloadObject, index: u32) {
    let name = &object.workload.key.name;
    let suffix = draw_suffix(world, object);
    world.create_pod(object.pod(format!("{name}-{index}-{suffix}").into()));
}

/// Jobs, by namespace and name.
pub(crate) type Jobs = BTreeMap<domain::pod::ObjectKey, Progress>;

#[cfg(test)]
mod tests;
