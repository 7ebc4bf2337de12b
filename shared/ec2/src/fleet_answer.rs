//! What CreateFleet answered: an instance, or for each thing tried the reason why not, or both.

use aws::error::{NO_CAPACITY, reported};
use aws_sdk_ec2::operation::create_fleet::CreateFleetOutput;
use aws_sdk_ec2::types::{CreateFleetError, LaunchTemplateAndOverridesResponse};
use controllers::ports::cloud::Exhausted;
use controllers::ports::{ErrorKind, PortError};
use controllers::record::unavailable::{ANY, NOT_OFFERED};
use domain::Text;
use domain::instance_type::CapacityType;
use domain::node_class::ResolvedSubnet;

use crate::calls::ec2;

/// A subnet had no address left.
const SUBNET_FULL: &str = "InsufficientFreeAddressesInSubnet";
/// The account may not have spot instances yet, and we may not change that.
const NO_SPOT_ROLE: &str = "AuthFailure.ServiceLinkedRoleCreationNotPermitted";
/// Codes that say of the account that it gets no spot instance now, whatever its type and zone.
const NO_SPOT_AT_ALL: [&str; 2] = [NO_SPOT_ROLE, "MaxSpotInstanceCountExceeded"];
/// The instance profile, or its role, is too new for EC2 to know it.
const PROFILE_UNKNOWN: [&str; 2] = ["Invalid IAM Instance Profile", "has no associated IAM Roles"];
/// What EC2 says of pools that were not the cause.
pub(super) const FILLER: &str = "UnfulfillableCapacity";
/// Of `Unsupported`: the type is not sold in the zone, rather than not as it was asked for.
const NOT_IN_ZONE: &str = "is not supported in your requested Availability Zone";
const UNSUPPORTED: &str = "Unsupported";
/// The account has as many vCPUs of a kind of instance types as it may.
pub(super) const VCPU_LIMIT: &str = "VcpuLimitExceeded";
/// Of `InsufficientInstanceCapacity`: the placement group is full, and says nothing of the pool.
const SPREAD_GROUP_FULL: &str = "spread placement group";

/// An answer, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FleetAnswer {
    pub(super) launched: Option<LaunchedInstance>,
    /// An instance of which the answer does not say where or what it is.
    pub(super) undescribed: Option<Text>,
    /// Instances beyond the one that was asked for.
    pub(super) extras: Vec<Text>,
    pub(super) refusals: Vec<Refusal>,
}

/// The instance, as far as the answer describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaunchedInstance {
    pub(super) id: Text,
    pub(super) instance_type: Text,
    pub(super) zone: Text,
    pub(super) subnet: Option<Text>,
}

/// Why one thing that was tried could not be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) instance_type: Option<Text>,
    pub(super) zone: Option<Text>,
    pub(super) subnet: Option<Text>,
}

impl FleetAnswer {
    /// Parses an answer; `subnets` give the zone where it names only the subnet.
    pub(super) fn of(output: &CreateFleetOutput, subnets: &[ResolvedSubnet]) -> Self {
        let launched = output.instances().iter().find_map(|own| {
            let tried = Tried::of(own.launch_template_and_overrides(), subnets);
            let id = own.instance_ids().first()?;
            let named = own.instance_type().map(|name| Text::from(name.as_str()));
            Some(LaunchedInstance {
                id: id.as_str().into(),
                instance_type: named.or(tried.instance_type)?,
                zone: own.availability_zone().map(Text::from).or(tried.zone)?,
                subnet: own.subnet_id().map(Text::from).or(tried.subnet),
            })
        });
        let ids = output.instances().iter().flat_map(|own| own.instance_ids());
        let mut ids: Vec<Text> = ids.map(|id| id.as_str().into()).collect();
        let is_launched = |id: &Text| launched.as_ref().is_some_and(|own| own.id == *id);
        let own = ids.iter().position(is_launched).unwrap_or(0);
        let own = (own < ids.len()).then(|| ids.remove(own));
        let undescribed = own.filter(|_| launched.is_none());
        let refusals = output.errors().iter().map(|error| Refusal::of(error, subnets)).collect();
        Self { launched, undescribed, extras: ids, refusals }
    }

    /// Subnets that had no address left.
    pub(super) fn full_subnets(&self) -> impl Iterator<Item = &Text> {
        self.refusals
            .iter()
            .filter(|own| own.code == SUBNET_FULL)
            .filter_map(|own| own.subnet.as_ref())
    }

