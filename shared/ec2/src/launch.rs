//! Launches: one fleet per claim, several concurrently, independent of each other.
//!
//! CreateFleet is called with the client token of the recorded attempt. EC2 keeps what it answered
//! to a token: once it has answered without an instance the attempt is over, and the next one, with
//! another token, is recorded before it is made. A first call that EC2 refused as a whole launched
//! nothing, and ends its attempt likewise. AWS does not say what a repeated call gets, so an answer
//! to a repeat counts only where it names an instance: otherwise the instance is looked for by its
//! tag, as long as EC2 may not show it yet.
//!
//! Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html>.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws::error::redacted;
use controllers::ports::cloud::{Exhausted, Instance, InstanceState, LaunchCall, LaunchOutcome};
use controllers::ports::{ErrorKind, PortError};
use controllers::record::launch::{LaunchChoices, LaunchRequest};
use controllers::steps::end::INSTANCE_GRACE;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::node_class::{Ec2NodeClass, ResolvedSubnet};
use domain::{Text, Timestamp};
use futures_util::{StreamExt, future, stream};

use catalog::CatalogOptions;

use super::client::Ec2;
use super::filter::filter;
use super::fleet::{FleetPlan, LaunchContext, NotLaunchable};
use super::fleet_answer::{FILLER, FleetAnswer, LaunchedInstance, VCPU_LIMIT, is_template_missing};
use super::fleet_call::{FleetRefusal, FleetResponse};
use super::instance::{not_visible_yet, provider_id};
use super::quota::share_quota;
use super::tags;
use super::templates::NeededTemplate;
use crate::catalogue::Catalogue;

/// The most CreateFleet calls in flight.
const FLEET_CONCURRENCY_MAX: usize = 10;
/// The most calls of one attempt whose launch template EC2 does not know: it leaves the token
/// unused.
const CALLS_MAX: u32 = 3;
/// Attempts to which EC2 may answer with neither an instance nor an error before that counts as
/// want of capacity.
const SILENCES_MAX: u32 = 1;
const TOKEN_REUSED: &str = "IdempotentParameterMismatch";
/// The code of offerings that no subnet or image of the node class fits.
const UNSUPPORTED: &str = "Unsupported";

/// The subnet chosen in each zone, and the addresses reserved in it.
type ReservedSubnets<'a> = BTreeMap<&'a Text, (ResolvedSubnet, i64)>;

impl Ec2 {
    /// The subnets with most free addresses, and whose order of prices EC2 follows.
    pub(super) async fn choose(
        &self,
        requests: &[Arc<LaunchRequest>],
        classes: &[Ec2NodeClass],
    ) -> Vec<Option<LaunchChoices>> {
        let catalogue = self.catalogue();
        let options = self.options(&catalogue);
        let context = self.launch_context(&catalogue, &options);
        let plans: Vec<Option<FleetPlan<'_>>> =
            requests.iter().map(|request| plan(request, classes, context).ok()).collect();
        let planned: Vec<&FleetPlan<'_>> = plans.iter().flatten().collect();
        self.refresh_addresses(&planned).await;
        let chosen = plans.iter().map(|plan| {
            let plan = plan.as_ref()?;
            let reserved = self.reserve_subnets(plan);
            let subnets =
                reserved.into_iter().map(|(zone, (own, _))| (zone.clone(), own.id)).collect();
            Some(LaunchChoices { subnets, is_overlaid: is_overlaid(plan, &catalogue) })
        });
        chosen.collect()
    }

