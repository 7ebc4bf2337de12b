//! The table is lost, is put back as it was an hour ago, or is of the version before: what runs
//! goes on, and has its records again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::gate::Moment;
use end_to_end::objects::deployment;
use end_to_end::stack::{Stack, is_consistent, node_claims, poll, was_killed};
use end_to_end::world::{Installation, OURS, World, access_key, eventually};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{Running, launches, scales_down, small_nodes, takings};
use crate::cases::adoption::{INSTALLATION, instance_ids};
use crate::cases::interruption::with_nodes;
use crate::cases::provisioning::{start_pod, with_defaults};

crate::cases![
    a_table_that_was_lost_costs_no_instance_and_no_pod,
    claims_come_back_from_nodes_alone,
    an_older_copy_of_the_table_ends_nothing_that_runs,
    records_of_the_version_before_are_carried_on,
];

/// So many ticks may pass until every instance has a record again.
const RESTORED_WITHIN: usize = 3;
/// So many ticks pass then without anything being taken away.
const IDLE_TICKS: usize = 2;
/// Longer than the minute that an instance without a claim is given.
const PAST_GRACE: Duration = Duration::from_mins(10);

async fn a_table_that_was_lost_costs_no_instance_and_no_pod(world: Arc<World>) -> Result<()> {
    let mut stack = three_nodes(&world).await?;
    let before = Running::in_world(&world).await?;
    world.forget_records().await?;
    is_restored(&world, &mut stack, &before).await?;
    scales_down(&world, &mut stack, &OURS).await
}

async fn claims_come_back_from_nodes_alone(world: Arc<World>) -> Result<()> {
    let mut stack = three_nodes(&world).await?;
    let before = Running::in_world(&world).await?;
    let claims = node_claims(&world).await?;
    world.forget_records().await?;
    for claim in &claims {
        let without = r#"{"metadata":{"finalizers":null}}"#;
        world
            .control_plane
            .kubectl(&["patch", "nodeclaim", claim, "--type=merge", "--patch", without])
            .await?;
        // Their Nodes would go with them otherwise.
        world.control_plane.kubectl(&["delete", "nodeclaim", claim, "--cascade=orphan"]).await?;
    }
    let left = async || node_claims(&world).await;
    eventually("no NodeClaim is left", left, BTreeSet::is_empty).await?;
    is_restored(&world, &mut stack, &before).await?;
    ensure!(node_claims(&world).await? == claims, "the NodeClaims are not those of before");
    scales_down(&world, &mut stack, &OURS).await
}

