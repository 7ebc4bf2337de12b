//! A function is killed in the middle of its work, and the next tick makes it whole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::{Moment, Trap};
use end_to_end::objects::{NodePool, node_pool};
use end_to_end::stack::{Stack, launched_claims, poll, was_killed};
use end_to_end::world::{PATIENCE, World, access_key, eventually};
use kube::ResourceExt as _;

use super::interruption::{batch_of, warning};
use super::provisioning::{start_pod, with_defaults};
use crate::case::Case;

/// Each of these in shares, side by side in worlds of their own: a share has every third call.
macro_rules! in_shares {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[Case] = &[$(
            in_shares!(@ $name 1 "::1_of_3"),
            in_shares!(@ $name 2 "::2_of_3"),
            in_shares!(@ $name 3 "::3_of_3"),
        )+];
    };
    (@ $name:ident $first:literal $which:literal) => {
        Case {
            name: concat!(stringify!($name), $which),
            steps: |world| Box::pin($name(world, Share { first: $first })),
            is_alone: false,
        }
    };
}

in_shares![
    disruption_may_be_killed_after_each_of_its_changes,
    interruption_may_be_killed_after_each_of_its_changes,
    lifecycle_may_be_killed_after_each_of_its_changes,
    provisioning_may_be_killed_after_each_of_its_calls,
];

/// So many shares each case has.
const SHARES: usize = 3;

/// Which calls a share has its function killed in.
#[derive(Clone, Copy)]
struct Share {
    /// The first, counted from 1.
    first: u32,
}

impl Share {
    /// The number of the call, and how many the share has had before, until there is no such call
    /// any more.
    fn points(self) -> impl Iterator<Item = (u32, usize)> {
        (self.first..MOST_CALLS).step_by(SHARES).zip(0..)
    }
}

/// More calls than a tick with one new pod can need; reaching it means that the loop does not end.
const MOST_CALLS: u32 = 300;
/// From its proposal to its validation a command waits for so long.
const PROPOSAL_WAITS: Duration = Duration::from_secs(15);
/// What marks a node that is about to go.
const DISRUPTED: &str = "karpenter.sh/disrupted";
/// After so many kills of a share everything is left to settle, and checked as a whole.
const SETTLED_EVERY: usize = 5;

/// Each pod needs a node of its own, and keeps it. Machines are quick: a hundred come and go.
async fn one_node_a_pod(world: &World) -> Result<Stack> {
    world.kubelets.change(|habits| {
        habits.boot = Duration::from_millis(100);
        habits.ready = Duration::from_millis(100);
        habits.pod_ends = Duration::from_millis(100);
    });
    let stack = with_defaults(world).await?;
    world.apply(&small_nodes().object()).await?;
    Ok(stack)
}

/// Nodes that hold one pod each.
fn small_nodes() -> NodePool {
    node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]).settled()
}

async fn provisioning_may_be_killed_after_each_of_its_calls(
    world: Arc<World>,
    share: Share,
) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    for (nth, done) in share.points() {
        start_pod(&world, &format!("web-{nth}"), "1200m", "1Gi").await?;
        let mut trap = world.traffic.trap(&access_key("provisioning"), nth, Moment::After);
        let killed = stack.provisioning.invoke_into(&poll(), &mut trap).await?;
        world.traffic.disarm();
        world.end_leases().await?;
        let is_last = !was_killed(&killed);
        let is_settled = is_last || (done + 1).is_multiple_of(SETTLED_EVERY);
        made_good(&mut stack, &world, done + 1, is_settled)
            .await
            .with_context(|| format!("killed in call {nth}: {:?}", killed.outcome))?;
        if is_last {
            crate::figures::say(format!(
                "provisioning makes fewer than {nth} calls when it launches a node"
            ));
            return Ok(());
        }
    }
    anyhow::bail!("provisioning makes more than {MOST_CALLS} calls")
}

