//! Port `Cloud` over the world's EC2.

use std::collections::BTreeSet;
use std::sync::Arc;

use controllers::ports::cloud::{
    Exhausted, InstanceStatus, LaunchCall, LaunchOutcome, NodeClassResolution, TagRequest,
    Termination,
};
use controllers::ports::{Cloud, ErrorKind, Instance, InstanceState, PortError};
use controllers::record::launch::{LaunchChoices, LaunchRequest};
use controllers::status::{ReservationStatus, ResolvedSecurityGroup};
use domain::Text;
use domain::instance_type::{CapacityType, InstanceTypes};
use domain::label::{self, Labels};
use domain::node_class::{Ec2NodeClass, ResolvedAmi, ResolvedSubnet};
use domain::stamp::NODE_CLASS_RULES;
use domain::taint::{Taint, TaintEffect, UNREGISTERED};

use super::shared_world::SharedWorld;
use crate::ec2::{self, CapacityPool, FleetError, FleetOverride, FleetRequest, Registration};
use crate::report::Happening;
use crate::world::World;

/// The tag that distinguishes claims of one name.
pub(crate) const CLAIM_UID_TAG: &str = "outrigger.dev/claim-uid";
/// The tag that names an instance's claim.
pub(crate) const CLAIM_TAG: &str = "karpenter.sh/nodeclaim";
/// The image of a node class whose images nobody has resolved.
const DEFAULT_IMAGE: &str = "ami-0123456789abcdef0";
const INSUFFICIENT: &str = "InsufficientInstanceCapacity";

impl Cloud for SharedWorld {
    async fn instance_types(
        &self,
        node_classes: &[Ec2NodeClass],
    ) -> Result<InstanceTypes, PortError> {
        Ok(self.call("DescribeInstanceTypes").await?.ec2.types_for(node_classes).clone())
    }

    async fn launch_choices(
        &self,
        requests: &[Arc<LaunchRequest>],
        _: &[Ec2NodeClass],
    ) -> Vec<Option<LaunchChoices>> {
        // One subnet a zone, and prices are EC2's own.
        requests.iter().map(|_| Some(LaunchChoices::default())).collect()
    }

    async fn launch(
        &self,
        calls: &[LaunchCall],
        node_classes: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError> {
        let mut outcomes = Vec::with_capacity(calls.len());
        for LaunchCall { request, .. } in calls {
            // One CreateFleet each: a process may die between two of them.
            self.set_out().await;
            outcomes.push(launch(&mut self.change(), request, node_classes));
        }
        Ok(outcomes)
    }

    async fn instances(&self) -> Result<Vec<Instance>, PortError> {
        let world = self.call("DescribeInstances").await?;
        let is_ours = |own: &&ec2::Instance| {
            own.state != ec2::InstanceState::Terminated && own.tags.contains_key(CLAIM_TAG)
        };
        Ok(world
            .ec2
            .instances()
            .filter(is_ours)
            .map(|own| Instance { price: None, ..shown(own) })
            .collect())
    }

    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        Ok(self.call("DescribeInstanceStatus").await?.statuses.values().cloned().collect())
    }

    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError> {
        let mut world = self.call("TerminateInstances").await?;
        Ok(instance_ids
            .iter()
            .map(|id| {
                let is_there = world
                    .ec2
                    .instance(id)
                    .is_some_and(|own| own.state != ec2::InstanceState::Terminated);
                if is_there && world.terminate(id) {
                    Termination::ShuttingDown
                } else {
                    Termination::Gone
                }
            })
            .collect())
    }

    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError> {
        let mut world = self.call("CreateTags").await?;
        let answer = requests.iter().map(|request| {
            let is_tagged = world.ec2.tag(&request.instance_id, &request.tags);
            let gone = || {
                let message = format!("{} does not exist", request.instance_id);
                PortError::new(ErrorKind::NotFound, "CreateTags", message)
            };
            if is_tagged { Ok(()) } else { Err(gone()) }
        });
        Ok(answer.collect())
    }

    async fn resolve_node_class(
        &self,
        class: &Ec2NodeClass,
    ) -> Result<NodeClassResolution, PortError> {
        let world = self.call("DescribeSubnets").await?;
        Ok(resolved(&world, class))
    }

    async fn release_node_class(&self, _: &Ec2NodeClass) -> Result<(), PortError> {
        // There are no launch templates here.
        self.call("DeleteLaunchTemplate").await.map(drop)
    }
}

