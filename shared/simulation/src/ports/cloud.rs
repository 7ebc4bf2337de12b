//! Port `Cloud` over the world's EC2.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controllers::ports::cloud::{
    InstanceEnd, InstanceStatus, LaunchCall, LaunchOutcome, NodeClassResolution, TagRequest,
    Termination, Unresolved,
};
use controllers::ports::{Cloud, ErrorKind, Instance, PortError};
use controllers::record::launch::{LaunchChoices, LaunchRequest};
use controllers::status::{ReservationStatus, ResolvedSecurityGroup};
use domain::Text;
use domain::instance_type::InstanceTypes;
use domain::node_class::{Ec2NodeClass, ResolvedSubnet};
use domain::stamp::NODE_CLASS_RULES;

use super::instance::described;
use super::launch;
use super::shared_world::SharedWorld;
use crate::ec2;
use crate::world::World;

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
        for call in calls {
            // One CreateFleet each: a process may die between two of them.
            self.set_out().await;
            let mut world = self.change();
            world.effects += 1;
            outcomes.push(launch::launch(&mut world, call, node_classes));
        }
        Ok(outcomes)
    }

    async fn instances(&self) -> Result<Vec<Instance>, PortError> {
        let world = self.call("DescribeInstances").await?;
        Ok(described(&world).filter(|own| own.claim.is_some()).collect())
    }

    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError> {
        Ok(self.call("DescribeInstanceStatus").await?.statuses.values().cloned().collect())
    }

    /// Only of those that ended early is it known why.
    async fn ends(&self, ids: &[Text]) -> Result<BTreeMap<Text, InstanceEnd>, PortError> {
        let why = || InstanceEnd {
            code: "Server.InsufficientInstanceCapacity".into(),
            message: "there is no room for it".into(),
        };
        let world = self.read();
        let early = ids.iter().filter(|id| world.ec2.ends_early(id));
        Ok(early.map(|id| (id.clone(), why())).collect())
    }

    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError> {
        let mut world = self.call("TerminateInstances").await?;
        Ok(instance_ids
            .iter()
            .map(|id| {
                // One that EC2 does not show yet is unknown like one that never was.
                match world.ec2.known(id, world.now).map(|own| own.state) {
                    Some(ec2::InstanceState::Terminated) => Termination::Terminated,
                    Some(_) if world.terminate(id) => Termination::ShuttingDown,
                    None | Some(_) => Termination::Unknown,
                }
            })
            .collect())
    }

    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError> {
        let mut world = self.call("CreateTags").await?;
        let answer = requests.iter().map(|request| {
            let id = &request.instance_id;
            let is_tagged =
                world.ec2.known(id, world.now).is_some() && world.ec2.tag(id, &request.tags);
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
    let group = |id: &Text| ResolvedSecurityGroup { id: id.clone(), name: None };
    let groups: Vec<_> = own.security_groups.iter().map(group).collect();
    let selected = ec2::select_images(&world.images, world.seed, class, world.now());
    let too_young = selected.held_back.first().filter(|_| selected.images.is_empty());
    let amis = match too_young {
        Some(first) => Err(Unresolved {
            reason: "TooYoung".into(),
            message: format!("{} is old enough at {}", first.id, first.until).into(),
            is_passing: false,
        }),
        None => Ok(selected.images),
    };
    NodeClassResolution {
        zones_without_offerings: Vec::new(),
        subnets: Ok(or(&own.subnets)),
        free_addresses: world.free_addresses(class),
        security_groups: Ok(match groups.as_slice() {
            [] => vec![group(&"sg-0123456789abcdef0".into())],
            found => found.to_vec(),
        }),
        amis,
        held_back: selected.held_back,
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