/// Ticks until there is an instance for each pod, and none twice for a claim; where it is to
/// settle, until all pods run.
///
/// There may be more: a pod that the controller of taints deletes on a new node comes again while
/// that one ends, and gets a node of its own.
async fn made_good(stack: &mut Stack, world: &World, pods: usize, is_settled: bool) -> Result<()> {
    let claims = async || launched_claims(world).await;
    stack.until("an instance for each pod", claims, |found| found.len() >= pods).await?;
    if is_settled {
        stack.until_running(world, pods).await?;
        stack.until_consistent(world).await?;
    }
    Ok(())
}

async fn lifecycle_may_be_killed_after_each_of_its_changes(
    world: Arc<World>,
    share: Share,
) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    for (nth, done) in share.points() {
        // One node has joined and another is to go in the tick that is cut short.
        let going = node_of_the_pod(&world).await?.context("the pod is not bound")?;
        world.control_plane.kubectl(&["delete", "node", &going, "--wait=false"]).await?;
        stack.provisioning.invoke(&poll()).await?.answer()?;
        let is_new = async || Ok(world.nodes().await?.iter().any(|node| node.name_any() != going));
        eventually("the node that takes its place has joined", is_new, |found| *found).await?;
        let mut trap = world.traffic.trap_change(&access_key("lifecycle"), nth, Moment::After);
        let killed = stack.lifecycle.invoke_into(&poll(), &mut trap).await?;
        world.traffic.disarm();
        world.end_leases().await?;
        let is_last = !was_killed(&killed);
        let is_settled = is_last || (done + 1).is_multiple_of(SETTLED_EVERY);
        moved_on(&mut stack, &world, &going, is_settled)
            .await
            .with_context(|| format!("killed in change {nth}: {:?}", killed.outcome))?;
        if is_last {
            crate::figures::say(format!(
                "lifecycle makes fewer than {nth} changes when a node joins and another goes"
            ));
            return Ok(());
        }
    }
    anyhow::bail!("lifecycle makes more than {MOST_CALLS} changes")
}

async fn disruption_may_be_killed_after_each_of_its_changes(
    world: Arc<World>,
    share: Share,
) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    for (nth, done) in share.points() {
        // The only node drifts: its replacement is proposed, launched, waited for, and then it
        // goes.
        let going = node_of_the_pod(&world).await?.context("the pod is not bound")?;
        let pool = small_nodes().labelled("example.com/round", &nth.to_string());
        world.apply(&pool.object()).await?;
        let mut trap = world.traffic.trap_change(&access_key("disruption"), nth, Moment::After);
        let was_killed = killed_or_done(&mut stack, &world, &mut trap, &going).await?;
        world.traffic.disarm();
        world.end_leases().await?;
        let is_settled = !was_killed || (done + 1).is_multiple_of(SETTLED_EVERY);
        moved_on(&mut stack, &world, &going, is_settled)
            .await
            .with_context(|| format!("killed in change {nth}"))?;
        if is_settled {
            nothing_is_left_of_commands(&mut stack, &world).await?;
        }
        if !was_killed {
            crate::figures::say(format!(
                "disruption makes fewer than {nth} changes when it replaces a node"
            ));
            return Ok(());
        }
    }
    anyhow::bail!("disruption makes more than {MOST_CALLS} changes")
}

/// Has disruption run again and again beside the others, until it is killed or the node is gone.
async fn killed_or_done(
    stack: &mut Stack,
    world: &World,
    trap: &mut Trap,
    going: &str,
) -> Result<bool> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let invocation = stack.disruption.invoke_into(&poll(), trap).await?;
        if was_killed(&invocation) {
            return Ok(true);
        }
        invocation.answer()?;
        // What is proposed waits for no more than that the time has come.
        world.age_proposals(PROPOSAL_WAITS).await?;
        stack.provisioning.invoke(&poll()).await?.answer()?;
        stack.lifecycle.invoke(&poll()).await?.answer()?;
        if world.nodes().await?.iter().all(|node| node.name_any() != going) {
            return Ok(false);
        }
    }
    anyhow::bail!("the node that drifted is there after {PATIENCE:?}")
}

