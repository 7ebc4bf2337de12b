//! The CreateFleet request of a claim.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-allocation-strategy.html>.

use std::collections::BTreeSet;

use aws::cluster::ClusterFacts;
use aws_sdk_ec2::operation::create_fleet::builders::CreateFleetInputBuilder;
use aws_sdk_ec2::types::{
    DefaultTargetCapacityType, FleetLaunchTemplateConfigRequest,
    FleetLaunchTemplateOverridesRequest, FleetLaunchTemplateSpecificationRequest,
    FleetOnDemandAllocationStrategy, FleetReservationType, FleetType, InstanceType,
    OnDemandOptionsRequest, ReservedCapacityOptionsRequest, ResourceType, SpotAllocationStrategy,
    SpotOptionsRequest, TargetCapacitySpecificationRequest,
};
use catalog::{Catalog, CatalogOptions, LaunchFacts};
use controllers::record::launch::LaunchRequest;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_class::{Ec2NodeClass, ResolvedAmi, ResolvedCapacityReservation, ResolvedSubnet};
use domain::plan::LaunchOffering;
use domain::resource::Resources;
use domain::taint::Taint;

use super::fleet_answer::LaunchedInstance;
use super::tags::{self, Owner};
use super::template::{Template, TemplateInput};
use crate::user_data::{self, Bootstrap, UserDataError, registered_labels, registered_taints};

/// The most overrides of a fleet.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/fleet-quotas.html>, which names
/// them for other types of fleet.
const OVERRIDES_MAX: usize = 300;
/// Attempts that may have as many; the others have [`OVERRIDES_FEW`].
const LARGE_ATTEMPTS_MAX: u32 = 2;
/// As many instance types as Karpenter asks for.
const OVERRIDES_FEW: usize = 60;
/// The most launch templates of a fleet; see [`OVERRIDES_MAX`] for the source.
const TEMPLATES_MAX: usize = 50;
/// The version of a launch template to use: ours have a single one.
const TEMPLATE_VERSION: &str = "$Latest";

/// What a fleet depends on beside its request and node class.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchContext<'a> {
    pub(super) cluster: &'a ClusterFacts,
    pub(super) catalog: &'a Catalog,
    pub(super) options: &'a CatalogOptions,
}

/// Why a claim cannot be launched from its node class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotLaunchable {
    /// The node class is not ready.
    #[error("{0}")]
    NotReady(String),
    /// Neither subnet nor image fits any offering.
    #[error("no subnet or no image of the EC2NodeClass fits any of the instance types")]
    NothingFits,
    /// Its user data cannot be built.
    #[error(transparent)]
    UserData(#[from] UserDataError),
}

/// How a fleet buys its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Market {
    /// An ordinary capacity reservation: an on-demand launch that targets it.
    Reserved,
    CapacityBlock,
    Interruptible,
    Spot,
    OnDemand,
}

/// A launch template and the image of its instances.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedTemplate {
    pub(super) template: Template,
    pub(super) image_id: Text,
}

/// An offering, and the launch template for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice<'a> {
    pub(super) offering: &'a LaunchOffering,
    /// Index of the template.
    template: usize,
    /// Pods that the node will take, each with an address of the subnet.
    max_pods: u32,
}

/// A fleet request whose subnets are still to be chosen.
#[derive(Clone, Debug)]
pub(super) struct FleetPlan<'a> {
    pub(super) request: &'a LaunchRequest,
    pub(super) class: &'a Ec2NodeClass,
    pub(super) templates: Vec<PlannedTemplate>,
    /// Cheapest first; each pair of type and zone once.
    pub(super) choices: Vec<Choice<'a>>,
    market: Market,
}

impl<'a> FleetPlan<'a> {
    /// The launch templates and overrides for a request.
    pub(super) fn of(
        request: &'a LaunchRequest,
        class: &'a Ec2NodeClass,
        context: LaunchContext<'_>,
    ) -> Result<Self, NotLaunchable> {
        let (market, offerings) = of_one_market(request, class);
        let mut plan = Self { request, class, templates: Vec::new(), choices: Vec::new(), market };
        let mut keys: Vec<TemplateKey<'a>> = Vec::new();
        let mut seen = BTreeSet::new();
        for offering in offerings {
            if plan.choices.len() == overrides_max(request.attempt.number) {
                break;
            }
            let has_subnet = class.status.subnets.iter().any(|own| own.zone == offering.zone);
            if !has_subnet || !seen.insert((&offering.instance_type, &offering.zone)) {
                continue;
            }
            let key = TemplateKey::of(offering, request, class, context);
            let Some((key, facts)) = key else { continue };
            let template = match keys.iter().position(|own| *own == key) {
                Some(index) => index,
                None if keys.len() == TEMPLATES_MAX => continue,
                None => {
                    let template = plan.template(&key, context)?;
                    let image_id = key.image.id.clone();
                    plan.templates.push(PlannedTemplate { template, image_id });
                    keys.push(key);
                    keys.len() - 1
                }
            };
            plan.choices.push(Choice { offering, template, max_pods: facts.max_pods });
        }
        if plan.choices.is_empty() { Err(NotLaunchable::NothingFits) } else { Ok(plan) }
    }

