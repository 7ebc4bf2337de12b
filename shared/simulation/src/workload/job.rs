//! Jobs: as many pods at once as are still to complete.

use domain::pod::{Pod, PodPhase};
use manifests::WorkloadObject;

use super::create_named_by_chance;
use crate::world::{Deletion, World};

pub(super) fn reconcile(world: &mut World, object: &WorkloadObject, pods: &[Pod]) {
    let completed = pods.iter().filter(|pod| pod.phase == PodPhase::Succeeded).count();
    let mut active: Vec<&Pod> = pods.iter().filter(|pod| pod.is_active()).collect();
    let wanted = usize::try_from(object.workload.replicas).unwrap_or(usize::MAX);
    let wanted = wanted.saturating_sub(completed);
    for _ in active.len()..wanted {
        create_named_by_chance(world, object);
    }
    // Youngest first: what has worked longest is nearest to its end.
    active.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.key.cmp(&b.key)));
    for pod in active.iter().take(active.len().saturating_sub(wanted)) {
        world.delete_pod(&pod.key, Deletion::Graceful);
    }
}
