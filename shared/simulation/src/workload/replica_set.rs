//! ReplicaSets: as many pods as `replicas` says, and which go first when there are too many.
//!
//! Source: `ActivePodsWithRanks` in `pkg/controller/controller_utils.go` of Kubernetes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::pod::{Pod, PodPhase};
use domain::{Text, Timestamp};
use manifests::WorkloadObject;

use super::create_named_by_chance;
use crate::world::{Deletion, World};

/// Whether there are as many pods as `replicas` says.
pub(super) fn is_settled<'p>(object: &WorkloadObject, pods: impl Iterator<Item = &'p Pod>) -> bool {
    let active = pods.filter(|pod| pod.is_active()).count();
    usize::try_from(object.workload.replicas).is_ok_and(|wanted| wanted == active)
}

pub(super) fn reconcile(world: &mut World, object: &WorkloadObject, pods: &[Pod]) {
    let active: Vec<&Pod> = pods.iter().filter(|pod| pod.is_active()).collect();
    let wanted = usize::try_from(object.workload.replicas).unwrap_or(usize::MAX);
    for _ in active.len()..wanted {
        create_named_by_chance(world, object);
    }
    let surplus = active.len().saturating_sub(wanted);
    if surplus > 0 {
        for pod in ranked(active, world.now()).into_iter().take(surplus) {
            world.delete_pod(&pod.key, Deletion::Graceful);
        }
    }
}

/// Those that are missed least first: without a node, not running, not ready, of low deletion cost,
/// beside many of their kind, ready or made lately. Ages count by orders of two, so that old pods
/// of one rollout are equal; uids, which are random, decide among equals and spread the loss.
fn ranked(mut pods: Vec<&Pod>, now: Timestamp) -> Vec<&Pod> {
    let mut beside: BTreeMap<&Text, usize> = BTreeMap::new();
    for node in pods.iter().filter_map(|pod| pod.node_name.as_ref()) {
        *beside.entry(node).or_default() += 1;
    }
    let phase_rank = |phase| match phase {
        PodPhase::Pending => 0,
        PodPhase::Unknown => 1,
        PodPhase::Running | PodPhase::Succeeded | PodPhase::Failed => 2,
    };
    pods.sort_by_cached_key(|pod| {
        let on_same_node = pod.node_name.as_ref().and_then(|node| beside.get(node)).copied();
        (
            pod.node_name.is_some(),
            phase_rank(pod.phase),
            pod.ready == Some(true),
            pod.scale_down_cost(),
            Reverse(on_same_node.unwrap_or(0)),
            age_rank(pod.started, now),
            age_rank(pod.created, now),
            pod.uid.clone(),
        )
    });
    pods
}

/// The logarithm of an age, to base two, in whole nanoseconds; 0 for what has not begun.
///
/// Source: feature LogarithmicScaleDown of Kubernetes.
fn age_rank(since: Option<Timestamp>, now: Timestamp) -> u32 {
    let age = since.map_or(0, |since| now.duration_since(since).as_nanos());
    u128::try_from(age).ok().and_then(u128::checked_ilog2).map_or(0, |rank| rank + 1)
}
