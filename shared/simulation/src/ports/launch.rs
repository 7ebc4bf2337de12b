//! A launch by port `Cloud`: one fleet for each request, and what its answer means.
//!
//! Answers are read as the adapter to the real EC2 reads them, so that what is right here is right
//! there.

use controllers::ports::cloud::{Exhausted, LaunchOutcome};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::launch::LaunchRequest;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::node_class::Ec2NodeClass;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};

use super::cloud::{CLAIM_TAG, CLAIM_UID_TAG, DEFAULT_IMAGE, described, shown};
use crate::ec2::{
    FleetAnswer, FleetError, FleetErrorCode, FleetOverride, FleetRequest, Registration,
};
use crate::report::Happening;
use crate::world::World;

const OPERATION: &str = "CreateFleet";

pub(super) fn launch(
    world: &mut World,
    request: &LaunchRequest,
    node_classes: &[Ec2NodeClass],
) -> LaunchOutcome {
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
    match world.launch(&fleet_request(request, class, capacity_type)) {
        Ok(answer) => answered(world, request, &answer),
        Err(FleetError::NothingOffered) => {
            let exhausted =
                request.offerings.iter().map(|own| Exhausted::of(own, "Unsupported")).collect();
            world.note_launch_failed(&request.claim, &[]);
            LaunchOutcome::OutOfCapacity { exhausted }
        }
        Err(FleetError::ParameterMismatch) => earlier_launch(world, request),
        Err(error) => {
            let kind = match error {
                FleetError::Throttled => ErrorKind::Throttled,
                _ => ErrorKind::Unavailable,
            };
            note_fault(world, &error.to_string());
            let failed = PortError::new(kind, OPERATION, error.to_string()).because(error);
            LaunchOutcome::Failed(failed)
        }
    }
}

/// The client token of a request.
fn client_token(request: &LaunchRequest) -> Text {
    request.token.clone()
}

/// The uid of the claim that an instance is launched for, for its tags.
fn claim_uid(request: &LaunchRequest) -> Text {
    request.token.clone()
}

/// What an answer means: its instance, else an error that is not about capacity, else that there is
/// no capacity.
fn answered(world: &mut World, request: &LaunchRequest, answer: &FleetAnswer) -> LaunchOutcome {
    let exhausted = exhausted(request, answer);
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
        return LaunchOutcome::Failed(PortError::new(kind, OPERATION, message));
    }
    if answer.errors.is_empty() {
        note_fault(world, "neither an instance nor an error");
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

/// What had none left. Zones have one subnet each, so that a full one speaks for its zone.
fn exhausted(request: &LaunchRequest, answer: &FleetAnswer) -> Vec<Exhausted> {
    let missing = FleetErrorCode::SpotRoleMissing;
    if answer.errors.iter().any(|own| own.code == missing) {
        return request.offerings.iter().map(|own| Exhausted::of(own, missing.as_str())).collect();
    }
    let lacking = answer.errors.iter().filter(|own| kind(own.code).is_none());
    lacking
        .map(|own| Exhausted {
            instance_type: own.pool.instance_type.clone(),
            zone: own.pool.zone.clone(),
            capacity_type: own.pool.capacity_type,
            code: own.code.as_str().into(),
        })
        .collect()
}

/// The instance of an earlier request for the same claim with other parameters, as soon as EC2
/// shows it.
fn earlier_launch(world: &mut World, request: &LaunchRequest) -> LaunchOutcome {
    note_fault(world, &FleetError::ParameterMismatch.to_string());
    let uid = claim_uid(request);
    let earlier = described(world).filter(|own| own.claim_uid.as_ref() == Some(&uid));
    let oldest = earlier.min_by(|a, b| (a.launched, &a.id).cmp(&(b.launched, &b.id)));
    if let Some(instance) = oldest {
        return LaunchOutcome::Launched { instance, exhausted: Vec::new() };
    }
    let message =
        format!("EC2 knows token {uid} with other parameters, and does not show its instance yet");
    LaunchOutcome::Failed(PortError::new(ErrorKind::Unavailable, OPERATION, message))
}

fn note_fault(world: &mut World, what: &str) {
    let now = world.now;
    world.journal.add(now, Happening::Fault(format!("{OPERATION}: {what}").into()));
}

fn fleet_request(
    request: &LaunchRequest,
    class: &Ec2NodeClass,
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
    let image = class.status.amis.first().map_or(DEFAULT_IMAGE.into(), |ami| ami.id.clone());
    FleetRequest {
        client_token: client_token(request),
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
