//! How a Deployment replaces its pods: `spec.strategy`, what pauses it, and annotations that ask
//! for rollouts.

use domain::SignedDuration;
use domain::label::{EVICT_BY, RESTARTED_AT, ROLLOUT_ASKED_AT};
use domain::rollout::{EvictBy, RolloutSpec};

use super::disruption_budget::count_or_percent;
use crate::field::Field;

pub(super) fn read_rollout(root: Field<'_>) -> RolloutSpec {
    let (annotations, spec) = (root.get("metadata").get("annotations"), root.get("spec"));
    let strategy = spec.get("strategy");
    let rolling = strategy.get("rollingUpdate");
    let of_pods = spec.get("template").get("metadata").get("annotations");
    let default = RolloutSpec::default();
    let deadline = spec.get("progressDeadlineSeconds").count();
    RolloutSpec {
        evict_by: read_evict_by(annotations.get(EVICT_BY)),
        is_recreate: strategy.get("type").str() == Some("Recreate"),
        max_surge: count_or_percent(rolling.get("maxSurge")).unwrap_or(default.max_surge),
        max_unavailable: count_or_percent(rolling.get("maxUnavailable"))
            .unwrap_or(default.max_unavailable),
        is_paused: spec.get("paused").bool().unwrap_or_default(),
        progress_deadline: deadline
            .map_or(default.progress_deadline, |seconds| SignedDuration::from_secs(seconds.into())),
        restarted_at: of_pods.get(RESTARTED_AT).text(),
        asked_at: annotations.get(ROLLOUT_ASKED_AT).text(),
    }
}

/// Annotation `outrigger.dev/evict-by` of a Deployment or a Namespace. Another word is a warning,
/// and counts as not there: pods are evicted, as ever.
pub(super) fn read_evict_by(field: Field<'_>) -> Option<EvictBy> {
    let text = field.str()?;
    let own = EvictBy::parse(text);
    if own.is_none() {
        field.warn(format!("{text:?} is neither eviction nor rollout: pods are evicted"));
    }
    own
}
