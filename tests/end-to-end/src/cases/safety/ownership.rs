//! A cluster belongs to one installation, and Karpenter may run in it: who is not its owner does
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::{node_class, node_pool};
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::controls::KarpenterLease;
use end_to_end::world::{OTHERS, OURS, World};

use super::restoring::ticks_until_restored;
use super::{Running, changes_of, scales_down, takings, tick_stopped};
use crate::cases::interruption::{batch_of, warning, with_nodes};
use crate::cases::provisioning::start_pod;

crate::cases![
    a_second_installation_does_nothing_until_it_takes_the_cluster_over,
    while_karpenter_runs_nothing_is_written,
];

/// Karpenter's leader renews its lease so often.
const RENEWED_EVERY: Duration = Duration::from_secs(2);
/// Karpenter's leader is gone for so long that no clock explains it.
const LONG_GONE: Duration = Duration::from_secs(61);
/// Longer than the minute that an instance without a claim is given.
const PAST_GRACE: Duration = Duration::from_mins(10);

async fn a_second_installation_does_nothing_until_it_takes_the_cluster_over(
    world: Arc<World>,
) -> Result<()> {
    let mut first = with_nodes(&world, 2).await?;
    first.tick().await?;
    first.until_consistent(&world).await?;
    let mut second = Stack::deploy_another(&world).await?;
    world.cloud.age(PAST_GRACE).await?;
    world.traffic.forget_calls();
    start_pod(&world, "late", "1200m", "1Gi").await?;
    let before = Running::in_world(&world).await?;
    tick_stopped(&mut second, OURS.id).await?;
    tick_stopped(&mut second, "outrigger take-over").await?;
    let changes = changes_of(&world, &OTHERS);
    ensure!(changes.is_empty(), "the second installation asked for changes: {changes:?}");
    before.is_untouched(&world).await?;

    world.outrigger(&["take-over", "--installation", OTHERS.id]).await?;
    world.traffic.forget_calls();
    tick_stopped(&mut first, OTHERS.id).await?;
    // Its records name the instance still.
    let notice = batch_of(&[warning(before.instances.first().context("an instance")?)]);
    let mut interruption = world.function("interruption")?;
    interruption.invoke(&notice).await?.answer()?;
    let changes = changes_of(&world, &OURS);
    // The notice it notes down in its own table.
    let elsewhere: Vec<_> =
        changes.iter().filter(|call| !call.action.starts_with("dynamodb:")).collect();
    ensure!(elsewhere.is_empty(), "the first installation asked for changes: {elsewhere:?}");
    before.is_untouched(&world).await?;

    let ticks = ticks_until_restored(&world, &mut second, &OTHERS).await?;
    crate::figures::say(format!(
        "a cluster that was taken over has its records after {ticks} ticks"
    ));
    second.until_running(&world, 3).await?;
    ensure!(takings(&world).is_empty(), "{:?}", takings(&world));
    let now = Running::in_world(&world).await?;
    ensure!(now.instances.is_superset(&before.instances), "instances went");
    ensure!(now.pods == before.pods, "pods came or went");
    is_consistent(&world).await?;
    world.control_plane.kubectl(&["delete", "replicaset", "late"]).await?;
    scales_down(&world, &mut second, &OTHERS).await?;
    tick_stopped(&mut first, OTHERS.id).await
}

async fn while_karpenter_runs_nothing_is_written(world: Arc<World>) -> Result<()> {
    world.apply(&node_class()).await?;
    world.apply(&node_pool().object()).await?;
    let mut stack = Stack::deploy(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    while_karpenter_leads(&world, does_nothing(&world, &mut stack)).await?;
    let owner = world.controls().await?.remove("installation");
    ensure!(owner.is_none(), "the cluster that Karpenter runs in is marked as {owner:?}");

    world.set_karpenter_lease(Some(KarpenterLease::Held { age: LONG_GONE })).await?;
    stack.until_running(&world, 1).await?;
    stack.tick().await?;
    stack.until_consistent(&world).await?;
    let before = Running::in_world(&world).await?;

    // Somebody starts it again.
    start_pod(&world, "late", "1200m", "1Gi").await?;
    while_karpenter_leads(&world, does_nothing(&world, &mut stack)).await?;
    let now = Running::in_world(&world).await?;
    ensure!((now.instances, now.nodes) == (before.instances, before.nodes), "nodes came or went");
    ensure!(now.pods.is_superset(&before.pods), "pods went");

    world.set_karpenter_lease(Some(KarpenterLease::LetGoOf)).await?;
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}

/// Ticks, and answers why nothing is done; nobody is asked for a change.
async fn does_nothing(world: &World, stack: &mut Stack) -> Result<()> {
    world.traffic.forget_calls();
    for _ in 0..3 {
        tick_stopped(stack, "Karpenter runs in the cluster").await?;
    }
    let changes = changes_of(world, &OURS);
    ensure!(changes.is_empty(), "changes were asked for: {changes:?}");
    let calls = world.traffic.calls();
    let failed: Vec<_> =
        calls.iter().filter(|call| call.status.is_some_and(|own| own >= 400)).collect();
    ensure!(failed.is_empty(), "calls failed: {failed:?}");
    Ok(())
}

/// Works while Karpenter's leader holds its lease.
pub(super) async fn while_karpenter_leads(
    world: &World,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let held = Some(KarpenterLease::Held { age: Duration::ZERO });
    world.set_karpenter_lease(held).await?;
    let leading = async {
        loop {
            tokio::time::sleep(RENEWED_EVERY).await;
            world.set_karpenter_lease(held).await?;
        }
    };
    tokio::select! {
        failed = leading => failed,
        worked = work => worked,
    }
}
