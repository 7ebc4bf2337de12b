//! An operator stops functions in the middle of what they do, and has them go on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::Moment;
use end_to_end::objects::{deployment, disruption_budget, node_pool};
use end_to_end::stack::{node_claims, poll, was_killed, watch};
use end_to_end::world::{CLUSTER, OURS, TABLE, World, access_key, eventually};
use kube::ResourceExt as _;
use serde_json::json;

use super::{
    Running, changes_of, instance_types, large_nodes, launches, small_nodes, start_large_pod,
    tick_stopped,
};
use crate::cases::adoption::pod_uids;
use crate::cases::interruption::{batch_of, warning};
use crate::cases::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    a_watcher_launches_nothing_while_paused_and_goes_on_after_resume,
    a_launch_that_was_cut_short_waits_until_resume,
    a_drain_stands_still_while_paused,
    notices_of_ec2_are_handled_while_all_else_is_paused,
    what_cannot_be_read_stops_everything,
];

/// A pod that comes while the cluster is paused waits at least so long.
const PAUSED_FOR: Duration = Duration::from_secs(30);
/// A run that was stopped asks again after ten seconds; the rest is for a slow machine.
const RESUMED_WITHIN: Duration = Duration::from_secs(25);
/// The table's switches instead of the cluster's.
const IN_TABLE: [&str; 4] = ["--table", TABLE, "--cluster", CLUSTER];

async fn a_watcher_launches_nothing_while_paused_and_goes_on_after_resume(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.traffic.forget_calls();
    let event = watch();
    let watching = stack.provisioning.invoke(&event);
    let script = async {
        let watches = async || {
            let calls = world.traffic.calls();
            Ok(calls.iter().filter(|call| call.detail.contains("watch=true")).count())
        };
        eventually("provisioning watches", watches, |found| *found > 0).await?;
        world.outrigger(&["pause"]).await?;
        start_pod(&world, "web", "1200m", "1Gi").await?;
        tokio::time::sleep(PAUSED_FOR).await;
        ensure!(launches(&world).is_empty(), "launched while paused: {:?}", launches(&world));
        let claims = node_claims(&world).await?;
        ensure!(claims.is_empty(), "claims were made while paused: {claims:?}");
        world.outrigger(&["resume"]).await?;
        let resumed = Instant::now();
        let launched = async || Ok(launches(&world).len());
        eventually("a launch", launched, |found| *found > 0).await?;
        Ok(resumed.elapsed())
    };
    let (invocation, waited) = tokio::join!(watching, script);
    let (invocation, waited) = (invocation?, waited?);
    invocation.answer()?;
    crate::figures::say(format!("a watcher launches {waited:.1?} after resume"));
    ensure!(waited < RESUMED_WITHIN, "launched {waited:?} after resume");
    stack.until_running(&world, 1).await?;
    ensure!(world.cloud.instances().await?.len() == 1, "launched more than once");
    Ok(())
}

async fn a_launch_that_was_cut_short_waits_until_resume(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    let key = access_key("provisioning");
    let mut trap = world.traffic.trap_action(&key, "ec2:CreateFleet", Moment::Before);
    let killed = stack.provisioning.invoke_into(&poll(), &mut trap).await?;
    ensure!(was_killed(&killed), "nothing was to be launched: {:?}", killed.outcome);
    world.end_leases().await?;
    let claims = world.documents(&OURS, "claim#").await?;
    ensure!(claims.len() == 1, "one claim is under way: {claims:?}");

    world.outrigger(&[&["pause"], &IN_TABLE[..]].concat()).await?;
    world.traffic.forget_calls();
    for _ in 0..3 {
        tick_stopped(&mut stack, "the cluster is paused").await?;
    }
    let changes = changes_of(&world, &OURS);
    ensure!(changes.is_empty(), "changes while paused: {changes:?}");
    ensure!(world.documents(&OURS, "claim#").await? == claims, "the claim was changed");
    ensure!(world.cloud.instances().await?.is_empty(), "launched while paused");

    world.outrigger(&[&["resume"], &IN_TABLE[..]].concat()).await?;
    stack.until_running(&world, 1).await?;
    ensure!(world.cloud.instances().await?.len() == 1, "launched more than once");
    stack.until_consistent(&world).await
}

