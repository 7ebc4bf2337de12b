//! What functions may do: exactly what is shipped.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::{Asked, Call, Side};
use end_to_end::objects::deployment;
use end_to_end::stack::{Stack, poll};
use end_to_end::world::{PATIENCE, World};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;

use super::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    a_whole_life_takes_the_rights_that_are_shipped_and_no_others,
    a_denied_action_is_named_in_the_error,
];

async fn a_whole_life_takes_the_rights_that_are_shipped_and_no_others(
    world: Arc<World>,
) -> Result<()> {
    a_whole_life(&world).await?;
    let refused: Vec<_> = world
        .traffic
        .calls()
        .into_iter()
        .filter(|call| call.side == Side::Kubernetes && matches!(call.status, Some(401 | 403)))
        .map(|call| call.action)
        .collect();
    ensure!(refused.is_empty(), "the API server refused {refused:?}");

    let role = Api::<ClusterRole>::all(world.client.clone()).get("outrigger").await?;
    let mut shipped = BTreeSet::new();
    for rule in role.rules.unwrap_or_default() {
        for verb in
            rule.verbs.iter().filter(|verb| !["get", "list", "watch"].contains(&verb.as_str()))
        {
            shipped.extend(
                rule.resources.iter().flatten().map(|resource| format!("{verb} {resource}")),
            );
        }
    }
    // Pods are deleted only past a grace period that ended, and events are counted only when they happen again much
    // later: both take longer than a test may.
    shipped.remove("delete pods");
    shipped.remove("patch events");
    let used: BTreeSet<_> = world.traffic.calls().iter().filter_map(write_of).collect();
    let unused: Vec<_> = shipped.difference(&used).collect();
    ensure!(unused.is_empty(), "shipped and not used: {unused:?}; used: {used:?}");
    Ok(())
}

async fn a_denied_action_is_named_in_the_error(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    // What the table asks for to write a claim; a call's own action; one that a launch takes besides.
    for action in ["dynamodb:ConditionCheckItem", "ec2:CreateFleet", "iam:PassRole"] {
        world.without_right("provisioning", Some(action)).await?;
        until_told_of(&mut stack, action).await?;
    }
    ensure!(world.cloud.alive().await?.is_empty(), "something was launched nevertheless");
    world.without_right("provisioning", None).await?;
    stack.until_running(&world, 1).await
}

/// Invokes provisioning until it says what it may not do: a launch that failed is tried again after a pause.
async fn until_told_of(stack: &mut Stack, action: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let denied = stack.provisioning.invoke(&poll()).await?;
        let said = format!("{:?}\n{}", denied.outcome, denied.output);
        if said.contains(&format!("not authorized to perform: {action} ")) {
            return Ok(());
        }
        ensure!(started.elapsed() < PATIENCE, "no word of {action} in:\n{said}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Pods come, run, move and go; so do their nodes.
async fn a_whole_life(world: &World) -> Result<()> {
    let mut stack = with_defaults(world).await?;
    world.apply(&deployment("web", 2, "1", "1Gi")).await?;
    wait_for_pods(world, 2).await?;
    stack.until_running(world, 2).await?;
    let node =
        world.nodes().await?.into_iter().find_map(|node| node.metadata.name).context("a node")?;
    world.control_plane.kubectl(&["delete", "node", &node, "--wait=false"]).await?;
    stack.tick().await?;
    stack.until_running(world, 2).await?;
    world.control_plane.kubectl(&["delete", "deployment", "web"]).await?;
    let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
    stack.until("no node and no instance is left", left, |seen| *seen == (0, 0)).await?;
    world
        .control_plane
        .kubectl(&["delete", "ec2nodeclass,nodepool", "default", "--wait=false"])
        .await?;
    stack.tick().await
}

/// `patch nodes`, `create pods/eviction`: the verb and the resource of a call that writes.
fn write_of(call: &Call) -> Option<String> {
    let (method, path) = call.action.split_once(' ').filter(|_| call.side == Side::Kubernetes)?;
    let Asked { verb, resource, subresource, .. } = Asked::of(method, path, &call.detail);
    if ["get", "list", "watch"].contains(&verb.as_str()) {
        return None;
    }
    let subresource = if subresource.is_empty() { subresource } else { format!("/{subresource}") };
    Some(format!("{verb} {resource}{subresource}"))
}