    fn launch_context<'a>(
        &'a self,
        catalogue: &'a Catalogue,
        options: &'a CatalogOptions,
    ) -> LaunchContext<'a> {
        LaunchContext { cluster: &self.cluster, catalog: &catalogue.catalog, options }
    }

    pub(super) async fn launch_all(
        &self,
        calls: &[LaunchCall],
        classes: &[Ec2NodeClass],
    ) -> Vec<LaunchOutcome> {
        let catalogue = self.catalogue();
        let options = self.options(&catalogue);
        let context = self.launch_context(&catalogue, &options);
        let plans: Vec<(&LaunchCall, Result<FleetPlan<'_>, NotLaunchable>)> =
            calls.iter().map(|call| (call, plan(&call.request, classes, context))).collect();
        let planned: Vec<&FleetPlan<'_>> =
            plans.iter().filter_map(|(_, plan)| plan.as_ref().ok()).collect();
        let is_open = |plan: &&&FleetPlan<'_>| plan.request.attempt.choices.is_none();
        let open: Vec<&FleetPlan<'_>> = planned.iter().filter(is_open).copied().collect();
        let (failed_templates, ()) =
            future::join(self.ensure_templates(&planned), self.refresh_addresses(&open)).await;
        let outcomes = stream::iter(plans)
            .map(|(call, plan)| {
                let (failed_templates, catalogue) = (&failed_templates, &catalogue);
                async move {
                    let plan = match plan {
                        Ok(plan) => plan,
                        Err(why) => return self.not_launchable(call, why).await,
                    };
                    let mut names = plan.templates.iter().map(|own| &own.template.name);
                    match names.find_map(|name| failed_templates.get(name)) {
                        Some(error) => not_asked(error.clone(), call.is_repeat),
                        None => self.launch_one(&plan, catalogue, call.is_repeat).await,
                    }
                }
            })
            .buffered(FLEET_CONCURRENCY_MAX)
            .collect::<Vec<_>>()
            .await;
        self.with_details(outcomes).await
    }

    async fn ensure_templates(&self, plans: &[&FleetPlan<'_>]) -> BTreeMap<String, PortError> {
        let tags: BTreeMap<Text, Labels> = plans
            .iter()
            .map(|plan| {
                let tags = tags::of_template(&self.cluster.name, plan.class);
                (plan.class.name.clone(), tags)
            })
            .collect();
        let needed: Vec<NeededTemplate<'_>> = plans
            .iter()
            .flat_map(|plan| plan.templates.iter().map(move |own| (plan, own)))
            .filter_map(|(plan, own)| {
                Some(NeededTemplate { template: &own.template, tags: tags.get(&plan.class.name)? })
            })
            .collect();
        self.templates.ensure(&self.calls, &needed).await
    }

    /// Refreshes the free addresses of subnets, where a zone has several. Keeps the known ones
    /// where the call fails.
    async fn refresh_addresses(&self, plans: &[&FleetPlan<'_>]) {
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
                    addresses.set_free(own.subnet.id, own.free_addresses);
                }
            }
            Err(error) => tracing::warn!(%error, "failed to read the free addresses of subnets"),
        }
    }

    async fn launch_one(
        &self,
        plan: &FleetPlan<'_>,
        catalogue: &Catalogue,
        is_repeat: bool,
    ) -> LaunchOutcome {
        let choices = plan.request.attempt.choices.as_ref();
        let is_overlaid =
            choices.map_or_else(|| is_overlaid(plan, catalogue), |own| own.is_overlaid);
        let reserved = match choices {
            Some(own) => chosen_subnets(plan, own),
            None => self.reserve_subnets(plan),
        };
        let call = plan.call(
            &plan.request.client_token(),
            self.owner(),
            |zone| reserved.get(&Text::from(zone)).map(|(subnet, _)| subnet),
            is_overlaid,
        );
        // An earlier run, or a try of this one that was not answered, may have launched it.
        let (mut is_repeat, mut is_unsure) = (is_repeat, false);
        let mut calls = 0;
        loop {
            let FleetResponse { answer, is_unsure: is_unanswered } = self.send_fleet(&call).await;
            is_unsure |= is_unanswered;
            is_repeat |= is_unsure;
            calls += 1;
            let output = match answer {
                Ok(output) => output,
                // Such a call leaves nothing behind, so the token is still unused.
                Err(own) if is_template_missing(&own.code) && calls < CALLS_MAX => {
                    self.recreate_templates(plan).await;
                    continue;
                }
                Err(own) => {
                    self.release_addresses(&reserved, None);
                    return self.without_answer(plan, own, is_repeat, is_unsure).await;
                }
            };
            let answer = FleetAnswer::of(&output, &plan.class.status.subnets);
            let outcome = self.interpret(plan, &answer, &reserved, catalogue);
            if let Some(id) = &answer.undescribed {
                return self.described_launch(plan, id, outcome.exhausted().to_vec()).await;
            }
            if !answer.extras.is_empty() {
                // They bear the claim's uid, and the claim has another: they end as orphans.
                let extras = answer.extras.len();
                tracing::warn!(extras, "EC2 launched more instances than asked for");
            }
            if answer.launched.is_none() && is_repeat {
                return self.earlier_launch(plan.request, outcome, is_unsure).await;
            }
            if answer.lacks_template() {
                self.recreate_templates(plan).await;
            }
            return outcome;
        }
    }

    /// The outcome of a call that EC2 refused as a whole or did not answer.
    async fn without_answer(
        &self,
        plan: &FleetPlan<'_>,
        own: FleetRefusal,
        is_repeat: bool,
        is_unsure: bool,
    ) -> LaunchOutcome {
        let FleetRefusal { code, error } = own;
        let outcome = if error.kind == ErrorKind::NoCapacity {
            LaunchOutcome::OutOfCapacity { exhausted: Vec::new() }
        } else {
            refused(error.clone())
        };
        if code == TOKEN_REUSED || (is_repeat && error.kind == ErrorKind::NoCapacity) {
            self.earlier_launch(plan.request, outcome, is_unsure).await
        } else if is_repeat {
            unknown(error, Vec::new(), is_unsure)
        } else {
            outcome
        }
    }

    async fn recreate_templates(&self, plan: &FleetPlan<'_>) {
        self.templates.forget(plan.templates.iter().map(|own| own.template.name.as_str()));
        let failed = self.ensure_templates(&[plan]).await;
        for (name, error) in failed {
            tracing::warn!(%name, %error, "failed to recreate launch template");
        }
    }

    /// The outcome of an attempt that EC2 answered.
    fn interpret(
        &self,
        plan: &FleetPlan<'_>,
        answer: &FleetAnswer,
        reserved: &ReservedSubnets<'_>,
        catalogue: &Catalogue,
    ) -> LaunchOutcome {
        let now = Timestamp::now();
        let subnets = &plan.class.status.subnets;
        let launched_in = answer.launched.as_ref().map(|own| &own.zone);
        self.release_addresses(reserved, launched_in);
        let mut addresses = self.addresses();
        for subnet in answer.full_subnets() {
            addresses.mark_full(subnet, now);
        }
        let is_zone_full = |zone: &str| addresses.is_zone_full(subnets, zone, now);
        let mut exhausted = beyond_quota(plan, answer, catalogue);
        exhausted.extend(answer.exhausted(plan.capacity_type(), is_zone_full));
        let exhausted: Vec<Exhausted> = exhausted.into_iter().collect();
        warn_if_operator_needed(plan, answer);
        if let Some(own) = &answer.launched {
            return LaunchOutcome::Launched { instance: instance_of(plan, own), exhausted };
        }
        if answer.refusals.is_empty() && plan.request.attempt.number <= SILENCES_MAX {
            return refused(unavailable("EC2 answered with neither an instance nor an error"));
        }
        if answer.lacks_template() {
            let error = unavailable("EC2 does not know the launch template yet");
            return LaunchOutcome::Refused { error, exhausted, is_mended: true };
        }
        if let Some(error) = answer.failure() {
            return LaunchOutcome::Refused { error, exhausted, is_mended: false };
        }
        let mut full = answer.full_subnets();
        let has_other = |id: &Text| {
            subnets.iter().find(|own| own.id == *id).is_some_and(|own| !is_zone_full(&own.zone))
        };
        if full.any(has_other) {
            let error = unavailable("a subnet has no free address left");
            return LaunchOutcome::Refused { error, exhausted, is_mended: true };
        }
        LaunchOutcome::OutOfCapacity { exhausted }
    }

    fn reserve_subnets<'a>(&self, plan: &FleetPlan<'a>) -> ReservedSubnets<'a> {
        let now = Timestamp::now();
        let mut addresses = self.addresses();
        let mut reserved = BTreeMap::new();
        for (zone, count) in plan.addresses_by_zone() {
            if let Some(subnet) = addresses.best(&plan.class.status.subnets, zone, now) {
                addresses.reserve(&subnet.id, count, now);
                reserved.insert(zone, (subnet.clone(), count));
            }
        }
        reserved
    }

    /// Releases all reserved addresses but those in the zone of the instance.
    fn release_addresses(&self, reserved: &ReservedSubnets<'_>, used: Option<&Text>) {
        let mut addresses = self.addresses();
        for (zone, (subnet, count)) in reserved {
            if Some(*zone) != used {
                addresses.release(&subnet.id, *count);
            }
        }
    }

    /// The instance of an earlier call for the same claim, or of a try of this one to which no
    /// answer came (`is_unsure`). Where EC2 shows none, the claim waits as long as it may still
    /// appear, and then is as though that call had not been.
    async fn earlier_launch(
        &self,
        request: &LaunchRequest,
        without: LaunchOutcome,
        is_unsure: bool,
    ) -> LaunchOutcome {
        // Whichever of the calls it answers. But that no pool could serve may as well be said of a
        // token whose instance is there.
        let is_certain = |own: &&Exhausted| *own.code != *FILLER;
        let exhausted = without.exhausted().iter().filter(is_certain).cloned().collect();
        let age = Timestamp::now().duration_since(request.attempt.since);
        match self.instance_of_claim(&request.token).await {
            Ok(Some(instance)) => LaunchOutcome::Launched { instance, exhausted },
            Ok(None) if is_unsure || age < INSTANCE_GRACE => {
                unknown(not_visible_yet(&request.token), exhausted, is_unsure)
            }
            Ok(None) => without.waited_for(),
            Err(error) => unknown(error, exhausted, is_unsure),
        }
    }

    /// The outcome of a call that cannot be made any more: the class has changed since an earlier
    /// run may have made it.
    async fn not_launchable(&self, call: &LaunchCall, why: NotLaunchable) -> LaunchOutcome {
        let outcome = not_launchable(&call.request, why);
        if call.is_repeat {
            self.earlier_launch(&call.request, outcome, false).await
        } else {
            outcome
        }
    }

    /// The instance that an answer names without saying where or what it is.
    async fn described_launch(
        &self,
        plan: &FleetPlan<'_>,
        id: &Text,
        exhausted: Vec<Exhausted>,
    ) -> LaunchOutcome {
        if let Some(instance) = self.described(std::slice::from_ref(id)).await.remove(id) {
            return LaunchOutcome::Launched { instance, exhausted };
        }
        let error = not_visible_yet(&plan.request.token);
        LaunchOutcome::Failed { error, exhausted }
    }

    /// Adds what only a description has (the exact time, the reservation), for instances that EC2
    /// describes already.
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
                // Tags may not be visible yet, but their values are known.
                let known =
                    |described: Option<Text>, known: &Option<Text>| described.or(known.clone());
                *instance = Instance {
                    claim: known(own.claim.clone(), &instance.claim),
                    claim_uid: known(own.claim_uid.clone(), &instance.claim_uid),
                    installation: known(own.installation.clone(), &instance.installation),
                    node_pool: known(own.node_pool.clone(), &instance.node_pool),
                    price: instance.price,
                    // What it was asked to be is certain; a fresh description may lack parts.
                    image_id: if instance.image_id.is_empty() {
                        own.image_id.clone()
                    } else {
                        instance.image_id.clone()
                    },
                    capacity_type: instance.capacity_type,
                    reservation_id: known(
                        instance.reservation_id.clone(),
                        &own.reservation_id
                            .filter(|_| instance.capacity_type == CapacityType::Reserved),
                    ),
                    ..own
                };
            }
        }
        outcomes
    }
}

