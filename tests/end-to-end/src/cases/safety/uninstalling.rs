//! `outrigger uninstall`: nodes are let go of, or ended by the functions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::deployment;
use end_to_end::stack::node_claims;
use end_to_end::world::{OURS, World};
use kube::ResourceExt as _;

use super::{Running, changes_of, tick_stopped};
use crate::cases::interruption::with_nodes;

crate::cases![
    nodes_that_are_kept_outlive_everything_of_ours,
    nodes_that_are_drained_are_ended_by_the_functions,
];

/// The garbage collector visits what was owned within so long.
const COLLECTED_WITHIN: Duration = Duration::from_secs(5);

async fn nodes_that_are_kept_outlive_everything_of_ours(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes(&world, 2).await?;
    stack.tick().await?;
    stack.until_consistent(&world).await?;
    let counted = async || Ok((world.nodes().await?.len(), node_claims(&world).await?.len()));
    let (nodes, claims) = stack
        .until("every NodeClaim has its node", counted, |(nodes, claims)| nodes == claims)
        .await?;
    let before = Running::in_world(&world).await?;
    // The command pauses what is not paused, and waits for a minute then.
    world.outrigger(&["pause"]).await?;
    world.traffic.forget_calls();
    let said = world.outrigger(&["uninstall", "--keep-nodes"]).await?;
    let counts = format!(
        "let go of {nodes} nodes; deleted {claims} NodeClaims, 1 NodePools and 1 EC2NodeClasses"
    );
    ensure!(said.contains(&counts), "{said}");
    is_let_go_of(&world, &before).await?;
    for _ in 0..2 {
        tick_stopped(&mut stack, "the cluster is paused").await?;
    }
    let changes = changes_of(&world, &OURS);
    ensure!(changes.is_empty(), "functions that are paused asked for changes: {changes:?}");
    // Again: what was done before is not missed.
    let said = world.outrigger(&["uninstall", "--keep-nodes"]).await?;
    ensure!(said.contains("let go of 0 nodes; deleted 0 NodeClaims"), "{said}");
    is_let_go_of(&world, &before).await?;
    // A node that nobody manages any more goes when a person wants it to.
    let name = world.nodes().await?.first().context("a node")?.name_any();
    world.control_plane.kubectl(&["delete", "node", &name, "--timeout=30s"]).await.map(drop)
}

/// Nodes, instances and pods are as before, and nothing of us is left.
async fn is_let_go_of(world: &World, before: &Running) -> Result<()> {
    for kind in ["nodeclaims", "nodepools", "ec2nodeclasses"] {
        let left = world.control_plane.kubectl(&["get", kind, "-o", "name"]).await?;
        ensure!(left.is_empty(), "{kind} are left: {left}");
    }
    tokio::time::sleep(COLLECTED_WITHIN).await;
    before.is_untouched(world).await?;
    let nodes = world.nodes().await?;
    ensure!(nodes.iter().all(|node| node.finalizers().is_empty()), "finalizers are left");
    ensure!(world.running().await? == (before.pods.len(), before.pods.len()), "pods do not run");
    Ok(())
}

async fn nodes_that_are_drained_are_ended_by_the_functions(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes(&world, 2).await?;
    stack.tick().await?;
    // Where nobody would drain them, the command says so.
    world.outrigger(&["pause"]).await?;
    let refused = world.outrigger(&["uninstall", "--drain-nodes"]).await;
    let why = refused.err().context("an uninstall that nobody would carry out")?.to_string();
    ensure!(why.contains("outrigger resume"), "{why}");
    world.outrigger(&["resume"]).await?;
    world.apply(&deployment("web", 2, "1200m", "1Gi")).await?;

    let uninstalling = world.outrigger(&["uninstall", "--drain-nodes"]);
    let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
    let ticking = stack.until("no node and no instance is left", left, |found| *found == (0, 0));
    let (said, ticked) = tokio::join!(uninstalling, ticking);
    ticked?;
    let said = said?;
    ensure!(said.contains("no NodeClaim is left"), "{said}");
    for kind in ["nodeclaims", "nodepools"] {
        let left = world.control_plane.kubectl(&["get", kind, "-o", "name"]).await?;
        ensure!(left.is_empty(), "{kind} are left: {left}");
    }
    ensure!(world.pods().await?.len() == 2, "pods went with their nodes");
    ensure!(world.running().await?.0 == 0, "a pod runs on no node");
    Ok(())
}
