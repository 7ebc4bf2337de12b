//! Requests that pods never used, where what they used was recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::resource::{CPU, MEMORY, Resources};
use recording::{RecordedPod, Recording};

use crate::load::WorkloadKey;

/// What is requested beyond the most that was used, in percent of it: memory that runs out ends a
/// container, CPU only slows it down.
const HEADROOM_PERCENT: [(&str, i64); 2] = [(CPU, 115), (MEMORY, 125)];
/// Requests that are this many percent of the recorded ones or more stay as they are.
const WORTH_PERCENT_MAX: i64 = 80;
/// Requests are rounded up to whole steps: millicores, or bytes.
const STEPS: [(&str, i64); 2] = [(CPU, 10), (MEMORY, 16 << 20)];

/// A workload whose pods never used what they request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedRequests {
    /// The workload.
    pub workload: WorkloadKey,
    /// What each of its pods requests, at most.
    pub requested: Resources,
    /// The most that any of them used.
    pub used: Resources,
    /// What would have been enough, with headroom; of each resource no more than is requested.
    pub enough: Resources,
    /// How many of its pods were measured.
    pub pods: usize,
}

/// How many pods of a recording were measured.
pub fn measured_pods(recording: &Recording) -> usize {
    recording.pods.iter().filter(|own| !own.used.is_empty()).count()
}

/// Workloads whose pods never used what they request, by name: those of which every pod was
/// measured, but for pods that never ran.
pub fn unused_requests(recording: &Recording) -> Vec<UnusedRequests> {
    let mut by_workload: BTreeMap<WorkloadKey, Vec<&RecordedPod>> = BTreeMap::new();
    for pod in recording.pods.iter().filter(|own| own.bound.is_some()) {
        if let Some(key) = WorkloadKey::of(pod) {
            by_workload.entry(key).or_default().push(pod);
        }
    }
    by_workload.into_iter().filter_map(|(key, pods)| unused(key, &pods)).collect()
}

/// The recording as it would be if those pods had requested what is enough.
pub fn with_requests(recording: &Recording, unused: &UnusedRequests) -> Recording {
    let mut changed = recording.clone();
    for own in &mut changed.pods {
        if WorkloadKey::of(own).is_some_and(|key| key == unused.workload) {
            Arc::make_mut(&mut own.pod.spec).requests = unused.enough.clone();
        }
    }
    changed
}

fn unused(workload: WorkloadKey, pods: &[&RecordedPod]) -> Option<UnusedRequests> {
    let measured: Vec<_> = pods.iter().filter(|own| !own.used.is_empty()).collect();
    // A pod that was not measured may be the one that uses all of it; one in ten may have ended
    // before anything measured it.
    if measured.is_empty() || measured.len() * 10 < pods.len() * 9 {
        return None;
    }
    let (mut requested, mut used) = (Resources::new(), Resources::new());
    for pod in pods {
        requested.raise_to(&pod.pod.spec.requests);
        used.raise_to(&pod.used);
    }
    let mut enough = requested.clone();
    for ((name, percent), (_, step)) in HEADROOM_PERCENT.into_iter().zip(STEPS) {
        let (own, Some(most)) = (requested.get(name), used.find(name)) else { continue };
        let wanted = steps(most * percent, step) * step;
        if wanted.max(step) * 100 < own * WORTH_PERCENT_MAX {
            enough.set(&Text::from(name), wanted.max(step));
        }
    }
    let pods = measured.len();
    (enough != requested).then_some(UnusedRequests { workload, requested, used, enough, pods })
}

/// Whole steps that an amount of hundredths takes, rounded up.
fn steps(hundredths: i64, step: i64) -> i64 {
    (hundredths + 100 * step - 1) / (100 * step)
}