/// An attempt that is over: the next one has another token.
fn refused(error: PortError) -> LaunchOutcome {
    LaunchOutcome::Refused { error, exhausted: Vec::new(), is_mended: false }
}

/// The outcome where CreateFleet was not called. It is no proof that an earlier run's call launched
/// nothing.
fn not_asked(error: PortError, is_repeat: bool) -> LaunchOutcome {
    if is_repeat { unknown(error, Vec::new(), false) } else { refused(error) }
}

/// The outcome of a call that is no proof that nothing was launched: a try of it (`is_unsure`), or
/// an earlier call, may have.
fn unknown(error: PortError, exhausted: Vec<Exhausted>, is_unsure: bool) -> LaunchOutcome {
    if is_unsure {
        LaunchOutcome::Failed { error, exhausted }
    } else {
        LaunchOutcome::NotShown { error, exhausted }
    }
}

fn unavailable(message: &str) -> PortError {
    PortError::new(ErrorKind::Unavailable, "CreateFleet", message)
}

/// The recorded subnets, those that the class does not select any more among them: a repeat asks
/// for the very same.
fn chosen_subnets<'a>(plan: &FleetPlan<'a>, choices: &LaunchChoices) -> ReservedSubnets<'a> {
    let subnet = |zone: &Text| {
        let id = choices.subnets.get(zone)?;
        let known = plan.class.status.subnets.iter().find(|own| own.id == *id).cloned();
        Some(known.unwrap_or_else(|| ResolvedSubnet {
            id: id.clone(),
            zone: zone.clone(),
            zone_id: None,
        }))
    };
    let zones = plan.addresses_by_zone().into_iter();
    zones.filter_map(|(zone, count)| Some((zone, (subnet(zone)?, count)))).collect()
}

