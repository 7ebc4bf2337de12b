//! Launches: one fleet a claim, several at once, none of which can spoil another.
//!
//! CreateFleet is called with the claim's uid as its token, so that asking again gives the same instance. A
//! fleet that came to nothing for a reason that can be mended here (a template that EC2 did not know, a
//! subnet without addresses while others of the zone have some) is answered for good: the next attempt
//! has the next token, `uid-2`. Whoever repeats the launch goes through the same tokens to the same end.

use std::collections::BTreeMap;
use std::time::Instant;

use controllers::ports::PortError;
use controllers::ports::cloud::{Exhausted, Instance, InstanceState, LaunchOutcome};
use controllers::record::launch::LaunchRequest;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::node_class::{Ec2NodeClass, ResolvedSubnet};
use domain::{Text, Timestamp};
use futures_util::{StreamExt, future, stream};

use super::fleet::{FleetPlan, NotLaunchable, Surroundings};
use super::fleet_answer::{FleetAnswer, LaunchedInstance, is_template_missing};
use super::instance::{filter, not_seen_yet, provider_id};
use super::templates::Needed;
use super::{ByName, Ec2, tags};
use crate::budget::Bucket;
use crate::calls::ec2;
use crate::catalogue::Catalogue;
use crate::error::{aws_error, port_error};

/// Fleets that are asked for at once.
const FLEETS_AT_ONCE: usize = 10;
/// Attempts at one launch within one call.
const ATTEMPTS_MAX: u32 = 3;
const TOKEN_REUSED: &str = "IdempotentParameterMismatch";
/// What an offering is marked with that nothing of the node class fits.
const UNSUPPORTED: &str = "Unsupported";

