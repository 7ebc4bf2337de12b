//! EC2 at its worst: what was launched is shown late, answers are lost, and errors stand in answers
//! whose status is 200.

pub(super) mod answers;
pub(super) mod attempts;
pub(super) mod ending;
pub(super) mod nodes;
pub(super) mod others;
pub(super) mod reading;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use end_to_end::behaviour::{Behaviour, FleetFailure};
use end_to_end::cloud::Instance;
use end_to_end::gate::Call;
use end_to_end::objects::node_pool;
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::{PATIENCE, World};

use super::provisioning::with_defaults;

fn failing(failure: FleetFailure) -> Behaviour {
    Behaviour { fleet_failures: vec![failure], ..Behaviour::default() }
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

/// Ticks until there is one claim with one instance, and nothing else.
async fn until_one_is_left(stack: &mut Stack, world: &World) -> Result<()> {
    let wrong = async || {
        let alive: Vec<_> = world.cloud.alive().await?.into_iter().map(|own| own.id).collect();
        let is_right = alive.len() == 1 && is_consistent(world).await.is_ok();
        Ok((!is_right).then_some(alive))
    };
    until(stack, "one claim with one instance", PATIENCE, wrong, Option::is_none).await.map(drop)
}

/// Runs the functions again and again, whatever they report, until so many pods run.
async fn until_running(stack: &mut Stack, world: &World, pods: usize) -> Result<()> {
    let running = async || world.running().await;
    until(stack, "all pods run", PATIENCE, running, |found| *found == (pods, pods)).await.map(drop)
}

/// Runs the functions again and again, whatever they report, until something holds.
pub(super) async fn until<T: Debug>(
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
