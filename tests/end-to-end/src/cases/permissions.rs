//! What functions may do: exactly what is shipped.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::{Call, Side};
use end_to_end::objects::{deployment, pod};
use end_to_end::stack::poll;
use end_to_end::world::World;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;

use super::provisioning::{wait_for_pods, with_defaults};

crate::cases![
    a_whole_life_is_possible_with_the_rights_that_are_shipped,
    no_right_to_write_is_shipped_that_a_whole_life_does_not_use,
    a_denied_action_is_named_in_the_error,
];

async fn a_whole_life_is_possible_with_the_rights_that_are_shipped(
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
    Ok(())
}

async fn no_right_to_write_is_shipped_that_a_whole_life_does_not_use(
    world: Arc<World>,
) -> Result<()> {
    a_whole_life(&world).await?;
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
    world.apply(&pod("web", "1", "1Gi")).await?;
    world.traffic.deny("ec2:CreateFleet");
    let denied = stack.provisioning.invoke(&poll()).await?;
    let said = format!("{:?}\n{}", denied.outcome, denied.output);
    ensure!(
        said.contains("CreateFleet") && said.contains("not authorized"),
        "no word of the action in:\n{said}"
    );
    world.traffic.allow("ec2:CreateFleet");
    stack.until_running(&world, 1).await
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
    let verb = match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => return None,
    };
    // `/api/v1/…` or `/apis/GROUP/VERSION/…`, then perhaps a namespace, then the resource, its name and a subresource.
    let mut parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.drain(..if parts.first() == Some(&"api") { 2 } else { 3 });
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let resource = parts.first()?;
    Some(match parts.get(2) {
        Some(subresource) => format!("{verb} {resource}/{subresource}"),
        None => format!("{verb} {resource}"),
    })
}
