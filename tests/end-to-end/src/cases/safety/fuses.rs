//! However much is wanted, functions do no more than fuses let them: the rest waits, and goes on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::deployment;
use end_to_end::stack::{Stack, poll};
use end_to_end::world::{OURS, World, eventually};
use jiff::Timestamp;

use super::{instance_types, large_nodes, messages, small_nodes, start_large_pod, takings};
use crate::cases::interruption::{batch_of, warning};
use crate::cases::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    launches_beyond_those_of_a_minute_wait_for_the_next,
    launches_beyond_those_of_an_hour_wait_unless_ec2_interrupts,
    only_so_many_nodes_begin_to_end_in_a_minute,
    nodes_that_would_cost_too_much_wait,
];

/// The reason of events about what waits.
const HELD_BACK: &str = "HeldBackByFuse";
/// So much of a minute has to be left where a case counts what is done in one.
const LEFT_OF_MINUTE: i64 = 25;
/// So many terminations may begin in a minute however few instances there are.
const TERMINATIONS_MIN: usize = 5;

async fn launches_beyond_those_of_a_minute_wait_for_the_next(world: Arc<World>) -> Result<()> {
    let mut stack = with_small_nodes(&world).await?;
    stack.set("MAX_LAUNCHES_PER_TICK", "3").await?;
    world.apply(&deployment("web", 5, "1200m", "1Gi")).await?;
    wait_for_pods(&world, 5).await?;
    early_in_a_minute().await;
    for _ in 0..2 {
        stack.provisioning.invoke(&poll()).await?.answer()?;
        ensure!(launched(&world).await? == 3, "launched {}", launched(&world).await?);
    }
    is_held_back(&world, "2 launches are held back: MaxLaunchesPerTick is 3").await?;
    world.age_counts(1).await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    ensure!(launched(&world).await? == 5, "launched {}", launched(&world).await?);
    stack.until_running(&world, 5).await?;
    stack.until_consistent(&world).await
}

async fn launches_beyond_those_of_an_hour_wait_unless_ec2_interrupts(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_small_nodes(&world).await?;
    world.apply(&large_nodes()).await?;
    world.outrigger(&["fuses", "--max-launches-per-hour", "5"]).await?;
    world.apply(&deployment("web", 4, "1200m", "1Gi")).await?;
    wait_for_pods(&world, 4).await?;
    stack.until_running(&world, 4).await?;
    stack.tick().await?;
    start_large_pod(&world).await?;
    wait_for_pods(&world, 5).await?;
    for _ in 0..2 {
        stack.tick().await?;
    }
    ensure!(launched(&world).await? == 4, "launched {}", launched(&world).await?);
    is_held_back(&world, "1 launches are held back: MaxLaunchesPerHour is 5").await?;

    // The fifth is kept for what EC2 takes.
    let taken = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    let mut interruption = world.function("interruption")?;
    interruption.invoke(&batch_of(&[warning(&taken.id)])).await?.answer()?;
    ensure!(launched(&world).await? == 5, "launched {}", launched(&world).await?);
    let types = instance_types(&world).await?;
    ensure!(types.iter().all(|own| own != "m5.xlarge"), "a pod that waits got it: {types:?}");
    let replaced = async || {
        let alive = world.cloud.alive().await?;
        Ok((alive.iter().all(|own| own.id != taken.id), world.running().await?))
    };
    stack.until("what EC2 takes is replaced", replaced, |found| *found == (true, (4, 5))).await?;

    world.age_counts(60).await?;
    stack.until_running(&world, 5).await?;
    ensure!(launched(&world).await? == 6, "launched {}", launched(&world).await?);
    stack.until_consistent(&world).await
}

