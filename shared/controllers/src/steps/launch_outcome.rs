//! The outcome of a launch, applied to its claim.

use std::sync::Arc;

use domain::instance_type::{InstanceType, InstanceTypes};
use domain::label::{self, Labels};
use domain::node_claim::ConditionType;
use domain::requirement::Requirements;
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources};
use domain::{SignedDuration, Text, Timestamp};

use super::backoff;
use super::condition::{ConditionState, clear, set_condition, set_true, update_ready};
use crate::ports::cloud::{Exhausted, Instance, LaunchOutcome};
use crate::ports::error::{ErrorKind, PortError};
use crate::record::claim::{ClaimRecord, later};
use crate::record::launch::{EFA, LaunchAttempt, LaunchChoices};
use crate::record::unavailable::{
    ACCOUNT_TTL, ANY, NOT_OFFERED, NOT_OFFERED_TTL, UNAVAILABLE_TTL, UnavailableOffering,
};

/// The shortest backoff between attempts to launch, without jitter.
const PAUSE_FIRST: SignedDuration = SignedDuration::from_secs(1);
/// The longest backoff between attempts to launch.
const PAUSE_MAX: SignedDuration = SignedDuration::from_mins(1);

/// What follows from an attempt to launch a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterLaunch {
    /// What to do with the claim.
    pub verdict: LaunchVerdict,
    /// Offerings to mark unavailable.
    pub unavailable: Vec<UnavailableOffering>,
}

/// What to do with a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchVerdict {
    /// Record its instance.
    Launched(Instance),
    /// Delete it, so that its pods are scheduled again.
    GiveUp(GiveUp),
    /// Retry later with the same token: whether there is an instance is unknown.
    Repeat {
        /// Why it is unknown.
        error: PortError,
        /// EC2 has answered that this call launched nothing.
        is_answered: bool,
    },
    /// Attempt it anew with another token: there is no instance.
    AttemptAnew {
        /// Why the attempt failed.
        error: PortError,
        /// Another attempt may follow at once.
        at_once: bool,
    },
}

/// Why a launch was given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GiveUp {
    /// Every offering lacked capacity.
    #[error("no capacity in any of {0} offerings")]
    NoCapacity(usize),
    /// Its node class is not ready.
    #[error("node class not ready: {0}")]
    NodeClassNotReady(Text),
}

/// What follows from the outcome of a launch.
pub fn after_launch(record: &ClaimRecord, outcome: LaunchOutcome, now: Timestamp) -> AfterLaunch {
    match outcome {
        LaunchOutcome::Launched { instance, exhausted } => AfterLaunch {
            verdict: LaunchVerdict::Launched(instance),
            unavailable: unavailable(exhausted, now),
        },
        LaunchOutcome::OutOfCapacity { exhausted } => AfterLaunch {
            verdict: LaunchVerdict::GiveUp(GiveUp::NoCapacity(record.launch.offerings.len())),
            unavailable: unavailable(or_all(exhausted, record), now),
        },
        LaunchOutcome::NodeClassNotReady { message } => AfterLaunch {
            verdict: LaunchVerdict::GiveUp(GiveUp::NodeClassNotReady(message)),
            unavailable: Vec::new(),
        },
        LaunchOutcome::Failed { error, exhausted } if error.kind == ErrorKind::NoCapacity => {
            AfterLaunch {
                verdict: LaunchVerdict::GiveUp(GiveUp::NoCapacity(record.launch.offerings.len())),
                unavailable: unavailable(or_all(exhausted, record), now),
            }
        }
        LaunchOutcome::Refused { error, exhausted, is_mended } => AfterLaunch {
            verdict: LaunchVerdict::AttemptAnew { error, at_once: is_mended },
            unavailable: unavailable(exhausted, now),
        },
        LaunchOutcome::Failed { error, exhausted } => AfterLaunch {
            verdict: LaunchVerdict::Repeat { error, is_answered: false },
            unavailable: unavailable(exhausted, now),
        },
        LaunchOutcome::NotShown { error, exhausted } => AfterLaunch {
            verdict: LaunchVerdict::Repeat { error, is_answered: true },
            unavailable: unavailable(exhausted, now),
        },
    }
}

