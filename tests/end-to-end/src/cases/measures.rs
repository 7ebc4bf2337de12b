//! How fast, how large, how dear. Each prints its figures; only promises are checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::gate::Side;
use end_to_end::lambda::Invocation;
use end_to_end::objects::pod;
use end_to_end::stack::{Stack, poll, watch};
use end_to_end::world::{World, eventually};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::demand_checks::deliver;
use super::provisioning::with_defaults;
use super::slow::{slow_down, until_one_each};
use super::strict::until;
use crate::figures::promised;

crate::cases![
    ; alone:
    a_pod_that_comes_is_launched_for_within_seconds,
    a_pod_that_comes_is_launched_for_soon_while_ec2_is_slow,
    a_cold_start_is_short_and_memory_stays_small,
    a_tick_stays_cheap_as_the_cluster_grows,
];

const MEMORY_KIB: u64 = 512 * 1024;
const WATCHER_MEMORY_KIB: u64 = 128 * 1024;
/// Longer than it takes the watcher to list what it watches.
const WATCHES_FOR: Duration = Duration::from_secs(30);

/// The share of a CPU that Lambda gives for 512 MB: a whole one comes with 1,769 MB.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
const CPUS: f64 = 512.0 / 1769.0;

/// What an invocation took here, what of that it computed, and what it would take with Lambda's
/// share of a CPU.
fn time_of(invocation: &Invocation) -> String {
    format!(
        "{:.0?} ({:.0?} CPU, {:.0?} with {CPUS:.2} CPU)",
        invocation.billed(),
        invocation.cpu,
        invocation.billed_with(CPUS)
    )
}

/// The reaction that is promised, for 95 of 100 pods.
const REACTION: Duration = Duration::from_secs(1);

/// The same while EC2 is slow: a launch that fails is made again when the next pods come, and
/// after ten seconds where none do.
const REACTION_OF_SLOW_EC2: Duration = Duration::from_secs(15);

/// Launches that EC2 refuses again and again back off.
const MORE_PATIENCE: Duration = Duration::from_mins(4);

async fn a_pod_that_comes_is_launched_for_within_seconds(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    stack.tick().await?;
    world.traffic.forget_calls();
    let made = make_bursts(&world, &mut stack).await?;
    let launches: Vec<_> =
        world.traffic.calls_of("ec2:CreateFleet").into_iter().map(|call| call.received).collect();
    let reactions = made.values().filter_map(|made| {
        launches.iter().find(|launched| **launched > made.at).map(|launched| *launched - made.at)
    });
    let mut reactions: Vec<_> = reactions.collect();
    reactions.sort_unstable();
    ensure!(reactions.len() == 100, "only {} of 100 pods were launched for", reactions.len());
    let (p50, p95) = (reactions[49], reactions[94]);
    crate::figures::say(format!(
        "reaction from a pod to CreateFleet: p50 {p50:.2?}, p95 {p95:.2?} over 100 pods"
    ));
    let waits = waits_for_instances(&world, &mut stack, &made).await?;
    let (p50, own) = (at_percent(&waits, 50), at_percent(&waits, 95));
    crate::figures::say(format!(
        "from a pod to the launch of its node: p50 {p50:.2?}, p95 {own:.2?} over {} pods",
        waits.len()
    ));
    ensure!(p95 <= promised(REACTION), "p95 is {p95:?}");
    Ok(())
}

async fn a_pod_that_comes_is_launched_for_soon_while_ec2_is_slow(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    stack.tick().await?;
    slow_down(&world).await?;
    let made = make_bursts(&world, &mut stack).await?;
    let waits = waits_for_instances(&world, &mut stack, &made).await?;
    let (p50, p95) = (at_percent(&waits, 50), at_percent(&waits, 95));
    let longest = waits.last().copied().unwrap_or_default();
    crate::figures::say(format!(
        "from a pod to the launch of its node while EC2 is slow: p50 {p50:.2?}, p95 {p95:.2?}, \
         longest {longest:.2?} over {} pods",
        waits.len()
    ));
    until_one_each(&world, &mut stack).await?;
    ensure!(p50 <= promised(REACTION), "p50 is {p50:?}");
    ensure!(p95 <= promised(REACTION_OF_SLOW_EC2), "p95 is {p95:?}");
    Ok(())
}

/// When a pod was made.
struct Made {
    at: Instant,
    time: Timestamp,
}

