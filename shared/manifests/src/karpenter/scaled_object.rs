//! ScaledObject (`keda.sh/v1alpha1`), as far as its cron triggers go.
//!
//! Source: KEDA's "ScaledObject specification" and "Cron" scaler.

use documents::Data;
use domain::buffer::{CronTrigger, ScaledObject};
use domain::schedule::{Schedule, ScheduleError, time_zone};
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text};

use super::capacity_buffer::SCALABLE;
use super::metadata::read_namespaced;
use crate::duration;
use crate::field::Field;

/// `maxReplicaCount` when unset.
const MAX_REPLICAS: u32 = 100;

/// `cooldownPeriod` when unset, in seconds.
const COOLDOWN_SECONDS: u32 = 300;

/// How long before a window opens its capacity is wanted. KEDA has no field for it.
const LEAD_TIME: &str = "outrigger.dev/lead-time";

const SPEC_FIELDS: [&str; 10] = [
    "advanced",
    "cooldownPeriod",
    "fallback",
    "idleReplicaCount",
    "initialCooldownPeriod",
    "maxReplicaCount",
    "minReplicaCount",
    "pollingInterval",
    "scaleTargetRef",
    "triggers",
];

/// Which rule a ScaledObject breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScheduleRule {
    /// A range without numbers in it.
    #[error("{} {least} is above {} {most}", fields[0], fields[1])]
    EmptyRange {
        /// What the two are called.
        fields: [&'static str; 2],
        /// `minReplicaCount`.
        least: u32,
        /// `maxReplicaCount`.
        most: u32,
    },
    /// A window of no length.
    #[error("start and end are the same: {0:?}")]
    SameTimes(String),
    /// Not a number.
    #[error("{0:?} is not a number of replicas")]
    Replicas(String),
}

/// Reads a ScaledObject. One whose target is no workload of Kubernetes' own is left out with a
/// warning.
pub(crate) fn read_scaled_object(root: Field<'_>) -> Option<ScaledObject> {
    let (metadata, key) = read_namespaced(root);
    let spec = root.get("spec").required();
    spec.only(&SPEC_FIELDS);
    let (min_replicas, max_replicas) = read_range(spec, ["minReplicaCount", "maxReplicaCount"]);
    let target = read_target(spec.get("scaleTargetRef").required());
    let triggers = read_triggers(spec);
    let lead_time = root.get("metadata").get("annotations").get(LEAD_TIME);
    let lead_time = lead_time.parsed(duration::parse);
    let cooldown = spec.get("cooldownPeriod").count().unwrap_or(COOLDOWN_SECONDS);
    Some(ScaledObject {
        key,
        uid: metadata.uid,
        target: target?,
        min_replicas,
        max_replicas,
        cooldown_period: SignedDuration::from_secs(i64::from(cooldown)),
        triggers,
        lead_time,
    })
}

/// The fewest and the most replicas that are ever wanted, by the names of their fields.
pub(super) fn read_range(spec: Field<'_>, [least, most]: [&'static str; 2]) -> (u32, u32) {
    let (min_replicas, max_replicas) =
        (spec.get(least).count().unwrap_or(0), spec.get(most).count().unwrap_or(MAX_REPLICAS));
    if min_replicas > max_replicas {
        spec.get(least).note_rule(ScheduleRule::EmptyRange {
            fields: [least, most],
            least: min_replicas,
            most: max_replicas,
        });
    }
    (min_replicas, max_replicas)
}

/// `triggers` of type `cron`; others are warned of.
pub(super) fn read_triggers(spec: Field<'_>) -> Vec<CronTrigger> {
    spec.get("triggers").required().items().filter_map(read_trigger).collect()
}

/// `scaleTargetRef`. A target that is no workload of Kubernetes' own is warned of.
pub(super) fn read_target(target: Field<'_>) -> Option<(WorkloadKind, Text)> {
    target.only(&["apiVersion", "kind", "name", "envSourceContainerName"]);
    let name = target.exists().then(|| target.get("name").required().text())?;
    let kind = target.get("kind");
    let Some(word) = kind.str() else { return Some((WorkloadKind::Deployment, name?)) };
    let Some((known, _)) = SCALABLE.iter().find(|(_, known)| *known == word) else {
        kind.warn(format!("schedules of a {word} have no effect: only Deployment, StatefulSet and ReplicaSet are followed"));
        return None;
    };
    Some((*known, name?))
}

fn read_trigger(trigger: Field<'_>) -> Option<CronTrigger> {
    trigger.only(&[
        "type",
        "name",
        "metadata",
        "authenticationRef",
        "metricType",
        "useCachedMetrics",
    ]);
    let kind = trigger.get("type").required().str()?;
    if kind != "cron" {
        trigger.warn(format!("a trigger of type {kind} is not known beforehand: it has no effect"));
        return None;
    }
    let metadata = trigger.get("metadata").required();
    if !metadata.exists() {
        return None;
    }
    metadata.only(&["timezone", "start", "end", "desiredReplicas"]);
    let timezone = metadata.get("timezone").required().parsed(time_zone);
    let start = metadata.get("start").required();
    let end = metadata.get("end").required();
    let schedule =
        |time: Field<'_>| time.parsed(|text| -> Result<Schedule, ScheduleError> { text.parse() });
    let (opens, closes) = (schedule(start), schedule(end));
    if let (Some(start), Some(same)) = (start.str(), end.str())
        && start == same
    {
        end.note_rule(ScheduleRule::SameTimes(start.to_owned()));
    }
    Some(CronTrigger {
        desired_replicas: read_replicas(metadata.get("desiredReplicas").required())?,
        timezone: timezone?,
        start: opens?,
        end: closes?,
    })
}

/// A number: KEDA's metadata holds strings, and people forget the quotes.
fn read_replicas(field: Field<'_>) -> Option<u32> {
    match field.value().map(|value| &value.data) {
        Some(Data::Text(_)) => field.parsed(|text| {
            text.trim().parse().map_err(|_| ScheduleRule::Replicas(text.to_owned()))
        }),
        _ => field.count(),
    }
}