/// Ticks until no command is stored and no node that stays bears a command's taint.
async fn nothing_is_left_of_commands(stack: &mut Stack, world: &World) -> Result<()> {
    let left = async || {
        let records = world.records().await?;
        let key = |record: &serde_json::Value| record["record"]["S"].as_str().map(str::to_owned);
        let mut left: Vec<String> = records.iter().filter_map(key).collect();
        left.retain(|key| key.starts_with("command#"));
        for node in world.nodes().await? {
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
            let is_marked = taints.into_iter().flatten().any(|own| own.key == DISRUPTED);
            left.extend(is_marked.then(|| node.name_any()));
        }
        Ok(left)
    };
    stack.until("nothing is left of commands", left, Vec::is_empty).await.map(drop)
}

async fn interruption_may_be_killed_after_each_of_its_changes(
    world: Arc<World>,
    share: Share,
) -> Result<()> {
    let mut stack = one_node_a_pod(&world).await?;
    // What is interrupted is not launched again for a while: here there is something else.
    world.apply(&node_pool().settled().object()).await?;
    start_pod(&world, "web", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let mut function = world.function("interruption")?;
    for (nth, done) in share.points() {
        let going = node_of_the_pod(&world).await?.context("the pod is not bound")?;
        let alive = world.cloud.alive().await?;
        let taken = alive.iter().find(|instance| instance.private_dns_name == going);
        let event = batch_of(&[warning(&taken.context("the pod's instance")?.id)]);
        let mut trap = world.traffic.trap_change(&access_key("interruption"), nth, Moment::After);
        let killed = function.invoke_into(&event, &mut trap).await?;
        world.traffic.disarm();
        world.end_leases().await?;
        let is_last = !was_killed(&killed);
        let answered = if is_last {
            killed
        } else {
            // The queue hands the message out once more.
            function.invoke(&event).await?
        };
        let failures = &answered.answer()?["batchItemFailures"];
        ensure!(failures.as_array().is_some_and(Vec::is_empty), "{failures} came back");
        let is_settled = is_last || (done + 1).is_multiple_of(SETTLED_EVERY);
        moved_on(&mut stack, &world, &going, is_settled)
            .await
            .with_context(|| format!("killed in change {nth}"))?;
        if is_last {
            crate::figures::say(format!(
                "interruption makes fewer than {nth} changes for one notice"
            ));
            return Ok(());
        }
    }
    anyhow::bail!("interruption makes more than {MOST_CALLS} changes")
}

/// Ticks until the pod runs elsewhere; where it is to settle, until the node it was on is gone.
async fn moved_on(stack: &mut Stack, world: &World, going: &str, is_settled: bool) -> Result<()> {
    let elsewhere = async || node_of_the_pod(world).await;
    let has_moved = |found: &Option<String>| found.as_ref().is_some_and(|node| node != going);
    stack.until("the pod runs on another node", elsewhere, has_moved).await?;
    launched_claims(world).await?;
    if is_settled {
        let is_any_going = async || {
            let nodes = world.nodes().await?;
            Ok(nodes.iter().any(|node| node.metadata.deletion_timestamp.is_some()))
        };
        stack.until("no node is going any more", is_any_going, |found| !found).await?;
        stack.until_running(world, 1).await?;
        stack.until_consistent(world).await?;
    }
    Ok(())
}

/// The node on which the only pod runs that is not ending.
async fn node_of_the_pod(world: &World) -> Result<Option<String>> {
    let pods = world.pods().await?;
    Ok(pods.into_iter().find_map(|pod| {
        let status = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let runs = status == Some("Running") && pod.metadata.deletion_timestamp.is_none();
        pod.spec?.node_name.filter(|_| runs)
    }))
}
