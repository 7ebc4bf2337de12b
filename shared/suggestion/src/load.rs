//! How many pods workloads had, minute by minute.

use std::collections::BTreeMap;

use domain::SignedDuration;
use recording::{Recording, WorkloadKey};

const SECONDS_PER_MINUTE: i64 = 60;

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
