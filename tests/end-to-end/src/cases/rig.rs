//! The rig itself: what it stands on is there, before any function is asked.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use end_to_end::aws::Aws;
use end_to_end::behaviour::Behaviour;
use end_to_end::gate::Side;
use end_to_end::objects::{deployment, pod};
use end_to_end::world::{CLUSTER, World, eventually};
use futures_util::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::provisioning::wait_for_pods;

crate::cases![
    an_instance_that_was_launched_becomes_a_node_and_runs_pods,
    a_machine_does_not_join_another_cluster,
    a_node_may_not_give_itself_labels_that_nodes_may_not_have,
    an_instance_that_ends_takes_its_node_along,
    a_side_that_is_cut_off_cannot_be_reached,
    a_watch_through_the_gate_brings_events_until_it_expires,
    a_token_that_eks_did_not_make_is_refused,
    an_instance_is_known_late_where_a_case_asks_for_that,
    what_ec2_refuses_is_refused_here,
];

/// The taint of a new node.
const NEW: &str = "example.com/new";

/// User data of AL2023 for the rig's cluster: labels of the Node, and keys of its taints.
pub(super) fn user_data(world: &World, labels: &str, taints: &[&str]) -> String {
    let taint = |key: &&str| json!({"key": key, "effect": "NoSchedule"});
    let taints: Vec<_> = taints.iter().map(taint).collect();
    let config = json!({
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": CLUSTER,
                "apiServerEndpoint": world.cluster_endpoint(),
                "certificateAuthority": STANDARD.encode(&world.control_plane.authority),
                "cidr": "10.96.0.0/16",
            },
            "kubelet": {
                "config": {"registerWithTaints": taints, "maxPods": 29},
                "flags": [format!("--node-labels={labels}")],
            },
        },
    });
    config.to_string()
}

