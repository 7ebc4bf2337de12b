//! One side cannot be reached for a while, or what was watched is no longer kept.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::Side;
use end_to_end::lambda::Outcome;
use end_to_end::objects::deployment;
use end_to_end::stack::{is_consistent, poll, watch};
use end_to_end::world::{World, eventually};

use super::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    an_api_server_that_cannot_be_reached_is_reported_and_then_caught_up_with,
    nothing_is_launched_while_claims_cannot_be_recorded,
    a_throttled_launch_is_tried_again,
    a_watch_that_has_expired_is_taken_up_again,
    a_warm_process_goes_on_after_it_was_frozen,
];

async fn an_api_server_that_cannot_be_reached_is_reported_and_then_caught_up_with(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 2, "1", "1Gi")).await?;
    wait_for_pods(&world, 2).await?;
    world.traffic.cut(Side::Kubernetes);
    let during = stack.provisioning.invoke(&poll()).await?;
    ensure!(!matches!(during.outcome, Outcome::Answered(_)), "all was well without an API server");
    ensure!(
        world.cloud.alive().await?.is_empty(),
        "something was launched without listing the cluster"
    );
    world.traffic.restore(Side::Kubernetes);
    stack.until_running(&world, 2).await?;
    is_consistent(&world).await
}

async fn nothing_is_launched_while_claims_cannot_be_recorded(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 2, "1", "1Gi")).await?;
    wait_for_pods(&world, 2).await?;
    world.traffic.cut(Side::DynamoDb);
    let during = stack.provisioning.invoke(&poll()).await?;
    ensure!(!matches!(during.outcome, Outcome::Answered(_)), "all was well without DynamoDB");
    let fleets = world.traffic.calls_of("ec2:CreateFleet");
    ensure!(
        fleets.iter().all(|call| call.detail.contains("DryRun=true")),
        "an instance without a record"
    );
    world.traffic.restore(Side::DynamoDb);
    stack.until_running(&world, 2).await?;
    is_consistent(&world).await
}

async fn a_throttled_launch_is_tried_again(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    world.traffic.throttle("ec2:CreateFleet", 2);
    stack.until_running(&world, 1).await?;
    let refused = world.traffic.calls_of("ec2:CreateFleet");
    ensure!(refused.iter().filter(|call| call.status == Some(503)).count() == 2, "{refused:?}");
    is_consistent(&world).await
}

async fn a_watch_that_has_expired_is_taken_up_again(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    stack.tick().await?;
    let (traffic, cloud) = (Arc::clone(&world.traffic), Arc::clone(&world.cloud));
    let disturb = async {
        let watching = async || {
            Ok(traffic.calls().iter().filter(|call| call.detail.contains("watch=")).count())
        };
        eventually("provisioning watches", watching, |found| *found > 0).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        traffic.expire_watches();
        start_pod(&world, "web", "1", "1Gi").await?;
        let launched = async || Ok(cloud.alive().await?.len());
        eventually("an instance for a pod that came after", launched, |found| *found == 1).await
    };
    let event = watch();
    let invoked = stack.provisioning.invoke_within(&event, Duration::from_secs(20));
    let (during, disturbed) = tokio::join!(invoked, disturb);
    disturbed.context("within one invocation")?;
    during?.answer()?;
    stack.until_running(&world, 1).await?;
    is_consistent(&world).await
}

async fn a_warm_process_goes_on_after_it_was_frozen(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    for (count, name) in ["one", "two", "three"].into_iter().enumerate() {
        start_pod(&world, name, "1200m", "1Gi").await?;
        let invocation = stack.provisioning.invoke(&poll()).await?;
        invocation.answer()?;
        ensure!(invocation.init.is_none() || count == 0, "the process was not kept");
        // Connections that were open at the freeze are closed by the other side meanwhile.
        world.traffic.close_idle();
    }
    stack.until_running(&world, 3).await?;
    is_consistent(&world).await
}
