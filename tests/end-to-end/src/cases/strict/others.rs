//! Instances, nodes, NodePools and NodeClaims that somebody else manages in the same cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::cloud::{Instance, Maker};
use end_to_end::gate::Side;
use end_to_end::stack::{is_consistent, node_claims};
use end_to_end::world::{CLUSTER, World};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::super::interruption::{batch_of, warning};
use super::super::permissions::write_of;
use super::super::provisioning::{start_pod, with_defaults};

crate::cases![instances_of_others_are_never_touched, objects_of_auto_mode_are_never_written_to,];

/// The NodePool of Auto Mode.
const POOL: &str = "general-purpose";
/// Its NodeClaims: one whose node is used, one without a node, and one that is being deleted.
const CLAIMS: [&str; 3] =
    ["general-purpose-7q2kx", "general-purpose-9d4mw", "general-purpose-x8rzt"];

async fn instances_of_others_are_never_touched(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    for maker in [Maker::AutoMode, Maker::NodeGroup, Maker::OldKarpenter] {
        world.cloud.launch_as(maker, CLUSTER).await?;
    }
    let others = async || {
        let others = world.cloud.others().await?.into_iter();
        anyhow::Ok(others.map(|own| (own.id, own.state, own.tags)).collect::<BTreeSet<_>>())
    };
    for own in world.cloud.others().await? {
        world.apply(&node_of(&own)?).await?;
    }
    let before = others().await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    is_consistent(&world).await?;
    world.control_plane.kubectl(&["delete", "replicaset", "web"]).await?;
    let left = async || Ok((node_claims(&world).await?.len(), world.cloud.alive().await?.len()));
    stack.until("nothing of ours is left", left, |found| *found == (0, 0)).await?;
    for _ in 0..3 {
        stack.tick().await?;
    }
    let after = others().await?;
    ensure!(before == after, "instances of others were changed\nfrom {before:?}\nto   {after:?}");
    let changes = ["ec2:TerminateInstances", "ec2:CreateTags", "ec2:DeleteTags"];
    for call in changes.iter().flat_map(|action| world.traffic.calls_of(action)) {
        let named = before.iter().find(|(id, ..)| call.detail.contains(id.as_str()));
        ensure!(named.is_none(), "{} was asked for {named:?}", call.action);
    }
    let nodes = world.nodes().await?;
    ensure!(nodes.len() == before.len(), "of {} nodes {} are left", before.len(), nodes.len());
    for node in nodes {
        let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let ours: Vec<_> = taints.filter(|own| own.key.starts_with("karpenter.sh/")).collect();
        ensure!(ours.is_empty(), "{} bears {ours:?}", node.name_any());
        let finalizers = node.finalizers();
        ensure!(finalizers.is_empty(), "{} bears {finalizers:?}", node.name_any());
    }
    Ok(())
}

/// The Node of somebody else's instance, with the labels that its maker sets.
fn node_of(own: &Instance) -> Result<Value> {
    let labels = match own.maker.as_deref().context("its maker")? {
        "auto-mode" => json!({
            "eks.amazonaws.com/compute-type": "auto",
            "eks.amazonaws.com/nodeclass": "default",
            "karpenter.sh/nodepool": "general-purpose",
            "karpenter.sh/capacity-type": "on-demand",
        }),
        "node-group" => json!({
            "eks.amazonaws.com/nodegroup": "workers",
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
        }),
        _ => json!({
            "karpenter.sh/provisioner-name": "default",
            "karpenter.sh/capacity-type": "on-demand",
        }),
    };
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": own.private_dns_name, "labels": labels},
        "spec": {"providerID": own.provider_id()},
    }))
}

