//! Validates a node class by dry runs of the calls of a launch, so that a missing permission shows
//! in its status rather than when the first pod waits.
//!
//! Karpenter validates them likewise (<https://karpenter.sh/docs/concepts/nodeclasses/>).

use aws::budget::Bucket;
use aws::error::{Action, aws_error, port_error};
use aws_sdk_ec2::types::{
    InstanceNetworkInterfaceSpecification, InstanceType,
    LaunchTemplateInstanceNetworkInterfaceSpecificationRequest as InterfaceRequest,
    LaunchTemplateSpecification, ResourceType,
};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use controllers::ports::cloud::{Resolution, Unresolved};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::launch::{LaunchAttempt, LaunchRequest};
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_class::Ec2NodeClass;
use domain::plan::LaunchOffering;
use uuid::Uuid;

use super::client::Ec2;
use super::fleet::{FleetPlan, LaunchContext, NotLaunchable};
use super::fleet_answer::is_profile_unknown;
use super::tags;
use super::templates::NeededTemplate;
use super::unresolved::{call_failed, unresolved};
use crate::calls::ec2;

/// The error code of a dry run that would succeed.
const WOULD_SUCCEED: &str = "DryRunOperation";
/// The claim and token of a launch that is only a dry run.
const SAMPLE: &str = "validation";

/// The most tags of a resource.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions>.
const TAGS_MAX: usize = 50;
/// A tag that an instance gets once its Node has joined, unless its class gives it one.
const NAME: &str = "Name";

impl Ec2 {
    /// Whether instances can be launched from the class, whose status holds what was just resolved.
    pub(super) async fn validated(&self, class: &Ec2NodeClass) -> Resolution<()> {
        let content = content(class);
        if self.validations.contains(&class.name, content) {
            return Ok(());
        }
        let request = self.sample_request(class);
        let catalogue = self.catalogue();
        let options = self.options(&catalogue);
        let context = LaunchContext {
            cluster: &self.cluster,
            catalog: &catalogue.catalog,
            options: &options,
        };
        let plan = FleetPlan::of(&request, class, context).map_err(|error| {
            let reason = match error {
                NotLaunchable::UserData(_) => "UserDataInvalid",
                _ => "NoCompatibleInstanceTypes",
            };
            unresolved(reason, &error.to_string(), false)
        })?;
        let own = tags::of_launch(self.owner(), class, &request);
        let count = own.len() + usize::from(!own.contains_key(NAME));
        if count > TAGS_MAX {
            let message = format!(
                "spec.tags has too many: an instance would have {count} tags, and EC2 takes \
                 {TAGS_MAX}"
            );
            return Err(unresolved("TagValidationFailed", &message, false));
        }
        let tags = tags::of_template(&self.cluster.name, class);
        let needed: Vec<NeededTemplate<'_>> = plan
            .templates
            .iter()
            .map(|own| NeededTemplate { template: &own.template, tags: &tags })
            .collect();
        // Made in earnest: what a dry run says of a template that exists is not documented.
        let made = self.templates.ensure(&self.calls, &needed).await.into_values().next();
        let is_fresh = self.templates.is_fresh(needed.iter().map(|own| &*own.template.name));
        let rights = Rights { is_fresh };
        made.map_or(Ok(()), |error| rights.verdict("CreateLaunchTemplateAuthCheckFailed", &error))?;
        self.try_fleet(&plan, rights).await?;
        self.try_instance(&plan, rights).await?;
        self.validations.insert(class.name.clone(), content);
        Ok(())
    }

