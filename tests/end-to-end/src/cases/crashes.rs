//! A function is killed in the middle of its work, and the next tick makes it whole.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use end_to_end::gate::Moment;
use end_to_end::objects::{node_pool, pod};
use end_to_end::stack::{Stack, is_consistent, poll, was_killed};
use end_to_end::world::{World, access_key};
use kube::ResourceExt;

use super::provisioning::with_defaults;

crate::cases![
    provisioning_may_be_killed_after_each_of_its_calls,
    lifecycle_may_be_killed_after_each_of_its_calls,
];

/// More calls than a tick with one new pod can need; reaching it means that the loop does not end.
const MOST_CALLS: u32 = 300;

/// Each pod needs a node of its own.
async fn one_node_a_pod(world: &World) -> Result<Stack> {
    let stack = with_defaults(world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.object()).await?;
    Ok(stack)
}

async fn provisioning_may_be_killed_after_each_of_its_calls(world: Arc<World>) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    for nth in 1..MOST_CALLS {
        let pods = nth as usize;
        world.apply(&pod(&format!("web-{nth}"), "1200m", "1Gi")).await?;
        let trap = world.traffic.trap(&access_key("provisioning"), nth, Moment::After);
        let killed = stack.provisioning.invoke_into(&poll(), trap).await?;
        world.end_leases().await?;
        stack
            .until_running(&world, pods)
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        is_consistent(&world)
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        if !was_killed(&killed) {
            crate::say(format!("provisioning makes {} calls when it launches a node", nth - 1));
            return Ok(());
        }
    }
    anyhow::bail!("provisioning makes more than {MOST_CALLS} calls")
}

async fn lifecycle_may_be_killed_after_each_of_its_calls(world: Arc<World>) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    world.apply(&pod("web-0", "1200m", "1Gi")).await?;
    stack.until_running(&world, 1).await?;
    for nth in 1..MOST_CALLS {
        // One node has to join and another to go in the tick that is cut short.
        let going = world.nodes().await?.first().map(ResourceExt::name_any).context("a node")?;
        world.control_plane.kubectl(&["delete", "node", &going, "--wait=false"]).await?;
        world.apply(&pod(&format!("web-{nth}"), "1200m", "1Gi")).await?;
        stack.provisioning.invoke(&poll()).await?.answer()?;
        let trap = world.traffic.trap(&access_key("lifecycle"), nth, Moment::After);
        let killed = stack.lifecycle.invoke_into(&poll(), trap).await?;
        world.end_leases().await?;
        let settled = async || {
            let nodes = world.nodes().await?;
            let (running, pods) = world.running().await?;
            Ok((nodes.iter().any(|node| node.name_any() == going), running, pods, nodes.len()))
        };
        // The pod of the node that went is nobody's, so it is gone with it: one pod and one node are left.
        stack
            .until("one node went and one came", settled, |seen| *seen == (false, 1, 1, 1))
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        is_consistent(&world)
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        if !was_killed(&killed) {
            crate::say(format!(
                "lifecycle makes {} calls when a node joins and another goes",
                nth - 1
            ));
            return Ok(());
        }
    }
    anyhow::bail!("lifecycle makes more than {MOST_CALLS} calls")
}