/// A hundred pods in bursts of ten, as rollouts make them, while the watcher watches; when each was
/// made, by name.
async fn make_bursts(world: &World, stack: &mut Stack) -> Result<BTreeMap<String, Made>> {
    let bursts = async {
        let watching = async || {
            let calls = world.traffic.calls();
            Ok(calls.iter().any(|call| call.detail.contains("watch=")))
        };
        eventually("the watcher watches", watching, |found| *found).await?;
        let mut made = BTreeMap::new();
        for burst in 0..10 {
            for one in 0..10 {
                let name = format!("web-{burst}-{one}");
                let own = Made { at: Instant::now(), time: Timestamp::now() };
                world.apply(&pod(&name, "1500m", "1Gi")).await?;
                made.insert(name, own);
            }
            tokio::time::sleep(Duration::from_millis(3500)).await;
        }
        anyhow::Ok(made)
    };
    let (mut watcher, queue) = stack.watcher(world).await?;
    let aws = Aws::at(world.aws_endpoint());
    // Warm, as a minute after the installation.
    stack.provisioning.invoke(&watch()).await?.answer()?;
    world.traffic.forget_calls();
    let event = watch();
    let watching = async {
        let watched = watcher.invoke_within(&event, Duration::from_mins(1));
        let (watched, made) = tokio::join!(watched, bursts);
        let watched = watched?;
        watched.answer()?;
        crate::figures::say(format!(
            "a watcher while 100 pods come: {:.0?} CPU in {:.0?}, peak memory {} MiB",
            watched.cpu,
            watched.duration,
            watched.peak_memory_kib / 1024
        ));
        let memory = watched.peak_memory_kib;
        ensure!(memory < WATCHER_MEMORY_KIB, "the watcher takes {memory} KiB");
        made
    };
    tokio::select! {
        made = watching => made,
        failed = deliver(&aws, &queue, &mut stack.provisioning, |_| ()) => match failed? {},
    }
}

/// Runs the functions until all pods run. Returns how long each waited for the launch of a node
/// with room for it, shortest first. Pods are alike and bound as the scheduler likes: the first
/// that was made counts as waiting for the first room that was launched, and so on.
async fn waits_for_instances(
    world: &World,
    stack: &mut Stack,
    made: &BTreeMap<String, Made>,
) -> Result<Vec<Duration>> {
    // Few are deleted by the controller of taints, and nobody makes them again.
    let running = async || world.running().await;
    let is_right = |found: &(usize, usize)| found.0 == found.1 && found.0 >= made.len() * 9 / 10;
    until(stack, "all pods run", MORE_PATIENCE, running, is_right).await?;
    let instances = world.cloud.instances().await?;
    let (mut launched, mut waiting) = (Vec::new(), Vec::new());
    for pod in world.pods().await? {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let own = instances.iter().find(|own| Some(own.private_dns_name.as_str()) == node);
        let own = own.with_context(|| format!("the instance of {node:?}"))?;
        launched.push(own.launched.parse::<Timestamp>()?);
        waiting.push(made.get(&pod.name_any()).context("a pod that was made")?.time);
    }
    launched.sort_unstable();
    waiting.sort_unstable();
    let waits = launched.into_iter().zip(waiting).map(|(launched, made)| {
        // None, where the room was there before the pod.
        Duration::try_from(launched.duration_since(made)).unwrap_or_default()
    });
    let mut waits: Vec<_> = waits.collect();
    waits.sort_unstable();
    Ok(waits)
}