    /// A launch of the cheapest instance type that the class can use.
    fn sample_request(&self, class: &Ec2NodeClass) -> LaunchRequest {
        let catalogue = self.catalogue();
        let types = catalogue
            .catalog
            .instance_types(std::slice::from_ref(class), &self.options(&catalogue));
        let offerings = types.of(&class.name).iter().flat_map(|own| {
            own.offerings
                .iter()
                .filter(|offering| offering.capacity_type == CapacityType::OnDemand)
                .filter(|offering| offering.is_usable())
                .map(|offering| LaunchOffering {
                    price: offering.price,
                    instance_type: own.name.clone(),
                    zone: offering.zone.clone(),
                    capacity_type: offering.capacity_type,
                    reservation_id: None,
                })
        });
        LaunchRequest {
            token: SAMPLE.into(),
            claim: SAMPLE.into(),
            node_pool: SAMPLE.into(),
            node_class: class.name.clone(),
            offerings: offerings.min().into_iter().collect(),
            labels: Labels::new(),
            taints: Vec::new(),
            wants_efa: false,
            attempt: LaunchAttempt::default(),
        }
    }

    async fn try_fleet(&self, plan: &FleetPlan<'_>, rights: Rights) -> Resolution<()> {
        let subnets = &plan.class.status.subnets;
        let subnet_of = |zone: &str| subnets.iter().find(|own| &*own.zone == zone);
        let call = plan
            .call(SAMPLE, self.owner(), subnet_of, false)
            // EC2 would remember a token.
            .set_client_token(None)
            .dry_run(true);
        let answer = self.calls.send_raw(Bucket::Launch, call.send_with(&self.calls.ec2)).await;
        rights.of_dry_run(ec2("CreateFleet"), "CreateFleetAuthCheckFailed", answer.map(drop))
    }

