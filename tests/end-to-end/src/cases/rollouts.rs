//! A rollout in place of evictions (`outrigger.dev/evict-by: rollout`), by the Deployment
//! controller itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use end_to_end::cache::repository;
use end_to_end::gate::Side;
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::Stack;
use end_to_end::world::{PATIENCE, World};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::provisioning::with_defaults;
use super::safety::messages;

crate::cases![
    a_deployment_of_one_replica_is_rolled_out_and_never_without_a_ready_pod,
    a_deployment_that_cannot_be_rolled_out_is_evicted_with_an_event,
];

/// From its proposal to its validation a command waits for so long.
const PROPOSAL_WAITS: Duration = Duration::from_secs(15);
/// How often it is checked whether a pod is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

async fn a_deployment_of_one_replica_is_rolled_out_and_never_without_a_ready_pod(
    world: Arc<World>,
) -> Result<()> {
    let (mut stack, going) = running_with(&world, &json!({"type": "RollingUpdate"})).await?;
    let is_done = AtomicBool::new(false);
    let drifts = async {
        let replaced = drift_away(&world, &mut stack, &going).await;
        is_done.store(true, Ordering::Relaxed);
        replaced
    };
    let (replaced, (checks, without)) =
        tokio::join!(drifts, checks_without_a_pod(&world, &is_done));
    replaced?;
    ensure!(checks > 20, "checked only {checks} times");
    ensure!(without == 0, "no pod was ready in {without} of {checks} checks");
    let restarts = changes(&world, "PATCH", "/deployments/web");
    ensure!(restarts.len() == 1, "{restarts:?}");
    ensure!(restarts[0].contains("kubectl.kubernetes.io/restartedAt"), "{restarts:?}");
    let evictions = changes(&world, "POST", "/eviction");
    ensure!(evictions.is_empty(), "{evictions:?}");
    let started = messages(&world, "RolloutStarted").await?;
    ensure!(!started.is_empty(), "no event says that a rollout replaces the pod");
    without_rights(&world).await
}

async fn a_deployment_that_cannot_be_rolled_out_is_evicted_with_an_event(
    world: Arc<World>,
) -> Result<()> {
    let (mut stack, going) = running_with(&world, &json!({"type": "Recreate"})).await?;
    drift_away(&world, &mut stack, &going).await?;
    let restarts = changes(&world, "PATCH", "/deployments/web");
    ensure!(restarts.is_empty(), "{restarts:?}");
    let evictions = changes(&world, "POST", "/eviction");
    ensure!(!evictions.is_empty(), "nothing was evicted");
    let why = messages(&world, "RolloutNotPossible").await?;
    ensure!(why.iter().any(|why| why.contains("Recreate")), "{why:?}");
    without_rights(&world).await
}

/// Functions that may change Deployments, and a Deployment of one replica, which asks for rollouts
/// and runs. Returns the node that it runs on.
async fn running_with(world: &World, strategy: &Value) -> Result<(Stack, String)> {
    world.kubelets.change(|habits| {
        habits.boot = Duration::from_millis(100);
        habits.ready = Duration::from_millis(100);
        habits.pod_ends = Duration::from_millis(100);
    });
    let mut stack = with_defaults(world).await?;
    stack.set("FEATURE_GATES", "RolloutEviction=true").await?;
    let rights = rights();
    world.control_plane.kubectl(&["apply", "--server-side", "--filename", &rights]).await?;
    world.apply(&small_nodes("1")).await?;
    let mut web = deployment("web", 1, "1200m", "1Gi");
    web["metadata"]["annotations"] = json!({"outrigger.dev/evict-by": "rollout"});
    web["spec"]["strategy"] = strategy.clone();
    world.apply(&web).await?;
    stack.until_running(world, 1).await?;
    let pods = world.pods().await?;
    let node = pods.into_iter().find_map(|pod| pod.spec?.node_name).context("a node")?;
    Ok((stack, node))
}

/// Nodes that hold one pod each, labelled with a generation.
fn small_nodes(generation: &str) -> Value {
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]).settled();
    pool.labelled("example.com/generation", generation).object()
}

/// Has the nodes drift, and runs functions until a node is gone and one pod runs.
async fn drift_away(world: &World, stack: &mut Stack, going: &str) -> Result<()> {
    world.apply(&small_nodes("2")).await?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        stack.tick().await?;
        world.age_proposals(PROPOSAL_WAITS).await?;
        let is_gone = world.nodes().await?.iter().all(|node| node.name_any() != going);
        if is_gone && world.running().await? == (1, 1) {
            return Ok(());
        }
    }
    bail!("{going} is there after {PATIENCE:?}")
}

/// What functions changed of objects whose path ends so, with what they sent.
fn changes(world: &World, verb: &str, path: &str) -> Vec<String> {
    let calls = world.traffic.calls().into_iter();
    calls
        .filter(|call| {
            call.side == Side::Kubernetes
                && call.action.starts_with(verb)
                && call.action.ends_with(path)
                && call.status.is_some_and(|status| status < 300)
        })
        .map(|call| call.detail)
        .collect()
}

/// How often it was checked until something was done, and how often no pod was ready then.
async fn checks_without_a_pod(world: &World, is_done: &AtomicBool) -> (u32, u32) {
    let (mut checks, mut without) = (0, 0);
    while !is_done.load(Ordering::Relaxed) {
        if let Ok(pods) = world.pods().await {
            checks += 1;
            without += u32::from(!pods.iter().any(is_ready));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    (checks, without)
}

/// Whether a pod serves: it is ready, and not ending.
fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_true =
        conditions.into_iter().flatten().any(|own| own.type_ == "Ready" && own.status == "True");
    is_true && pod.metadata.deletion_timestamp.is_none()
}

fn rights() -> String {
    repository().join("infra/kubernetes/rollouts.yaml").display().to_string()
}

/// Other cases have functions without these rights.
async fn without_rights(world: &World) -> Result<()> {
    world.control_plane.kubectl(&["delete", "--filename", &rights()]).await.map(drop)
}
