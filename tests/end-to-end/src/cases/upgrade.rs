//! Functions of two versions in one cluster, one after the other: what one has begun the other goes
//! on with. A variable names a folder with the `bootstrap` of the other version.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::{Stack, is_consistent, launched_claims};
use end_to_end::world::World;

use super::provisioning::with_defaults;

/// Where the other version's functions are; without it there is nothing to try.
pub(crate) const OTHER_VERSION: &str = "OUTRIGGER_FUNCTIONS_BEFORE";

crate::cases![each_version_goes_on_with_what_the_other_has_begun];

async fn each_version_goes_on_with_what_the_other_has_begun(world: Arc<World>) -> Result<()> {
    let before = std::env::var_os(OTHER_VERSION).context(OTHER_VERSION)?;
    let before = PathBuf::from(before).join("bootstrap");
    let mut stack = with_defaults(&world).await?;
    let now = stack.provisioning.deployment().binary.clone();
    deploy(&mut stack, &before).await?;
    world.apply(&deployment("web", 4, "1200m", "1Gi")).await?;
    goes_on(&world, &mut stack, &now, 4).await?;
    // The way back, while more is in flight.
    world.apply(&deployment("web", 8, "1200m", "1Gi")).await?;
    goes_on(&world, &mut stack, &before, 8).await?;
    // Nodes are replaced by one version, and the other ends the old ones.
    let old = launched_claims(&world).await?;
    world.apply(&node_pool().labelled("example.com/generation", "2").object()).await?;
    for _ in 0..3 {
        stack.tick().await?;
    }
    deploy(&mut stack, &now).await?;
    let left = async || Ok(launched_claims(&world).await?.intersection(&old).count());
    let replaced =
        stack.until("drifted nodes are replaced", left, |left| *left < old.len()).await?;
    stack.until_running(&world, 8).await?;
    world.apply(&deployment("web", 0, "1200m", "1Gi")).await?;
    let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
    stack.until("no node is left", left, |found| *found == (0, 0)).await?;
    stack.until_consistent(&world).await?;
    crate::figures::say(format!(
        "upgrade, way back and upgrade: 8 pods kept running, {} of {} drifted nodes replaced before the next look",
        old.len() - replaced,
        old.len()
    ));
    Ok(())
}

/// Begins launches with one version, goes over to the other while they are in flight, and waits
/// until all pods run.
async fn goes_on(world: &World, stack: &mut Stack, with: &Path, pods: usize) -> Result<()> {
    let running = world.running().await?.0;
    let launched = async || Ok(world.cloud.alive().await?.len());
    let nodes = world.nodes().await?.len();
    stack.until("something is launched", launched, |found| *found > nodes).await?;
    deploy(stack, with).await?;
    stack.until_running(world, pods).await?;
    stack.until_consistent(world).await?;
    is_consistent(world).await.context("after the other version went on")?;
    ensure!(world.running().await?.0 >= running, "pods that ran before run");
    Ok(())
}

/// Replaces the functions' code, between two invocations.
async fn deploy(stack: &mut Stack, binary: &Path) -> Result<()> {
    stack.cool().await?;
    let Stack { provisioning, lifecycle, disruption, catalog } = stack;
    for function in [provisioning, lifecycle, disruption, catalog] {
        binary.clone_into(&mut function.deployment().binary);
    }
    Ok(())
}