fn plan<'a>(
    request: &'a LaunchRequest,
    classes: &'a [Ec2NodeClass],
    context: LaunchContext<'_>,
) -> Result<FleetPlan<'a>, NotLaunchable> {
    let class = classes.iter().find(|class| class.name == request.node_class);
    let class = ready(class, &request.node_class).map_err(NotLaunchable::NotReady)?;
    FleetPlan::of(request, class, context)
}

/// The outcome of a request that is not sent to EC2.
fn not_launchable(request: &LaunchRequest, why: NotLaunchable) -> LaunchOutcome {
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

/// Whether prices are set by a NodeOverlay rather than by EC2: then the allocation strategy must
/// follow their order instead of EC2's own prices.
fn is_overlaid(plan: &FleetPlan<'_>, catalogue: &Catalogue) -> bool {
    plan.capacity_type() != CapacityType::Reserved
        && plan.choices.iter().any(|choice| {
            catalogue.price_of(choice.offering).is_some_and(|price| price != choice.offering.price)
        })
}

/// Warns of refusals that last until an operator changes something, though the launch goes on
/// without what was refused.
fn warn_if_operator_needed(plan: &FleetPlan<'_>, answer: &FleetAnswer) {
    if let Some(own) = answer.unsupported() {
        let (class, message) = (&*plan.class.name, redacted(&own.message));
        tracing::warn!(class, %message, "EC2 does not support what the EC2NodeClass asks for");
    }
    if let Some(own) = answer.no_spot_at_all() {
        let (code, message) = (&*own.code, redacted(&own.message));
        tracing::warn!(code, %message, "EC2 gives this account no spot instances");
    }
}

/// The offerings that draw on the same quota of vCPUs as one that the account has no more for, and
/// that are as large: they would be tried in vain.
fn beyond_quota(
    plan: &FleetPlan<'_>,
    answer: &FleetAnswer,
    catalogue: &Catalogue,
) -> BTreeSet<Exhausted> {
    let vcpus = |name: &str| catalogue.catalog.find(name).map(|facts| facts.vcpus);
    let is_beyond = |other: &Text| {
        answer.beyond_quota().any(|own| share_quota(own, other) && vcpus(own) <= vcpus(other))
    };
    let offerings = plan.choices.iter().map(|choice| choice.offering);
    let beyond = offerings.filter(|own| is_beyond(&own.instance_type));
    beyond.map(|own| Exhausted::of(own, VCPU_LIMIT)).collect()
}

/// The instance, as far as the answer of CreateFleet describes it.
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
    let image_id = plan.image_of(launched).cloned().unwrap_or_default();
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
        // Its description says.
        installation: None,
        node_pool: pool
            .cloned()
            .or_else(|| (!request.node_pool.is_empty()).then(|| request.node_pool.clone())),
    }
}
