//! The replicas that schedules want, and what is wrong with schedules that have no effect.
//!
//! Everything follows from the time and the current state, never from earlier runs, so a missed
//! invocation is made up for by the next.

use std::collections::BTreeMap;

use domain::buffer::{PrewarmSchedule, PrewarmTarget, held_replicas};
use domain::pod::{ObjectKey, VirtualPodSource};
use domain::workload::{Workload, WorkloadKind};
use domain::{SignedDuration, Text, Timestamp};

use crate::event::{Event, EventReason, Subject};
use crate::ports::cluster::{ClusterListing, WorkloadRef};

/// How long replicas are kept after a window, as KEDA keeps them by default:
/// `stabilizationWindowSeconds` of an HPA, and `cooldownPeriod` of a ScaledObject.
const HOLD: SignedDuration = SignedDuration::from_mins(5);

/// A workload whose replicas a PrewarmSchedule changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// The workload.
    pub workload: WorkloadRef,
    /// The schedule with the most replicas, and its uid.
    pub schedule: (ObjectKey, Text),
    /// Its replicas.
    pub from: u32,
    /// The replicas that the schedule wants.
    pub to: u32,
}

/// Workloads whose replicas differ from what schedules with `scaleTarget` want, by workload. Of
/// several schedules of one workload, the one with the most replicas counts.
pub fn scalings(listing: &ClusterListing, now: Timestamp) -> Vec<Scaling> {
    let mut wanted: BTreeMap<WorkloadRef, (u32, &PrewarmSchedule)> = BTreeMap::new();
    for (schedule, workload) in scaling_schedules(listing) {
        let limits = (schedule.min_replicas, schedule.max_replicas);
        let replicas = held_replicas(&schedule.triggers, limits, now, HOLD);
        let most = wanted.entry(workload).or_insert((replicas, schedule));
        // Of equal ones the first by name.
        if (replicas, &most.1.key) > (most.0, &schedule.key) {
            *most = (replicas, schedule);
        }
    }
    let differing = wanted.into_iter().filter_map(|(workload, (to, schedule))| {
        let from = find(listing, workload.kind, &workload.key)?.replicas;
        let schedule = (schedule.key.clone(), schedule.uid.clone());
        (from != to).then_some(Scaling { workload, schedule, from, to })
    });
    differing.collect()
}

/// When [`scalings`] may next change, if nothing but time passes.
pub fn next_scaling(listing: &ClusterListing, now: Timestamp) -> Option<Timestamp> {
    let triggers = scaling_schedules(listing).flat_map(|(schedule, _)| &schedule.triggers);
    triggers.filter_map(|trigger| trigger.next_turn(now, HOLD)).min()
}

/// The event about a scaling that was carried out.
pub fn scaled_event(scaling: &Scaling) -> Event {
    let Scaling { workload, schedule: (key, uid), from, to } = scaling;
    let about = Subject::Source(VirtualPodSource::PrewarmSchedule(key.clone()), uid.clone());
    let message = format!("{workload} is scaled from {from} to {to} replicas");
    Event::new(about, EventReason::ScaleTargetScaled, message)
}

/// Events about malformed schedules and buffers, and about schedules whose workload does not exist
/// in their namespace.
///
/// A buffer whose referent does not exist says so in its conditions instead.
pub fn schedule_warnings(listing: &ClusterListing) -> Vec<Event> {
    let unreadable = listing.unreadable_sources.iter().map(|own| {
        let about = Subject::Source(own.source.clone(), own.uid.clone());
        let message = format!("it has no effect: {}", own.problem);
        Event::new(about, EventReason::InvalidSpecification, message)
    });
    // A ScaledObject without cron triggers is left to KEDA.
    let scaled_objects =
        listing.objects.scaled_objects.iter().filter(|own| !own.triggers.is_empty()).map(|own| {
            let source = VirtualPodSource::ScaledObject(own.key.clone());
            (source, &own.uid, own.target.0, &own.target.1)
        });
    let prewarm_schedules =
        listing.objects.prewarm_schedules.iter().filter_map(|own| match &own.target {
            PrewarmTarget::Workload { kind, name, .. } => {
                Some((VirtualPodSource::PrewarmSchedule(own.key.clone()), &own.uid, *kind, name))
            }
            PrewarmTarget::Template(_) => None,
        });
    let without_target =
        scaled_objects.chain(prewarm_schedules).filter_map(|(source, uid, kind, name)| {
            let message = missing_target(listing, source.key(), kind, name)?;
            let about = Subject::Source(source, uid.clone());
            Some(Event::new(about, EventReason::ScaleTargetNotFound, message))
        });
    unreadable.chain(without_target).collect()
}

