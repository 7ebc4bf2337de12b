//! A cluster changes hands as the pages of `docs/` say: to us, back to Karpenter, to nobody.
//! Commands are taken from the pages, so that these stay true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::cache::repository;
use end_to_end::gate::Call;
use end_to_end::objects::{deployment, disruption_budget};
use end_to_end::stack::{Stack, is_consistent, poll};
use end_to_end::world::{CLUSTER, World, eventually};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::adoption::{instance_ids, pod_uids, with_nodes_of_karpenter};
use super::permissions::write_of;
use super::provisioning::{start_pod, with_defaults};
use super::rig::user_data;

crate::cases![
    a_cluster_is_handed_back_untouched_and_taken_back,
    pods_move_from_a_node_group_to_our_nodes_within_their_budget,
];

/// What marks objects and instances as ours.
const OURS: &str = "outrigger.dev/";
/// The label of nodes of a managed node group.
const NODE_GROUP: &str = "eks.amazonaws.com/nodegroup";
/// So many ticks pass without anything being changed.
const IDLE_TICKS: usize = 2;

async fn a_cluster_is_handed_back_untouched_and_taken_back(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes_of_karpenter(&world).await?;
    let (claims, nodes) = (facts(&world, "nodeclaims").await?, facts(&world, "nodes").await?);
    // Taken over; and one node that Karpenter has never seen.
    stack.tick().await?;
    start_pod(&world, "ours", "1200m", "1Gi").await?;
    stack.until_running(&world, 3).await?;
    stack.tick().await?;
    let (instances, pods) = (instance_ids(&world).await?, pod_uids(&world).await?);
    ensure!(instances.len() == 3, "three nodes are expected: {instances:?}");

    let answer = hand_back(&mut stack).await?;
    ensure!(answer["complete"] == json!(true), "{answer}");
    ensure!(answer["handedBack"].as_array().is_some_and(|names| names.len() == 3), "{answer}");
    is_as_karpenter_expects(&world, &claims, &nodes).await?;
    let left: Vec<_> = claim_keys(&world).await?;
    ensure!(left.is_empty(), "records are left: {left:?}");

    world.traffic.forget_calls();
    // A schedule that was forgotten does nothing, not even for a pod that waits.
    start_pod(&world, "late", "1200m", "1Gi").await?;
    for _ in 0..IDLE_TICKS {
        for invocation in stack.tick_whatever().await? {
            let answer = invocation.answer()?;
            ensure!(answer["isHandedBack"] == json!(true), "{answer}");
            ensure!(invocation.output.contains("was handed back"), "{}", invocation.output);
        }
    }
    ensure!(instance_ids(&world).await? == instances, "instances came or went");
    ensure!(pod_uids(&world).await?.is_superset(&pods), "pods went");
    let calls = world.traffic.calls();
    let changes: Vec<_> = calls.iter().filter(|call| is_ec2_change(call)).collect();
    ensure!(changes.is_empty(), "EC2 was asked for changes: {changes:?}");
    let writes: Vec<_> = calls.iter().filter_map(write_of).collect();
    ensure!(writes.is_empty(), "the cluster was changed: {writes:?}");
    is_as_karpenter_expects(&world, &claims, &nodes).await?;

    let event = event_of("docs/migrate.md", r#""handBack": false"#)?;
    stack.lifecycle.invoke(&event).await?.answer()?;
    stack.until_running(&world, 4).await?;
    stack.until_consistent(&world).await?;
    ensure!(instance_ids(&world).await?.is_superset(&instances), "instances went");
    ensure!(claim_keys(&world).await?.len() == 4, "not all were taken over again");
    Ok(())
}

/// Invokes lifecycle with the page's event until nothing is left, and puts the answers together.
async fn hand_back(stack: &mut Stack) -> Result<Value> {
    let event = event_of("docs/migrate.md", r#""handBack": true"#)?;
    let mut handed_back = Vec::new();
    for _ in 0..10 {
        let invocation = stack.lifecycle.invoke(&event).await?;
        let mut answer = invocation.answer()?["handBack"].clone();
        handed_back.extend(answer["handedBack"].as_array().cloned().unwrap_or_default());
        if answer["complete"] == json!(true) {
            answer["handedBack"] = handed_back.into();
            return Ok(answer);
        }
    }
    anyhow::bail!("it is not complete after ten calls: {handed_back:?}")
}

/// Every instance has a NodeClaim and a Node that Karpenter knows for its own, none is on its way
/// out, nothing of us is left on them, and those that Karpenter made are what they were before.
async fn is_as_karpenter_expects(
    world: &World,
    claims_before: &BTreeMap<String, Value>,
    nodes_before: &BTreeMap<String, Value>,
) -> Result<()> {
    let (claims, nodes) = (facts(world, "nodeclaims").await?, facts(world, "nodes").await?);
    for (before, after) in [(claims_before, &claims), (nodes_before, &nodes)] {
        for (name, was) in before {
            let is = after.get(name).with_context(|| format!("{name} is gone"))?;
            ensure!(is == was, "{name} was changed\nfrom {was}\nto   {is}");
        }
    }
    let alive = world.cloud.alive().await?;
    ensure!(claims.len() == alive.len() && nodes.len() == alive.len(), "{claims:?} {nodes:?}");
    for instance in alive {
        let claim = instance.claim().context("the tag of the NodeClaim")?;
        let object = claims.get(claim).with_context(|| format!("no NodeClaim {claim}"))?;
        ensure!(object["providerID"] == json!(instance.provider_id()), "{object}");
        let node = &nodes[&instance.private_dns_name];
        for own in [object, node] {
            ensure!(own["finalizers"] == json!(["karpenter.sh/termination"]), "{own}");
            ensure!(own["deleted"].is_null() && !own.to_string().contains(OURS), "{own}");
        }
        let owners = &node["owners"];
        ensure!(owners[0]["uid"] == object["uid"] && owners[0]["kind"] == "NodeClaim", "{owners}");
        for kind in ["Launched", "Registered", "Initialized", "Ready"] {
            ensure!(object["conditions"][kind] == json!("True"), "{kind}: {object}");
        }
        ensure!(node["labels"]["karpenter.sh/registered"] == "true", "{node}");
        ensure!(node["labels"]["karpenter.sh/initialized"] == "true", "{node}");
        ensure!(node["taints"].is_null(), "{node}");
        let tags = &instance.tags;
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        for (key, value) in [
            ("karpenter.sh/nodepool", "default"),
            ("karpenter.k8s.aws/ec2nodeclass", "default"),
            ("eks:eks-cluster-name", CLUSTER),
            (owned.as_str(), "owned"),
        ] {
            ensure!(tags.get(key).is_some_and(|own| own == value), "tag {key} in {tags:?}");
        }
    }
    Ok(())
}

/// What Karpenter goes by of all objects of a kind, by their names.
async fn facts(world: &World, kind: &str) -> Result<BTreeMap<String, Value>> {
    let list = world.control_plane.kubectl(&["get", kind, "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&list)?;
    let mut facts = BTreeMap::new();
    for object in list["items"].as_array().context("items")? {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let is_node = kind == "nodes";
        // Heartbeats, and annotations of others, change all the time.
        let conditions: BTreeMap<_, _> = status["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|_| !is_node)
            .filter_map(|own| Some((own["type"].as_str()?, own["status"].clone())))
            .filter(|(kind, _)| !["Consolidatable", "Drifted"].contains(kind))
            .collect();
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        let ours: Vec<_> = annotations.filter(|(key, _)| key.starts_with(OURS)).collect();
        let name = metadata["name"].as_str().context("a name")?;
        facts.insert(
            name.to_owned(),
            json!({
                "uid": metadata["uid"],
                "deleted": metadata["deletionTimestamp"],
                "finalizers": metadata["finalizers"],
                "owners": metadata["ownerReferences"],
                "labels": metadata["labels"],
                "ours": ours,
                "taints": spec["taints"],
                "requirements": spec["requirements"],
                "nodeClass": spec["nodeClassRef"],
                "providerID": if is_node { &spec["providerID"] } else { &status["providerID"] },
                "nodeName": status["nodeName"],
                "conditions": conditions,
            }),
        );
    }
    Ok(facts)
}

/// Cluster Autoscaler has been stopped. Nodes of a managed node group are drained by hand, and end
/// as its size shrinks.
async fn pods_move_from_a_node_group_to_our_nodes_within_their_budget(
    world: Arc<World>,
) -> Result<()> {
    let aws = Aws::at(world.aws_endpoint());
    let mut group = BTreeSet::new();
    for _ in 0..2 {
        let data = user_data(&world, &format!("{NODE_GROUP}=workers"), &[]);
        group.insert(aws.launch("m5.large", &data).await?);
    }
    world.apply(&deployment("web", 2, "1200m", "1Gi")).await?;
    world.apply(&disruption_budget("web", 1)).await?;
    let running = async || world.running().await;
    eventually("pods run in the node group", running, |found| *found == (2, 2)).await?;

    let mut stack = with_defaults(&world).await?;
    stack.tick().await?;
    ensure!(instance_ids(&world).await? == group, "pods that run got new nodes");
    for node in world.nodes().await?.iter().map(kube::ResourceExt::name_any) {
        let path = "docs/migrate.md";
        let drain = commands_of(path, "kubectl drain")?.replace("NODE", &node);
        let shell = world.control_plane.shell(&drain);
        // Evictions wait for a pod that runs elsewhere, so ticks go on beside.
        let (drained, ticked) = tokio::join!(shell, async {
            let elsewhere = async || is_elsewhere(&world, &node).await;
            stack.until("both pods run on other nodes", elsewhere, |found| *found).await
        });
        drained.context(drain)?;
        ticked?;
        let alive = world.cloud.alive().await?;
        let instance = alive.iter().find(|own| own.private_dns_name == node);
        world.cloud.end(&instance.context("the node's instance")?.id).await?;
    }
    let gone =
        async || Ok(world.nodes().await?.iter().any(|node| node.labels().contains_key(NODE_GROUP)));
    stack.until("the node group is empty", gone, |found| !found).await?;
    stack.until_running(&world, 2).await?;
    let ended: Vec<_> = world.traffic.calls_of("ec2:TerminateInstances");
    let touched = ended.iter().any(|call| group.iter().any(|id| call.detail.contains(id.as_str())));
    ensure!(!touched, "an instance of the node group was ended by us: {ended:?}");
    is_consistent(&world).await
}

/// Whether all pods run, and none on a node.
async fn is_elsewhere(world: &World, node: &str) -> Result<bool> {
    let pods = world.pods().await?;
    let is_on = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node)
    };
    Ok(world.running().await? == (2, 2) && !pods.iter().any(is_on))
}

/// Keys of claim records.
async fn claim_keys(world: &World) -> Result<Vec<String>> {
    let records = world.records().await?;
    let keys = records.iter().filter_map(|item| item["record"]["S"].as_str());
    Ok(keys.filter(|key| key.starts_with("claim#")).map(str::to_owned).collect())
}

fn is_ec2_change(call: &Call) -> bool {
    let changes = ["ec2:CreateFleet", "ec2:TerminateInstances", "ec2:CreateTags", "ec2:DeleteTags"];
    changes.contains(&call.action.as_str()) && !call.detail.contains("DryRun=true")
}

/// The commands of a page's code block that holds a text: without prompts and indentation.
fn commands_of(page: &str, holding: &str) -> Result<String> {
    let text = std::fs::read_to_string(repository().join(page))?;
    let blocks = text.split("```console").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```").map(|(block, _)| block));
    let block = blocks.into_iter().find(|block| block.contains(holding));
    let block = block.with_context(|| format!("{page} has no commands with {holding:?}"))?;
    let lines = block.trim().lines().map(|line| line.trim().trim_start_matches("$ "));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The event that a page has a function invoked with, for the rig's cluster.
fn event_of(page: &str, holding: &str) -> Result<Value> {
    let commands = commands_of(page, holding)?;
    let payload = commands.lines().find(|line| line.contains(holding)).context("the payload")?;
    let (_, payload) = payload.split_once("--payload '").context("--payload")?;
    let (payload, _) = payload.split_once('\'').context("the end of the payload")?;
    let mut event: Value = serde_json::from_str(payload)?;
    ensure!(event["cluster"] == "NAME", "{event}");
    event["cluster"] = poll()["cluster"].take();
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_pages_are_found() {
        let uninstall = commands_of("docs/install.md", "outrigger uninstall --keep-nodes").unwrap();
        assert!(uninstall.starts_with("outrigger "), "{uninstall}");
        assert!(commands_of("docs/migrate.md", "kubectl drain").is_ok());
        let event = event_of("docs/migrate.md", r#""handBack": true"#).unwrap();
        assert_eq!(event, json!({"cluster": CLUSTER, "handBack": true}));
    }
}
