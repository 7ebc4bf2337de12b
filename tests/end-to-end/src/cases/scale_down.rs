//! ReplicaSets that shrink lose the pods of few nodes, on a kube-controller-manager that knows of
//! no plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::{is_consistent, poll};
use end_to_end::world::{World, eventually};
use kube::ResourceExt as _;

use super::provisioning::{wait_for_pods, with_defaults};

crate::cases![a_deployment_that_shrinks_empties_nodes_and_users_have_the_last_word];

/// What kube-controller-manager reads.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

async fn a_deployment_that_shrinks_empties_nodes_and_users_have_the_last_word(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    stack.set("FEATURE_GATES", "PodDeletionCostManagement=true").await?;
    let small = node_pool().requiring("karpenter.k8s.aws/instance-size", &["xlarge"]);
    world.apply(&small.object()).await?;
    world.apply(&deployment("web", 12, "1", "1Gi")).await?;
    wait_for_pods(&world, 12).await?;
    stack.until_running(&world, 12).await?;
    let marked = async || Ok(costs(&world).await?.into_values().flatten().count());
    stack.until("pods have a deletion cost", marked, |found| *found == 12).await?;
    let nodes = nodes_with_pods(&world).await?;
    ensure!(nodes.len() == 4, "12 pods of 1 CPU are on {nodes:?}, where nodes have 4");

    world.apply(&deployment("web", 6, "1", "1Gi")).await?;
    let left = async || Ok(world.pods().await?.len());
    eventually("half of the pods are left", left, |left| *left == 6).await?;
    let nodes = nodes_with_pods(&world).await?;
    ensure!(nodes.len() == 2, "6 pods of 12 are left, and they are on {nodes:?}");

    let pod = costs(&world).await?.into_keys().next().context("a pod")?;
    let theirs = format!("{DELETION_COST}=7");
    world.control_plane.kubectl(&["annotate", "--overwrite", "pod", &pod, &theirs]).await?;
    stack.lifecycle.invoke(&poll()).await?.answer()?;
    let cost = costs(&world).await?.remove(&pod).flatten();
    ensure!(cost.as_deref() == Some("7"), "a user set 7, and it is {cost:?}");
    is_consistent(&world).await
}

/// Deletion costs, by pod.
async fn costs(world: &World) -> Result<BTreeMap<String, Option<String>>> {
    let pods = world.pods().await?.into_iter();
    Ok(pods.map(|pod| (pod.name_any(), pod.annotations().get(DELETION_COST).cloned())).collect())
}

/// Nodes that pods of the namespace `default` are bound to.
async fn nodes_with_pods(world: &World) -> Result<BTreeSet<String>> {
    Ok(world.pods().await?.into_iter().filter_map(|pod| pod.spec?.node_name).collect())
}
