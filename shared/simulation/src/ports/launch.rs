//! A launch by port `Cloud`: one fleet for each request, and what its answer means.
//!
//! Answers are read as the adapter to the real EC2 reads them, so that what is right here is right
//! there.

use controllers::ports::cloud::{Exhausted, LaunchCall, LaunchOutcome};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::launch::LaunchRequest;
use controllers::record::unavailable::ANY;
use controllers::steps::end::INSTANCE_GRACE;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::node_class::{Ec2NodeClass, ResolvedAmi};
use domain::requirement::Requirement;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};

use super::instance::{CLAIM_TAG, CLAIM_UID_TAG, described, shown};
use crate::ec2::{
    CallRefusal, FleetAnswer, FleetError, FleetErrorCode, FleetOverride, FleetRequest, PoolError,
    Registration, resolved_images,
};
use crate::report::Happening;
use crate::world::World;

const OPERATION: &str = "CreateFleet";

pub(super) fn launch(
    world: &mut World,
    call: &LaunchCall,
    node_classes: &[Ec2NodeClass],
) -> LaunchOutcome {
    let LaunchCall { request, is_repeat } = call;
    let class = node_classes.iter().find(|class| class.name == request.node_class);
    let Some(class) = class else {
        let message = format!("EC2NodeClass {} does not exist", request.node_class).into();
        return LaunchOutcome::NodeClassNotReady { message };
    };
    if class.is_deleting || class.status.ready == Some(false) {
        let message = format!("EC2NodeClass {} is not ready", class.name).into();
        return LaunchOutcome::NodeClassNotReady { message };
    }
    world.ec2.types_for(node_classes);
    let Some(capacity_type) = request.offerings.first().map(|own| own.capacity_type) else {
        return LaunchOutcome::OutOfCapacity { exhausted: Vec::new() };
    };
    if class.status.amis.is_empty() && !class.image_age.held_back.is_empty() {
        let message = format!("EC2NodeClass {} has no image that is old enough", class.name);
        return LaunchOutcome::NodeClassNotReady { message: message.into() };
    }
    let images = resolved_images(world.seed, class);
    let image = images.first().map(|own| own.id.clone()).unwrap_or_default();
    match world.launch(&fleet_request(request, image, capacity_type)) {
        Ok(answer) => {
            if let Some(id) = &answer.instance {
                boot_from(world, id, &images);
            }
            let outcome = answered(world, request, &answer);
            if answer.instance.is_none() && *is_repeat {
                earlier_launch(world, request, outcome)
            } else {
                outcome
            }
        }
        Err(FleetError::NothingOffered) => {
            let exhausted =
                request.offerings.iter().map(|own| Exhausted::of(own, "Unsupported")).collect();
            world.note_launch_failed(&request.claim, &[]);
            LaunchOutcome::OutOfCapacity { exhausted }
        }
        Err(error @ FleetError::ParameterMismatch) => {
            note_fault(world, &error.to_string());
            let error = PortError::new(ErrorKind::Conflict, OPERATION, error.to_string());
            let refused = LaunchOutcome::Refused { error, exhausted: Vec::new(), is_mended: false };
            earlier_launch(world, request, refused)
        }
        Err(error) => {
            let refused = match error {
                FleetError::Refused(refusal) => Some(kind_of_call(refusal)),
                _ => None,
            };
            note_fault(world, &error.to_string());
            let kind = refused.unwrap_or(ErrorKind::Unavailable);
            let error = PortError::new(kind, OPERATION, error.to_string()).because(error);
            // A first call that was refused launched nothing. Of a repeat, the first may have.
            if refused.is_some() && !is_repeat {
                LaunchOutcome::Refused { error, exhausted: Vec::new(), is_mended: false }
            } else if refused.is_some() {
                LaunchOutcome::NotShown { error, exhausted: Vec::new() }
            } else {
                LaunchOutcome::failed(error)
            }
        }
    }
}

