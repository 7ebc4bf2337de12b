//! Capacity ahead of KEDA's cron triggers and of PrewarmSchedules: from a lead time before a window opens until it
//! closes, the replicas that the target does not have yet take part in planning.

use domain::buffer::{CronTrigger, PrewarmSchedule, PrewarmTarget, ScaledObject, due_replicas};
use domain::label::Labels;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::pod::{Pod, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use domain::workload::{PodTemplate, WorkloadKind};
use domain::{SignedDuration, Text};

use super::{Source, workload};

/// How long nodes are taken to need where none of the snapshot has started yet: an instance of EC2 with AL2023 is
/// Ready in about a minute.
const NODE_START_UNKNOWN: SignedDuration = SignedDuration::from_secs(90);

/// Added to what nodes need to start: a tick is a minute apart from the next at most.
const LEAD_MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// The virtual pods of schedules that are due, ScaledObjects first, each kind by name.
pub(super) fn of_schedules(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    let mut scaled: Vec<&ScaledObject> = snapshot.scaled_objects.iter().collect();
    let mut schedules: Vec<&PrewarmSchedule> = snapshot.prewarm_schedules.iter().collect();
    if scaled.is_empty() && schedules.is_empty() {
        return Vec::new();
    }
    scaled.sort_by(|a, b| a.key.cmp(&b.key));
    schedules.sort_by(|a, b| a.key.cmp(&b.key));
    let looker = Looker { snapshot, lead_time: lead_time(snapshot) };
    let of_keda = scaled.into_iter().flat_map(|scaled| looker.of_scaled_object(scaled));
    of_keda.chain(schedules.into_iter().flat_map(|own| looker.of_prewarm_schedule(own))).collect()
}

/// How long before a window opens its capacity is wanted, for schedules that do not say: what nodes of this cluster
/// needed to start (nine of ten were faster), and a margin.
fn lead_time(snapshot: &ClusterSnapshot) -> SignedDuration {
    let mut starts: Vec<SignedDuration> =
        snapshot.node_claims.iter().filter_map(start_time).collect();
    starts.sort_unstable();
    let slow = starts.get((starts.len() * 9).div_ceil(10).saturating_sub(1));
    slow.copied().unwrap_or(NODE_START_UNKNOWN) + LEAD_MARGIN
}

/// From a claim's creation until its node was ready for pods.
fn start_time(claim: &NodeClaim) -> Option<SignedDuration> {
    let ready = claim
        .condition(ConditionType::Initialized)
        .filter(|_| claim.is(ConditionType::Initialized))?;
    Some(ready.changed?.duration_since(claim.created?).max(SignedDuration::ZERO))
}

struct Looker<'a> {
    snapshot: &'a ClusterSnapshot,
    lead_time: SignedDuration,
}

impl Looker<'_> {
    fn of_scaled_object(&self, scaled: &ScaledObject) -> Vec<Pod> {
        let limits = (scaled.min_replicas, scaled.max_replicas);
        let Some(wanted) = self.wanted(&scaled.triggers, limits, scaled.lead_time) else {
            return Vec::new();
        };
        let source = Source {
            of: VirtualPodSource::ScaledObject(scaled.key.clone()),
            key: &scaled.key,
            uid: &scaled.uid,
            prefix: "scaledobject",
        };
        self.missing_of_workload(&source, (scaled.target.0, &scaled.target.1), wanted)
    }

    fn of_prewarm_schedule(&self, schedule: &PrewarmSchedule) -> Vec<Pod> {
        let limits = (schedule.min_replicas, schedule.max_replicas);
        let Some(wanted) = self.wanted(&schedule.triggers, limits, schedule.lead_time) else {
            return Vec::new();
        };
        let source = Source {
            of: VirtualPodSource::PrewarmSchedule(schedule.key.clone()),
            key: &schedule.key,
            uid: &schedule.uid,
            prefix: "prewarmschedule",
        };
        match &schedule.target {
            PrewarmTarget::Workload { kind, name, .. } => {
                self.missing_of_workload(&source, (*kind, name), wanted)
            }
            PrewarmTarget::Template(template) => self.missing(&source, template, wanted),
        }
    }

    fn wanted(
        &self,
        triggers: &[CronTrigger],
        limits: (u32, u32),
        lead_time: Option<SignedDuration>,
    ) -> Option<u32> {
        due_replicas(triggers, limits, self.snapshot.now, lead_time.unwrap_or(self.lead_time))
    }

    /// A workload that is not there has no pods to come; the controllers say so.
    fn missing_of_workload(
        &self,
        source: &Source<'_>,
        target: (WorkloadKind, &Text),
        wanted: u32,
    ) -> Vec<Pod> {
        workload(self.snapshot, &source.key.namespace, target)
            .map(|workload| self.missing(source, &workload.template, wanted))
            .unwrap_or_default()
    }

    /// What is left once the pods that are there have been counted: a replica is known by the labels of its template.
    fn missing(&self, source: &Source<'_>, template: &PodTemplate, wanted: u32) -> Vec<Pod> {
        let is_replica = |pod: &&Pod| {
            pod.key.namespace == source.key.namespace
                && pod.is_active()
                && has_all(&pod.labels, &template.labels)
        };
        let there = self.snapshot.pods.iter().filter(is_replica).count();
        source.pods(template, i64::from(wanted) - i64::try_from(there).unwrap_or(i64::MAX))
    }
}

fn has_all(labels: &Labels, wanted: &Labels) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
