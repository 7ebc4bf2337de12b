//! What keeps functions from doing harm: lost tables, clusters of others, an operator who stops
//! them, and bounds to how much they do.

pub(super) mod fuses;
pub(super) mod observing;
pub(super) mod ownership;
pub(super) mod pausing;
pub(super) mod restoring;
pub(super) mod uninstalling;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use end_to_end::gate::Call;
use end_to_end::objects::{NodePool, deployment, node_pool};
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::{FUNCTIONS, Installation, World, access_key_of};
use serde_json::{Value, json};

use super::adoption::{instance_ids, pod_uids};

/// What runs in a cluster.
#[derive(Debug, PartialEq, Eq)]
struct Running {
    /// Ids of instances.
    instances: BTreeSet<String>,
    /// Uids of Nodes.
    nodes: BTreeSet<String>,
    /// Uids of pods.
    pods: BTreeSet<String>,
}

impl Running {
    async fn in_world(world: &World) -> Result<Self> {
        let nodes = world.nodes().await?;
        Ok(Self {
            instances: instance_ids(world).await?,
            nodes: nodes.iter().filter_map(kube::ResourceExt::uid).collect(),
            pods: pod_uids(world).await?,
        })
    }

    /// Fails unless all of it runs as before, nothing else does, and nobody asked for less.
    async fn is_untouched(&self, world: &World) -> Result<()> {
        let now = Self::in_world(world).await?;
        ensure!(now == *self, "what ran was {self:?}, and is {now:?}");
        let nodes = world.nodes().await?;
        let going: Vec<_> = nodes
            .iter()
            .filter(|node| node.metadata.deletion_timestamp.is_some() || is_disrupted(node))
            .map(kube::ResourceExt::name_any)
            .collect();
        ensure!(going.is_empty(), "nodes are going: {going:?}");
        let mut takings = takings(world);
        // An instance that is gone already may be asked to end once more.
        takings.retain(|call| {
            call.action != "ec2:TerminateInstances"
                || self.instances.iter().any(|id| call.detail.contains(id.as_str()))
        });
        ensure!(takings.is_empty(), "something was to be taken away: {takings:?}");
        Ok(())
    }
}

/// Whether a Node wears the taint of those that are about to go.
fn is_disrupted(node: &k8s_openapi::api::core::v1::Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().any(|own| own.key == "karpenter.sh/disrupted")
}

/// Calls that take something away which runs.
fn takings(world: &World) -> Vec<Call> {
    let mut calls = world.traffic.calls();
    calls.retain(|call| {
        let removes = call.action.starts_with("DELETE ")
            && ["/nodes/", "/pods/"].iter().any(|kind| call.action.contains(kind));
        removes || call.action.ends_with("/eviction") || call.action == "ec2:TerminateInstances"
    });
    calls
}

/// Launches that were asked for, in order.
fn launches(world: &World) -> Vec<Call> {
    let mut calls = world.traffic.calls_of("ec2:CreateFleet");
    calls.retain(Call::is_change);
    calls
}

/// Changes that the functions of an installation have asked for, to whomever.
fn changes_of(world: &World, installation: &Installation) -> Vec<Call> {
    let keys = FUNCTIONS.map(|name| access_key_of(installation, name));
    let mut calls = world.traffic.calls();
    calls.retain(|call| call.is_change() && keys.contains(&call.caller));
    calls
}

/// Runs the functions once, each of which has to answer that it does nothing, and why.
async fn tick_stopped(stack: &mut Stack, why: &str) -> Result<()> {
    for invocation in stack.tick_whatever().await? {
        let answer = invocation.answer()?;
        let stopped = answer["stopped"].as_str().unwrap_or_default();
        ensure!(stopped.contains(why), "{why:?} is not why in {answer}:\n{}", invocation.output);
        ensure!(answer["done"] == json!({}), "{answer}");
    }
    Ok(())
}

/// Nodes that hold one pod each, and go once it is gone.
fn small_nodes() -> NodePool {
    node_pool().requiring("node.kubernetes.io/instance-type", &["c5.large", "m5.large", "r5.large"])
}

/// A NodePool beside them, for pods that need more: see [`start_large_pod`].
fn large_nodes() -> Value {
    let pool = node_pool()
        .requiring("node.kubernetes.io/instance-type", &["m5.xlarge"])
        .labelled("example.com/size", "large")
        .settled();
    let mut object = pool.object();
    object["metadata"]["name"] = "a-large".into();
    object["spec"]["template"]["spec"]["taints"] =
        json!([{"key": "example.com/size", "value": "large", "effect": "NoSchedule"}]);
    object
}

/// Makes a Deployment of one pod that runs on [`large_nodes`] and nowhere else.
async fn start_large_pod(world: &World) -> Result<()> {
    let mut object = deployment("large", 1, "3", "1Gi");
    let spec = &mut object["spec"]["template"]["spec"];
    spec["nodeSelector"] = json!({"example.com/size": "large"});
    spec["tolerations"] = json!([{"key": "example.com/size", "operator": "Exists"}]);
    world.apply(&object).await
}

/// Instances that run now, by type.
async fn instance_types(world: &World) -> Result<Vec<String>> {
    let mut types: Vec<_> =
        world.cloud.alive().await?.into_iter().map(|own| own.instance_type).collect();
    types.sort();
    Ok(types)
}

/// Scales the Deployment `web` down to one pod: the nodes of the others end, and their records.
async fn scales_down(world: &World, stack: &mut Stack, installation: &Installation) -> Result<()> {
    world.apply(&deployment("web", 1, "1200m", "1Gi")).await?;
    let left = async || {
        let records = world.documents(installation, "claim#").await?.len();
        Ok((records, world.cloud.alive().await?.len(), world.running().await?))
    };
    stack.until("one node with one pod is left", left, |found| *found == (1, 1, (1, 1))).await?;
    is_consistent(world).await
}

/// Messages of events of a reason.
pub(super) async fn messages(world: &World, reason: &str) -> Result<Vec<String>> {
    let of_reason = format!("--field-selector=reason={reason}");
    let arguments = ["get", "events", "--namespace=default", &of_reason, "--output=json"];
    let list: Value = serde_json::from_str(&world.control_plane.kubectl(&arguments).await?)?;
    let items = list["items"].as_array().into_iter().flatten();
    Ok(items.filter_map(|event| event["message"].as_str().map(str::to_owned)).collect())
}
