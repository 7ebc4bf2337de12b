//! Validates a node class by dry runs of the calls of a launch, so that a missing permission shows
//! in its status rather than when the first pod waits.
//!
//! Karpenter validates them likewise (<https://karpenter.sh/docs/concepts/nodeclasses/>).

use aws_sdk_ec2::types::{InstanceType, LaunchTemplateSpecification, ResourceType};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use controllers::ports::cloud::{Resolution, Unresolved};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::launch::LaunchRequest;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::node_class::Ec2NodeClass;
use domain::plan::LaunchOffering;
use uuid::Uuid;

use super::client::Ec2;
use super::fleet::{FleetPlan, LaunchContext, NotLaunchable};
use super::tags;
use super::templates::NeededTemplate;
use super::unresolved::{call_failed, unresolved};
use crate::budget::Bucket;
use crate::calls::ec2;
use crate::error::{Action, aws_error, port_error};

/// The error code of a dry run that would succeed.
const WOULD_SUCCEED: &str = "DryRunOperation";
/// The claim and token of a launch that is only a dry run.
const SAMPLE: &str = "validation";

impl Ec2 {
    /// Whether instances can be launched from the class, whose status holds what was just resolved.
    pub(super) async fn validated(&self, class: &Ec2NodeClass) -> Resolution<()> {
        let text = format!("{:?}{:?}", class.spec, class.status);
        let content = Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes());
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
        self.try_template(&plan).await?;
        let tags = tags::of_template(&self.cluster.name, class);
        let needed: Vec<NeededTemplate<'_>> = plan
            .templates
            .iter()
            .map(|own| NeededTemplate { template: &own.template, tags: &tags })
            .collect();
        if let Some(error) = self.templates.ensure(&self.calls, &needed).await.into_values().next()
        {
            return Err(call_failed(&error));
        }
        self.try_fleet(&plan).await?;
        self.try_instance(&plan).await?;
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
        }
    }

    async fn try_template(&self, plan: &FleetPlan<'_>) -> Resolution<()> {
        let Some(planned) = plan.templates.first() else { return Ok(()) };
        let tags = tags::of_template(&self.cluster.name, plan.class);
        let call = self
            .calls
            .ec2
            .create_launch_template()
            .dry_run(true)
            .launch_template_name(&planned.template.name)
            .launch_template_data(planned.template.data.clone())
            .tag_specifications(tags::specification(ResourceType::LaunchTemplate, &tags))
            .send();
        let answer = self.calls.send_raw(Bucket::Mutate, call).await.map(drop);
        verdict(ec2("CreateLaunchTemplate"), "CreateLaunchTemplateAuthCheckFailed", answer)
    }

    async fn try_fleet(&self, plan: &FleetPlan<'_>) -> Resolution<()> {
        let subnets = &plan.class.status.subnets;
        let subnet_of = |zone: &str| subnets.iter().find(|own| &*own.zone == zone);
        let call = plan
            .call(SAMPLE, &self.cluster.name, subnet_of, false)
            // EC2 would remember a token.
            .set_client_token(None)
            .dry_run(true);
        let answer = self.calls.send_raw(Bucket::Launch, call.send_with(&self.calls.ec2)).await;
        verdict(ec2("CreateFleet"), "CreateFleetAuthCheckFailed", answer.map(drop))
    }

    /// Whether RunInstances is allowed. One subnet is enough: a policy may keep nodes out of the
    /// others.
    async fn try_instance(&self, plan: &FleetPlan<'_>) -> Resolution<()> {
        let (Some(planned), Some(choice)) = (plan.templates.first(), plan.choices.first()) else {
            return Ok(());
        };
        let template = LaunchTemplateSpecification::builder()
            .launch_template_name(&planned.template.name)
            .version("$Latest")
            .build();
        let tags = tags::of_launch(&self.cluster.name, plan.class, plan.request);
        let of_zone = |zone: &Text| *zone == choice.offering.zone;
        let mut outcome = Ok(());
        for subnet in plan.class.status.subnets.iter().filter(|own| of_zone(&own.zone)) {
            let has_interfaces = planned.template.data.network_interfaces.is_some();
            let call = self
                .calls
                .ec2
                .run_instances()
                .dry_run(true)
                .launch_template(template.clone())
                .instance_type(InstanceType::from(&*choice.offering.instance_type))
                .min_count(1)
                .max_count(1)
                // EC2 takes a subnet either of the instance or of its interfaces.
                .set_subnet_id((!has_interfaces).then(|| subnet.id.to_string()))
                .tag_specifications(tags::specification(ResourceType::Instance, &tags))
                .tag_specifications(tags::specification(ResourceType::Volume, &tags))
                .send();
            let answer = self.calls.send_raw(Bucket::Mutate, call).await.map(drop);
            outcome = verdict(ec2("RunInstances"), "RunInstancesAuthCheckFailed", answer);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }
}

/// The verdict of a dry run: it "fails" with [`WOULD_SUCCEED`] where the call would succeed.
fn verdict<E, R>(action: Action, reason: &str, answer: Result<(), SdkError<E, R>>) -> Resolution<()>
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match answer {
        Ok(()) => Ok(()),
        Err(error) if aws_error(&error).code == WOULD_SUCCEED => Ok(()),
        Err(error) => failed(reason, &port_error(action, &error)),
    }
}

fn failed(reason: &str, error: &PortError) -> Result<(), Unresolved> {
    match error.kind {
        // The type may have no capacity, or not fit the image: permissions were checked all the
        // same.
        ErrorKind::NoCapacity => Ok(()),
        ErrorKind::Denied => Err(unresolved(reason, &error.to_string(), false)),
        // IAM is eventually consistent: the profile may have been created a moment ago.
        ErrorKind::Invalid if error.message.contains("Invalid IAM Instance Profile") => {
            Err(unresolved("InstanceProfileNotKnownYet", &error.to_string(), true))
        }
        _ => Err(call_failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(kind: ErrorKind, message: &str) -> Result<(), Unresolved> {
        failed("CreateFleetAuthCheckFailed", &PortError::new(kind, "CreateFleet", message))
    }

    #[test]
    fn only_a_refusal_that_stands_makes_a_class_not_ready() {
        assert_eq!(failing(ErrorKind::NoCapacity, "Unsupported: no"), Ok(()));
        let denied = failing(ErrorKind::Denied, "no").unwrap_err();
        assert_eq!((&*denied.reason, denied.is_passing), ("CreateFleetAuthCheckFailed", false));
        assert!(failing(ErrorKind::Throttled, "slow down").unwrap_err().is_passing);
        let profile = failing(ErrorKind::Invalid, "Invalid IAM Instance Profile name").unwrap_err();
        assert!(profile.is_passing);
        assert!(!failing(ErrorKind::Invalid, "no such volume type").unwrap_err().is_passing);
    }
}
