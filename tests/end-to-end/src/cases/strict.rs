//! EC2 at its worst: what was launched is shown late, answers are lost, and errors stand in answers
//! whose status is 200.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use end_to_end::behaviour::UnknownIds;
use end_to_end::behaviour::{Behaviour, FailedToken, FleetFailure, IpFamily, RepeatedSuccess};
use end_to_end::cloud::{Instance, Maker, Shortage};
use end_to_end::gate::Call;
use end_to_end::objects::node_pool;
use end_to_end::stack::{Stack, is_consistent, node_claims};
use end_to_end::world::{CLUSTER, PATIENCE, World};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::provisioning::{start_pod, with_defaults};
use crate::figures::promised;

crate::cases![
    an_instance_that_ec2_shows_late_is_launched_once_and_registers,
    a_launch_that_is_throttled_in_a_good_answer_is_made_again,
    a_launch_that_fails_inside_ec2_is_made_again,
    a_launch_that_is_not_authorized_yet_is_made_again,
    a_launch_whose_profile_is_not_known_yet_is_made_again,
    a_launch_whose_failed_token_is_refused_is_made_again,
    a_launch_that_was_answered_with_nothing_is_made_again,
    a_lost_answer_is_made_good_where_a_repeat_names_the_instance,
    a_lost_answer_is_made_good_where_a_repeat_is_answered_with_nothing,
    a_lost_answer_is_made_good_where_a_repeat_is_refused,
    of_more_instances_than_were_asked_for_one_stays,
    fillers_beside_a_true_error_do_not_mark_their_pools,
    without_the_role_of_spot_instances_on_demand_ones_are_launched,
    instances_of_others_are_never_touched,
    an_instance_that_vanished_does_not_keep_others_from_ending,
    claims_of_two_architectures_have_the_image_of_their_own,
    nodes_of_an_ipv6_cluster_know_its_service_range,
];

/// How soon the pods of a failed launch have an instance all the same.
const LAUNCHED_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// What EC2 says of an instance profile that it does not know.
const PROFILE_UNKNOWN: &str = "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM \
                               Instance Profile name";

/// The service range of the rig's cluster where it is of the family IPv6.
const SERVICES_V6: &str = "fd8b:29f1:37c2::/108";