/// EKS Auto Mode has NodePools and NodeClaims of the same kind as ours, of another class.
async fn objects_of_auto_mode_are_never_written_to(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&pool_of_auto_mode()).await?;
    for _ in 0..2 {
        world.cloud.launch_as(Maker::AutoMode, CLUSTER).await?;
    }
    let instances = world.cloud.others().await?;
    let [running, deleted] = instances.as_slice() else { anyhow::bail!("{instances:?}") };
    let [used, pending, ending] = CLAIMS;
    for (name, own) in [(used, Some(running)), (pending, None), (ending, Some(deleted))] {
        world.apply(&claim_of_auto_mode(name)).await?;
        let Some(own) = own else { continue };
        world.apply(&node_of(own)?).await?;
        let status = json!({"status": {
            "providerID": own.provider_id(),
            "nodeName": own.private_dns_name,
            "imageID": own.image_id,
        }});
        let patch = format!("--patch={status}");
        let arguments =
            ["patch", "nodeclaim", name, "--subresource=status", "--type=merge", &patch];
        world.control_plane.kubectl(&arguments).await?;
    }
    world.control_plane.kubectl(&["delete", "nodeclaim", ending, "--wait=false"]).await?;
    let before = versions(&world).await?;
    ensure!(before.len() == 1 + CLAIMS.len(), "{before:?}");
    world.traffic.forget_calls();

    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let launched = world.cloud.alive().await?;
    let pools: Vec<_> = launched.iter().map(|own| own.tags.get("karpenter.sh/nodepool")).collect();
    ensure!(pools == [Some(&"default".to_owned())], "launched for NodePools {pools:?}");
    let warned = batch_of(&[warning(&running.id)]);
    let invocation = world.function("interruption")?.invoke(&warned).await?;
    let answer = invocation.answer()?;
    ensure!(answer["batchItemFailures"] == json!([]), "{answer}");
    world.control_plane.kubectl(&["delete", "replicaset", "web"]).await?;
    let theirs: BTreeSet<_> = CLAIMS.map(str::to_owned).into();
    let left = async || Ok((node_claims(&world).await?, world.cloud.alive().await?.len()));
    let is_right = |found: &(BTreeSet<String>, usize)| found.0 == theirs && found.1 == 0;
    stack.until("only what is Auto Mode's is left", left, is_right).await?;
    for _ in 0..3 {
        stack.tick().await?;
    }

    let after = versions(&world).await?;
    ensure!(before == after, "objects of Auto Mode were changed\nfrom {before:?}\nto   {after:?}");
    let nodes = instances.iter().map(|own| own.private_dns_name.as_str());
    let names: Vec<&str> = CLAIMS.into_iter().chain([POOL]).chain(nodes).collect();
    let ids: Vec<&str> = instances.iter().map(|own| own.id.as_str()).collect();
    for call in world.traffic.calls() {
        let is_about = |name: &&&str| call.action.split('/').any(|part| part == **name);
        let named = names.iter().find(is_about).filter(|_| write_of(&call).is_some());
        ensure!(named.is_none(), "{} was asked for: {}", call.action, call.detail);
        let is_change = call.side == Side::Aws && !call.action.starts_with("ec2:Describe");
        let named = ids.iter().find(|id| is_change && call.detail.contains(**id));
        ensure!(named.is_none(), "{} was asked for {named:?}", call.action);
    }
    let alive = world.cloud.others().await?.iter().filter(|own| own.is_alive()).count();
    ensure!(alive == instances.len(), "of {} instances {alive} are alive", instances.len());
    let records = world.records().await?;
    let adopted: Vec<_> = records
        .iter()
        .filter(|own| CLAIMS.iter().any(|name| own.to_string().contains(name)))
        .collect();
    ensure!(adopted.is_empty(), "there are records of {adopted:?}");
    Ok(())
}

/// The resource versions of the NodePool and NodeClaims of Auto Mode, by name.
async fn versions(world: &World) -> Result<BTreeMap<String, String>> {
    let list = world.control_plane.kubectl(&["get", "nodepools,nodeclaims", "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&list)?;
    let all = list["items"].as_array().context("items")?.iter();
    let text =
        |own: &Value, key: &str| own["metadata"][key].as_str().unwrap_or_default().to_owned();
    let named = all.map(|own| (text(own, "name"), text(own, "resourceVersion")));
    Ok(named.filter(|(name, _)| name.starts_with(POOL)).collect())
}

/// It comes before ours wherever both could serve a pod.
fn pool_of_auto_mode() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": POOL, "labels": {"app.kubernetes.io/managed-by": "eks"}},
        "spec": {
            "weight": 100,
            "template": {"spec": {
                "nodeClassRef": class_of_auto_mode(),
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                ],
            }},
        },
    })
}

fn claim_of_auto_mode(name: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "labels": {"karpenter.sh/nodepool": POOL, "karpenter.sh/capacity-type": "on-demand"},
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {
            "nodeClassRef": class_of_auto_mode(),
            "requirements": [
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
            ],
        },
    })
}

fn class_of_auto_mode() -> Value {
    json!({"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"})
}