/// Of sorted figures, the one that so many percent do not exceed.
fn at_percent(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

async fn a_cold_start_is_short_and_memory_stays_small(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.apply(&pod("web", "1", "1Gi")).await?;
    for (name, function) in [
        ("catalog", &mut stack.catalog),
        ("provisioning", &mut stack.provisioning),
        ("lifecycle", &mut stack.lifecycle),
        ("disruption", &mut stack.disruption),
    ] {
        function.cool().await?;
        let before = world.traffic.calls().len();
        let started = Instant::now();
        let cold = function.invoke(&poll()).await?;
        cold.answer()?;
        let first_call = world.traffic.calls().get(before).map(|call| call.received - started);
        let warm = function.invoke(&poll()).await?;
        warm.answer()?;
        crate::figures::say(format!(
            "{name}: init {:.0?}, first call after {:.0?}, cold {}, warm {}, peak memory {} MiB",
            cold.init.unwrap_or_default(),
            first_call.unwrap_or_default(),
            time_of(&cold),
            time_of(&warm),
            warm.peak_memory_kib / 1024
        ));
        ensure!(warm.peak_memory_kib < MEMORY_KIB, "{name} takes {} KiB", warm.peak_memory_kib);
    }
    Ok(())
}

/// Nodes and pods as objects, ten pods a node. `OUTRIGGER_END_TO_END_NODES` names other sizes, such
/// as `10,500,5000`: the largest takes minutes to make.
async fn a_tick_stays_cheap_as_the_cluster_grows(world: Arc<World>) -> Result<()> {
    let sizes = std::env::var("OUTRIGGER_END_TO_END_NODES").unwrap_or_else(|_| "10,200".to_owned());
    world.kubelets.change(|habits| habits.paused = true);
    let mut stack = with_defaults(&world).await?;
    let (mut watcher, _) = stack.watcher(&world).await?;
    let mut made = 0;
    for size in sizes.split(',') {
        let size: usize = size.trim().parse()?;
        grow(&world, made..size).await?;
        made = made.max(size);
        for (name, function) in [
            ("provisioning", &mut stack.provisioning),
            ("lifecycle", &mut stack.lifecycle),
            ("disruption", &mut stack.disruption),
        ] {
            function.cool().await?;
            let cold = function.invoke(&poll()).await?;
            cold.answer()?;
            let before = world.traffic.calls().len();
            let warm = function.invoke(&poll()).await?;
            warm.answer()?;
            let calls = world.traffic.calls();
            let [aws, dynamodb, kubernetes] = [Side::Aws, Side::DynamoDb, Side::Kubernetes]
                .map(|side| calls[before..].iter().filter(|call| call.side == side).count());
            crate::figures::say(format!(
                "{size} nodes, {} pods: {name} cold {}, warm {}; warm calls: {aws} AWS, {dynamodb} DynamoDB, \
                 {kubernetes} Kubernetes; peak memory {} MiB",
                size * 10,
                time_of(&cold),
                time_of(&warm),
                warm.peak_memory_kib / 1024
            ));
            ensure!(warm.peak_memory_kib < MEMORY_KIB, "{name} takes {} KiB", warm.peak_memory_kib);
        }
        watcher.cool().await?;
        let watched = watcher.invoke_within(&watch(), WATCHES_FOR).await?;
        watched.answer()?;
        let memory = watched.peak_memory_kib;
        crate::figures::say(format!(
            "{size} nodes, {} pods: watcher {:.0?} CPU, peak memory {} MiB",
            size * 10,
            watched.cpu,
            memory / 1024
        ));
        ensure!(memory < WATCHER_MEMORY_KIB, "the watcher takes {memory} KiB");
    }
    Ok(())
}

pub(super) async fn grow(world: &World, nodes: std::ops::Range<usize>) -> Result<()> {
    let (all_nodes, pods) = (
        Api::<Node>::all(world.client.clone()),
        Api::<Pod>::namespaced(world.client.clone(), "default"),
    );
    let (all_nodes, pods) = (&all_nodes, &pods);
    stream::iter(nodes)
        .map(|number| async move {
            let name = format!("ip-10-{}-{}-{}", number >> 16, (number >> 8) & 255, number & 255);
            all_nodes.create(&PostParams::default(), &node_object(&name)?).await?;
            for one in 0..10 {
                pods.create(&PostParams::default(), &bound_pod(&format!("{name}-{one}"), &name)?)
                    .await?;
            }
            anyhow::Ok(())
        })
        .buffer_unordered(16)
        .try_collect()
        .await
}

fn node_object(name: &str) -> Result<Node> {
    // A kubelet names up to fifty images, which is most of a Node.
    let images: Vec<_> = (0..50)
        .map(|image| {
            let repository = format!("602401143452.dkr.ecr.us-east-1.amazonaws.com/shop/{image}");
            let digest = format!("{repository}@sha256:{image:064}");
            json!({"names": [digest, format!("{repository}:v1.2.3")], "sizeBytes": 50_000_000})
        })
        .collect();
    let resources =
        json!({"cpu": "2", "memory": "7577Mi", "pods": "29", "ephemeral-storage": "20Gi"});
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": "us-east-1a",
            "eks.amazonaws.com/nodegroup": "static",
        }},
        "spec": {"providerID": format!("aws:///us-east-1a/{name}")},
        "status": {"capacity": resources, "allocatable": resources, "images": images},
    }))?)
}

fn bound_pod(name: &str, node: &str) -> Result<Pod> {
    let mut object = pod(name, "100m", "200Mi");
    object["spec"]["nodeName"] = json!(node);
    Ok(serde_json::from_value(object)?)
}