/// The subnet that each zone's instance would go to, and the addresses that it may come to need.
type Taken<'a> = BTreeMap<&'a Text, (&'a ResolvedSubnet, i64)>;

impl Ec2 {
    pub(super) async fn launch_all(
        &self,
        requests: &[LaunchRequest],
        classes: &[Ec2NodeClass],
    ) -> Vec<LaunchOutcome> {
        let catalogue = self.catalogue();
        let options = self.options(&catalogue);
        let around =
            Surroundings { cluster: &self.cluster, catalog: &catalogue.catalog, options: &options };
        let plans: Vec<(&LaunchRequest, Result<FleetPlan<'_>, NotLaunchable>)> =
            requests.iter().map(|request| (request, plan(request, classes, around))).collect();
        let planned: Vec<&FleetPlan<'_>> =
            plans.iter().filter_map(|(_, plan)| plan.as_ref().ok()).collect();
        let (unmade, ()) =
            future::join(self.make_templates(&planned), self.learn_addresses(&planned)).await;
        let outcomes = stream::iter(plans)
            .map(|(request, plan)| {
                let (unmade, catalogue) = (&unmade, &catalogue);
                async move {
                    let plan = match plan {
                        Ok(plan) => plan,
                        Err(why) => return not_asked_for(request, why),
                    };
                    let mut names = plan.templates.iter().map(|own| &own.template.name);
                    match names.find_map(|name| unmade.get(name)) {
                        Some(error) => LaunchOutcome::Failed(error.clone()),
                        None => self.launch_one(&plan, catalogue).await,
                    }
                }
            })
            .buffered(FLEETS_AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        self.with_details(outcomes).await
    }

    async fn make_templates(&self, plans: &[&FleetPlan<'_>]) -> BTreeMap<String, PortError> {
        let tags: ByName<Labels> = plans
            .iter()
            .map(|plan| {
                let tags = tags::of_template(&self.cluster.name, plan.class);
                (plan.class.name.clone(), tags)
            })
            .collect();
        let needed: Vec<Needed<'_>> = plans
            .iter()
            .flat_map(|plan| plan.templates.iter().map(move |own| (plan, own)))
            .filter_map(|(plan, own)| {
                Some(Needed { template: &own.template, tags: tags.get(&plan.class.name)? })
            })
            .collect();
        self.templates.ensure(&self.calls, &needed).await
    }

    /// Asks for free addresses, where there is a choice at all. Without an answer, what was known stays.
    async fn learn_addresses(&self, plans: &[&FleetPlan<'_>]) {
        let mut by_zone: BTreeMap<&Text, Vec<&Text>> = BTreeMap::new();
        for subnet in plans.iter().flat_map(|plan| &plan.class.status.subnets) {
            let of_zone = by_zone.entry(&subnet.zone).or_default();
            if !of_zone.contains(&&subnet.id) {
                of_zone.push(&subnet.id);
            }
        }
        let ids: Vec<String> = by_zone
            .into_values()
            .filter(|ids| ids.len() > 1)
            .flatten()
            .map(ToString::to_string)
            .collect();
        if ids.is_empty() {
            return;
        }
        match self.subnets(vec![filter("subnet-id", ids)]).await {
            Ok(subnets) => {
                let mut addresses = self.addresses();
                for own in subnets {
                    addresses.learn(own.subnet.id, own.free_addresses);
                }
            }
            Err(error) => tracing::warn!(%error, "free addresses of subnets are not known"),
        }
    }

    async fn launch_one(&self, plan: &FleetPlan<'_>, catalogue: &Catalogue) -> LaunchOutcome {
        let is_overlaid = is_overlaid(plan, catalogue);
        let mut token_number = 1;
        let mut last = None;
        for _ in 0..ATTEMPTS_MAX {
            let taken = self.take_subnets(plan);
            let call = plan.call(
                &token(&plan.request.token, token_number),
                &self.cluster.name,
                |zone| taken.get(&Text::from(zone)).map(|(subnet, _)| *subnet),
                is_overlaid,
            );
            let sent = self.calls.ask_raw(Bucket::Launch, call.send_with(&self.calls.ec2)).await;
            let output = match sent {
                Ok(output) => output,
                Err(error) => {
                    self.give_back(&taken, None);
                    let code = aws_error(&error).code;
                    if code == TOKEN_REUSED {
                        return self.launched_before(plan).await;
                    }
                    let error = port_error(ec2("CreateFleet"), &error);
                    if !is_template_missing(&code) {
                        return LaunchOutcome::Failed(error);
                    }
                    // Such a call leaves nothing behind, so the token is still free.
                    last = Some(error);
                    self.make_again(plan).await;
                    continue;
                }
            };
            let answer = FleetAnswer::of(&output, &plan.class.status.subnets);
            match self.read(plan, &answer, &taken) {
                Read::Outcome(outcome) => return outcome,
                Read::Again(error) => {
                    last = Some(error);
                    token_number += 1;
                    if answer.lacks_template() {
                        self.make_again(plan).await;
                    }
                }
            }
        }
        let unknown = || not_seen_yet(&plan.request.token);
        LaunchOutcome::Failed(last.unwrap_or_else(unknown))
    }

    async fn make_again(&self, plan: &FleetPlan<'_>) {
        self.templates.forget(plan.templates.iter().map(|own| own.template.name.as_str()));
        let failed = self.make_templates(&[plan]).await;
        for (name, error) in failed {
            tracing::warn!(%name, %error, "launch template could not be made again");
        }
    }

    /// What an answer comes to.
    fn read(&self, plan: &FleetPlan<'_>, answer: &FleetAnswer, taken: &Taken<'_>) -> Read {
        let now = Instant::now();
        let subnets = &plan.class.status.subnets;
        let launched_in = answer.launched.as_ref().map(|own| &own.zone);
        self.give_back(taken, launched_in);
        let mut addresses = self.addresses();
        for subnet in answer.full_subnets() {
            addresses.mark_full(subnet, now);
        }
        let is_zone_full = |zone: &str| addresses.is_zone_full(subnets, zone, now);
        let exhausted = answer.exhausted(plan.request, plan.capacity_type(), is_zone_full);
        if let Some(own) = &answer.launched {
            let instance = instance_of(plan, own);
            return Read::Outcome(LaunchOutcome::Launched { instance, exhausted });
        }
        if answer.lacks_template() {
            return Read::Again(refused("EC2 does not know the launch template yet"));
        }
        if let Some(error) = answer.failure() {
            return Read::Outcome(LaunchOutcome::Failed(error));
        }
        let mut full = answer.full_subnets();
        let has_other = |id: &Text| {
            subnets.iter().find(|own| own.id == *id).is_some_and(|own| !is_zone_full(&own.zone))
        };
        if full.any(has_other) {
            return Read::Again(refused("a subnet has no free address left"));
        }
        Read::Outcome(LaunchOutcome::OutOfCapacity { exhausted })
    }

    fn take_subnets<'a>(&self, plan: &FleetPlan<'a>) -> Taken<'a> {
        let now = Instant::now();
        let mut addresses = self.addresses();
        let mut taken = BTreeMap::new();
        for (zone, count) in plan.addresses_by_zone() {
            if let Some(subnet) = addresses.best(&plan.class.status.subnets, zone, now) {
                addresses.take(&subnet.id, count, now);
                taken.insert(zone, (subnet, count));
            }
        }
        taken
    }

    /// Gives back all that was taken but what the zone's instance uses.
    fn give_back(&self, taken: &Taken<'_>, used: Option<&Text>) {
        let mut addresses = self.addresses();
        for (zone, (subnet, count)) in taken {
            if Some(*zone) != used {
                addresses.give_back(&subnet.id, *count);
            }
        }
    }

    /// The instance of an earlier call for the same claim, which had other parameters.
    async fn launched_before(&self, plan: &FleetPlan<'_>) -> LaunchOutcome {
        match self.instance_of_claim(&plan.request.token).await {
            Ok(Some(instance)) => LaunchOutcome::Launched { instance, exhausted: Vec::new() },
            Ok(None) => LaunchOutcome::Failed(not_seen_yet(&plan.request.token)),
            Err(error) => LaunchOutcome::Failed(error),
        }
    }

    /// Fills in what only a description tells (the exact time, the reservation), for those instances that
    /// EC2 describes already.
    async fn with_details(&self, mut outcomes: Vec<LaunchOutcome>) -> Vec<LaunchOutcome> {
        let launched = |outcome: &LaunchOutcome| match outcome {
            LaunchOutcome::Launched { instance, .. } => Some(instance.id.clone()),
            _ => None,
        };
        let ids: Vec<Text> = outcomes.iter().filter_map(launched).collect();
        if ids.is_empty() {
            return outcomes;
        }
        let mut described = self.described(&ids).await;
        for outcome in &mut outcomes {
            if let LaunchOutcome::Launched { instance, .. } = outcome
                && let Some(own) = described.remove(&instance.id)
            {
                // Tags may not be there yet; what they will say is known.
                let known =
                    |described: Option<Text>, known: &Option<Text>| described.or(known.clone());
                *instance = Instance {
                    claim: known(own.claim.clone(), &instance.claim),
                    claim_uid: known(own.claim_uid.clone(), &instance.claim_uid),
                    node_pool: known(own.node_pool.clone(), &instance.node_pool),
                    price: instance.price,
                    ..own
                };
            }
        }
        outcomes
    }
}

/// What becomes of an attempt.
enum Read {
    Outcome(LaunchOutcome),
    /// It came to nothing, and another attempt may do better.
    Again(PortError),
}

fn refused(message: &str) -> PortError {
    PortError::new(controllers::ports::ErrorKind::Unavailable, "CreateFleet", message)
}

/// CreateFleet's token of an attempt.
fn token(uid: &str, number: u32) -> String {
    if number == 1 { uid.to_owned() } else { format!("{uid}-{number}") }
}

fn plan<'a>(
    request: &'a LaunchRequest,
    classes: &'a [Ec2NodeClass],
    around: Surroundings<'_>,
) -> Result<FleetPlan<'a>, NotLaunchable> {
    let class = classes.iter().find(|class| class.name == request.node_class);
    let class = ready(class, &request.node_class).map_err(NotLaunchable::NotReady)?;
    FleetPlan::of(request, class, around)
}

/// The outcome of a request that EC2 need not be asked about.
fn not_asked_for(request: &LaunchRequest, why: NotLaunchable) -> LaunchOutcome {
    match why {
        NotLaunchable::NothingFits => {
            let exhausted = request.offerings.iter().map(|own| Exhausted::of(own, UNSUPPORTED));
            LaunchOutcome::OutOfCapacity { exhausted: exhausted.collect() }
        }
        NotLaunchable::NotReady(message) => {
            LaunchOutcome::NodeClassNotReady { message: message.into() }
        }
        NotLaunchable::UserData(error) => {
            let message = format!("EC2NodeClass {}: {error}", request.node_class).into();
            LaunchOutcome::NodeClassNotReady { message }
        }
    }
}

/// The class, if instances can be launched from it.
fn ready<'a>(class: Option<&'a Ec2NodeClass>, name: &str) -> Result<&'a Ec2NodeClass, String> {
    let class = class.ok_or_else(|| format!("EC2NodeClass {name} does not exist"))?;
    let status = &class.status;
    if class.is_deleting {
        return Err(format!("EC2NodeClass {name} is being deleted"));
    }
    if status.ready == Some(false) {
        return Err(format!("EC2NodeClass {name} is not ready"));
    }
    let missing = [
        ("subnets", status.subnets.is_empty()),
        ("security groups", status.security_groups.is_empty()),
        ("images", status.amis.is_empty()),
    ];
    match missing.iter().find(|(_, is_missing)| *is_missing) {
        Some((what, _)) => Err(format!("EC2NodeClass {name}: its {what} are not resolved yet")),
        None => Ok(class),
    }
}

