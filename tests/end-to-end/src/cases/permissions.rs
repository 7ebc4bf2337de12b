//! What functions may do: exactly what is shipped.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::{Asked, Call, Side};
use end_to_end::objects::deployment;
use end_to_end::stack::{Stack, poll};
use end_to_end::world::{PATIENCE, World};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use serde_json::{Value, json};

use super::provisioning::{start_pod, wait_for_pods, with_defaults};

crate::cases![
    a_whole_life_takes_the_rights_that_are_shipped_and_no_others,
    a_denied_action_is_named_in_the_error,
];

async fn a_whole_life_takes_the_rights_that_are_shipped_and_no_others(
    world: Arc<World>,
) -> Result<()> {
    // Whose the cluster is, is written once: by the first run.
    let forget = r#"{"data":null}"#;
    let patch =
        ["patch", "configmap", "outrigger", "-n", "kube-system", "--type=merge", "-p", forget];
    world.control_plane.kubectl(&patch).await?;
    a_whole_life(&world).await?;
    let refused: Vec<_> = world
        .traffic
        .calls()
        .into_iter()
        .filter(|call| call.side == Side::Kubernetes && matches!(call.status, Some(401 | 403)))
        .map(|call| call.action)
        .collect();
    ensure!(refused.is_empty(), "the API server refused {refused:?}");

    let role = Api::<ClusterRole>::all(world.client.clone()).get("outrigger").await?;
    let mut shipped = BTreeSet::new();
    for rule in role.rules.unwrap_or_default() {
        for verb in
            rule.verbs.iter().filter(|verb| !["get", "list", "watch"].contains(&verb.as_str()))
        {
            shipped.extend(
                rule.resources.iter().flatten().map(|resource| format!("{verb} {resource}")),
            );
        }
    }
    // Pods are deleted only past a grace period that ended, and events are counted only when they
    // happen again much later: both take longer than a test may.
    shipped.remove("delete pods");
    shipped.remove("patch events");
    let used: BTreeSet<_> = world.traffic.calls().iter().filter_map(write_of).collect();
    let unused: Vec<_> = shipped.difference(&used).collect();
    ensure!(unused.is_empty(), "shipped and not used: {unused:?}; used: {used:?}");
    Ok(())
}

async fn a_denied_action_is_named_in_the_error(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    // What the table asks for to write a claim; a call's own action; one that a launch takes
    // besides.
    for action in ["dynamodb:ConditionCheckItem", "ec2:CreateFleet", "iam:PassRole"] {
        world.without_right("provisioning", Some(action)).await?;
        until_told_of(&mut stack, action).await?;
    }
    ensure!(world.cloud.alive().await?.is_empty(), "something was launched nevertheless");
    world.without_right("provisioning", None).await?;
    stack.until_running(&world, 1).await
}

/// Schedules scale workloads of every kind that can be, and a buffer gets its status. No pod of
/// them waits for a node.
async fn capacity_ahead(world: &World, stack: &mut Stack) -> Result<()> {
    world
        .apply(&json!({
            "apiVersion": "autoscaling.x-k8s.io/v1beta1",
            "kind": "CapacityBuffer",
            "metadata": {"name": "spare", "namespace": "default", "labels": {"ahead": "true"}},
            "spec": {"podTemplateRef": {"name": "nobody"}, "replicas": 1},
        }))
        .await?;
    for kind in ["Deployment", "ReplicaSet", "StatefulSet"] {
        let name = kind.to_lowercase();
        world.apply(&gated(kind, &name)).await?;
        world.apply(&at_least_one(kind, &name)).await?;
    }
    let replicas = async || {
        let path = "jsonpath={.items[*].spec.replicas}";
        world.control_plane.kubectl(&["get", "deploy,rs,sts", "-l", "ahead", "-o", path]).await
    };
    stack.until("all have their replica", replicas, |found| found == "1 1 1").await?;
    let conditions = async || {
        let path = "jsonpath={.status.conditions[*].reason}";
        world.control_plane.kubectl(&["get", "capacitybuffer", "spare", "-o", path]).await
    };
    let reasons = "PodTemplateNotFound NotReadyForProvisioning";
    stack.until("the buffer says what it lacks", conditions, |found| found == reasons).await?;
    world
        .control_plane
        .kubectl(&["delete", "prewarmschedules,capacitybuffers,deploy,rs,sts", "-l", "ahead"])
        .await?;
    Ok(())
}

/// A workload without replicas, whose pods nobody would schedule.
fn gated(kind: &str, name: &str) -> Value {
    let mut workload = deployment(name, 0, "1", "1Gi");
    workload["kind"] = kind.into();
    workload["metadata"]["labels"] = json!({"ahead": "true"});
    workload["spec"]["template"]["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    workload
}

/// A schedule that keeps a workload at one replica all the year, but for a minute in which it does
/// so as well.
fn at_least_one(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "outrigger.dev/v1alpha1",
        "kind": "PrewarmSchedule",
        "metadata": {"name": name, "namespace": "default", "labels": {"ahead": "true"}},
        "spec": {
            "scaleTargetRef": {"kind": kind, "name": name},
            "scaleTarget": true,
            "minReplicas": 1,
            "triggers": [{"type": "cron", "metadata": {
                "timezone": "UTC", "start": "0 0 1 1 *", "end": "1 0 1 1 *", "desiredReplicas": "1",
            }}],
        },
    })
}

/// Invokes provisioning until it says what it may not do: a launch that failed is tried again after
/// a pause.
async fn until_told_of(stack: &mut Stack, action: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let denied = stack.provisioning.invoke(&poll()).await?;
        let said = format!("{:?}\n{}", denied.outcome, denied.output);
        if said.contains(&format!("not authorized to perform: {action} ")) {
            return Ok(());
        }
        ensure!(started.elapsed() < PATIENCE, "no word of {action} in:\n{said}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Pods come, run, move and go; so do their nodes.
async fn a_whole_life(world: &World) -> Result<()> {
    let mut stack = with_defaults(world).await?;
    capacity_ahead(world, &mut stack).await?;
    world.apply(&deployment("web", 2, "1", "1Gi")).await?;
    wait_for_pods(world, 2).await?;
    stack.until_running(world, 2).await?;
    let node =
        world.nodes().await?.into_iter().find_map(|node| node.metadata.name).context("a node")?;
    world.control_plane.kubectl(&["delete", "node", &node, "--wait=false"]).await?;
    stack.tick().await?;
    stack.until_running(world, 2).await?;
    world.control_plane.kubectl(&["delete", "deployment", "web"]).await?;
    let left = async || Ok((world.nodes().await?.len(), world.cloud.alive().await?.len()));
    stack.until("no node and no instance is left", left, |found| *found == (0, 0)).await?;
    world
        .control_plane
        .kubectl(&["delete", "ec2nodeclass,nodepool", "default", "--wait=false"])
        .await?;
    stack.tick().await
}

/// `patch nodes`, `create pods/eviction`: the verb and the resource of a call that writes.
pub(super) fn write_of(call: &Call) -> Option<String> {
    let (method, path) = call.action.split_once(' ').filter(|_| call.side == Side::Kubernetes)?;
    let Asked { verb, resource, subresource, .. } = Asked::of(method, path, &call.detail);
    if ["get", "list", "watch"].contains(&verb.as_str()) {
        return None;
    }
    let subresource = if subresource.is_empty() { subresource } else { format!("/{subresource}") };
    Some(format!("{verb} {resource}{subresource}"))
}
