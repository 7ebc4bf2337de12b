//! What is recorded of a cluster, and replays of it.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::{deployment, node_pool};
use end_to_end::world::World;
use serde_json::Value;

use super::provisioning::{wait_for_pods, with_defaults};

crate::cases![a_recording_of_the_cluster_replays_to_the_same_nodes];

/// NodePool, instance type and capacity type of a node.
type Node = [String; 3];

async fn a_recording_of_the_cluster_replays_to_the_same_nodes(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    // One type, so that a replay at the embedded catalogue's prices has the same choice.
    let pool = node_pool().settled().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.object()).await?;
    let recording = world.record().await?;
    let file = recording.file.clone();
    // One pod a node, and then two on one.
    world.apply(&deployment("web", 3, "1200m", "1Gi")).await?;
    wait_for_pods(&world, 3).await?;
    stack.until_running(&world, 3).await?;
    world.apply(&deployment("api", 2, "900m", "1Gi")).await?;
    wait_for_pods(&world, 5).await?;
    stack.until_running(&world, 5).await?;
    let lines = recording.stop().await?;

    let of = |kind: &str| lines.iter().filter_map(|line| line.get(kind)).collect::<Vec<_>>();
    ensure!(of("stopped").len() == 1, "it is not whole");
    ensure!(of("pod").len() == 5 && of("bound").len() == 5, "not every pod's life is recorded");
    let claims = of("claim").len();
    let nodes: Vec<Node> = of("node").into_iter().map(node).collect();
    ensure!(claims == nodes.len() && claims == 4, "{claims} claims, nodes {nodes:?}");

    let path = file.to_str().context("the path is no text")?;
    let replay = world.outrigger(&["simulate", "--from", path, "-o", "json"]).await?;
    let replay: Value = serde_json::from_str(&replay).context(replay.clone())?;
    let launched: Vec<Node> = replay["timeline"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|own| own["code"] == "InstanceLaunched")
        .map(|own| {
            let claim = own["nodeClaims"][0].as_str().unwrap_or_default();
            let pool = claim.rsplit_once('-').map_or(claim, |(pool, _)| pool);
            [pool.to_owned(), word(&own["instanceType"]), word(&own["capacityType"])]
        })
        .collect();
    ensure!(launched == nodes, "recorded {nodes:?}, replayed {launched:?}");
    Ok(())
}

fn node(own: &Value) -> Node {
    [word(&own["nodePool"]), word(&own["instanceType"]), word(&own["capacityType"])]
}

fn word(own: &Value) -> String {
    own.as_str().unwrap_or_default().to_owned()
}