/// Whether prices are the user's (a NodeOverlay's) rather than EC2's: then their order counts, not EC2's
/// own view of what is cheap (reference E1.8).
fn is_overlaid(plan: &FleetPlan<'_>, catalogue: &Catalogue) -> bool {
    plan.capacity_type() != CapacityType::Reserved
        && plan.choices.iter().any(|choice| {
            catalogue.price_of(choice.offering).is_some_and(|price| price != choice.offering.price)
        })
}

/// The instance as the answer of the fleet tells it.
fn instance_of(plan: &FleetPlan<'_>, launched: &LaunchedInstance) -> Instance {
    let request = plan.request;
    let reservation_id = plan
        .choices
        .iter()
        .find(|choice| {
            choice.offering.instance_type == launched.instance_type
                && choice.offering.zone == launched.zone
        })
        .and_then(|choice| choice.offering.reservation_id.clone());
    let image_id = plan.image_of(&launched.template).cloned().unwrap_or_default();
    let pool = plan.request.labels.get(label::NODE_POOL);
    Instance {
        id: launched.id.clone(),
        provider_id: provider_id(&launched.zone, &launched.id),
        instance_type: launched.instance_type.clone(),
        zone: launched.zone.clone(),
        capacity_type: plan.capacity_type(),
        reservation_id,
        price: None,
        image_id,
        launched: Timestamp::now(),
        state: InstanceState::Pending,
        claim: Some(request.claim.clone()),
        claim_uid: Some(request.token.clone()),
        node_pool: pool
            .cloned()
            .or_else(|| (!request.node_pool.is_empty()).then(|| request.node_pool.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_further_attempts_are_always_the_same() {
        let uid = "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11";
        assert_eq!(token(uid, 1), uid);
        assert_eq!(token(uid, 2), format!("{uid}-2"));
        assert!(token(uid, ATTEMPTS_MAX).len() <= 64, "EC2 takes no longer token");
    }
}