/// The message about a missing target; `None` when it exists.
fn missing_target(
    listing: &ClusterListing,
    schedule: &ObjectKey,
    kind: WorkloadKind,
    name: &Text,
) -> Option<String> {
    let target = ObjectKey { namespace: schedule.namespace.clone(), name: name.clone() };
    if find(listing, kind, &target).is_some() {
        return None;
    }
    let missing = format!("{} {target} does not exist", kind.as_str());
    let elsewhere =
        listing.objects.workloads.iter().filter(|own| own.kind == kind && own.key.name == *name);
    Some(match elsewhere.map(|own| &own.key.namespace).min() {
        Some(other) => format!(
            "{missing}; there is one in namespace {other}, but a schedule must be in the \
             namespace of its target"
        ),
        None => missing,
    })
}

/// Schedules that scale a workload, with the workload.
fn scaling_schedules(
    listing: &ClusterListing,
) -> impl Iterator<Item = (&PrewarmSchedule, WorkloadRef)> {
    listing.objects.prewarm_schedules.iter().filter_map(|schedule| match &schedule.target {
        PrewarmTarget::Workload { kind, name, scale: true } => {
            let key = ObjectKey { namespace: schedule.key.namespace.clone(), name: name.clone() };
            Some((schedule, WorkloadRef { kind: *kind, key }))
        }
        PrewarmTarget::Workload { scale: false, .. } | PrewarmTarget::Template(_) => None,
    })
}

fn find<'v>(
    listing: &'v ClusterListing,
    kind: WorkloadKind,
    key: &ObjectKey,
) -> Option<&'v Workload> {
    listing.objects.workloads.iter().find(|own| own.kind == kind && own.key == *key)
}

#[cfg(test)]
mod tests {
    use domain::buffer::ScaledObject;
    use domain::snapshot::ClusterObjects;

    use super::*;
    use crate::ports::cluster::UnreadableSource;
    use crate::testing::scheduled_scaling::{minutes_trigger, prewarm_schedule, workload};
    use crate::testing::{at, listing_of};

    /// A Deployment with some replicas, and a schedule of three from the 10th to the 20th minute of
    /// every hour.
    fn scaled(replicas: u32) -> ClusterListing {
        listing_of(ClusterObjects {
            workloads: vec![workload("web", replicas)],
            prewarm_schedules: vec![prewarm_schedule("web", minutes_trigger(10, 20, 3))],
            ..ClusterObjects::default()
        })
    }

    fn change(listing: &ClusterListing, minute: i64) -> Option<(u32, u32)> {
        let scalings = scalings(listing, at(minute * 60));
        assert!(scalings.len() <= 1);
        scalings.first().map(|own| (own.from, own.to))
    }

    #[test]
    fn replicas_are_set_at_the_start_and_taken_back_a_while_after_the_end() {
        let changes: Vec<_> = [9, 10, 19, 24, 25].map(|minute| change(&scaled(0), minute)).into();
        assert_eq!(changes, [None, Some((0, 3)), Some((0, 3)), Some((0, 3)), None]);
        let changes: Vec<_> = [10, 24, 25, 59].map(|minute| change(&scaled(3), minute)).into();
        assert_eq!(
            changes,
            [None, None, Some((3, 0)), Some((3, 0))],
            "also when invocations were missed"
        );
    }