/// An instance boots from the first image that is for its type.
fn boot_from(world: &mut World, id: &Text, images: &[ResolvedAmi]) {
    let Some(instance) = world.ec2.instance(id) else { return };
    let own = &instance.pool.instance_type;
    let found = world.ec2.types().default.iter().find(|known| known.name == *own);
    let Some(labels) = found.map(|known| &known.labels) else { return };
    let meets = |requirement: &Requirement| {
        let wanted = requirement.value_set();
        match labels.get(&requirement.key) {
            Some(values) => values.iter().any(|value| wanted.contains(value)),
            None => requirement.holds_for(&Labels::new()),
        }
    };
    let image = images.iter().find(|image| image.requirements.iter().all(meets));
    if let Some(image) = image.map(|image| image.id.clone()) {
        world.ec2.set_image(id, image);
    }
}

/// The uid of the claim that an instance is launched for, for its tags.
fn claim_uid(request: &LaunchRequest) -> Text {
    request.token.clone()
}

/// What an answer means: its instance, else an error that is not about capacity, else that there is
/// no capacity.
fn answered(world: &mut World, request: &LaunchRequest, answer: &FleetAnswer) -> LaunchOutcome {
    let exhausted = exhausted(answer);
    let insufficient = answer.insufficient();
    let launched = answer.instance.as_ref().and_then(|id| world.ec2.instance(id)).cloned();
    if let Some(instance) = launched {
        world.note_launched(request, &instance, &insufficient);
        return LaunchOutcome::Launched { instance: shown(&instance), exhausted };
    }
    let refusal = answer.errors.iter().map(|own| own.code).find(|code| kind(*code).is_some());
    if let Some((code, kind)) = refusal.and_then(|code| Some((code, kind(code)?))) {
        let message = format!("{} inside the answer", code.as_str());
        note_fault(world, &message);
        let error = PortError::new(kind, OPERATION, message);
        return LaunchOutcome::Refused { error, exhausted, is_mended: false };
    }
    if answer.errors.is_empty() {
        note_fault(world, "neither an instance nor an error");
        if request.attempt.number == 1 {
            let what = "EC2 answered with neither an instance nor an error";
            let error = PortError::new(ErrorKind::Unavailable, OPERATION, what);
            return LaunchOutcome::Refused { error, exhausted, is_mended: false };
        }
    }
    world.note_launch_failed(&request.claim, &insufficient);
    LaunchOutcome::OutOfCapacity { exhausted }
}

/// The kind of failure that an error inside an answer stands for; `None` for want of capacity.
fn kind(code: FleetErrorCode) -> Option<ErrorKind> {
    match code {
        FleetErrorCode::InsufficientCapacity
        | FleetErrorCode::Unfulfillable
        | FleetErrorCode::VcpuLimit
        | FleetErrorCode::SpotCount
        | FleetErrorCode::SubnetFull
        | FleetErrorCode::SpotRoleMissing => None,
        FleetErrorCode::Throttled => Some(ErrorKind::Throttled),
        FleetErrorCode::Internal | FleetErrorCode::ProfileUnknown => Some(ErrorKind::Unavailable),
        FleetErrorCode::Denied => Some(ErrorKind::Denied),
    }
}

/// The kind of failure that the refusal of a whole call stands for.
fn kind_of_call(refusal: CallRefusal) -> ErrorKind {
    match refusal {
        CallRefusal::Throttled | CallRefusal::FleetCount => ErrorKind::Throttled,
        CallRefusal::Denied => ErrorKind::Denied,
        CallRefusal::InvalidParameter | CallRefusal::InvalidFleetConfig => ErrorKind::Invalid,
    }
}