async fn an_instance_that_ec2_shows_late_is_launched_once_and_registers(
    world: Arc<World>,
) -> Result<()> {
    let (instance_lag_seconds, tag_lag_seconds) = (20.0, 25.0);
    let mut stack = settled(&world).await?;
    let behaviour = Behaviour { instance_lag_seconds, tag_lag_seconds, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let started = Instant::now();
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    // Until long after everybody can see it.
    while started.elapsed() < Duration::from_secs_f64(tag_lag_seconds + 15.0) {
        stack.tick_whatever().await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    is_launched_once(&world).await?;
    let path = "jsonpath={.items[*].status.conditions[?(@.type=='Registered')].status}";
    let registered = world.control_plane.kubectl(&["get", "nodeclaims", "-o", path]).await?;
    ensure!(registered == "True", "condition Registered of claims is {registered:?}");
    is_consistent(&world).await
}

async fn a_launch_that_is_throttled_in_a_good_answer_is_made_again(
    world: Arc<World>,
) -> Result<()> {
    is_launched_after(&world, failing(FleetFailure::once("RequestLimitExceeded"))).await
}

async fn a_launch_that_fails_inside_ec2_is_made_again(world: Arc<World>) -> Result<()> {
    is_launched_after(&world, failing(FleetFailure::once("InternalError"))).await
}

async fn a_launch_that_is_not_authorized_yet_is_made_again(world: Arc<World>) -> Result<()> {
    is_launched_after(&world, failing(FleetFailure::once("UnauthorizedOperation"))).await
}

async fn a_launch_whose_profile_is_not_known_yet_is_made_again(world: Arc<World>) -> Result<()> {
    let failure = FleetFailure {
        message: Some(PROFILE_UNKNOWN),
        ..FleetFailure::once("InvalidParameterValue")
    };
    is_launched_after(&world, failing(failure)).await
}

async fn a_launch_whose_failed_token_is_refused_is_made_again(world: Arc<World>) -> Result<()> {
    let failure = failing(FleetFailure::once("RequestLimitExceeded"));
    is_launched_after(&world, Behaviour { failed_token: FailedToken::Mismatch, ..failure }).await
}

async fn a_launch_that_was_answered_with_nothing_is_made_again(world: Arc<World>) -> Result<()> {
    is_launched_after(&world, Behaviour { empty_fleets: 1, ..Behaviour::default() }).await
}

fn failing(failure: FleetFailure) -> Behaviour {
    Behaviour { fleet_failures: vec![failure], ..Behaviour::default() }
}

/// The first fleet launches nothing; soon after that a pod has its instance, one and no more.
async fn is_launched_after(world: &World, behaviour: Behaviour) -> Result<()> {
    let mut stack = settled(world).await?;
    world.cloud.behave(&behaviour).await?;
    start_pod(world, "web", "1", "1Gi").await?;
    let launched = async || Ok(world.cloud.alive().await?.len());
    let within = promised(LAUNCHED_AGAIN_WITHIN);
    until(&mut stack, "an instance", within, launched, |found| *found > 0).await?;
    let fleets = launches(world);
    ensure!(fleets.len() > 1, "the fleet that was to fail was not asked for");
    until_running(&mut stack, world, 1).await?;
    is_launched_once(world).await?;
    is_consistent(world).await
}

async fn a_lost_answer_is_made_good_where_a_repeat_names_the_instance(
    world: Arc<World>,
) -> Result<()> {
    a_lost_answer_is_made_good(&world, RepeatedSuccess::SameInstances).await
}

async fn a_lost_answer_is_made_good_where_a_repeat_is_answered_with_nothing(
    world: Arc<World>,
) -> Result<()> {
    a_lost_answer_is_made_good(&world, RepeatedSuccess::Nothing).await
}

async fn a_lost_answer_is_made_good_where_a_repeat_is_refused(world: Arc<World>) -> Result<()> {
    a_lost_answer_is_made_good(&world, RepeatedSuccess::Error).await
}

/// The answer to the first fleet does not arrive, and its instance is shown some seconds later.
async fn a_lost_answer_is_made_good(world: &World, repeated: RepeatedSuccess) -> Result<()> {
    let mut stack = settled(world).await?;
    let behaviour = Behaviour {
        repeated_success: repeated,
        instance_lag_seconds: 3.0,
        tag_lag_seconds: 5.0,
        ..Behaviour::default()
    };
    world.cloud.behave(&behaviour).await?;
    world.traffic.lose_answers("ec2:CreateFleet", 1);
    start_pod(world, "web", "1", "1Gi").await?;
    until_running(&mut stack, world, 1).await?;
    until_one_is_left(&mut stack, world).await?;
    let fleets = launches(world);
    ensure!(fleets.len() > 1, "nobody asked again after {fleets:?}");
    Ok(())
}

async fn of_more_instances_than_were_asked_for_one_stays(world: Arc<World>) -> Result<()> {
    let mut stack = settled(&world).await?;
    world.cloud.behave(&Behaviour { surplus_instances: 1, ..Behaviour::default() }).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    until_one_is_left(&mut stack, &world).await
}

/// Ticks until there is one claim with one instance, and nothing else.
async fn until_one_is_left(stack: &mut Stack, world: &World) -> Result<()> {
    let wrong = async || {
        let alive: Vec<_> = world.cloud.alive().await?.into_iter().map(|own| own.id).collect();
        let is_right = alive.len() == 1 && is_consistent(world).await.is_ok();
        Ok((!is_right).then_some(alive))
    };
    until(stack, "one claim with one instance", PATIENCE, wrong, Option::is_none).await.map(drop)
}

async fn fillers_beside_a_true_error_do_not_mark_their_pools(world: Arc<World>) -> Result<()> {
    let types = ["c5.large", "c6i.large", "m5.large", "m6i.large"];
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool()
        .requiring("node.kubernetes.io/instance-type", &types)
        .requiring("topology.kubernetes.io/zone", &["us-east-1a"])
        .settled();
    world.apply(&pool.object()).await?;
    let failure = FleetFailure {
        cheapest_only: true,
        fillers: true,
        ..FleetFailure::once("InsufficientInstanceCapacity")
    };
    world.cloud.behave(&failing(failure)).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    let of = |call: &Call| -> BTreeSet<&str> {
        types.into_iter().filter(|name| call.detail.contains(&format!("={name}&"))).collect()
    };
    let fleets: Vec<_> = launches(&world).iter().map(of).collect();
    let [first, second, ..] = fleets.as_slice() else { bail!("asked for {fleets:?}") };
    ensure!(first.len() == types.len(), "the first fleet was of {first:?}");
    let marked: Vec<_> = first.difference(second).collect();
    ensure!(marked.len() == 1, "{marked:?} were left out of the second fleet, not one");
    is_launched_once(&world).await?;
    is_consistent(&world).await
}

async fn without_the_role_of_spot_instances_on_demand_ones_are_launched(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool().requiring("karpenter.sh/capacity-type", &["spot", "on-demand"]);
    world.apply(&pool.settled().object()).await?;
    let shortage = Shortage {
        capacity_type: Some("spot".to_owned()),
        code: Some("AuthFailure.ServiceLinkedRoleCreationNotPermitted".to_owned()),
        ..Shortage::default()
    };
    world.cloud.run_out(&[shortage]).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    let launched = is_launched_once(&world).await?;
    ensure!(launched.capacity_type == "on-demand", "launched {launched:?}");
    is_consistent(&world).await
}

async fn instances_of_others_are_never_touched(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    for maker in [Maker::AutoMode, Maker::NodeGroup, Maker::OldKarpenter] {
        world.cloud.launch_as(maker, CLUSTER).await?;
    }
    let others = async || {
        let others = world.cloud.others().await?.into_iter();
        anyhow::Ok(others.map(|own| (own.id, own.state, own.tags)).collect::<BTreeSet<_>>())
    };
    for own in world.cloud.others().await? {
        world.apply(&node_of(&own)?).await?;
    }
    let before = others().await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    is_consistent(&world).await?;
    world.control_plane.kubectl(&["delete", "replicaset", "web"]).await?;
    let left = async || Ok((node_claims(&world).await?.len(), world.cloud.alive().await?.len()));
    stack.until("nothing of ours is left", left, |found| *found == (0, 0)).await?;
    for _ in 0..3 {
        stack.tick().await?;
    }
    let after = others().await?;
    ensure!(before == after, "instances of others were changed\nfrom {before:?}\nto   {after:?}");
    let changes = ["ec2:TerminateInstances", "ec2:CreateTags", "ec2:DeleteTags"];
    for call in changes.iter().flat_map(|action| world.traffic.calls_of(action)) {
        let named = before.iter().find(|(id, ..)| call.detail.contains(id.as_str()));
        ensure!(named.is_none(), "{} was asked for {named:?}", call.action);
    }
    let nodes = world.nodes().await?;
    ensure!(nodes.len() == before.len(), "of {} nodes {} are left", before.len(), nodes.len());
    for node in nodes {
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let ours: Vec<_> = taints.filter(|own| own.key.starts_with("karpenter.sh/")).collect();
        ensure!(ours.is_empty(), "{} bears {ours:?}", node.name_any());
        let finalizers = node.finalizers();
        ensure!(finalizers.is_empty(), "{} bears {finalizers:?}", node.name_any());
    }
    Ok(())
}

/// The Node of somebody else's instance, with the labels that its maker sets.
fn node_of(own: &Instance) -> Result<Value> {
    let labels = match own.maker.as_deref().context("its maker")? {
        "auto-mode" => json!({
            "eks.amazonaws.com/compute-type": "auto",
            "karpenter.sh/nodepool": "general-purpose",
            "karpenter.sh/capacity-type": "on-demand",
        }),
        "node-group" => json!({
            "eks.amazonaws.com/nodegroup": "workers",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        }),
        _ => json!({
            "karpenter.sh/provisioner-name": "default",
            "karpenter.sh/capacity-type": "on-demand",
        }),
    };
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": own.private_dns_name, "labels": labels},
        "spec": {"providerID": own.provider_id()},
    }))
}