    #[test]
    fn replicas_stay_within_the_limits() {
        let mut listing = scaled(1);
        listing.objects.prewarm_schedules[0].min_replicas = 2;
        assert_eq!(change(&listing, 0), Some((1, 2)));
        listing.objects.prewarm_schedules[0].max_replicas = 2;
        assert_eq!(change(&listing, 10), Some((1, 2)));
    }

    #[test]
    fn of_several_schedules_the_one_that_wants_most_counts() {
        let mut listing = scaled(0);
        let mut more = prewarm_schedule("web", minutes_trigger(15, 20, 5));
        more.key = ObjectKey::new("default", "more");
        listing.objects.prewarm_schedules.push(more);
        assert_eq!(change(&listing, 10), Some((0, 3)));
        assert_eq!(change(&listing, 15), Some((0, 5)));
        listing.objects.prewarm_schedules.reverse();
        assert_eq!(scalings(&listing, at(900))[0].schedule.0, ObjectKey::new("default", "more"));
    }

    #[test]
    fn a_schedule_that_does_not_scale_changes_no_replicas() {
        let mut listing = scaled(0);
        listing.objects.prewarm_schedules[0].target = PrewarmTarget::Workload {
            kind: WorkloadKind::Deployment,
            name: "web".into(),
            scale: false,
        };
        assert_eq!(change(&listing, 15), None);
        assert_eq!(next_scaling(&listing, at(0)), None);
    }

    #[test]
    fn the_next_scaling_is_known_ahead() {
        assert_eq!(next_scaling(&scaled(0), at(0)), Some(at(600)));
        assert_eq!(next_scaling(&scaled(0), at(600)), Some(at(25 * 60)));
    }

    fn schedule_warning(listing: &ClusterListing) -> Option<(EventReason, Text)> {
        let events = schedule_warnings(listing);
        assert!(events.len() <= 1, "{events:?}");
        events.first().map(|event| (event.reason, event.message.clone()))
    }

    #[test]
    fn a_missing_target_is_reported_with_the_namespace_that_has_one() {
        let mut listing = scaled(0);
        assert_eq!(schedule_warning(&listing), None);
        listing.objects.workloads[0].key.namespace = "shop".into();
        let (reason, message) = schedule_warning(&listing).unwrap();
        assert_eq!(reason, EventReason::ScaleTargetNotFound);
        assert!(message.starts_with("Deployment default/web does not exist; "), "{message}");
        assert!(message.contains("namespace shop"), "{message}");
        listing.objects.workloads.clear();
        assert_eq!(
            &*schedule_warning(&listing).unwrap().1,
            "Deployment default/web does not exist"
        );
    }

    #[test]
    fn a_scaled_object_without_cron_triggers_is_left_in_peace() {
        let scaled_object = |triggers| {
            listing_of(ClusterObjects {
                scaled_objects: vec![ScaledObject {
                    key: ObjectKey::new("default", "web"),
                    uid: "u".into(),
                    target: (WorkloadKind::Deployment, "web".into()),
                    min_replicas: 0,
                    max_replicas: 9,
                    cooldown_period: HOLD,
                    triggers,
                    lead_time: None,
                }],
                ..ClusterObjects::default()
            })
        };
        assert_eq!(schedule_warning(&scaled_object(Vec::new())), None);
        assert!(schedule_warning(&scaled_object(vec![minutes_trigger(10, 20, 3)])).is_some());
    }

    #[test]
    fn a_malformed_schedule_is_reported_with_the_field() {
        let listing = ClusterListing {
            unreadable_sources: vec![UnreadableSource {
                source: VirtualPodSource::ScaledObject(ObjectKey::new("default", "web")),
                uid: "u".into(),
                problem:
                    "spec.triggers[0].metadata.timezone: \"Asia/Soul\" is not an IANA time zone"
                        .into(),
            }],
            ..ClusterListing::default()
        };
        let (reason, message) = schedule_warning(&listing).unwrap();
        assert_eq!(reason, EventReason::InvalidSpecification);
        assert!(message.contains("timezone") && message.contains("Asia/Soul"), "{message}");
    }
}