    /// Whether RunInstances is allowed. One subnet is enough: a policy may keep nodes out of the
    /// others.
    async fn try_instance(&self, plan: &FleetPlan<'_>, rights: Rights) -> Resolution<()> {
        let (Some(planned), Some(choice)) = (plan.templates.first(), plan.choices.first()) else {
            return Ok(());
        };
        let template = LaunchTemplateSpecification::builder()
            .launch_template_name(&planned.template.name)
            .version("$Latest")
            .build();
        let tags = tags::of_launch(self.owner(), plan.class, plan.request);
        let of_zone = |zone: &Text| *zone == choice.offering.zone;
        let mut outcome = Ok(());
        for subnet in plan.class.status.subnets.iter().filter(|own| of_zone(&own.zone)) {
            let interfaces = planned.template.data.network_interfaces.as_ref();
            let interfaces =
                interfaces.map(|all| all.iter().map(|own| with_subnet(own, &subnet.id)));
            let call = self
                .calls
                .ec2
                .run_instances()
                .dry_run(true)
                .launch_template(template.clone())
                .instance_type(InstanceType::from(&*choice.offering.instance_type))
                .min_count(1)
                .max_count(1)
                // EC2 takes a subnet either of the instance or of its interfaces. Without one it
                // looks for a default VPC, which an account need not have.
                .set_subnet_id(interfaces.is_none().then(|| subnet.id.to_string()))
                .set_network_interfaces(interfaces.map(Iterator::collect))
                .tag_specifications(tags::specification(ResourceType::Instance, &tags))
                .tag_specifications(tags::specification(ResourceType::Volume, &tags))
                .send();
            let answer = self.calls.send_raw(Bucket::Mutate, call).await.map(drop);
            let reason = "RunInstancesAuthCheckFailed";
            outcome = rights.of_dry_run(ec2("RunInstances"), reason, answer);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

/// What a validation depends on: the class, with its status in an order of its own, since subnets
/// change places as their addresses are used.
fn content(class: &Ec2NodeClass) -> Uuid {
    let mut status = class.status.clone();
    status.subnets.sort_by(|a, b| a.id.cmp(&b.id));
    status.security_groups.sort();
    status.capacity_reservations.sort_by(|a, b| a.id.cmp(&b.id));
    let text = format!("{:?}{status:?}", class.spec);
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes())
}

/// An interface of a launch template as RunInstances takes it, in a subnet.
fn with_subnet(own: &InterfaceRequest, subnet: &str) -> InstanceNetworkInterfaceSpecification {
    let tracking = own.connection_tracking_specification();
    InstanceNetworkInterfaceSpecification::builder()
        .subnet_id(subnet)
        .set_groups(own.groups.clone())
        .set_device_index(own.device_index())
        .set_network_card_index(own.network_card_index())
        .set_interface_type(own.interface_type().map(str::to_owned))
        .set_delete_on_termination(own.delete_on_termination())
        .set_associate_public_ip_address(own.associate_public_ip_address())
        .set_primary_ipv6(own.primary_ipv6())
        .set_ipv6_address_count(own.ipv6_address_count())
        .set_ipv4_prefix_count(own.ipv4_prefix_count())
        .set_ipv6_prefix_count(own.ipv6_prefix_count())
        .set_connection_tracking_specification(tracking.cloned())
        .build()
}

/// How the answers of a validation are read.
#[derive(Clone, Copy)]
struct Rights {
    /// A launch template was made a moment ago: policies that ask for its tags do not see them yet.
    is_fresh: bool,
}

impl Rights {
    /// The verdict of a dry run: it "fails" with [`WOULD_SUCCEED`] where the call would succeed.
    fn of_dry_run<E, R>(
        self,
        action: Action,
        reason: &str,
        answer: Result<(), SdkError<E, R>>,
    ) -> Resolution<()>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        match answer {
            Ok(()) => Ok(()),
            Err(error) if aws_error(&error).code == WOULD_SUCCEED => Ok(()),
            Err(error) => self.verdict(reason, &port_error(action, &error)),
        }
    }

    /// Only what stands until somebody changes it makes a class not ready: everything else passes,
    /// or is seen by a launch.
    fn verdict(self, reason: &str, error: &PortError) -> Result<(), Unresolved> {
        let text = error.to_string();
        match error.kind {
            // The type may have no capacity, or not fit the image: permissions were checked all the
            // same.
            ErrorKind::NoCapacity => Ok(()),
            ErrorKind::Denied => Err(unresolved(reason, &text, self.is_fresh)),
            // IAM is eventually consistent: the profile may have been created a moment ago.
            ErrorKind::Invalid if is_profile_unknown(&error.message) => {
                Err(unresolved("InstanceProfileNotKnownYet", &text, true))
            }
            _ => Err(call_failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::node_class;

    fn failing(kind: ErrorKind, message: &str) -> Result<(), Unresolved> {
        let error = PortError::new(kind, "CreateFleet", message);
        Rights { is_fresh: false }.verdict("CreateFleetAuthCheckFailed", &error)
    }

    #[test]
    fn only_a_refusal_that_stands_makes_a_class_not_ready() {
        assert_eq!(failing(ErrorKind::NoCapacity, "Unsupported: no"), Ok(()));
        let denied = failing(ErrorKind::Denied, "no").unwrap_err();
        assert_eq!((&*denied.reason, denied.is_passing), ("CreateFleetAuthCheckFailed", false));
        for kind in [
            ErrorKind::Throttled,
            ErrorKind::Unavailable,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
            ErrorKind::Unknown,
        ] {
            assert!(failing(kind, "later").unwrap_err().is_passing, "{kind}");
        }
        for message in ["Invalid IAM Instance Profile name", "it has no associated IAM Roles"] {
            assert!(failing(ErrorKind::Invalid, message).unwrap_err().is_passing, "{message}");
        }
        assert!(!failing(ErrorKind::Invalid, "no such volume type").unwrap_err().is_passing);
    }

    #[test]
    fn a_denial_passes_while_the_tags_of_a_new_template_may_be_unknown() {
        let denied = PortError::new(ErrorKind::Denied, "RunInstances", "no");
        let verdict = Rights { is_fresh: true }.verdict("RunInstancesAuthCheckFailed", &denied);
        assert!(verdict.unwrap_err().is_passing);
    }

    #[test]
    fn subnets_that_change_places_ask_for_no_other_validation() {
        let class = node_class("default");
        let mut reordered = class.clone();
        reordered.status.subnets.reverse();
        assert_eq!(content(&class), content(&reordered));
        reordered.status.subnets.pop();
        assert_ne!(content(&class), content(&reordered));
    }
}
