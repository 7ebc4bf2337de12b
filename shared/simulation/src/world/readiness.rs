//! For how long workloads that a scenario asks about had no ready pod.

use std::collections::BTreeMap;

use domain::pod::Pod;
use domain::{SignedDuration, Text, Timestamp};

use super::World;

/// Workloads that are watched, by name.
pub(super) type Readiness = BTreeMap<Text, Gaps>;

/// When a workload had no ready pod.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gaps {
    /// Whether it has had one by now.
    has_begun: bool,
    /// Since when it has none.
    since: Option<Timestamp>,
    /// How long that lasted before, in all.
    total: SignedDuration,
}

/// Whether a pod's name begins with that of a workload.
pub(crate) fn is_pod_of(pod: &Pod, workload: &str) -> bool {
    pod.key.name.strip_prefix(workload).is_some_and(|rest| rest.starts_with('-'))
}

impl World {
    /// Watches a workload from now on.
    pub(crate) fn watch_readiness(&mut self, workload: &Text) {
        self.readiness.entry(workload.clone()).or_default();
    }

    /// For how long a workload that is watched had no ready pod, once it has had one.
    pub(crate) fn without_ready(&self, workload: &Text) -> SignedDuration {
        let own = self.readiness.get(workload).copied().unwrap_or_default();
        let lasting = own.since.map(|since| self.now.duration_since(since)).unwrap_or_default();
        own.total + lasting
    }

    /// Takes note of which workloads have a ready pod now.
    pub(super) fn note_readiness(&mut self) {
        let now = self.now;
        let api = &self.api;
        for (name, gaps) in &mut self.readiness {
            let is_ready = api
                .list::<Pod>()
                .any(|pod| pod.is_active() && pod.ready == Some(true) && is_pod_of(pod, name));
            if is_ready {
                gaps.has_begun = true;
                let lasted = gaps.since.take().map(|since| now.duration_since(since));
                gaps.total += lasted.unwrap_or_default();
            } else if gaps.has_begun {
                gaps.since.get_or_insert(now);
            }
        }
    }
}