    fn template(
        &self,
        key: &TemplateKey<'_>,
        context: LaunchContext<'_>,
    ) -> Result<Template, UserDataError> {
        let cluster = context.cluster;
        let (class, request) = (self.class, self.request);
        let capacity_type = self.capacity_type();
        let labels: Labels =
            registered_labels(&request.labels, capacity_type.as_str(), class.spec.ami_family);
        let taints: Vec<Taint> = registered_taints(&request.taints);
        let user_data = user_data::user_data(&Bootstrap {
            cluster,
            spec: &class.spec,
            labels: &labels,
            taints: &taints,
            max_pods: key.max_pods,
            kube_reserved: &key.kube_reserved,
            image_name: key.image.name.as_deref(),
        })?;
        let profile =
            class.spec.instance_profile.as_ref().or(class.status.instance_profile.as_ref());
        Ok(Template::of(&TemplateInput {
            spec: &class.spec,
            image_id: &key.image.id,
            security_groups: &class.status.security_groups,
            instance_profile: profile,
            user_data: user_data.as_deref(),
            capacity_type,
            reservation: key.reservation,
            efa_interfaces: key.efa_interfaces,
            labels: &request.labels,
            tags: &tags::of_class(&cluster.name, class),
            ip_family: cluster.ip_family,
            is_isolated: context.options.region.contains("-iso"),
        }))
    }

    /// The capacity type of the instance: all choices have the same.
    pub(super) fn capacity_type(&self) -> CapacityType {
        match self.market {
            Market::Spot => CapacityType::Spot,
            Market::OnDemand => CapacityType::OnDemand,
            Market::Reserved | Market::CapacityBlock | Market::Interruptible => {
                CapacityType::Reserved
            }
        }
    }

    /// The zones of the choices, and the addresses that an instance in each needs at least.
    pub(super) fn addresses_by_zone(&self) -> Vec<(&'a Text, i64)> {
        let zones: BTreeSet<&Text> =
            self.choices.iter().map(|choice| &choice.offering.zone).collect();
        let least = |zone: &Text| {
            let of_zone = self.choices.iter().filter(|choice| choice.offering.zone == *zone);
            of_zone.map(|choice| i64::from(choice.max_pods)).min().unwrap_or(0)
        };
        zones.into_iter().map(|zone| (zone, least(zone))).collect()
    }

    /// The image of an instance: that of the template for its type and zone. An answer of EC2 names
    /// no image, and of the template only the id.
    pub(super) fn image_of(&self, launched: &LaunchedInstance) -> Option<&Text> {
        let is_its = |choice: &&Choice<'_>| {
            choice.offering.instance_type == launched.instance_type
                && choice.offering.zone == launched.zone
        };
        let choice = self.choices.iter().find(is_its)?;
        self.templates.get(choice.template).map(|own| &own.image_id)
    }

    /// The call. `subnet_of` chooses each zone's subnet; `is_overlaid` says that the prices are the
    /// user's rather than EC2's, so that EC2 must follow their order.
    pub(super) fn call<'s>(
        &self,
        token: &str,
        owner: Owner<'_>,
        subnet_of: impl Fn(&str) -> Option<&'s ResolvedSubnet>,
        is_overlaid: bool,
    ) -> CreateFleetInputBuilder {
        let tags = tags::of_launch(owner, self.class, self.request);
        let configs = self.templates.iter().enumerate().filter_map(|(index, planned)| {
            let own = self.choices.iter().filter(|choice| choice.template == index);
            let overrides: Vec<_> = own
                .filter_map(|choice| {
                    Some(override_of(choice.offering, subnet_of(&choice.offering.zone)?))
                })
                .collect();
            let specification = FleetLaunchTemplateSpecificationRequest::builder()
                .launch_template_name(&planned.template.name)
                .version(TEMPLATE_VERSION)
                .build();
            (!overrides.is_empty()).then(|| {
                FleetLaunchTemplateConfigRequest::builder()
                    .launch_template_specification(specification)
                    .set_overrides(Some(overrides))
                    .build()
            })
        });
        let call = CreateFleetInputBuilder::default()
            .client_token(token)
            .r#type(FleetType::Instant)
            .set_launch_template_configs(Some(configs.collect()))
            .target_capacity_specification(
                TargetCapacitySpecificationRequest::builder()
                    .total_target_capacity(1)
                    .default_target_capacity_type(self.target_type())
                    .build(),
            )
            .tag_specifications(tags::specification(ResourceType::Instance, &tags))
            .tag_specifications(tags::specification(ResourceType::Volume, &tags))
            .tag_specifications(tags::specification(ResourceType::Fleet, &tags))
            .set_context(self.class.spec.context.as_deref().map(str::to_owned));
        self.with_strategy(call, is_overlaid)
    }

    fn target_type(&self) -> DefaultTargetCapacityType {
        match self.market {
            Market::Spot => DefaultTargetCapacityType::Spot,
            Market::OnDemand | Market::Reserved => DefaultTargetCapacityType::OnDemand,
            Market::CapacityBlock => DefaultTargetCapacityType::CapacityBlock,
            Market::Interruptible => DefaultTargetCapacityType::ReservedCapacity,
        }
    }

    fn with_strategy(
        &self,
        call: CreateFleetInputBuilder,
        is_overlaid: bool,
    ) -> CreateFleetInputBuilder {
        match self.market {
            Market::Spot => {
                let strategy = if is_overlaid {
                    SpotAllocationStrategy::CapacityOptimizedPrioritized
                } else {
                    SpotAllocationStrategy::PriceCapacityOptimized
                };
                call.spot_options(
                    SpotOptionsRequest::builder().allocation_strategy(strategy).build(),
                )
            }
            Market::OnDemand | Market::Reserved => {
                let strategy = if is_overlaid {
                    FleetOnDemandAllocationStrategy::Prioritized
                } else {
                    FleetOnDemandAllocationStrategy::LowestPrice
                };
                let options = OnDemandOptionsRequest::builder().allocation_strategy(strategy);
                call.on_demand_options(options.build())
            }
            Market::CapacityBlock => call,
            Market::Interruptible => call.reserved_capacity_options(
                ReservedCapacityOptionsRequest::builder()
                    .reservation_types(FleetReservationType::InterruptibleCapacityReservation)
                    .build(),
            ),
        }
    }
}