async fn an_older_copy_of_the_table_ends_nothing_that_runs(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&small_nodes().object()).await?;
    for name in ["stays", "stays-too", "goes"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    stack.until_running(&world, 3).await?;
    stack.tick().await?;
    stack.cool().await?;
    let copy = world.records().await?;

    // One node less, and another one more.
    let goes = node_of(&world, "goes").await?;
    world.control_plane.kubectl(&["delete", "replicaset", "goes"]).await?;
    start_pod(&world, "comes", "1200m", "1Gi").await?;
    let is_there = async || Ok(world.nodes().await?.iter().any(|node| node.name_any() == goes));
    world.control_plane.kubectl(&["delete", "node", &goes, "--wait=false"]).await?;
    stack.until("the node is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 3).await?;
    stack.until_consistent(&world).await?;
    stack.tick().await?;
    stack.cool().await?;
    let before = Running::in_world(&world).await?;
    ensure!(before.instances.len() == 3, "three nodes are expected: {before:?}");

    world.replace_records(&copy).await?;
    world.end_leases().await?;
    is_restored(&world, &mut stack, &before).await
}

/// Ticks, with what runs long past the grace of new instances. Nothing may be taken away, and each
/// instance has its record again within a few ticks.
async fn is_restored(world: &World, stack: &mut Stack, before: &Running) -> Result<()> {
    world.cloud.age(PAST_GRACE).await?;
    world.traffic.forget_calls();
    let ticks = ticks_until_restored(world, stack, &OURS).await?;
    for _ in 0..IDLE_TICKS {
        stack.tick().await?;
    }
    before.is_untouched(world).await?;
    is_consistent(world).await?;
    ensure!(is_recorded(world, &OURS).await?, "records are lost again, or others are there");
    crate::figures::say(format!("lost records are back after {ticks} ticks"));
    Ok(())
}

/// Ticks until the records are those of the instances that run; how many ticks that takes.
pub(super) async fn ticks_until_restored(
    world: &World,
    stack: &mut Stack,
    installation: &Installation,
) -> Result<usize> {
    for tick in 1..=RESTORED_WITHIN {
        stack.tick().await?;
        if is_recorded(world, installation).await? {
            return Ok(tick);
        }
    }
    let found = world.documents(installation, "claim#").await?.len();
    anyhow::bail!("{found} records after {RESTORED_WITHIN} ticks, and others than what runs")
}

/// Whether the instances of records are those that run.
async fn is_recorded(world: &World, installation: &Installation) -> Result<bool> {
    let documents = world.documents(installation, "claim#").await?;
    let ids = documents.iter().filter_map(|own| own["instance"]["id"].as_str().map(str::to_owned));
    let recorded: Vec<String> = ids.collect();
    let runs = instance_ids(world).await?;
    Ok(documents.len() == runs.len() && recorded.into_iter().collect::<BTreeSet<_>>() == runs)
}

/// Launched by the version before: neither records nor tags name an installation, nobody has
/// marked the cluster, and one launch was under way whose answer nobody has heard.
async fn records_of_the_version_before_are_carried_on(world: Arc<World>) -> Result<()> {
    let mut stack = three_nodes(&world).await?;
    start_pod(&world, "late", "1200m", "1Gi").await?;
    let key = access_key("provisioning");
    let mut trap = world.traffic.trap_action(&key, "ec2:CreateFleet", Moment::After);
    let killed = stack.provisioning.invoke_into(&poll(), &mut trap).await?;
    ensure!(was_killed(&killed), "nothing was launched: {:?}", killed.outcome);
    stack.cool().await?;
    world.end_leases().await?;
    let before = Running::in_world(&world).await?;
    ensure!(before.instances.len() == 4, "the launch did not take place: {before:?}");

    let aws = Aws::at(world.aws_endpoint());
    for id in &before.instances {
        let tag = [("ResourceId.1", id.as_str()), ("Tag.1.Key", INSTALLATION)];
        aws.ask("DeleteTags", &tag).await?;
    }
    let stripped = std::cell::Cell::new(0);
    let strip = |document: &mut Value| {
        let named = document["instance"].as_object_mut().and_then(|own| own.remove("installation"));
        stripped.set(stripped.get() + usize::from(named.is_some_and(|own| own.is_string())));
    };
    world.change_documents("claim#", strip).await?;
    ensure!(stripped.get() == 3, "{} records named their installation", stripped.get());
    let mut items = world.records().await?;
    let is_new = |item: &Value| {
        let key = item["record"]["S"].as_str().unwrap_or_default();
        ["controls", "recent#", "observation#"].iter().any(|new| key.starts_with(new))
    };
    let all = items.len();
    items.retain(|item| !is_new(item));
    ensure!(items.len() < all, "nothing was counted: is it stored under another key?");
    world.replace_records(&items).await?;
    world.forget_controls().await?;

    world.cloud.age(PAST_GRACE).await?;
    world.traffic.forget_calls();
    stack.until_running(&world, 4).await?;
    for _ in 0..IDLE_TICKS {
        stack.tick().await?;
    }
    ensure!(instance_ids(&world).await? == before.instances, "instances came or went");
    ensure!(takings(&world).is_empty(), "{:?}", takings(&world));
    ensure!(launches(&world).len() <= 1, "launched anew: {:?}", launches(&world));
    is_consistent(&world).await?;
    let owner = world.controls().await?.remove("installation");
    ensure!(owner.as_deref() == Some(OURS.id), "the cluster is marked as {owner:?}");
    world.apply(&deployment("web", 0, "1200m", "1Gi")).await?;
    let left = async || Ok((world.cloud.alive().await?.len(), world.running().await?));
    stack.until("one node is left", left, |found| *found == (1, (1, 1))).await?;
    stack.until_consistent(&world).await
}

/// Three nodes that hold a pod each, with nothing under way; no function runs.
async fn three_nodes(world: &World) -> Result<Stack> {
    let mut stack = with_nodes(world, 3).await?;
    stack.tick().await?;
    stack.until_consistent(world).await?;
    stack.cool().await?;
    let alive = world.cloud.alive().await?.len();
    ensure!(alive == 3, "three nodes are expected, and not {alive}");
    Ok(stack)
}

/// The node of the pod of an app.
async fn node_of(world: &World, app: &str) -> Result<String> {
    let pods = world.pods().await?;
    let own = pods.into_iter().find(|pod| pod.labels().get("app").is_some_and(|own| own == app));
    own.and_then(|pod| pod.spec?.node_name).with_context(|| format!("{app} is not bound"))
}