/// What had none left. Zones have one subnet each, so that a full one speaks for its zone. What
/// fills an answer up beside another error says nothing of its pool.
fn exhausted(answer: &FleetAnswer) -> Vec<Exhausted> {
    let of_account = |own: &&PoolError| {
        matches!(own.code, FleetErrorCode::SpotRoleMissing | FleetErrorCode::SpotCount)
    };
    if let Some(own) = answer.errors.iter().find(of_account) {
        return vec![Exhausted {
            instance_type: ANY.into(),
            zone: ANY.into(),
            capacity_type: own.pool.capacity_type,
            code: own.code.as_str().into(),
        }];
    }
    let filler = FleetErrorCode::Unfulfillable;
    let has_cause = answer.errors.iter().any(|own| own.code != filler);
    let lacking = answer
        .errors
        .iter()
        .filter(|own| kind(own.code).is_none() && (own.code != filler || !has_cause));
    lacking
        .map(|own| Exhausted {
            instance_type: own.pool.instance_type.clone(),
            zone: own.pool.zone.clone(),
            capacity_type: own.pool.capacity_type,
            code: own.code.as_str().into(),
        })
        .collect()
}

/// The instance of an earlier request for the same claim, as soon as EC2 shows it. Where it shows
/// none, the claim waits as long as it may still appear, and then is as though that request had not
/// been.
fn earlier_launch(
    world: &mut World,
    request: &LaunchRequest,
    without: LaunchOutcome,
) -> LaunchOutcome {
    let uid = claim_uid(request);
    let earlier = described(world).filter(|own| own.claim_uid.as_ref() == Some(&uid));
    let oldest = earlier.min_by(|a, b| (a.launched, &a.id).cmp(&(b.launched, &b.id)));
    // That no pool could serve may as well be said of a token whose instance is there.
    let unfulfillable = FleetErrorCode::Unfulfillable.as_str();
    let is_certain = |own: &&Exhausted| &*own.code != unfulfillable;
    let exhausted = without.exhausted().iter().filter(is_certain).cloned().collect();
    if let Some(instance) = oldest {
        return LaunchOutcome::Launched { instance, exhausted };
    }
    if world.now.duration_since(request.attempt.since) >= INSTANCE_GRACE {
        return without.waited_for();
    }
    let message = format!("EC2 may have an instance for {uid}, and does not show it yet");
    let error = PortError::new(ErrorKind::Unavailable, OPERATION, message);
    LaunchOutcome::NotShown { error, exhausted }
}

fn note_fault(world: &mut World, what: &str) {
    let now = world.now;
    world.journal.add(now, Happening::Fault(format!("{OPERATION}: {what}").into()));
}

fn fleet_request(
    request: &LaunchRequest,
    image: Text,
    capacity_type: CapacityType,
) -> FleetRequest {
    let overrides = request
        .offerings
        .iter()
        .filter(|own| own.capacity_type == capacity_type)
        .map(|own| FleetOverride {
            instance_type: own.instance_type.clone(),
            zone: own.zone.clone(),
            reservation: own.reservation_id.clone(),
        })
        .collect();
    FleetRequest {
        client_token: request.client_token().into(),
        capacity_type,
        overrides,
        node_class: request.node_class.clone(),
        image,
        tags: Labels::from([
            (CLAIM_TAG.into(), request.claim.clone()),
            (CLAIM_UID_TAG.into(), claim_uid(request)),
            (label::NODE_POOL.into(), request.node_pool.clone()),
        ]),
        registration: registration(request),
    }
}

/// What user data adds to a claim's labels and taints, as Karpenter's does for every family that it
/// writes user data for.
fn registration(request: &LaunchRequest) -> Registration {
    let mut labels = request.labels.clone();
    labels.insert(label::DO_NOT_SYNC_TAINTS.into(), "true".into());
    let mut taints = request.taints.clone();
    if !taints.iter().any(|taint| &*taint.key == UNREGISTERED) {
        taints.push(Taint {
            key: UNREGISTERED.into(),
            value: "".into(),
            effect: TaintEffect::NoExecute,
        });
    }
    Registration { node_name: "".into(), labels, taints }
}