async fn an_instance_that_was_launched_becomes_a_node_and_runs_pods(
    world: Arc<World>,
) -> Result<()> {
    world.apply(&deployment("web", 3, "500m", "512Mi")).await?;
    wait_for_pods(&world, 3).await?;
    let aws = Aws::at(world.aws_endpoint());
    let id =
        aws.launch("m5.large", &user_data(&world, "karpenter.sh/nodepool=default", &[NEW])).await?;
    let instance =
        world.cloud.instances().await?.into_iter().find(|one| one.id == id).context("it")?;
    ensure!(
        instance.instance_profile.is_some() && !instance.security_groups.is_empty(),
        "{instance:?}"
    );
    ensure!(instance.volumes[0].gib == 30 && instance.http_tokens == "required", "{instance:?}");

    let nodes = async || world.nodes().await;
    let nodes = eventually("a node", nodes, |found| found.len() == 1).await?;
    ensure!(nodes[0].labels().get("karpenter.sh/nodepool").map(String::as_str) == Some("default"));
    ensure!(
        nodes[0].spec.as_ref().and_then(|spec| spec.provider_id.clone())
            == Some(instance.provider_id())
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    ensure!(world.running().await?.0 == 0, "the scheduler did not honour the taint");
    let name = nodes[0].name_any();
    world.control_plane.kubectl(&["taint", "node", &name, &format!("{NEW}-")]).await?;
    let running = async || world.running().await;
    eventually("all pods run", running, |found| *found == (3, 3)).await?;
    ensure!(
        world.traffic.calls_of("ec2:CreateFleet").len() == 1,
        "the gate did not see the launch"
    );
    Ok(())
}

async fn a_machine_does_not_join_another_cluster(world: Arc<World>) -> Result<()> {
    let other =
        user_data(&world, "", &[NEW]).replace(world.cluster_endpoint(), "https://127.0.0.1:1");
    Aws::at(world.aws_endpoint()).launch("m5.large", &other).await?;
    let failures = async || Ok(world.kubelets.failures());
    let failures = eventually("it fails", failures, |found| !found.is_empty()).await?;
    ensure!(failures.values().all(|why| why.contains("API server")), "{failures:?}");
    Ok(())
}

async fn a_node_may_not_give_itself_labels_that_nodes_may_not_have(
    world: Arc<World>,
) -> Result<()> {
    let labels = "node-role.kubernetes.io/control-plane=true";
    Aws::at(world.aws_endpoint()).launch("m5.large", &user_data(&world, labels, &[NEW])).await?;
    let failures = async || Ok(world.kubelets.failures());
    let failures = eventually("it fails", failures, |found| !found.is_empty()).await?;
    ensure!(failures.values().all(|why| why.contains("is not allowed to set")), "{failures:?}");
    Ok(())
}

async fn an_instance_that_ends_takes_its_node_along(world: Arc<World>) -> Result<()> {
    let id =
        Aws::at(world.aws_endpoint()).launch("m5.large", &user_data(&world, "", &[NEW])).await?;
    let nodes = async || Ok(world.nodes().await?.len());
    eventually("a node", nodes, |found| *found == 1).await?;
    world.cloud.end(&id).await?;
    eventually("no node", nodes, |found| *found == 0).await?;
    ensure!(world.cloud.alive().await?.is_empty());
    Ok(())
}

async fn a_side_that_is_cut_off_cannot_be_reached(world: Arc<World>) -> Result<()> {
    let aws = Aws::at(world.aws_endpoint());
    world.apply(&pod("web", "1", "1Gi")).await?;
    aws.ask("DescribeVpcs", &[]).await?;
    world.traffic.cut(Side::Aws);
    ensure!(aws.ask("DescribeVpcs", &[]).await.is_err(), "it answered");
    world.traffic.restore(Side::Aws);
    aws.ask("DescribeVpcs", &[]).await?;
    world.traffic.deny("ec2:DescribeVpcs");
    let denied = aws.ask("DescribeVpcs", &[]).await.err().context("it was allowed")?;
    ensure!(denied.to_string().contains("UnauthorizedOperation"), "{denied}");
    Ok(())
}

async fn a_watch_through_the_gate_brings_events_until_it_expires(world: Arc<World>) -> Result<()> {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rig-view"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
    });
    world.apply(&binding).await?;
    let token = world.control_plane.kubectl(&["create", "token", "default"]).await?;
    let client = world.control_plane.bearer(world.cluster_endpoint(), token.trim()).await?;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let from =
        pods.list(&ListParams::default()).await?.metadata.resource_version.context("a version")?;

    let mut watch = pin!(pods.watch(&WatchParams::default(), &from).await?);
    world.apply(&pod("web", "1", "1Gi")).await?;
    let event = watch.try_next().await?.context("an event")?;
    ensure!(matches!(&event, WatchEvent::Added(pod) if pod.name_any() == "web"), "{event:?}");
    world.traffic.expire_watches();
    // Events that were on their way come first.
    let expired = loop {
        let event = watch.try_next().await?.context("the watch ended without a word")?;
        if let WatchEvent::Error(status) = event {
            break status;
        }
    };
    ensure!(expired.code == 410, "{expired:?}");
    let mut again = pin!(pods.watch(&WatchParams::default(), &from).await?);
    let event = again.try_next().await?.context("an event")?;
    ensure!(matches!(&event, WatchEvent::Error(status) if status.code == 410), "{event:?}");
    let from =
        pods.list(&ListParams::default()).await?.metadata.resource_version.context("a version")?;
    let mut fresh = pin!(pods.watch(&WatchParams::default(), &from).await?);
    world.control_plane.kubectl(&["label", "pod", "web", "seen=true"]).await?;
    let event = fresh.try_next().await?.context("an event")?;
    ensure!(matches!(&event, WatchEvent::Modified(_)), "{event:?}");
    Ok(())
}

async fn a_token_that_eks_did_not_make_is_refused(world: Arc<World>) -> Result<()> {
    let client = world
        .control_plane
        .bearer(world.cluster_endpoint(), "k8s-aws-v1.aHR0cHM6Ly9leGFtcGxl")
        .await?;
    let refused = Api::<Pod>::namespaced(client, "default").list(&ListParams::default()).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401), "{refused:?}");
    let why = world.cloud.refusals().await?;
    ensure!(why.iter().any(|why| why.contains("not to STS")), "{why:?}");
    Ok(())
}