/// Selectors find what the status of the class says already; else one of each, a subnet in each
/// zone.
fn resolved(world: &World, class: &Ec2NodeClass) -> NodeClassResolution {
    let own = &class.status;
    let or = |found: &[ResolvedSubnet]| match found {
        [] => subnets(world),
        found => found.to_vec(),
    };
    let ami = || ResolvedAmi {
        id: DEFAULT_IMAGE.into(),
        name: None,
        is_deprecated: false,
        requirements: Vec::new(),
    };
    let group = |id: &Text| ResolvedSecurityGroup { id: id.clone(), name: None };
    let groups: Vec<_> = own.security_groups.iter().map(group).collect();
    NodeClassResolution {
        subnets: Ok(or(&own.subnets)),
        security_groups: Ok(match groups.as_slice() {
            [] => vec![group(&"sg-0123456789abcdef0".into())],
            found => found.to_vec(),
        }),
        amis: Ok(match own.amis.as_slice() {
            [] => vec![ami()],
            found => found.to_vec(),
        }),
        instance_profile: Ok(own.instance_profile.clone().unwrap_or_else(|| "nodes".into())),
        capacity_reservations: Ok(own
            .capacity_reservations
            .iter()
            .map(|reservation| ReservationStatus {
                reservation: reservation.clone(),
                owner_id: "000000000000".into(),
                match_criteria: "targeted".into(),
                end: None,
            })
            .collect()),
        placement_group: Ok(()),
        validation: Ok(()),
        stamp: class.stamp(NODE_CLASS_RULES, ""),
    }
}

fn subnets(world: &World) -> Vec<ResolvedSubnet> {
    let zones: BTreeSet<&Text> = world
        .ec2
        .types()
        .default
        .iter()
        .flat_map(|own| own.offerings.iter().map(|offering| &offering.zone))
        .collect();
    let subnet = |zone: &Text| ResolvedSubnet {
        id: format!("subnet-{zone}").into(),
        zone: zone.clone(),
        zone_id: None,
    };
    zones.into_iter().map(subnet).collect()
}

fn launch(
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
    let answer = world.launch(&fleet_request(request, class, capacity_type));
    let now = world.now;
    match answer {
        Ok(answer) => {
            let exhausted: Vec<Exhausted> = answer.insufficient.iter().map(exhausted_of).collect();
            let instance = answer.instance.and_then(|id| world.ec2.instance(&id).cloned());
            let Some(instance) = instance else {
                world.note_launch_failed(&request.claim, &answer.insufficient);
                return LaunchOutcome::OutOfCapacity { exhausted };
            };
            world.note_launched(request, &instance, &answer.insufficient);
            LaunchOutcome::Launched { instance: shown(&instance), exhausted }
        }
        Err(FleetError::NothingOffered) => {
            let exhausted =
                request.offerings.iter().map(|own| Exhausted::of(own, "Unsupported")).collect();
            world.note_launch_failed(&request.claim, &[]);
            LaunchOutcome::OutOfCapacity { exhausted }
        }
        Err(error) => {
            let kind = match error {
                FleetError::Throttled => ErrorKind::Throttled,
                _ => ErrorKind::Unavailable,
            };
            world.journal.add(now, Happening::Fault(format!("CreateFleet: {error}").into()));
            let failed = PortError::new(kind, "CreateFleet", error.to_string()).because(error);
            LaunchOutcome::Failed(failed)
        }
    }
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
        client_token: request.client_token().into(),
        capacity_type,
        overrides,
        node_class: request.node_class.clone(),
        image,
        tags: Labels::from([
            (CLAIM_TAG.into(), request.claim.clone()),
            (CLAIM_UID_TAG.into(), request.token.clone()),
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

fn exhausted_of(pool: &CapacityPool) -> Exhausted {
    Exhausted {
        instance_type: pool.instance_type.clone(),
        zone: pool.zone.clone(),
        capacity_type: pool.capacity_type,
        code: INSUFFICIENT.into(),
    }
}

fn shown(instance: &ec2::Instance) -> Instance {
    let tag = |key: &str| instance.tags.get(key).cloned();
    Instance {
        id: instance.id.clone(),
        provider_id: instance.provider_id(),
        instance_type: instance.pool.instance_type.clone(),
        zone: instance.pool.zone.clone(),
        capacity_type: instance.pool.capacity_type,
        reservation_id: instance.reservation.clone(),
        price: Some(instance.price),
        image_id: instance.image.clone(),
        launched: instance.launched,
        state: match instance.state {
            ec2::InstanceState::Pending => InstanceState::Pending,
            ec2::InstanceState::Running => InstanceState::Running,
            ec2::InstanceState::ShuttingDown => InstanceState::ShuttingDown,
            ec2::InstanceState::Terminated => InstanceState::Terminated,
        },
        claim: tag(CLAIM_TAG),
        claim_uid: tag(CLAIM_UID_TAG),
        node_pool: tag(label::NODE_POOL),
    }
}
