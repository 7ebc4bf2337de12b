//! A function is killed in the middle of its work, and the next tick makes it whole.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use end_to_end::gate::Moment;
use end_to_end::objects::node_pool;
use end_to_end::stack::{Stack, launched_claims, poll, was_killed};
use end_to_end::world::{World, access_key, eventually};
use kube::ResourceExt as _;

use super::provisioning::{start_pod, with_defaults};

crate::cases![
    provisioning_may_be_killed_after_each_of_its_calls,
    lifecycle_may_be_killed_after_each_of_its_changes,
];

/// More calls than a tick with one new pod can need; reaching it means that the loop does not end.
const MOST_CALLS: u32 = 300;
/// After so many kills everything is left to settle, and looked at as a whole.
const SETTLED_EVERY: u32 = 10;

/// Each pod needs a node of its own, and keeps it. Machines are quick: a hundred come and go.
async fn one_node_a_pod(world: &World) -> Result<Stack> {
    world.kubelets.change(|habits| {
        habits.boot = Duration::from_millis(100);
        habits.ready = Duration::from_millis(100);
        habits.pod_ends = Duration::from_millis(100);
    });
    let stack = with_defaults(world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]).settled();
    world.apply(&pool.object()).await?;
    Ok(stack)
}

async fn provisioning_may_be_killed_after_each_of_its_calls(world: Arc<World>) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    for nth in 1..MOST_CALLS {
        start_pod(&world, &format!("web-{nth}"), "1200m", "1Gi").await?;
        let trap = world.traffic.trap(&access_key("provisioning"), nth, Moment::After);
        let killed = stack.provisioning.invoke_into(&poll(), trap).await?;
        world.end_leases().await?;
        let is_last = !was_killed(&killed);
        let is_settled = is_last || nth.is_multiple_of(SETTLED_EVERY);
        made_good(&mut stack, &world, nth as usize, is_settled)
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        if is_last {
            crate::say(format!("provisioning makes {} calls when it launches a node", nth - 1));
            return Ok(());
        }
    }
    anyhow::bail!("provisioning makes more than {MOST_CALLS} calls")
}

/// Ticks until there is an instance for each pod, and none twice for a claim; where it is to settle, until all pods run.
///
/// There may be more: a pod that the controller of taints deletes on a new node comes again while that one ends, and
/// gets a node of its own.
async fn made_good(stack: &mut Stack, world: &World, pods: usize, is_settled: bool) -> Result<()> {
    let claims = async || launched_claims(world).await;
    stack.until("an instance for each pod", claims, |seen| seen.len() >= pods).await?;
    if is_settled {
        stack.until_running(world, pods).await?;
        stack.until_consistent(world).await?;
    }
    Ok(())
}

async fn lifecycle_may_be_killed_after_each_of_its_changes(world: Arc<World>) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    for nth in 1..MOST_CALLS {
        // One node has joined and another is to go in the tick that is cut short.
        let going = node_of_the_pod(&world).await?.context("the pod is not bound")?;
        world.control_plane.kubectl(&["delete", "node", &going, "--wait=false"]).await?;
        stack.provisioning.invoke(&poll()).await?.answer()?;
        let is_new = async || Ok(world.nodes().await?.iter().any(|node| node.name_any() != going));
        eventually("the node that takes its place has joined", is_new, |seen| *seen).await?;
        let trap = world.traffic.trap_change(&access_key("lifecycle"), nth, Moment::After);
        let killed = stack.lifecycle.invoke_into(&poll(), trap).await?;
        world.end_leases().await?;
        let is_last = !was_killed(&killed);
        let is_settled = is_last || nth.is_multiple_of(SETTLED_EVERY);
        moved_on(&mut stack, &world, &going, is_settled)
            .await
            .with_context(|| format!("killed in change {nth}: {:?}", killed.outcome))?;
        if is_last {
            crate::say(format!(
                "lifecycle makes {} changes when a node joins and another goes",
                nth - 1
            ));
            return Ok(());
        }
    }
    anyhow::bail!("lifecycle makes more than {MOST_CALLS} changes")
}

/// Ticks until the pod runs elsewhere; where it is to settle, until the node it was on is gone.
async fn moved_on(stack: &mut Stack, world: &World, going: &str, is_settled: bool) -> Result<()> {
    let elsewhere = async || node_of_the_pod(world).await;
    let has_moved = |seen: &Option<String>| seen.as_ref().is_some_and(|node| node != going);
    stack.until("the pod runs on another node", elsewhere, has_moved).await?;
    launched_claims(world).await?;
    if is_settled {
        let is_any_going = async || {
            let nodes = world.nodes().await?;
            Ok(nodes.iter().any(|node| node.metadata.deletion_timestamp.is_some()))
        };
        stack.until("no node is going any more", is_any_going, |seen| !seen).await?;
        stack.until_running(world, 1).await?;
        stack.until_consistent(world).await?;
    }
    Ok(())
}

/// The node on which the only pod runs that is not ending.
async fn node_of_the_pod(world: &World) -> Result<Option<String>> {
    let pods = world.pods().await?;
    Ok(pods.into_iter().find_map(|pod| {
        let status = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let runs = status == Some("Running") && pod.metadata.deletion_timestamp.is_none();
        pod.spec?.node_name.filter(|_| runs)
    }))
}