async fn a_drain_stands_still_while_paused(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&node_pool().settled().object()).await?;
    world.apply(&deployment("web", 1, "1", "1Gi")).await?;
    world.apply(&disruption_budget("web", 1)).await?;
    wait_for_pods(&world, 1).await?;
    stack.until_running(&world, 1).await?;
    let node = world.nodes().await?.first().context("a node")?.name_any();
    world.control_plane.kubectl(&["delete", "node", &node, "--wait=false"]).await?;
    let is_refused = async || {
        let calls = world.traffic.calls();
        Ok(calls.iter().any(|call| call.action.ends_with("/eviction") && call.status == Some(429)))
    };
    stack.until("an eviction is refused", is_refused, |found| *found).await?;

    world.outrigger(&["pause"]).await?;
    world.apply(&disruption_budget("web", 0)).await?;
    let before = pod_uids(&world).await?;
    world.traffic.forget_calls();
    for _ in 0..3 {
        tick_stopped(&mut stack, "the cluster is paused").await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let changes = changes_of(&world, &OURS);
    ensure!(changes.is_empty(), "changes while paused: {changes:?}");
    ensure!(pod_uids(&world).await? == before, "pods came or went while paused");
    ensure!(world.running().await? == (1, 1), "the pod did not stay");

    world.outrigger(&["resume"]).await?;
    let is_there = async || Ok(world.nodes().await?.iter().any(|own| own.name_any() == node));
    stack.until("the node is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 1).await?;
    stack.until_consistent(&world).await
}

async fn notices_of_ec2_are_handled_while_all_else_is_paused(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&small_nodes().settled().object()).await?;
    world.apply(&large_nodes()).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    stack.tick().await?;
    let taken = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    world.outrigger(&["pause", "--except-interruptions"]).await?;
    start_large_pod(&world).await?;
    wait_for_pods(&world, 2).await?;
    world.traffic.forget_calls();
    for _ in 0..2 {
        stack.tick().await?;
    }
    ensure!(launches(&world).is_empty(), "launched for a pod that waits: {:?}", launches(&world));

    let mut interruption = world.function("interruption")?;
    let answer = interruption.invoke(&batch_of(&[warning(&taken.id)])).await?;
    ensure!(answer.answer()?["batchItemFailures"] == json!([]), "{:?}", answer.outcome);
    let launched = launches(&world);
    let by: BTreeSet<_> = launched.iter().map(|call| &*call.caller).collect();
    let interruption_key = access_key("interruption");
    ensure!(by == BTreeSet::from([&*interruption_key]), "launches: {launched:?}");
    let replaced = async || {
        let alive = world.cloud.alive().await?;
        Ok((alive.iter().all(|own| own.id != taken.id), world.running().await?))
    };
    stack.until("the pod runs elsewhere", replaced, |found| *found == (true, (1, 2))).await?;
    for _ in 0..2 {
        stack.tick().await?;
    }
    let types = instance_types(&world).await?;
    ensure!(types.len() == 1 && types[0] != "m5.xlarge", "a pod that waits got a node: {types:?}");

    world.outrigger(&["resume"]).await?;
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}

async fn what_cannot_be_read_stops_everything(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&node_pool().settled().object()).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    stack.tick().await?;
    start_pod(&world, "late", "1200m", "1Gi").await?;
    let before = Running::in_world(&world).await?;
    world.traffic.forget_calls();
    world.set_control("mode", "off").await?;
    tick_stopped(&mut stack, "ConfigMap kube-system/outrigger: mode: \"off\"").await?;
    world.set_control("mode", "").await?;
    world.set_control("maxLaunchesPerTick", "many").await?;
    tick_stopped(&mut stack, "maxLaunchesPerTick: \"many\"").await?;
    world.remove_controls().await?;
    tick_stopped(&mut stack, "ConfigMap kube-system/outrigger is missing").await?;
    let changes = changes_of(&world, &OURS);
    ensure!(changes.is_empty(), "changes were asked for: {changes:?}");
    before.is_untouched(&world).await?;
    world.forget_controls().await?;
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}
