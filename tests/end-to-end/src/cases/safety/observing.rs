//! Functions that only observe, beside Karpenter: what they would have done is stored, and nothing
//! else changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::Side;
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::Stack;
use end_to_end::world::{CLUSTER, OURS, TABLE, World, eventually};
use serde_json::{Value, json};

use super::ownership::while_karpenter_leads;
use super::{Running, changes_of, messages};
use crate::cases::adoption::with_nodes_of_karpenter;
use crate::cases::permissions::write_of;
use crate::cases::provisioning::start_pod;

crate::cases![
    an_installation_that_observes_changes_nothing_beside_karpenter,
    a_cluster_that_is_observed_is_left_as_it_is,
];

async fn an_installation_that_observes_changes_nothing_beside_karpenter(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_nodes_of_karpenter(&world).await?;
    world.forget_controls().await?;
    stack.set("MODE", "Observe").await?;
    while_karpenter_leads(&world, changes_nothing(&world, &mut stack)).await?;
    let owner = world.controls().await?.remove("installation");
    ensure!(owner.is_none(), "who observes has marked the cluster as {owner:?}");
    // Karpenter is stopped, and the parameter is changed: the nodes are taken over.
    world.set_karpenter_lease(None).await?;
    stack.set("MODE", "Active").await?;
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}

async fn a_cluster_that_is_observed_is_left_as_it_is(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes_of_karpenter(&world).await?;
    world.forget_controls().await?;
    world.outrigger(&["observe"]).await?;
    while_karpenter_leads(&world, changes_nothing(&world, &mut stack)).await?;
    world.set_karpenter_lease(None).await?;
    world.outrigger(&["resume"]).await?;
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}

/// Of two nodes one is empty, and another pod needs a third: both are noticed, and nothing is done.
async fn changes_nothing(world: &World, stack: &mut Stack) -> Result<()> {
    world.apply(&node_pool().object()).await?;
    world.apply(&deployment("web", 1, "1200m", "1Gi")).await?;
    start_pod(world, "late", "3", "1Gi").await?;
    let pods = async || Ok((world.running().await?, world.pods().await?.len()));
    eventually("one pod runs, one waits", pods, |found| *found == ((1, 2), 2)).await?;
    let before = (Running::in_world(world).await?, resource_versions(world).await?);
    world.traffic.forget_calls();
    for _ in 0..3 {
        stack.tick().await?;
    }
    before.0.is_untouched(world).await?;
    let versions = resource_versions(world).await?;
    ensure!(versions == before.1, "objects were written:\n{:?}\n{versions:?}", before.1);
    for call in changes_of(world, &OURS) {
        let is_allowed = match call.side {
            Side::Aws => false,
            Side::DynamoDb => {
                ["\"observation#", "\"catalog#"].iter().any(|key| call.detail.contains(key))
            }
            Side::Kubernetes => write_of(&call).is_some_and(|write| write.ends_with(" events")),
        };
        ensure!(is_allowed, "a change was asked for: {call:?}");
    }
    let records = world.documents(&OURS, "claim#").await?;
    ensure!(records.is_empty(), "claims were written: {records:?}");

    let observed = the_only(world, "observation#provisioning").await?;
    let launches = observed["launches"].as_array().context("launches")?;
    ensure!(launches.len() == 1, "{observed}");
    ensure!(launches[0]["node_pool"] == "default", "{observed}");
    ensure!(launches[0]["pods"].to_string().contains("late-"), "{observed}");
    let observed = the_only(world, "observation#disruption").await?;
    let disruptions = observed["disruptions"].as_array().context("disruptions")?;
    ensure!(disruptions.len() == 1, "{observed}");
    ensure!(disruptions[0]["reason"].to_string().to_lowercase().contains("empty"), "{observed}");
    let said = messages(world, "Nominated").await?;
    ensure!(said.iter().any(|own| own.starts_with("observing only: ")), "{said:?}");
    let place = ["--table", TABLE, "--cluster", CLUSTER];
    let shown = world.outrigger(&[&["diff", "--observed"], &place[..]].concat()).await?;
    let is_shown = ["from NodePool default", "(Empty)"].iter().all(|own| shown.contains(own));
    ensure!(is_shown, "{shown}");
    world.control_plane.kubectl(&["delete", "replicaset", "late"]).await?;
    world.apply(&deployment("web", 2, "1200m", "1Gi")).await
}

async fn the_only(world: &World, key: &str) -> Result<Value> {
    let found = world.documents(&OURS, key).await?;
    ensure!(found.len() == 1, "{key}: {}", json!(found));
    found.into_iter().next().context("an observation")
}

/// Resource versions of what Karpenter and we write, by kind and name. Nodes are not among them:
/// controllers of Kubernetes write them as well.
async fn resource_versions(world: &World) -> Result<BTreeMap<String, String>> {
    let mut versions = BTreeMap::new();
    let own = ["nodepools,nodeclaims,ec2nodeclasses"];
    let list = [&["get"], &own[..], &["--output=json"]].concat();
    let map = ["get", "configmap", "outrigger", "--namespace=kube-system", "--output=json"];
    let list: Value = serde_json::from_str(&world.control_plane.kubectl(&list).await?)?;
    let map: Value = serde_json::from_str(&world.control_plane.kubectl(&map).await?)?;
    for object in list["items"].as_array().context("items")?.iter().chain([&map]) {
        let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
        versions.insert(name, object["metadata"]["resourceVersion"].to_string());
    }
    Ok(versions)
}
