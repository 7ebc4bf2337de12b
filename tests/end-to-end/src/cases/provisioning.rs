//! From pods that wait to pods that run.

use std::sync::Arc;

use anyhow::{Result, ensure};
use end_to_end::objects::{deployment, node_class, node_pool, one_pod};
use end_to_end::stack::{Stack, is_consistent, poll};
use end_to_end::world::{World, eventually};
use kube::ResourceExt as _;
use serde_json::Value;

crate::cases![
    a_hundred_pending_pods_get_nodes_and_run,
    a_cluster_scales_to_no_node_and_back,
    the_same_event_twice_does_no_more_than_once,
    two_runs_at_once_launch_no_more_than_one,
    users_see_what_happened_with_kubectl,
];

async fn a_hundred_pending_pods_get_nodes_and_run(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 100, "500m", "512Mi")).await?;
    wait_for_pods(&world, 100).await?;
    stack.until_running(&world, 100).await?;
    stack.tick().await?;
    is_consistent(&world).await
}

async fn a_cluster_scales_to_no_node_and_back(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    for replicas in [3, 0, 2] {
        world.apply(&deployment("web", replicas, "1", "1Gi")).await?;
        wait_for_pods(&world, replicas as usize).await?;
        if replicas > 0 {
            stack.until_running(&world, replicas as usize).await?;
        } else {
            let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
            stack.until("no node and no instance is left", left, |found| *found == (0, 0)).await?;
        }
    }
    is_consistent(&world).await
}

async fn the_same_event_twice_does_no_more_than_once(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 4, "1", "1Gi")).await?;
    wait_for_pods(&world, 4).await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    let launched = world.cloud.alive().await?.len();
    ensure!(launched > 0, "the first event launched nothing");
    stack.provisioning.invoke(&poll()).await?.answer()?;
    let again = world.cloud.alive().await?.len();
    ensure!(
        again == launched,
        "{launched} instances after one event, {again} after the same again"
    );
    stack.until_running(&world, 4).await?;
    is_consistent(&world).await
}

async fn two_runs_at_once_launch_no_more_than_one(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    // A node for each pod, so that one too many shows.
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.object()).await?;
    for name in ["a", "b", "c"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    let mut other = stack.provisioning.another();
    let event = poll();
    let (one, two) = tokio::try_join!(stack.provisioning.invoke(&event), other.invoke(&event))?;
    one.answer()?;
    two.answer()?;
    let launched = world.cloud.alive().await?.len();
    ensure!(launched == 3, "{launched} instances for three pods");
    stack.until_running(&world, 3).await?;
    is_consistent(&world).await
}

async fn users_see_what_happened_with_kubectl(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    stack.tick().await?;
    let described = world.control_plane.kubectl(&["describe", "pod", "--selector=app=web"]).await?;
    ensure!(described.contains("Nominated"), "no nomination in:\n{described}");
    let claims =
        world.control_plane.kubectl(&["get", "nodeclaims", "--no-headers", "-o", "wide"]).await?;
    let node =
        world.nodes().await?.into_iter().find_map(|node| node.metadata.name).unwrap_or_default();
    ensure!(
        claims.contains(&node) && claims.contains("True"),
        "no ready claim with its node in:\n{claims}"
    );
    let pools = async || {
        let pools = world.control_plane.kubectl(&["get", "nodepools", "--no-headers"]).await?;
        Ok(pools.split_whitespace().take(4).map(str::to_owned).collect::<Vec<_>>())
    };
    let is_right = |found: &Vec<String>| *found == ["default", "default", "1", "True"];
    stack.until("a pool with one node, ready", pools, is_right).await.map(drop)
}

/// The functions, and a NodePool and an EC2NodeClass called `default` that are ready.
pub(super) async fn with_defaults(world: &World) -> Result<Stack> {
    with_class(world, &node_class()).await
}

/// The functions, an EC2NodeClass `default` and a NodePool of it, both ready.
pub(super) async fn with_class(world: &World, class: &Value) -> Result<Stack> {
    world.apply(class).await?;
    world.apply(&node_pool().object()).await?;
    let mut stack = Stack::deploy(world).await?;
    let path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    let ready =
        async || world.control_plane.kubectl(&["get", "nodepool", "default", "-o", path]).await;
    stack.until("the NodePool is ready", ready, |found| found == "True").await?;
    Ok(stack)
}

/// Makes a pod that comes again when it is deleted; see [`one_pod`].
pub(super) async fn start_pod(world: &World, name: &str, cpu: &str, memory: &str) -> Result<()> {
    world.apply(&one_pod(name, cpu, memory)).await?;
    let is_there = async || {
        let pods = world.pods().await?;
        Ok(pods.iter().any(|pod| pod.labels().get("app").is_some_and(|app| app == name)))
    };
    eventually("a pod is made", is_there, |found| *found).await.map(drop)
}

/// Waits until controllers have made so many pods.
pub(super) async fn wait_for_pods(world: &World, pods: usize) -> Result<()> {
    let there = async || Ok(world.pods().await?.len());
    eventually("pods are made", there, |found| *found == pods).await.map(drop)
}
