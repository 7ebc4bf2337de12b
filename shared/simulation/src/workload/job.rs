//! Jobs: pods until as many have succeeded as are to, or too many have failed.
//!
//! A pod that goes before it has succeeded, with its node or by eviction, has failed, and another
//! is made for it at once (`podReplacementPolicy: TerminatingOrFailed`). Those that have succeeded
//! count though they are gone. Not here: `podFailurePolicy`, `successPolicy`,
//! `activeDeadlineSeconds`, `backoffLimitPerIndex`, and the pause before a pod is made for one that
//! failed.
//!
//! Source: <https://kubernetes.io/docs/concepts/workloads/controllers/job/>.

use std::collections::BTreeSet;

use domain::pod::Pod;
use domain::workload::WorkloadKind;
use manifests::WorkloadObject;

use super::{create_named_by_chance, draw_suffix};
use crate::agenda::Due;
use crate::api::WorkloadId;
use crate::job_progress::{JobEnd, Progress, active, index_of, spec_of};
use crate::report::Happening;
use crate::world::{Deletion, World};

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

#[cfg(test)]
mod tests;