async fn an_instance_is_known_late_where_a_case_asks_for_that(world: Arc<World>) -> Result<()> {
    let behaviour = Behaviour { instance_lag_seconds: 3.0, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let aws = Aws::at(world.aws_endpoint());
    let id = aws.launch("m5.large", &user_data(&world, "", &[NEW])).await?;
    for action in ["DescribeInstances", "TerminateInstances"] {
        let error = refusal(&aws, action, &[("InstanceId.1", id.as_str())]).await?;
        ensure!(error.contains("InvalidInstanceID.NotFound"), "{error}");
    }
    let filter = [("Filter.1.Name", "instance-id"), ("Filter.1.Value.1", id.as_str())];
    let listed = aws.ask("DescribeInstances", &filter).await?;
    ensure!(!listed.contains(&id), "it is listed at once: {listed}");
    let listed = async || aws.ask("DescribeInstances", &filter).await;
    eventually("it is listed", listed, |found| found.contains(&id)).await.map(drop)
}

async fn what_ec2_refuses_is_refused_here(world: Arc<World>) -> Result<()> {
    let aws = Aws::at(world.aws_endpoint());
    let too_long = STANDARD.encode("x".repeat(16 * 1024 + 1));
    let named = ("LaunchTemplateName", "taken");
    aws.ask("CreateLaunchTemplate", &[named, ("LaunchTemplateData.ImageId", "ami-1")]).await?;
    let image = ("LaunchTemplateData.ImageId", "ami-1");
    let is_refused = async |action: &str, parameters: &[(&str, &str)], code: &str| {
        let error = refusal(&aws, action, parameters).await?;
        ensure!(error.contains(code), "{action} is not refused with {code} but with {error}");
        Ok(())
    };
    let create = "CreateLaunchTemplate";
    let long = [("LaunchTemplateName", "long"), ("LaunchTemplateData.UserData", &too_long)];
    is_refused(create, &long, "InvalidUserData.Malformed").await?;
    let unnameable = [("LaunchTemplateName", "not a name"), image];
    is_refused(create, &unnameable, "InvalidLaunchTemplateName.MalformedException").await?;
    let taken = [named, image, ("DryRun", "true")];
    is_refused(create, &taken, "InvalidLaunchTemplateName.AlreadyExistsException").await?;
    let other = [("LaunchTemplateName", "other"), image, ("DryRun", "true")];
    is_refused(create, &other, "DryRunOperation").await?;
    let status =
        world.traffic.calls_of("ec2:CreateLaunchTemplate").pop().and_then(|own| own.status);
    ensure!(status == Some(412), "a dry run that would succeed has status {status:?}");
    let template = "LaunchTemplateConfigs.1.LaunchTemplateSpecification";
    let (named, version) =
        (format!("{template}.LaunchTemplateName"), format!("{template}.Version"));
    let spot = [
        ("TagSpecification.1.ResourceType", "spot-instances-request"),
        ("TagSpecification.1.Tag.1.Key", "team"),
        ("TagSpecification.1.Tag.1.Value", "web"),
    ];
    for wrong in [
        &[("LaunchTemplateConfigs.1.Overrides.1.SubnetId", "subnet-1,subnet-2")][..],
        &[("LaunchTemplateConfigs.1.Overrides.1.Priority", "-1")],
        &[("OnDemandOptions.MinTargetCapacity", "1")],
        &spot,
    ] {
        let mut fleet = vec![
            ("Type", "instant"),
            ("TargetCapacitySpecification.TotalTargetCapacity", "1"),
            (named.as_str(), "taken"),
            (version.as_str(), "$Latest"),
        ];
        fleet.extend(wrong);
        is_refused("CreateFleet", &fleet, "InvalidParameterValue").await?;
    }
    let nowhere = [("ImageId", "ami-1"), ("MinCount", "1"), ("MaxCount", "1"), ("DryRun", "true")];
    is_refused("RunInstances", &nowhere, "VPCIdNotSpecified").await
}

/// The error that a call is answered with.
async fn refusal(aws: &Aws, action: &str, parameters: &[(&str, &str)]) -> Result<String> {
    match aws.ask(action, parameters).await {
        Ok(answer) => anyhow::bail!("{action} went well: {answer}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}
