//! The end of nodes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::{deployment, disruption_budget};
use end_to_end::stack::{is_consistent, node_claims, poll};
use end_to_end::world::World;
use kube::ResourceExt as _;

use super::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    a_node_deleted_with_kubectl_is_drained_before_its_instance_ends,
    a_disruption_budget_holds_a_drain_up,
    an_instance_that_ends_by_itself_takes_its_claim_along,
    a_machine_that_has_not_joined_yet_is_waited_for,
    a_machine_that_never_joins_is_given_up_and_its_pods_get_another,
];

/// Less than the 15 minutes that a machine may take to join, also with what a case takes on a busy
/// machine, …
const STILL_IN_TIME: Duration = Duration::from_mins(10);
/// … and what they lack.
const THE_REST: Duration = Duration::from_mins(5);

async fn a_node_deleted_with_kubectl_is_drained_before_its_instance_ends(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 2, "1", "1Gi")).await?;
    wait_for_pods(&world, 2).await?;
    stack.until_running(&world, 2).await?;
    let node = a_node_with_pods(&world).await?;
    world.control_plane.kubectl(&["delete", "node", &node, "--wait=false"]).await?;
    let is_there = async || Ok(world.nodes().await?.iter().any(|found| found.name_any() == node));
    stack.until("the node is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 2).await?;

    let calls = world.traffic.calls();
    let evicted = calls
        .iter()
        .position(|call| call.action.ends_with("/eviction") && call.status == Some(201));
    let ended = calls.iter().position(|call| call.action == "ec2:TerminateInstances");
    let (evicted, ended) =
        (evicted.context("no pod was evicted")?, ended.context("nothing was terminated")?);
    ensure!(evicted < ended, "the instance was terminated before its pods were evicted");
    is_consistent(&world).await
}

async fn a_disruption_budget_holds_a_drain_up(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 1, "1", "1Gi")).await?;
    world.apply(&disruption_budget("web", 1)).await?;
    wait_for_pods(&world, 1).await?;
    stack.until_running(&world, 1).await?;
    let node = a_node_with_pods(&world).await?;
    world.control_plane.kubectl(&["delete", "node", &node, "--wait=false"]).await?;
    for _ in 0..3 {
        stack.tick().await?;
    }
    ensure!(world.running().await? == (1, 1), "the pod did not stay");
    let refused = world
        .traffic
        .calls()
        .into_iter()
        .any(|call| call.action.ends_with("/eviction") && call.status == Some(429));
    ensure!(refused, "no eviction was refused");

    world.apply(&disruption_budget("web", 0)).await?;
    let is_there = async || Ok(world.nodes().await?.iter().any(|found| found.name_any() == node));
    stack.until("the node is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 1).await?;
    is_consistent(&world).await
}

async fn an_instance_that_ends_by_itself_takes_its_claim_along(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 1, "1", "1Gi")).await?;
    wait_for_pods(&world, 1).await?;
    stack.until_running(&world, 1).await?;
    let lost = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    world.cloud.end(&lost.id).await?;
    let replaced = async || {
        let running = world.running().await? == (1, 1);
        let alive = world.cloud.alive().await?;
        Ok(running && alive.iter().all(|instance| instance.id != lost.id) && !alive.is_empty())
    };
    stack.until("the pod runs on another instance", replaced, |found| *found).await?;
    stack.tick().await?;
    is_consistent(&world).await
}

async fn a_machine_that_has_not_joined_yet_is_waited_for(world: Arc<World>) -> Result<()> {
    world.kubelets.change(|habits| habits.never_joins = true);
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    ensure!(!world.cloud.alive().await?.is_empty(), "nothing was launched");
    // Nothing gives up before the time-out, and the claim is where users expect it.
    stack.tick().await?;
    let claims = world.control_plane.kubectl(&["get", "nodeclaims", "-o", "yaml"]).await?;
    ensure!(
        claims.contains("type: Launched") && claims.contains("type: Registered"),
        "conditions in:\n{claims}"
    );
    ensure!(world.cloud.alive().await?.len() == 1, "it was given up before its time");
    Ok(())
}

async fn a_machine_that_never_joins_is_given_up_and_its_pods_get_another(
    world: Arc<World>,
) -> Result<()> {
    world.kubelets.change(|habits| habits.never_joins = true);
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    stack.tick().await?;
    let lost = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    let claim = lost.claim().context("the claim of the instance")?.to_owned();
    world.age_claims(STILL_IN_TIME).await?;
    stack.tick().await?;
    let alive = world.cloud.alive().await?;
    ensure!(alive.iter().any(|own| own.id == lost.id), "it was given up before its time");
    world.age_claims(THE_REST).await?;
    let given_up = async || {
        let alive = world.cloud.alive().await?;
        Ok(alive.iter().all(|instance| instance.id != lost.id))
    };
    stack.until("the machine is given up", given_up, |found| *found).await?;
    world.kubelets.change(|habits| habits.never_joins = false);
    stack.until_running(&world, 1).await?;
    let claims = async || node_claims(&world).await;
    stack.until("its claim is gone", claims, |found| !found.contains(&claim)).await?;
    is_consistent(&world).await
}

/// A node that holds pods of the namespace `default`.
async fn a_node_with_pods(world: &World) -> Result<String> {
    let pods = world.pods().await?;
    pods.into_iter().find_map(|pod| pod.spec?.node_name).context("no pod is bound")
}
