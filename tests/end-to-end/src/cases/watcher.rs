//! The watcher, which sees pods that wait in place of provisioning and wakes it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::lambda::Function;
use end_to_end::objects::pod;
use end_to_end::stack::watch;
use end_to_end::world::{World, eventually};

use super::demand_checks::batch;
use super::provisioning::with_defaults;

crate::cases![no_pod_is_missed_between_two_invocations_of_the_watcher];

/// Lambda ends an invocation after this long; five seconds before, it begins nothing new.
const BRIEFLY: Duration = Duration::from_secs(8);

async fn no_pod_is_missed_between_two_invocations_of_the_watcher(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let (mut watcher, queue) = stack.watcher(&world).await?;
    let aws = Aws::at(world.aws_endpoint());
    watch_briefly(&mut watcher).await?;
    ensure!(aws.count_messages(&queue).await? == 0, "no pod waits");
    wait_for(&world, "web-0").await?;
    watch_briefly(&mut watcher).await?;
    ensure!(aws.count_messages(&queue).await? == 1, "a pod came while the watcher was frozen");
    let message = aws.take_message(&queue).await?.context("a message")?;
    stack.provisioning.invoke(&batch(&message)).await?.answer()?;
    ensure!(world.cloud.alive().await?.len() == 1, "provisioning was woken for it");
    wait_for(&world, "web-1").await?;
    watcher.cool().await?;
    watch_briefly(&mut watcher).await?;
    let news = async || aws.take_message(&queue).await;
    let message = eventually("a message", news, Option::is_some).await?.context("a message")?;
    stack.provisioning.invoke(&batch(&message)).await?.answer()?;
    ensure!(world.cloud.alive().await?.len() == 2, "a process that has just started sees it, too");
    // Delivered again, it has been answered already.
    world.traffic.forget_calls();
    stack.provisioning.invoke(&batch(&message)).await?.answer()?;
    let launches = world.traffic.calls_of("ec2:CreateFleet").len();
    ensure!(launches == 0, "a message that comes twice does nothing");
    Ok(())
}

async fn watch_briefly(watcher: &mut Function) -> Result<()> {
    watcher.invoke_within(&watch(), BRIEFLY).await?.answer().map(drop)
}

/// Makes a pod that no node has room for, and waits until the scheduler has said so.
async fn wait_for(world: &World, name: &str) -> Result<()> {
    world.apply(&pod(name, "1500m", "1Gi")).await?;
    let waits = async || {
        let pods = world.pods().await?;
        let conditions = pods
            .into_iter()
            .filter(|own| own.metadata.name.as_deref() == Some(name))
            .filter_map(|own| own.status?.conditions)
            .flatten();
        Ok(conditions.filter(|own| own.reason.as_deref() == Some("Unschedulable")).count())
    };
    eventually("the pod waits", waits, |found| *found > 0).await.map(drop)
}
