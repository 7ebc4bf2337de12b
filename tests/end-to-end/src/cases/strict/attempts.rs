//! Launches that fail, or whose answer is lost: each is made again, and none twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use end_to_end::behaviour::{Behaviour, CallFailure, FailedToken, FleetFailure, RepeatedSuccess};
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::{is_consistent, launched_claims};
use end_to_end::world::World;

use super::super::provisioning::{start_pod, wait_for_pods, with_defaults};
use super::{
    failing, is_launched_once, launches, settled, until, until_one_is_left, until_running,
};
use crate::figures::promised;

crate::cases![
    a_launch_that_is_throttled_in_a_good_answer_is_made_again,
    a_launch_that_fails_inside_ec2_is_made_again,
    a_launch_that_is_not_authorized_yet_is_made_again,
    a_launch_whose_profile_is_not_known_yet_is_made_again,
    a_launch_whose_template_is_not_known_yet_is_made_again,
    a_launch_whose_template_is_missing_in_a_good_answer_is_made_again,
    a_launch_whose_failed_token_is_refused_is_made_again,
    a_launch_whose_failed_token_counts_as_new_is_made_again,
    a_launch_that_was_answered_with_nothing_is_made_again,
    a_call_that_fails_inside_ec2_is_repeated_with_its_token,
    a_call_that_is_throttled_is_made_anew_with_another_token,
    a_call_that_is_not_authorized_is_made_anew_with_another_token,
    a_lost_answer_is_made_good_where_a_repeat_names_the_instance,
    a_lost_answer_is_made_good_where_a_repeat_is_answered_with_nothing,
    a_lost_answer_is_made_good_where_a_repeat_is_refused,
    a_crowd_that_empties_the_buckets_of_ec2_gets_its_nodes_without_a_storm,
];

/// How soon the pods of a failed launch have an instance all the same.
const LAUNCHED_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// What EC2 says of an instance profile that it does not know.
const PROFILE_UNKNOWN: &str = "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM \
                               Instance Profile name";

/// How many attempts the SDK makes at a call whose error may pass.
const ATTEMPTS_OF_SDK: u32 = 4;

/// The most calls of CreateFleet that a claim takes, on average, while buckets are empty.
const CALLS_A_CLAIM: usize = 6;

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

async fn a_launch_whose_template_is_not_known_yet_is_made_again(world: Arc<World>) -> Result<()> {
    let behaviour = Behaviour { template_lag_seconds: 5.0, ..Behaviour::default() };
    is_launched_after(&world, behaviour).await
}

async fn a_launch_whose_template_is_missing_in_a_good_answer_is_made_again(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour {
        template_lag_seconds: 5.0,
        unknown_template_in_answer: true,
        ..Behaviour::default()
    };
    is_launched_after(&world, behaviour).await
}

async fn a_launch_whose_failed_token_is_refused_is_made_again(world: Arc<World>) -> Result<()> {
    let failure = failing(FleetFailure::once("RequestLimitExceeded"));
    is_launched_after(&world, Behaviour { failed_token: FailedToken::Mismatch, ..failure }).await
}

async fn a_launch_whose_failed_token_counts_as_new_is_made_again(world: Arc<World>) -> Result<()> {
    let failure = failing(FleetFailure::once("RequestLimitExceeded"));
    is_launched_after(&world, Behaviour { failed_token: FailedToken::NewAttempt, ..failure }).await
}