async fn an_instance_that_vanished_does_not_keep_others_from_ending(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = settled(&world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.settled().object()).await?;
    for name in ["a", "b", "c"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    stack.until_running(&world, 3).await?;
    let behaviour = Behaviour {
        stale_read_seconds: 20.0,
        unknown_ids_named: UnknownIds::None,
        ..Behaviour::default()
    };
    world.cloud.behave(&behaviour).await?;
    let lost = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    world.control_plane.kubectl(&["delete", "replicasets", "--all"]).await?;
    world.control_plane.kubectl(&["delete", "nodeclaims", "--all", "--wait=false"]).await?;
    world.cloud.vanish(&lost.id).await?;
    let left = async || Ok((node_claims(&world).await?.len(), world.cloud.alive().await?.len()));
    until(&mut stack, "none is left", PATIENCE, left, |found| *found == (0, 0)).await.map(drop)
}

async fn claims_of_two_architectures_have_the_image_of_their_own(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool()
        .of_architectures(&["amd64", "arm64"])
        .requiring("node.kubernetes.io/instance-type", &["m5.large", "m6g.large"])
        .requiring("topology.kubernetes.io/zone", &["us-east-1a"])
        .requiring("karpenter.sh/capacity-type", &["on-demand"])
        .settled();
    world.apply(&pool.object()).await?;
    // One of two fleets cannot have what both would launch. Nothing but their answers says what
    // was launched.
    let failure =
        FleetFailure { cheapest_only: true, ..FleetFailure::once("InsufficientInstanceCapacity") };
    let behaviour =
        Behaviour { instance_lag_seconds: 30.0, tag_lag_seconds: 30.0, ..failing(failure) };
    world.cloud.behave(&behaviour).await?;
    for name in ["a", "b"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    until_running(&mut stack, &world, 2).await?;
    let claims = world.control_plane.kubectl(&["get", "nodeclaims", "-o", "json"]).await?;
    let claims: Value = serde_json::from_str(&claims)?;
    let alive = world.cloud.alive().await?;
    let architectures: BTreeSet<_> = alive.iter().map(|own| own.architecture.as_str()).collect();
    ensure!(architectures.len() == 2 && alive.len() == 2, "launched {alive:?}");
    for own in alive {
        let all = claims["items"].as_array().into_iter().flatten();
        let mut named = all.filter(|claim| claim["metadata"]["name"].as_str() == own.claim());
        let claim = named.next().with_context(|| format!("no claim of {own:?}"))?;
        let known = claim["status"]["imageID"].as_str();
        ensure!(
            known == Some(own.image_id.as_str()),
            "the claim of {} {} has {known:?}, not {} ({})",
            own.architecture,
            own.instance_type,
            own.image_id,
            own.image
        );
    }
    is_consistent(&world).await
}

async fn nodes_of_an_ipv6_cluster_know_its_service_range(world: Arc<World>) -> Result<()> {
    let behaviour = Behaviour { ip_family: IpFamily::Ipv6, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let mut stack = settled(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let launched = is_launched_once(&world).await?;
    let user_data = launched.user_data.context("user data")?;
    ensure!(user_data.contains(SERVICES_V6), "no {SERVICES_V6} in:\n{user_data}");
    is_consistent(&world).await
}

/// With a NodePool whose nodes stay what they are.
async fn settled(world: &World) -> Result<Stack> {
    let stack = with_defaults(world).await?;
    world.apply(&node_pool().settled().object()).await?;
    Ok(stack)
}

/// Launches that were asked for, in order.
fn launches(world: &World) -> Vec<Call> {
    let mut calls = world.traffic.calls_of("ec2:CreateFleet");
    calls.retain(|call| !call.detail.contains("DryRun=true"));
    calls
}

/// The only instance that was ever launched, which is there.
async fn is_launched_once(world: &World) -> Result<Instance> {
    let mut ever = world.cloud.instances().await?;
    let listed: Vec<_> = ever.iter().map(|own| format!("{} {}", own.id, own.state)).collect();
    ensure!(ever.len() == 1, "launched {} times: {listed:?}", ever.len());
    let only = ever.pop().context("an instance")?;
    ensure!(only.is_alive(), "{} is {}", only.id, only.state);
    Ok(only)
}

/// Runs the functions again and again, whatever they report, until so many pods run.
async fn until_running(stack: &mut Stack, world: &World, pods: usize) -> Result<()> {
    let running = async || world.running().await;
    until(stack, "all pods run", PATIENCE, running, |found| *found == (pods, pods)).await.map(drop)
}

/// Runs the functions again and again, whatever they report, until something holds.
async fn until<T: Debug>(
    stack: &mut Stack,
    what: &str,
    within: Duration,
    read: impl AsyncFn() -> Result<T>,
    holds: impl Fn(&T) -> bool,
) -> Result<T> {
    let started = Instant::now();
    loop {
        let found = read().await?;
        if holds(&found) {
            return Ok(found);
        }
        if started.elapsed() > within {
            bail!("{what}: not so after {within:?}; last found: {found:?}");
        }
        stack.tick_whatever().await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
