//! Functions wake each other, and themselves, by messages of SQS.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::lambda::Function;
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::{Stack, is_consistent, watch};
use end_to_end::world::{DISRUPTION_WAKES, LIFECYCLE_WAKES, World, eventually};
use serde_json::json;

use super::interruption::{batch_of, warning};
use super::provisioning::with_defaults;

crate::cases![nodes_come_and_go_by_messages_alone];

/// How often a queue is asked for messages; the real Lambda waits for them.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// From when nothing is left to do until the last news of it were delivered.
const SETTLING: Duration = Duration::from_secs(15);
/// How long the cluster is left alone, and how often disruption runs meanwhile in one in which
/// something has moved lately: every 10 s. Two chains would run six times.
const IDLE: Duration = Duration::from_secs(35);
const DISRUPTION_RUNS: std::ops::RangeInclusive<usize> = 2..=5;

async fn nodes_come_and_go_by_messages_alone(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let aws = Aws::at(world.aws_endpoint());
    let (mut watcher, provisioning_wakes) = stack.watcher(&world).await?;
    let lifecycle_wakes = aws.make_queue(LIFECYCLE_WAKES).await?;
    let disruption_wakes = aws.make_queue(DISRUPTION_WAKES).await?;
    stack.set("LIFECYCLE_WAKES_URL", &lifecycle_wakes).await?;
    stack.set("DISRUPTION_WAKES_URL", &disruption_wakes).await?;
    let mut interruption = world.function("interruption")?;
    let environment = &mut interruption.deployment().environment;
    environment.insert("LIFECYCLE_WAKES_URL".to_owned(), lifecycle_wakes.clone());
    let Stack { provisioning, lifecycle, disruption, .. } = &mut stack;
    world.apply(&deployment("web", 3, "500m", "256Mi")).await?;
    // The only event of a schedule for disruption, and none for lifecycle.
    disruption.invoke(&watch()).await?.answer()?;
    let [provisioning_runs, advances, disruption_runs] = [const { AtomicUsize::new(0) }; 3];
    let what_happens = async {
        eventually("pods run", async || world.running().await, |own| *own == (3, 3)).await?;
        let taken = instances(&world).await?.pop_first().context("an instance")?;
        interruption.invoke(&batch_of(&[warning(&taken)])).await?.answer()?;
        until_replaced(&world, &BTreeSet::from([taken])).await?;
        let drifted = instances(&world).await?;
        world.apply(&node_pool().labelled("example.com/generation", "2").object()).await?;
        until_replaced(&world, &drifted).await?;
        tokio::time::sleep(SETTLING).await;
        let before = disruption_runs.load(Ordering::Relaxed);
        tokio::time::sleep(IDLE).await;
        let lately = disruption_runs.load(Ordering::Relaxed) - before;
        world.apply(&deployment("web", 0, "500m", "256Mi")).await?;
        let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
        eventually("all nodes are gone", left, |own| *own == (0, 0)).await?;
        tokio::time::sleep(SETTLING).await;
        let before = [advances.load(Ordering::Relaxed), disruption_runs.load(Ordering::Relaxed)];
        tokio::time::sleep(IDLE).await;
        let after = [advances.load(Ordering::Relaxed), disruption_runs.load(Ordering::Relaxed)];
        Ok::<_, anyhow::Error>((lately, before, after))
    };
    let (lately, before, after) = tokio::select! {
        counts = what_happens => counts?,
        failed = scheduled(&mut watcher) => match failed? {},
        failed = deliver(&aws, &provisioning_wakes, provisioning, &provisioning_runs) => {
            match failed? {}
        }
        failed = deliver(&aws, &lifecycle_wakes, lifecycle, &advances) => match failed? {},
        failed = deliver(&aws, &disruption_wakes, disruption, &disruption_runs) => match failed? {},
    };
    crate::figures::say(format!(
        "by messages alone: lifecycle invoked {} times and disruption {} until all was done, {lately} of them in {IDLE:?} in which nothing \
         happened; then {} and {} times in {IDLE:?}",
        before[0],
        before[1],
        after[0] - before[0],
        after[1] - before[1],
    ));
    ensure!(after[0] - before[0] <= 1, "lifecycle has nothing to do: {before:?}, {after:?}");
    ensure!(
        DISRUPTION_RUNS.contains(&lately),
        "one chain runs every 10 s: {lately} runs in {IDLE:?}"
    );
    let runs = after[1] - before[1];
    ensure!(runs <= 1, "nothing is left to run for: {runs} runs in {IDLE:?}");
    is_consistent(&world).await
}

/// The ids of all instances.
async fn instances(world: &World) -> Result<BTreeSet<String>> {
    Ok(world.cloud.alive().await?.into_iter().map(|own| own.id).collect())
}

/// Waits until these instances are gone and all pods run on others.
async fn until_replaced(world: &World, old: &BTreeSet<String>) -> Result<()> {
    let left = async || {
        let left = instances(world).await?.intersection(old).count();
        Ok((left, world.running().await?))
    };
    eventually("nodes are replaced", left, |own| *own == (0, (3, 3))).await.map(drop)
}

/// The watcher as its schedule invokes it; provisioning has no schedule here.
async fn scheduled(watcher: &mut Function) -> Result<Infallible> {
    loop {
        watcher.invoke(&watch()).await?.answer()?;
    }
}

/// Invokes a function with each message of its queue, as Lambda does.
async fn deliver(
    aws: &Aws,
    queue: &str,
    function: &mut Function,
    count: &AtomicUsize,
) -> Result<Infallible> {
    loop {
        let Some(body) = aws.take_message(queue).await? else {
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        let record = json!({"messageId": "1", "eventSource": "aws:sqs", "body": body});
        function.invoke(&json!({"Records": [record]})).await?.answer()?;
        count.fetch_add(1, Ordering::Relaxed);
    }
}
