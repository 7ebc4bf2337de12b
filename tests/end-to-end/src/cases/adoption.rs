//! What somebody else made: nodes of Karpenter, and instances that nobody accounts for.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::objects::deployment;
use end_to_end::stack::{Stack, is_consistent, node_claims};
use end_to_end::world::World;
use kube::ResourceExt as _;

use super::provisioning::{wait_for_pods, with_defaults};

crate::cases![
    nodes_of_karpenter_are_taken_over_without_one_disruption,
    a_node_claim_deleted_with_kubectl_is_drained_before_its_instance_ends,
];

/// The annotation and the tag by which our own are recognised.
const OURS: &str = "outrigger.dev/claim-uid";
/// The tag that names the installation.
pub(super) const INSTALLATION: &str = "outrigger.dev/installation";

/// So many ticks pass without a word to EC2 that changes anything.
const IDLE_TICKS: usize = 5;

async fn nodes_of_karpenter_are_taken_over_without_one_disruption(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes_of_karpenter(&world).await?;
    let pods_before = pod_uids(&world).await?;
    let claims_before = node_claims(&world).await?;
    let instances_before = instance_ids(&world).await?;
    world.traffic.forget_calls();
    for _ in 0..IDLE_TICKS {
        stack.tick().await?;
    }
    ensure!(node_claims(&world).await? == claims_before, "NodeClaims came or went");
    ensure!(instance_ids(&world).await? == instances_before, "instances came or went");
    ensure!(pod_uids(&world).await? == pods_before, "pods came or went");
    let nodes = world.nodes().await?;
    let is_disrupted = nodes.iter().any(|node| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        taints.into_iter().flatten().any(|taint| taint.key == "karpenter.sh/disrupted")
    });
    ensure!(!is_disrupted, "a node is disrupted");
    let changes: Vec<_> = ["ec2:CreateFleet", "ec2:TerminateInstances"]
        .into_iter()
        .flat_map(|action| world.traffic.calls_of(action))
        // A dry run tells whether a node class can be launched from.
        .filter(|call| !call.detail.contains("DryRun=true"))
        .collect();
    ensure!(changes.is_empty(), "EC2 was asked for changes: {changes:?}");
    // Ours from now on: what is deleted by hand is drained and ended like any other.
    let claim = claims_before.first().context("a NodeClaim")?;
    world.control_plane.kubectl(&["delete", "nodeclaim", claim, "--wait=false"]).await?;
    let is_there = async || Ok(node_claims(&world).await?.contains(claim));
    stack.until("the NodeClaim is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 2).await?;
    is_consistent(&world).await
}

async fn a_node_claim_deleted_with_kubectl_is_drained_before_its_instance_ends(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&deployment("web", 1, "1", "1Gi")).await?;
    wait_for_pods(&world, 1).await?;
    stack.until_running(&world, 1).await?;
    let claim = node_claims(&world).await?.into_iter().next().context("a NodeClaim")?;
    world.control_plane.kubectl(&["delete", "nodeclaim", &claim, "--wait=false"]).await?;
    let is_there = async || Ok(node_claims(&world).await?.contains(&claim));
    stack.until("the NodeClaim is gone", is_there, |found| !found).await?;
    stack.until_running(&world, 1).await?;
    let calls = world.traffic.calls();
    let evicted = calls
        .iter()
        .position(|call| call.action.ends_with("/eviction") && call.status == Some(201));
    let ended = calls.iter().position(|call| call.action == "ec2:TerminateInstances");
    ensure!(
        evicted.context("no pod was evicted")? < ended.context("nothing was terminated")?,
        "the instance was terminated before its pods were evicted"
    );
    is_consistent(&world).await
}

/// Two nodes with a pod each, and everything that tells them from Karpenter's taken away: our
/// records, our annotation, our tag. Karpenter's own marks, finalizers and conditions stay.
pub(super) async fn with_nodes_of_karpenter(world: &World) -> Result<Stack> {
    let mut stack = with_defaults(world).await?;
    let pool = end_to_end::objects::node_pool()
        .requiring("node.kubernetes.io/instance-type", &["m5.large"])
        .settled();
    world.apply(&pool.object()).await?;
    world.apply(&deployment("web", 2, "1200m", "1Gi")).await?;
    wait_for_pods(world, 2).await?;
    stack.until_running(world, 2).await?;
    stack.tick().await?;
    stack.cool().await?;
    world.forget_records().await?;
    let aws = Aws::at(world.aws_endpoint());
    for claim in node_claims(world).await? {
        let without = format!("{OURS}-");
        world.control_plane.kubectl(&["annotate", "nodeclaim", &claim, &without]).await?;
    }
    for id in instance_ids(world).await? {
        let tags = [("Tag.1.Key", OURS), ("Tag.2.Key", INSTALLATION)];
        aws.ask("DeleteTags", &[("ResourceId.1", id.as_str()), tags[0], tags[1]]).await?;
    }
    Ok(stack)
}

pub(super) async fn instance_ids(world: &World) -> Result<BTreeSet<String>> {
    Ok(world.cloud.alive().await?.into_iter().map(|instance| instance.id).collect())
}

pub(super) async fn pod_uids(world: &World) -> Result<BTreeSet<String>> {
    Ok(world.pods().await?.into_iter().filter_map(|pod| pod.uid()).collect())
}
