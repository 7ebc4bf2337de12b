//! Virtual pods of KEDA's cron triggers and of PrewarmSchedules: from a lead time before a window
//! opens until it closes, the replicas that the target does not have yet take part in planning.

use domain::SignedDuration;
use domain::buffer::{PrewarmSchedule, PrewarmTarget, ScaledObject, due_replicas};
use domain::label::Labels;
use domain::node_claim::{ConditionType, NodeClaim};
use domain::pod::{Pod, VirtualPodSource};
use domain::snapshot::ClusterSnapshot;
use domain::workload::PodTemplate;

use super::source::{Source, WorkloadRef};

/// Assumed start time of nodes where none of the snapshot has started yet: an EC2 instance with
/// AL2023 is Ready in about a minute.
const NODE_START_DEFAULT: SignedDuration = SignedDuration::from_secs(90);

/// Added to the start time of nodes: runs are at most a minute apart.
const LEAD_MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// The virtual pods of schedules that are due, ScaledObjects first, each kind by name.
pub(super) fn virtual_pods(snapshot: &ClusterSnapshot) -> Vec<Pod> {
    let mut scaled: Vec<&ScaledObject> = snapshot.objects.scaled_objects.iter().collect();
    let mut schedules: Vec<&PrewarmSchedule> = snapshot.objects.prewarm_schedules.iter().collect();
    if scaled.is_empty() && schedules.is_empty() {
        return Vec::new();
    }
    scaled.sort_by(|a, b| a.key.cmp(&b.key));
    schedules.sort_by(|a, b| a.key.cmp(&b.key));
    let expansion = Expansion { snapshot, lead_time: lead_time(snapshot) };
    let of_keda = scaled.into_iter().flat_map(|scaled| expansion.of_scaled_object(scaled));
    let of_schedules = schedules.into_iter().flat_map(|own| expansion.of_prewarm_schedule(own));
    of_keda.chain(of_schedules).collect()
}

/// How long before a window opens its capacity is wanted, for schedules that do not say: the 90th
/// percentile of start times of this cluster's nodes, and a margin.
fn lead_time(snapshot: &ClusterSnapshot) -> SignedDuration {
    let mut starts: Vec<SignedDuration> =
        snapshot.node_claims.iter().filter_map(start_time).collect();
    starts.sort_unstable();
    let slow = starts.get((starts.len() * 9).div_ceil(10).saturating_sub(1));
    slow.copied().unwrap_or(NODE_START_DEFAULT) + LEAD_MARGIN
}

/// From a claim's creation until its node was ready for pods.
fn start_time(claim: &NodeClaim) -> Option<SignedDuration> {
    let ready = claim
        .condition(ConditionType::Initialized)
        .filter(|_| claim.is(ConditionType::Initialized))?;
    Some(ready.changed?.duration_since(claim.created?).max(SignedDuration::ZERO))
}

/// Turns schedules that are due into pods.
struct Expansion<'a> {
    snapshot: &'a ClusterSnapshot,
    lead_time: SignedDuration,
}

impl Expansion<'_> {
    fn of_scaled_object(&self, scaled: &ScaledObject) -> Vec<Pod> {
        let limits = (scaled.min_replicas, scaled.max_replicas);
        let lead_time = scaled.lead_time.unwrap_or(self.lead_time);
        let due = due_replicas(&scaled.triggers, limits, self.snapshot.now, lead_time);
        let Some(wanted) = due else { return Vec::new() };
        let source = Source {
            of: VirtualPodSource::ScaledObject(scaled.key.clone()),
            key: &scaled.key,
            uid: &scaled.uid,
            prefix: "scaledobject",
        };
        let target = WorkloadRef { kind: scaled.target.0, name: &scaled.target.1 };
        self.missing_of_workload(&source, target, wanted)
    }

    fn of_prewarm_schedule(&self, schedule: &PrewarmSchedule) -> Vec<Pod> {
        let limits = (schedule.min_replicas, schedule.max_replicas);
        let lead_time = schedule.lead_time.unwrap_or(self.lead_time);
        let due = due_replicas(&schedule.triggers, limits, self.snapshot.now, lead_time);
        let Some(wanted) = due else { return Vec::new() };
        let source = Source {
            of: VirtualPodSource::PrewarmSchedule(schedule.key.clone()),
            key: &schedule.key,
            uid: &schedule.uid,
            prefix: "prewarmschedule",
        };
        match &schedule.target {
            PrewarmTarget::Workload { kind, name, .. } => {
                let target = WorkloadRef { kind: *kind, name };
                self.missing_of_workload(&source, target, wanted)
            }
            PrewarmTarget::Template(template) => self.missing(&source, template, wanted),
        }
    }

    /// Replicas that a workload lacks; none where it does not exist, which the controllers report.
    fn missing_of_workload(
        &self,
        source: &Source<'_>,
        target: WorkloadRef,
        wanted: u32,
    ) -> Vec<Pod> {
        target
            .find(self.snapshot, &source.key.namespace)
            .map(|workload| self.missing(source, &workload.template, wanted))
            .unwrap_or_default()
    }

    /// Replicas that do not exist yet: existing ones are known by the labels of the template.
    fn missing(&self, source: &Source<'_>, template: &PodTemplate, wanted: u32) -> Vec<Pod> {
        let is_replica = |pod: &&Pod| {
            pod.key.namespace == source.key.namespace
                && pod.is_active()
                && has_all(&pod.labels, &template.labels)
        };
        let existing = self.snapshot.objects.pods.iter().filter(is_replica).count();
        source.pods(template, i64::from(wanted) - i64::try_from(existing).unwrap_or(i64::MAX))
    }
}

fn has_all(labels: &Labels, wanted: &Labels) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