    /// Whether the launch failed for a template that EC2 does not know, or not everywhere yet.
    pub(super) fn lacks_template(&self) -> bool {
        self.refusals.iter().any(|own| is_template_missing(&own.code))
    }

    /// What had none left, in the words of the port. A full subnet speaks for its zone only where
    /// all of the zone's are full.
    pub(super) fn exhausted(
        &self,
        capacity_type: CapacityType,
        is_zone_full: impl Fn(&str) -> bool,
    ) -> Vec<Exhausted> {
        if capacity_type == CapacityType::Spot
            && let Some(own) = self.no_spot_at_all()
        {
            return vec![Exhausted {
                instance_type: ANY.into(),
                zone: ANY.into(),
                capacity_type,
                code: own.code.as_str().into(),
            }];
        }
        // EC2 fills its answer up: beside another error this one says nothing of its pool.
        let is_filler = |own: &Refusal| {
            own.code == FILLER && self.refusals.iter().any(|other| other.code != FILLER)
        };
        let mut exhausted: Vec<Exhausted> = self
            .refusals
            .iter()
            .filter(|own| own.is_for_want_of_capacity() && !is_filler(own))
            .filter(|own| own.code != SUBNET_FULL || own.zone.as_deref().is_some_and(&is_zone_full))
            .filter_map(|own| {
                Some(Exhausted {
                    instance_type: own.instance_type.clone()?,
                    zone: own.zone.clone()?,
                    capacity_type,
                    code: own.exhausted_code().into(),
                })
            })
            .collect();
        exhausted.sort();
        exhausted.dedup();
        exhausted
    }

    /// Why the account gets no spot instance at all now.
    pub(super) fn no_spot_at_all(&self) -> Option<&Refusal> {
        self.refusals.iter().find(|own| NO_SPOT_AT_ALL.contains(&own.code.as_str()))
    }

    /// Instance types for which the account has no vCPUs left.
    pub(super) fn beyond_quota(&self) -> impl Iterator<Item = &Text> {
        self.refusals
            .iter()
            .filter(|own| own.code == VCPU_LIMIT)
            .filter_map(|own| own.instance_type.as_ref())
    }

    /// Why pools do not support what was asked for, although their types are sold there: a fault of
    /// the node class, for the operator.
    pub(super) fn unsupported(&self) -> Option<&Refusal> {
        self.refusals.iter().find(|own| own.code == UNSUPPORTED && !own.is_not_offered())
    }

    /// A refusal that has nothing to do with the capacity of a pool: what stands until somebody
    /// changes it before what passes by itself.
    pub(super) fn failure(&self) -> Option<PortError> {
        let others = self
            .refusals
            .iter()
            .filter(|own| !own.is_for_want_of_capacity() && !is_template_missing(&own.code));
        let errors = others.map(|refusal| {
            let mut error = reported(ec2("CreateFleet"), &refusal.code, &refusal.message);
            if is_profile_unknown(&refusal.message) {
                error.kind = ErrorKind::Unavailable;
            }
            error
        });
        errors.min_by_key(|error| error.is_retryable())
    }
}

impl Refusal {
    fn of(error: &CreateFleetError, subnets: &[ResolvedSubnet]) -> Self {
        let tried = Tried::of(error.launch_template_and_overrides(), subnets);
        Self {
            code: error.error_code().unwrap_or("Unknown").to_owned(),
            message: error.error_message().unwrap_or_default().to_owned(),
            instance_type: tried.instance_type,
            zone: tried.zone,
            subnet: tried.subnet,
        }
    }

    fn is_for_want_of_capacity(&self) -> bool {
        (NO_CAPACITY.contains(&self.code.as_str()) && !self.message.contains(SPREAD_GROUP_FULL))
            || self.code == NO_SPOT_ROLE
            || (self.code == NOT_OFFERED && self.instance_type.is_some() && self.zone.is_some())
    }

    /// Whether the type is not sold in the zone, which EC2 says in two ways.
    fn is_not_offered(&self) -> bool {
        self.code == NOT_OFFERED || (self.code == UNSUPPORTED && self.message.contains(NOT_IN_ZONE))
    }

    fn exhausted_code(&self) -> &str {
        if self.is_not_offered() { NOT_OFFERED } else { &self.code }
    }
}

