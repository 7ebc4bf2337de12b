//! The status of a CapacityBuffer: whether the object it refers to exists, and whether its pods
//! have room.

use std::collections::BTreeSet;

use domain::buffer::{BufferSource, CapacityBuffer};
use domain::node_claim::ConditionStatus;
use domain::plan::{Plan, PlannedVirtualPod};
use domain::pod::VirtualPodSource;
use domain::{Text, Timestamp};

use super::condition::{ConditionState, set_object_condition};
use crate::ports::cluster::{ClusterListing, UnreadableSource};
use crate::status::{CapacityBufferCondition, CapacityBufferStatus, Observed};

/// The only supported provisioning strategy; buffers of others are left alone.
const ACTIVE_CAPACITY: &str = "buffer.x-k8s.io/active-capacity";

/// A condition's status, reason and message.
type NewCondition = (ConditionStatus, &'static str, String);

/// The status of a buffer after a plan; `None` when its strategy is not supported. Conditions keep
/// their transition time while their status stays.
pub fn capacity_buffer_status(
    listing: &ClusterListing,
    buffer: &CapacityBuffer,
    plan: &Plan,
    now: Timestamp,
) -> Option<CapacityBufferStatus> {
    if &*buffer.provisioning_strategy != ACTIVE_CAPACITY {
        return None;
    }
    let nothing = Observed::default();
    let before = listing.capacity_buffer_states.get(&buffer.key).unwrap_or(&nothing);
    let source = VirtualPodSource::CapacityBuffer(buffer.key.clone());
    let pods: Vec<&PlannedVirtualPod> =
        plan.virtual_pods.iter().filter(|own| own.source == source).collect();
    let resolved = resolved(listing, buffer);
    let mut status = CapacityBufferStatus {
        pod_template: None,
        pod_template_generation: None,
        replicas: None,
        provisioning_strategy: buffer.provisioning_strategy.clone(),
        conditions: before.status.conditions.clone(),
    };
    let (ready, provisioning) = match resolved {
        Ok(template) => {
            status.replicas = Some(u32::try_from(pods.len()).unwrap_or(u32::MAX));
            if let Some((name, generation)) = template {
                status.pod_template = Some(name);
                status.pod_template_generation = Some(generation);
            }
            let ready = (ConditionStatus::True, "Resolved", String::new());
            (ready, provisioning(plan, &pods))
        }
        Err((reason, message)) => ((ConditionStatus::False, reason, message), not_ready()),
    };
    set_conditions(&mut status, before.generation, [ready, provisioning], now);
    Some(status)
}

/// The status of a malformed buffer.
pub fn unreadable_buffer_status(
    before: &Observed<CapacityBufferStatus>,
    unreadable: &UnreadableSource,
    now: Timestamp,
) -> CapacityBufferStatus {
    let mut status = CapacityBufferStatus { replicas: None, ..before.status.clone() };
    let failed = (ConditionStatus::False, "ResolutionFailed", unreadable.problem.to_string());
    set_conditions(&mut status, before.generation, [failed, not_ready()], now);
    status
}

fn set_conditions(
    status: &mut CapacityBufferStatus,
    generation: i64,
    [ready, provisioning]: [NewCondition; 2],
    now: Timestamp,
) {
    let conditions = [
        (CapacityBufferCondition::ReadyForProvisioning, ready),
        (CapacityBufferCondition::Provisioning, provisioning),
    ];
    for (kind, (value, reason, message)) in conditions {
        let state = ConditionState::new(value, reason, &message);
        set_object_condition(&mut status.conditions, kind, state, generation, now);
    }
}

fn not_ready() -> NewCondition {
    let message = "its pod template is not resolved".to_owned();
    (ConditionStatus::False, "NotReadyForProvisioning", message)
}

/// The PodTemplate that a buffer refers to, with its generation, or `None` for a workload; the
/// reason and message of the condition when the referent does not exist.
fn resolved(
    listing: &ClusterListing,
    buffer: &CapacityBuffer,
) -> Result<Option<(Text, i64)>, (&'static str, String)> {
    let namespace = &buffer.key.namespace;
    match &buffer.source {
        BufferSource::PodTemplate(name) => listing
            .objects
            .pod_templates
            .iter()
            .find(|own| own.key.namespace == *namespace && own.key.name == *name)
            .map(|own| Some((name.clone(), own.generation)))
            .ok_or_else(|| {
                ("PodTemplateNotFound", format!("PodTemplate {namespace}/{name} does not exist"))
            }),
        BufferSource::Workload(kind, name) => listing
            .objects
            .workloads
            .iter()
            .find(|own| {
                own.kind == *kind && own.key.namespace == *namespace && own.key.name == *name
            })
            .map(|_| None)
            .ok_or_else(|| {
                let message = format!("{} {namespace}/{name} does not exist", kind.as_str());
                ("ScalableRefNotFound", message)
            }),
        BufferSource::Unsupported(what) => {
            let message = format!(
                "{what} is no Deployment, StatefulSet or ReplicaSet of apps: no pod template is read from it"
            );
            Err(("ResolutionFailed", message))
        }
    }
}

/// Whether all its pods have room on existing nodes or nodes in flight, or new nodes are needed.
fn provisioning(plan: &Plan, pods: &[&PlannedVirtualPod]) -> NewCondition {
    if pods.is_empty() {
        return (ConditionStatus::False, "BufferEmpty", "it has no pods".to_owned());
    }
    let planned: BTreeSet<&Text> = plan.node_claims.iter().map(|claim| &claim.name).collect();
    let is_new =
        |own: &&&PlannedVirtualPod| own.place.as_ref().is_some_and(|place| planned.contains(place));
    let new = pods.iter().filter(is_new).count();
    let without = pods.iter().filter(|own| own.place.is_none()).count();
    if new + without == 0 {
        return (ConditionStatus::True, "FitsExistingCapacity", String::new());
    }
    let mut message = format!("of {} pods, {new} need nodes that are being launched", pods.len());
    if without > 0 {
        message = format!("{message}, and {without} fit no node that a NodePool may launch");
    }
    (ConditionStatus::False, "RequiresNewCapacity", message)
}

#[cfg(test)]
mod tests {
    use domain::pod::{ObjectKey, PodKey};
    use domain::snapshot::ClusterObjects;
    use domain::workload::WorkloadKind;

    use super::*;
    use crate::testing::scheduled_scaling::{capacity_buffer, pod_template, workload};
    use crate::testing::{at, listing_of, planned_claim};

    fn key() -> ObjectKey {
        ObjectKey::new("default", "spare")
    }

    /// A plan with one pod of the buffer in each place; `new` is a claim of the plan.
    fn plan(places: &[Option<&str>]) -> Plan {
        let own = |(index, place): (usize, Option<&str>)| PlannedVirtualPod {
            pod: PodKey::new("default", format!("capacity-buffer-spare-{index}")),
            source: VirtualPodSource::CapacityBuffer(key()),
            place: place.map(Text::from),
        };
        let virtual_pods = places.iter().copied().enumerate().map(own).collect();
        let node_claims = vec![planned_claim("new")];
        Plan { virtual_pods, node_claims, ..Plan::default() }
    }

    fn listing() -> ClusterListing {
        let pod_templates = vec![pod_template("chunk", 3)];
        listing_of(ClusterObjects { pod_templates, ..ClusterObjects::default() })
    }

    fn status(listing: &ClusterListing, plan: &Plan) -> CapacityBufferStatus {
        let buffer = capacity_buffer("spare", BufferSource::PodTemplate("chunk".into()));
        capacity_buffer_status(listing, &buffer, plan, at(0)).unwrap()
    }

    fn conditions(status: &CapacityBufferStatus) -> Vec<(bool, &str)> {
        let is_true = |value| value == ConditionStatus::True;
        status.conditions.iter().map(|own| (is_true(own.status), &*own.reason)).collect()
    }

    #[test]
    fn room_that_is_there_fits_and_room_to_come_does_not_yet() {
        let fits = status(&listing(), &plan(&[Some("n1"), Some("in-flight")]));
        assert_eq!(conditions(&fits), [(true, "Resolved"), (true, "FitsExistingCapacity")]);
        assert_eq!((fits.pod_template.as_deref(), fits.replicas), (Some("chunk"), Some(2)));
        assert_eq!(fits.pod_template_generation, Some(3));
        let new = status(&listing(), &plan(&[Some("n1"), Some("new"), None]));
        assert_eq!(conditions(&new), [(true, "Resolved"), (false, "RequiresNewCapacity")]);
        assert_eq!(
            &*new.conditions[1].message,
            "of 3 pods, 1 need nodes that are being launched, and 1 fit no node that a NodePool may launch"
        );
        assert_eq!(conditions(&status(&listing(), &plan(&[])))[1], (false, "BufferEmpty"));
    }

    #[test]
    fn a_reference_without_a_referent_is_not_ready() {
        let missing = status(&ClusterListing::default(), &plan(&[]));
        let expected = [(false, "PodTemplateNotFound"), (false, "NotReadyForProvisioning")];
        assert_eq!((conditions(&missing), missing.replicas), (expected.into(), None));
        let source = BufferSource::Workload(WorkloadKind::Deployment, "web".into());
        let buffer = capacity_buffer("spare", source);
        let of = |listing: &ClusterListing| {
            capacity_buffer_status(listing, &buffer, &plan(&[Some("n1")]), at(0)).unwrap()
        };
        assert_eq!(conditions(&of(&listing()))[0], (false, "ScalableRefNotFound"));
        let workloads = vec![workload("web", 4)];
        let there = listing_of(ClusterObjects { workloads, ..ClusterObjects::default() });
        assert_eq!(conditions(&of(&there))[0], (true, "Resolved"));
    }

    #[test]
    fn a_reference_to_what_has_no_pod_template_is_not_ready() {
        let source = BufferSource::Unsupported("batch/Job nightly".into());
        let buffer = capacity_buffer("spare", source);
        let status = capacity_buffer_status(&listing(), &buffer, &plan(&[]), at(0)).unwrap();
        assert_eq!(conditions(&status)[0], (false, "ResolutionFailed"));
        assert!(status.conditions[0].message.starts_with("batch/Job nightly"));
    }

    #[test]
    fn a_buffer_that_cannot_be_read_says_why() {
        let unreadable = UnreadableSource {
            source: VirtualPodSource::CapacityBuffer(key()),
            uid: "u".into(),
            problem: "spec.replicas: -1 is out of range".into(),
        };
        let status = unreadable_buffer_status(&Observed::default(), &unreadable, at(0));
        assert_eq!(conditions(&status)[0], (false, "ResolutionFailed"));
        assert!(status.conditions[0].message.contains("spec.replicas"));
    }

    #[test]
    fn a_condition_keeps_its_time_and_other_strategies_are_left_alone() {
        let first = status(&listing(), &plan(&[Some("n1")]));
        let mut later = listing();
        let observed = Observed { status: first.clone(), ..Observed::default() };
        later.capacity_buffer_states.insert(key(), observed);
        let mut buffer = capacity_buffer("spare", BufferSource::PodTemplate("chunk".into()));
        let again = |buffer: &CapacityBuffer| {
            capacity_buffer_status(&later, buffer, &plan(&[Some("n1")]), at(60))
        };
        assert_eq!(again(&buffer), Some(first));
        buffer.provisioning_strategy = "example.com/other".into();
        assert_eq!(again(&buffer), None);
    }
}