async fn only_so_many_nodes_begin_to_end_in_a_minute(world: Arc<World>) -> Result<()> {
    let mut stack = with_small_nodes(&world).await?;
    world.apply(&small_nodes().settled().object()).await?;
    world.apply(&deployment("web", 8, "1200m", "1Gi")).await?;
    wait_for_pods(&world, 8).await?;
    stack.until_running(&world, 8).await?;
    stack.tick().await?;
    stack.until_consistent(&world).await?;
    world.apply(&deployment("web", 0, "1200m", "1Gi")).await?;
    wait_for_pods(&world, 0).await?;
    early_in_a_minute().await;
    // Somebody deletes all of them by mistake.
    world.control_plane.kubectl(&["delete", "nodeclaims", "--all", "--wait=false"]).await?;
    let event = poll();
    // It comes back while there is work, for up to a minute.
    let ending = stack.lifecycle.invoke(&event);
    let script = async {
        let begun = async || begun_to_end(&world).await;
        eventually("some begin to end", begun, |found| *found >= TERMINATIONS_MIN).await?;
        tokio::time::sleep(Duration::from_secs(8)).await;
        let begun = begun_to_end(&world).await?;
        ensure!(begun == TERMINATIONS_MIN, "{begun} begin to end in a minute");
        is_held_back(&world, "3 terminations are held back: MaxTerminationsPerTickPercent is 20")
            .await?;
        world.age_counts(1).await
    };
    let (ended, script) = tokio::join!(ending, script);
    script?;
    ended?.answer()?;
    let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
    stack.until("no node and no instance is left", left, |found| *found == (0, 0)).await?;
    stack.until_consistent(&world).await
}

/// How many of eight nodes begin to end, or have ended.
async fn begun_to_end(world: &World) -> Result<usize> {
    let nodes = world.nodes().await?;
    let stay = nodes.iter().filter(|node| node.metadata.deletion_timestamp.is_none()).count();
    Ok(8 - stay)
}

async fn nodes_that_would_cost_too_much_wait(world: Arc<World>) -> Result<()> {
    let mut stack = with_small_nodes(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    stack.tick().await?;
    let record = world.documents(&OURS, "claim#").await?.into_iter().next().context("a record")?;
    // Billionths of a dollar.
    let price = record["instance"]["price"].as_f64();
    let price = price.with_context(|| format!("no price in {record}"))? / 1e9;
    let two_and_a_half = (price * 2.5).to_string();
    world.outrigger(&["fuses", "--max-hourly-usd", &two_and_a_half]).await?;
    for name in ["second", "third"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    for _ in 0..2 {
        stack.tick().await?;
    }
    let running = async || world.running().await;
    stack.until("two of three run", running, |found| *found == (2, 3)).await?;
    ensure!(launched(&world).await? == 2, "launched {}", launched(&world).await?);
    is_held_back(&world, "1 launches are held back: MaxHourlyUsd is 0.").await?;
    ensure!(takings(&world).is_empty(), "{:?}", takings(&world));

    world.outrigger(&["fuses", "--reset"]).await?;
    stack.until_running(&world, 3).await?;
    ensure!(launched(&world).await? == 3, "launched {}", launched(&world).await?);
    stack.until_consistent(&world).await
}

/// A NodePool whose nodes hold one pod each, and go once it is gone.
async fn with_small_nodes(world: &World) -> Result<Stack> {
    let stack = with_defaults(world).await?;
    world.apply(&small_nodes().object()).await?;
    Ok(stack)
}

/// How many instances were ever launched.
async fn launched(world: &World) -> Result<usize> {
    Ok(world.cloud.instances().await?.len())
}

async fn is_held_back(world: &World, message: &str) -> Result<()> {
    let said = messages(world, HELD_BACK).await?;
    ensure!(said.iter().any(|own| own.starts_with(message)), "{message:?} is not in {said:?}");
    Ok(())
}

/// Waits for the next minute where this one is nearly over.
async fn early_in_a_minute() {
    let second = Timestamp::now().as_second().rem_euclid(60);
    if second > 60 - LEFT_OF_MINUTE {
        let rest = u64::try_from(60 - second).unwrap_or_default();
        tokio::time::sleep(Duration::from_secs(rest)).await;
    }
}