/// Whether a refusal says that the instance profile, or its role, is too new for EC2 to know it.
pub(super) fn is_profile_unknown(message: &str) -> bool {
    PROFILE_UNKNOWN.iter().any(|text| message.contains(text))
}

/// Whether the code means that a launch template does not exist.
pub(super) fn is_template_missing(code: &str) -> bool {
    code.starts_with("InvalidLaunchTemplate") && code.contains("NotFound")
}

/// What an instance or an error is about.
#[derive(Default)]
struct Tried {
    instance_type: Option<Text>,
    zone: Option<Text>,
    subnet: Option<Text>,
}

impl Tried {
    fn of(tried: Option<&LaunchTemplateAndOverridesResponse>, subnets: &[ResolvedSubnet]) -> Self {
        let Some(tried) = tried else { return Self::default() };
        let overrides = tried.overrides();
        let subnet = overrides.and_then(|own| own.subnet_id()).map(Text::from);
        let zone_of = |subnet: &Text| {
            subnets.iter().find(|own| own.id == *subnet).map(|own| own.zone.clone())
        };
        Self {
            instance_type: overrides
                .and_then(|own| own.instance_type())
                .map(|name| name.as_str().into()),
            zone: overrides
                .and_then(|own| own.availability_zone())
                .map(Text::from)
                .or_else(|| subnet.as_ref().and_then(zone_of)),
            subnet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::types::{
        CreateFleetInstance, FleetLaunchTemplateOverrides, FleetLaunchTemplateSpecification,
    };

    fn tried(name: &str, subnet: &str) -> LaunchTemplateAndOverridesResponse {
        let template =
            FleetLaunchTemplateSpecification::builder().launch_template_name("outrigger/1").build();
        let overrides =
            FleetLaunchTemplateOverrides::builder().instance_type(name.into()).subnet_id(subnet);
        LaunchTemplateAndOverridesResponse::builder()
            .launch_template_specification(template)
            .overrides(overrides.build())
            .build()
    }

    fn error(code: &str, name: &str, subnet: &str) -> CreateFleetError {
        CreateFleetError::builder()
            .error_code(code)
            .error_message("said so")
            .launch_template_and_overrides(tried(name, subnet))
            .build()
    }

    fn subnets() -> Vec<ResolvedSubnet> {
        [("subnet-1", "a"), ("subnet-2", "b")]
            .map(|(id, zone)| ResolvedSubnet { id: id.into(), zone: zone.into(), zone_id: None })
            .to_vec()
    }

    fn read(errors: Vec<CreateFleetError>) -> FleetAnswer {
        FleetAnswer::of(&CreateFleetOutput::builder().set_errors(Some(errors)).build(), &subnets())
    }

    fn exhausted(answer: &FleetAnswer, is_zone_full: bool) -> Vec<String> {
        answer
            .exhausted(CapacityType::Spot, |_| is_zone_full)
            .into_iter()
            .map(|own| format!("{} {} {}", own.instance_type, own.zone, own.code))
            .collect()
    }

    #[test]
    fn a_success_may_carry_errors() {
        let instance = CreateFleetInstance::builder()
            .instance_ids("i-1")
            .instance_type("m6i.large".into())
            .launch_template_and_overrides(tried("m6i.large", "subnet-2"))
            .build();
        let output = CreateFleetOutput::builder()
            .instances(instance)
            .errors(error("InsufficientInstanceCapacity", "m5.large", "subnet-1"))
            .build();
        let answer = FleetAnswer::of(&output, &subnets());
        let launched = answer.launched.clone().unwrap();
        assert_eq!((&*launched.id, &*launched.zone), ("i-1", "b"));
        assert_eq!(exhausted(&answer, false), ["m5.large a InsufficientInstanceCapacity"]);
        assert_eq!(answer.failure(), None);
    }

    #[test]
    fn every_code_that_means_no_capacity_is_remembered() {
        for code in NO_CAPACITY.into_iter().filter(|own| !NO_SPOT_AT_ALL.contains(own)) {
            let answer = read(vec![error(code, "m5.large", "subnet-1")]);
            assert_eq!(exhausted(&answer, true), [format!("m5.large a {code}")]);
            assert_eq!(answer.failure(), None, "{code}");
        }
    }

    fn error_with(code: &str, message: &str) -> CreateFleetError {
        CreateFleetError::builder()
            .error_code(code)
            .error_message(message)
            .launch_template_and_overrides(tried("m5.large", "subnet-1"))
            .build()
    }

    #[test]
    fn a_type_that_is_not_sold_in_a_zone_is_so_in_either_wording() {
        let message = "Your requested instance type (m5.large) is not supported in your requested \
                       Availability Zone (a). Please retry your request by not specifying one.";
        for code in ["Unsupported", "InvalidFleetConfiguration"] {
            let answer = read(vec![error_with(code, message)]);
            assert_eq!(exhausted(&answer, false), ["m5.large a InvalidFleetConfiguration"]);
            assert_eq!((answer.failure(), answer.unsupported()), (None, None), "{code}");
        }
        let message = "The requested configuration is currently not supported. Please check the \
                       documentation for supported configurations.";
        let answer = read(vec![error_with("Unsupported", message)]);
        assert_eq!(exhausted(&answer, false), ["m5.large a Unsupported"]);
        assert!(answer.unsupported().is_some(), "the operator learns of it");
    }

    #[test]
    fn a_placement_group_that_is_full_says_nothing_of_its_pools() {
        let full = "You've reached the limit of instances in this spread placement group. A spread \
                    placement group can have up to seven instances per Availability Zone.";
        let answer = read(vec![
            error_with("InsufficientInstanceCapacity", full),
            error("InsufficientInstanceCapacity", "m5.large", "subnet-2"),
        ]);
        assert_eq!(exhausted(&answer, false), ["m5.large b InsufficientInstanceCapacity"]);
        assert!(answer.failure().unwrap().message.contains("spread placement group"));
    }

    #[test]
    fn an_instance_of_which_the_answer_says_no_more_is_none_without_a_description() {
        let known = CreateFleetInstance::builder()
            .instance_ids("i-2")
            .instance_type("m5.large".into())
            .subnet_id("subnet-2")
            .availability_zone("b")
            .build();
        let bare = CreateFleetInstance::builder().instance_ids("i-1").build();
        let of = |instances| {
            let output = CreateFleetOutput::builder().set_instances(Some(instances)).build();
            FleetAnswer::of(&output, &subnets())
        };
        let answer = of(vec![bare.clone()]);
        assert_eq!((answer.launched, answer.undescribed), (None, Some("i-1".into())));
        let answer = of(vec![bare, known]);
        assert_eq!(answer.launched.unwrap().id, "i-2".into());
        assert_eq!((answer.undescribed, answer.extras), (None, vec!["i-1".into()]));
        assert_eq!(of(Vec::new()), FleetAnswer::default());
    }

    #[test]
    fn a_full_subnet_is_not_a_full_zone() {
        let answer = read(vec![error(SUBNET_FULL, "m5.large", "subnet-1")]);
        assert_eq!(answer.full_subnets().collect::<Vec<_>>(), [&Text::from("subnet-1")]);
        assert_eq!(exhausted(&answer, false), [""; 0]);
        assert_eq!(exhausted(&answer, true), ["m5.large a InsufficientFreeAddressesInSubnet"]);
    }

    #[test]
    fn without_the_role_for_spot_no_spot_offering_can_be_had() {
        let answer = read(vec![error(NO_SPOT_ROLE, "m5.large", "subnet-1")]);
        let all = [format!("{ANY} {ANY} {NO_SPOT_ROLE}")];
        assert_eq!(exhausted(&answer, false), all);
        assert_eq!(answer.failure(), None);
    }

    #[test]
    fn other_errors_are_failures() {
        let denied = read(vec![
            error("InsufficientInstanceCapacity", "m5.large", "subnet-1"),
            error("UnauthorizedOperation", "m5.large", "subnet-2"),
        ]);
        assert_eq!(denied.failure().unwrap().kind, ErrorKind::Denied);
        let missing = read(vec![error(
            "InvalidLaunchTemplateName.NotFoundException",
            "m5.large",
            "subnet-1",
        )]);
        assert!(missing.lacks_template() && missing.failure().is_none());
    }

    #[test]
    fn a_profile_that_ec2_does_not_know_yet_is_asked_for_again() {
        let error = CreateFleetError::builder()
            .error_code("InvalidParameterValue")
            .error_message(
                "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM \
                            Instance Profile name",
            )
            .build();
        assert!(read(vec![error]).failure().unwrap().is_retryable());
    }
}