async fn a_launch_that_was_answered_with_nothing_is_made_again(world: Arc<World>) -> Result<()> {
    is_launched_after(&world, Behaviour { empty_fleets: 1, ..Behaviour::default() }).await
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

async fn a_call_that_fails_inside_ec2_is_repeated_with_its_token(world: Arc<World>) -> Result<()> {
    let failure = CallFailure {
        times: ATTEMPTS_OF_SDK + 1,
        status: 500,
        code: "InternalError",
        message: "An internal error has occurred",
        ..of_launches()
    };
    is_made_again(&world, failure, |tokens| tokens == 1).await
}

async fn a_call_that_is_throttled_is_made_anew_with_another_token(world: Arc<World>) -> Result<()> {
    let failure = CallFailure {
        times: ATTEMPTS_OF_SDK + 1,
        status: 503,
        code: "RequestLimitExceeded",
        message: "Request limit exceeded. Account 123456789012 has been throttled on ec2:CreateFleet \
                  because it exceeded its request rate limit.",
        ..of_launches()
    };
    is_made_again(&world, failure, |tokens| tokens > 1).await
}

async fn a_call_that_is_not_authorized_is_made_anew_with_another_token(
    world: Arc<World>,
) -> Result<()> {
    let failure = CallFailure {
        times: 2,
        status: 403,
        code: "UnauthorizedOperation",
        message: "You are not authorized to perform this operation. User: x is not authorized to \
                  perform: ec2:CreateFleet on resource: y because no identity-based policy allows \
                  the ec2:CreateFleet action. Encoded authorization failure message: AQAB",
        ..of_launches()
    };
    is_made_again(&world, failure, |tokens| tokens > 1).await
}

/// The next calls of CreateFleet fail, but for dry runs.
fn of_launches() -> CallFailure {
    CallFailure { action: "CreateFleet", dry_run: Some(false), ..CallFailure::default() }
}

/// A call that fails as a whole is made again, with as many tokens as `holds` says. Only one that
/// EC2 did not refuse may have launched an instance, and is repeated with its own.
async fn is_made_again(
    world: &World,
    failure: CallFailure,
    holds: impl Fn(usize) -> bool,
) -> Result<()> {
    let failures = failure.times as usize;
    let mut stack = settled(world).await?;
    let behaviour = Behaviour { call_failures: vec![failure], ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    start_pod(world, "web", "1", "1Gi").await?;
    let launched = async || Ok(world.cloud.alive().await?.len());
    let within = promised(LAUNCHED_AGAIN_WITHIN);
    until(&mut stack, "an instance", within, launched, |found| *found > 0).await?;
    let fleets = launches(world);
    ensure!(fleets.len() > failures, "{} calls, of which {failures} failed", fleets.len());
    let is_token = |pair: &&str| pair.starts_with("ClientToken=");
    let tokens: BTreeSet<_> =
        fleets.iter().filter_map(|call| call.detail.split('&').find(is_token)).collect();
    ensure!(holds(tokens.len()), "the launch was asked for with {tokens:?}");
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

/// Pods that need a node each, and EC2 has launches for a quarter of them, and hardly any calls:
/// others in the account have taken the rest.
async fn a_crowd_that_empties_the_buckets_of_ec2_gets_its_nodes_without_a_storm(
    world: Arc<World>,
) -> Result<()> {
    const CROWD: u32 = 24;
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.settled().object()).await?;
    let behaviour = Behaviour {
        rate_buckets: true,
        requests_left: Some(CROWD / 4),
        launches_left: Some(CROWD / 4),
        ..Behaviour::default()
    };
    world.cloud.behave(&behaviour).await?;
    world.apply(&deployment("web", CROWD, "1200m", "1Gi")).await?;
    wait_for_pods(&world, CROWD as usize).await?;
    until_running(&mut stack, &world, CROWD as usize).await?;
    let (claims, ever) = (launched_claims(&world).await?, world.cloud.instances().await?);
    ensure!(
        claims.len() == CROWD as usize && ever.len() == claims.len(),
        "{} instances were launched for {} claims and {CROWD} pods",
        ever.len(),
        claims.len()
    );
    let fleets = launches(&world);
    let refused = fleets.iter().filter(|call| call.status != Some(200)).count();
    let answered = fleets.len() - refused;
    crate::figures::say(format!(
        "{CROWD} launches from empty buckets: {} calls of CreateFleet, {refused} refused as a whole",
        fleets.len()
    ));
    ensure!(answered > claims.len(), "the bucket of launches was not empty");
    let most = claims.len() * CALLS_A_CLAIM;
    ensure!(fleets.len() <= most, "{} calls of CreateFleet for {CROWD} pods", fleets.len());
    is_consistent(&world).await
}
