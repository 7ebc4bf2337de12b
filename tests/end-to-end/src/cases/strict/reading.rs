//! Reads that lag: a new instance is missing from lists, one that ended is still among them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::behaviour::Behaviour;
use end_to_end::stack::{is_consistent, node_claims};
use end_to_end::world::{PATIENCE, World};

use super::super::provisioning::start_pod;
use super::{is_launched_once, settled, until, until_running};

crate::cases![
    an_instance_that_ec2_shows_late_is_launched_once_and_registers,
    an_instance_that_ec2_shows_after_its_end_serves_nobody,
];

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

async fn an_instance_that_ec2_shows_after_its_end_serves_nobody(world: Arc<World>) -> Result<()> {
    let stale_read_seconds = 30.0;
    let mut stack = settled(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let ended = is_launched_once(&world).await?;
    let behaviour = Behaviour { stale_read_seconds, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let started = Instant::now();
    world.control_plane.kubectl(&["delete", "replicaset", "web"]).await?;
    world.control_plane.kubectl(&["delete", "nodeclaims", "--all", "--wait=false"]).await?;
    let claims = async || node_claims(&world).await;
    until(&mut stack, "the claim is gone", PATIENCE, claims, BTreeSet::is_empty).await?;
    let shown = [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", "running")];
    let shown = Aws::at(world.aws_endpoint()).ask("DescribeInstances", &shown).await?;
    ensure!(shown.contains(&ended.id), "EC2 does not show {} as running any more", ended.id);
    start_pod(&world, "again", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    // Until long after everybody can see the end.
    while started.elapsed() < Duration::from_secs_f64(stale_read_seconds + 10.0) {
        stack.tick_whatever().await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let ever = world.cloud.instances().await?;
    ensure!(ever.len() == 2, "launched {} times for two pods", ever.len());
    let alive = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    ensure!(alive.id != ended.id, "{} is still alive", ended.id);
    is_consistent(&world).await
}