/// The offerings that lacked capacity: all of them when EC2 returned neither an instance nor an
/// error.
fn or_all(exhausted: Vec<Exhausted>, record: &ClaimRecord) -> Vec<Exhausted> {
    if !exhausted.is_empty() {
        return exhausted;
    }
    let code = "InsufficientInstanceCapacity";
    record.launch.offerings.iter().map(|offering| Exhausted::of(offering, code)).collect()
}

fn unavailable(exhausted: Vec<Exhausted>, now: Timestamp) -> Vec<UnavailableOffering> {
    let mut all: Vec<UnavailableOffering> = exhausted
        .into_iter()
        .map(|one| {
            let ttl = match (&*one.instance_type, &*one.code) {
                (ANY, _) => ACCOUNT_TTL,
                (_, NOT_OFFERED) => NOT_OFFERED_TTL,
                _ => UNAVAILABLE_TTL,
            };
            UnavailableOffering {
                instance_type: one.instance_type,
                zone: one.zone,
                capacity_type: one.capacity_type,
                code: one.code,
                until: later(now, ttl).unwrap_or(now),
            }
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The record with its instance: labels, status and condition Launched.
///
/// The claim's own labels take precedence over those of the instance. The price is that of the
/// requested offering when the cloud does not report one.
pub fn launched(
    mut record: ClaimRecord,
    mut instance: Instance,
    catalogue: &InstanceTypes,
    now: Timestamp,
) -> ClaimRecord {
    if instance.price.is_none() {
        instance.price = record
            .launch
            .offerings
            .iter()
            .find(|offering| {
                offering.instance_type == instance.instance_type
                    && offering.zone == instance.zone
                    && offering.capacity_type == instance.capacity_type
            })
            .map(|offering| offering.price);
    }
    let instance_type = catalogue
        .of(&record.launch.node_class)
        .iter()
        .find(|instance_type| instance_type.name == instance.instance_type);
    let wanted = Requirements::of(record.claim.requirements.iter());
    let mut labels = resolved_labels(&instance, instance_type, &wanted, catalogue);
    let claim = &mut record.claim;
    labels.append(&mut claim.labels);
    claim.labels = labels;
    claim.status.provider_id = Some(instance.provider_id.clone());
    claim.status.image_id = Some(instance.image_id.clone());
    if let Some(instance_type) = instance_type {
        claim.status.capacity = instance_type.capacity.clone();
        claim.status.allocatable = instance_type.allocatable.clone();
        // Those of NodeOverlays are not in the catalogue, and pods wait for them until the Node
        // reports them.
        let devices = requested_devices(&claim.requests);
        claim.status.capacity.raise_to(&devices);
        claim.status.allocatable.raise_to(&devices);
        if !record.launch.wants_efa {
            // It was launched without adapters, whatever its type may have.
            claim.status.capacity.set(&EFA.into(), 0);
            claim.status.allocatable.set(&EFA.into(), 0);
        }
    }
    set_true(claim, ConditionType::Launched, now);
    // The registration time limit begins with the launch.
    let state = ConditionState::unknown("NodeNotFound", "the Node has not joined the cluster yet");
    clear(claim, ConditionType::Registered);
    set_condition(claim, ConditionType::Registered, state, now);
    update_ready(claim, now);
    record.instance = Some(instance);
    record.launch_not_before = None;
    record
}

/// What a claim was planned with beyond what every instance has.
fn requested_devices(requests: &Resources) -> Resources {
    let native = [CPU, MEMORY, EPHEMERAL_STORAGE, PODS];
    let mut devices = Resources::new();
    for (name, amount) in requests.iter().filter(|(name, _)| !native.contains(&&***name)) {
        devices.set(name, amount);
    }
    devices
}

fn resolved_labels(
    instance: &Instance,
    instance_type: Option<&InstanceType>,
    wanted: &Requirements,
    catalogue: &InstanceTypes,
) -> Labels {
    // A type may run several operating systems: the claim says which of them it was launched with.
    let settled = |key: &Text, values: &[Text]| {
        let rule = wanted.get(key);
        let mut left =
            values.iter().filter(|own| rule.is_none_or(|rule| rule.values.contains(own)));
        let value = left.next()?;
        left.next().is_none().then(|| (key.clone(), value.clone()))
    };
    let mut labels: Labels = instance_type
        .into_iter()
        .flat_map(|instance_type| &instance_type.labels)
        .filter_map(|(key, values)| settled(key, values))
        .collect();
    let mut set = |key: &str, value: Option<&Text>| {
        if let Some(value) = value {
            labels.insert(key.into(), value.clone());
        }
    };
    set(label::INSTANCE_TYPE, Some(&instance.instance_type));
    set(label::ZONE, Some(&instance.zone));
    set(label::CAPACITY_TYPE, Some(&instance.capacity_type.as_str().into()));
    set(label::REGION, catalogue.region.as_ref());
    set(label::ZONE_ID, catalogue.zone_ids.get(&instance.zone));
    set(label::RESERVATION_ID, instance.reservation_id.as_ref());
    let offerings = instance_type.into_iter().flat_map(|instance_type| &instance_type.offerings);
    let own = offerings
        .filter_map(|offering| offering.reservation.as_ref())
        .find(|reservation| instance.reservation_id.as_ref() == Some(&reservation.id));
    for key in label::OF_RESERVATION {
        set(key, own.and_then(|own| own.label(key)).map(Text::from).as_ref());
    }
    labels
}

/// The record after a failed attempt: condition Launched has the error, and the next attempt backs
/// off for up to 1 s, 2 s, 4 s … up to a minute, at least half of it: claims that EC2 throttled
/// together do not come back together.
pub fn launch_failed(mut record: ClaimRecord, error: &PortError, now: Timestamp) -> ClaimRecord {
    record.launch_failures = record.launch_failures.saturating_add(1);
    let pause = backoff::pause(PAUSE_FIRST, PAUSE_MAX, &record.claim.uid, record.launch_failures);
    record.launch_not_before = later(now, pause);
    let message = error.to_string();
    let state = ConditionState::unknown("LaunchFailed", &message);
    set_condition(&mut record.claim, ConditionType::Launched, state, now);
    record
}

/// The record once a call of its attempt was left without an answer: it may have launched an
/// instance up to now, which EC2 may not show for a while from now on.
pub fn attempt_unanswered(mut record: ClaimRecord, now: Timestamp) -> ClaimRecord {
    Arc::make_mut(&mut record.launch).attempt.since = now;
    record
}

/// The record once EC2 has answered its attempt without an instance.
pub fn attempt_over(mut record: ClaimRecord) -> ClaimRecord {
    Arc::make_mut(&mut record.launch).attempt.is_over = true;
    record
}

/// The record with its next attempt, which asks for the same under another client token.
pub fn next_attempt(
    mut record: ClaimRecord,
    choices: Option<LaunchChoices>,
    now: Timestamp,
) -> ClaimRecord {
    let mut launch = (*record.launch).clone();
    let number = launch.attempt.number.saturating_add(1);
    launch.attempt = LaunchAttempt { number, since: now, choices, is_over: false };
    record.launch = launch.into();
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, instance, instance_type, offering, record};
    use domain::instance_type::{CapacityType, Offering, Reservation};
    use domain::requirement::Requirement;

    #[test]
    fn a_response_with_neither_instance_nor_error_marks_all_offerings_unavailable() {
        let record = record("web-1");
        let after =
            after_launch(&record, LaunchOutcome::OutOfCapacity { exhausted: vec![] }, at(0));
        assert_eq!(after.verdict, LaunchVerdict::GiveUp(GiveUp::NoCapacity(1)));
        assert_eq!(after.unavailable.len(), 1);
        assert_eq!(after.unavailable[0].until, at(180));
    }

    #[test]
    fn how_long_an_offering_is_not_tried_follows_from_why() {
        let record = record("web-1");
        let until = |instance_type: &str, code: &str| {
            let own = &record.launch.offerings[0];
            let mut exhausted = Exhausted::of(own, code);
            exhausted.instance_type = instance_type.into();
            let outcome = LaunchOutcome::OutOfCapacity { exhausted: vec![exhausted] };
            after_launch(&record, outcome, at(0)).unavailable[0].until
        };
        assert_eq!(until("m5.large", "InsufficientInstanceCapacity"), at(3 * 60));
        assert_eq!(until(ANY, "MaxSpotInstanceCountExceeded"), at(10 * 60));
        assert_eq!(until("m5.large", NOT_OFFERED), at(60 * 60));
    }

    #[test]
    fn a_success_may_still_mark_what_was_tried_first() {
        let record = record("web-1");
        let exhausted = vec![Exhausted {
            instance_type: "c5.large".into(),
            zone: "a".into(),
            capacity_type: CapacityType::Spot,
            code: "InsufficientInstanceCapacity".into(),
        }];
        let outcome =
            LaunchOutcome::Launched { instance: instance("i-1", &record, at(0)), exhausted };
        let after = after_launch(&record, outcome, at(0));
        assert!(matches!(after.verdict, LaunchVerdict::Launched(_)));
        assert_eq!(&*after.unavailable[0].instance_type, "c5.large");
    }

    #[test]
    fn a_launched_claim_knows_its_type_zone_and_room_and_keeps_its_own_labels() {
        let mut claim = record("web-1");
        claim.claim.labels.insert("team".into(), "blue".into());
        let mut m5 = instance_type("m5.large", [offering("a", "spot", 40)]);
        m5.labels.insert("team".into(), vec!["red".into()]);
        m5.labels.insert("kubernetes.io/arch".into(), vec!["amd64".into()]);
        let catalogue =
            InstanceTypes { default: vec![m5.clone()].into(), ..InstanceTypes::default() };
        let instance = instance("i-1", &claim, at(5));
        let after = launched(claim, instance, &catalogue, at(5));
        let label = |key: &str| after.claim.labels.get(key).map(|value| &**value);
        assert_eq!(label("team"), Some("blue"));
        assert_eq!(label(label::ARCH), Some("amd64"));
        assert_eq!(label(label::ZONE), Some("a"));
        assert_eq!(after.claim.status.allocatable.get(CPU), m5.allocatable.get(CPU));
        assert!(after.claim.is(ConditionType::Launched));
    }

    #[test]
    fn a_claim_promises_the_devices_of_an_overlay_that_it_was_planned_with() {
        const DEVICE: &str = "example.com/fpga";
        let mut claim = record("web-1");
        claim.claim.requests = Resources::new().with(CPU, 9_000).with(DEVICE, 1);
        let m5 = instance_type("m5.large", [offering("a", "spot", 40)]);
        let catalogue =
            InstanceTypes { default: vec![m5.clone()].into(), ..InstanceTypes::default() };
        let instance = instance("i-1", &claim, at(5));
        let status = launched(claim, instance, &catalogue, at(5)).claim.status;
        assert_eq!([status.capacity.get(DEVICE), status.allocatable.get(DEVICE)], [1, 1]);
        assert_eq!(status.allocatable.get(CPU), m5.allocatable.get(CPU));
    }

    #[test]
    fn a_claim_in_a_reservation_says_of_which_type_it_is() {
        let block = Reservation {
            reservation_type: "capacity-block".into(),
            ..Reservation::of_id("cr-block")
        };
        let reserved =
            |own| Offering { reservation: Some(Box::new(own)), ..offering("a", "reserved", 0) };
        let offerings = [reserved(Reservation::of_id("cr-1")), reserved(block)];
        let m5 = instance_type("m5.large", offerings);
        let catalogue = InstanceTypes { default: vec![m5].into(), ..InstanceTypes::default() };
        let labels = |id: Option<&str>| {
            let claim = record("web-1");
            let mut instance = instance("i-1", &claim, at(5));
            instance.reservation_id = id.map(Text::from);
            let labels = launched(claim, instance, &catalogue, at(5)).claim.labels;
            label::OF_RESERVATION.map(|key| labels.get(key).map(ToString::to_string))
        };
        let expected = ["cr-block", "capacity-block", "false"].map(|own| Some(own.to_owned()));
        assert_eq!(labels(Some("cr-block")), expected);
        assert_eq!(labels(None), [None, None, None]);
    }

    #[test]
    fn of_several_operating_systems_of_its_type_a_claim_has_the_one_that_it_asked_for() {
        let mut m5 = instance_type("m5.large", [offering("a", "spot", 40)]);
        m5.labels.insert(label::OS.into(), vec!["linux".into(), "windows".into()]);
        let catalogue = InstanceTypes { default: vec![m5].into(), ..InstanceTypes::default() };
        let os = |requirements: Vec<Requirement>| {
            let mut claim = record("web-1");
            claim.claim.requirements = requirements.into();
            let instance = instance("i-1", &claim, at(5));
            launched(claim, instance, &catalogue, at(5)).claim.labels.get(label::OS).cloned()
        };
        let linux = Requirement::is_in(&Text::from(label::OS), ["linux".into()]);
        assert_eq!(os(vec![linux]).as_deref(), Some("linux"));
        assert_eq!(os(Vec::new()), None);
    }

    #[test]
    fn a_claim_has_no_adapters_that_it_was_launched_without() {
        let adapters = |wants_efa: bool| {
            let mut claim = record("web-1");
            Arc::make_mut(&mut claim.launch).wants_efa = wants_efa;
            let mut m5 = instance_type("m5.large", [offering("a", "spot", 40)]);
            m5.capacity = m5.capacity.with(EFA, 1);
            let catalogue = InstanceTypes { default: vec![m5].into(), ..InstanceTypes::default() };
            let instance = instance("i-1", &claim, at(5));
            launched(claim, instance, &catalogue, at(5)).claim.status.capacity.get(EFA)
        };
        assert_eq!([adapters(true), adapters(false)], [1, 0]);
    }

    #[test]
    fn attempts_pause_about_twice_as_long_each_time_up_to_a_minute() {
        let error = PortError::new(ErrorKind::Throttled, "CreateFleet", "slow down");
        let mut claim = record("web-1");
        for whole in [1, 2, 4, 8, 16, 32, 60, 60] {
            claim = launch_failed(claim, &error, at(0));
            let pause = claim.launch_not_before.unwrap().duration_since(at(0)).as_millis();
            assert!((whole * 500..=whole * 1000).contains(&pause), "{pause} ms of {whole} s");
        }
        let launched = claim.claim.condition(ConditionType::Launched).unwrap();
        assert_eq!(&*launched.message, "CreateFleet: throttled: slow down");
    }

    #[test]
    fn claims_that_were_throttled_together_do_not_come_back_together() {
        let error = PortError::new(ErrorKind::Throttled, "CreateFleet", "slow down");
        let due = |name: &str| launch_failed(record(name), &error, at(0)).launch_not_before;
        let mut all: Vec<_> = (0..20).map(|index| due(&format!("web-{index}"))).collect();
        all.sort();
        all.dedup();
        assert!(all.len() > 15, "{} different moments for twenty claims", all.len());
        assert_eq!(due("web-1"), due("web-1"), "a run that is repeated decides the same");
    }
}