fn override_of(
    offering: &LaunchOffering,
    subnet: &ResolvedSubnet,
) -> FleetLaunchTemplateOverridesRequest {
    FleetLaunchTemplateOverridesRequest::builder()
        .instance_type(InstanceType::from(&*offering.instance_type))
        .subnet_id(&*subnet.id)
        // The subnet implies the zone, but errors repeat the request, and are read by zone.
        .availability_zone(&*offering.zone)
        .priority(offering.price.to_f64())
        .build()
}

/// The most overrides of an attempt: later ones ask for fewer, since EC2 refuses a body that is too
/// large (`InvalidInput`) and names no bound. What is left out costs more than what is asked for.
const fn overrides_max(attempt: u32) -> usize {
    if attempt <= LARGE_ATTEMPTS_MAX { OVERRIDES_MAX } else { OVERRIDES_FEW }
}

/// What tells the launch templates of offerings apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TemplateKey<'a> {
    image: &'a ResolvedAmi,
    max_pods: u32,
    kube_reserved: Resources,
    reservation: Option<&'a ResolvedCapacityReservation>,
    /// Elastic Fabric Adapters: as many as the type supports, or none.
    efa_interfaces: u32,
}

impl<'a> TemplateKey<'a> {
    /// The first image that fits is used. `None` for an unknown type, and where no image fits.
    fn of(
        offering: &LaunchOffering,
        request: &LaunchRequest,
        class: &'a Ec2NodeClass,
        context: LaunchContext<'_>,
    ) -> Option<(Self, LaunchFacts)> {
        let facts =
            context.catalog.launch_facts(&offering.instance_type, class, context.options)?;
        let image = class.status.amis.iter().find(|image| facts.meets(&image.requirements))?;
        let reservation = reservation_of(offering, class);
        let key = Self {
            image,
            max_pods: facts.max_pods,
            kube_reserved: facts.kube_reserved.clone(),
            reservation,
            // A node class that lists interfaces declares itself which of them are adapters.
            efa_interfaces: if request.wants_efa && class.spec.network_interfaces.is_empty() {
                facts.efa_interfaces_max
            } else {
                0
            },
        };
        Some((key, facts))
    }
}

fn reservation_of<'a>(
    offering: &LaunchOffering,
    class: &'a Ec2NodeClass,
) -> Option<&'a ResolvedCapacityReservation> {
    let id = offering.reservation_id.as_ref()?;
    class.status.capacity_reservations.iter().find(|own| own.id == *id)
}

/// The offerings of a request that one fleet can contain, cheapest first.
///
/// Reservations of different kinds cannot be mixed: the kind of the cheapest is used, the steadier
/// among equals. EC2 accepts a single capacity block.
fn of_one_market<'a>(
    request: &'a LaunchRequest,
    class: &Ec2NodeClass,
) -> (Market, Vec<&'a LaunchOffering>) {
    let market_of = |offering: &LaunchOffering| match offering.capacity_type {
        CapacityType::Spot => Market::Spot,
        CapacityType::OnDemand => Market::OnDemand,
        CapacityType::Reserved => match reservation_of(offering, class) {
            Some(own) if &*own.reservation_type == "capacity-block" => Market::CapacityBlock,
            Some(own) if own.is_interruptible => Market::Interruptible,
            _ => Market::Reserved,
        },
    };
    let mut offerings: Vec<&LaunchOffering> = request.offerings.iter().collect();
    offerings.sort_by_key(|offering| (offering.price, market_of(offering)));
    let market = offerings.first().map_or(Market::OnDemand, |first| market_of(first));
    offerings.retain(|offering| market_of(offering) == market);
    if market == Market::CapacityBlock {
        offerings.truncate(1);
    }
    (market, offerings)
}

#[cfg(test)]
mod tests;
